//! A command as it is run: words and how they are joined, with nothing left that a shell would have to expand.
//! Only what a [`Script`] can hold is ever allowed unasked.

use std::fmt;

/// Pipelines, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// In the order they stand; never empty.
    pub pipelines: Vec<Pipeline>,
}

/// Commands that run at the same time, each reading what the one before prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipeline {
    /// When it runs, given how what ran before it ended.
    pub joint: Joint,
    /// Whether its exit status is turned round (`!`).
    pub negated: bool,
    /// Never empty.
    pub commands: Vec<Simple>,
}

/// When a pipeline runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joint {
    /// Whatever came before: the first one, and those after `;` or a line's end.
    Always,
    /// If the last one that ran succeeded.
    And,
    /// If the last one that ran failed.
    Or,
}

/// One program with its arguments. A program called `cd` is the runner's own: it changes the folder of what
/// comes after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simple {
    /// The program, then its arguments; never empty, and the first is no glob.
    pub words: Vec<Word>,
    /// In the order they are made.
    pub redirects: Vec<Redirect>,
}

/// One word, after quotes were taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The text; of a glob, its pattern, in which nothing is escaped.
    pub text: String,
    /// Whether `*`, `?` and `[…]` stand for the names of files. Without a match, the word stays as it is.
    pub is_glob: bool,
}

/// Where a stream of a command goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirect {
    /// Nothing is read: `< /dev/null`.
    FromNull,
    /// What is printed is dropped: `> /dev/null`.
    ToNull(Stream),
    /// The first goes where the second goes now: `2>&1`.
    Join(Stream, Stream),
}

/// What a command prints to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Descriptor 1.
    Out,
    /// Descriptor 2.
    Err,
}

/// Words that mean something to a shell in the first place.
pub(super) const RESERVED: [&str; 22] = [
    "!", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
    "select", "then", "time", "until", "while", "{", "}", "[[", "]]",
];

impl fmt::Display for Script {
    /// As text that parses to the same script.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, pipeline) in self.pipelines.iter().enumerate() {
            match pipeline.joint {
                Joint::Always if index == 0 => {}
                Joint::Always => f.write_str("; ")?,
                Joint::And => f.write_str(" && ")?,
                Joint::Or => f.write_str(" || ")?,
            }
            if pipeline.negated {
                f.write_str("! ")?;
            }
            for (index, command) in pipeline.commands.iter().enumerate() {
                let pipe = if index == 0 { "" } else { " | " };
                write!(f, "{pipe}{command}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Simple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.words.iter().enumerate() {
            if index == 0 && (word.text.contains('=') || RESERVED.contains(&word.text.as_str())) {
                write!(f, "'{}'", word.text.replace('\'', "'\\''"))?;
                continue;
            }
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{word}")?;
        }
        for redirect in &self.redirects {
            write!(f, " {redirect}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = |c: char| {
            c.is_ascii_alphanumeric() || "-_./,:@%+=".contains(c) || (self.is_glob && "*?[]!^".contains(c))
        };
        if !self.text.is_empty() && self.text.chars().all(bare) {
            return f.write_str(&self.text);
        }
        if !self.is_glob {
            return write!(f, "'{}'", self.text.replace('\'', "'\\''"));
        }
        for c in self.text.chars() {
            match c {
                c if bare(c) => write!(f, "{c}")?,
                '\'' => f.write_str("\\'")?,
                c => write!(f, "'{c}'")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Redirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FromNull => "< /dev/null",
            Self::ToNull(Stream::Out) => "> /dev/null",
            Self::ToNull(Stream::Err) => "2> /dev/null",
            Self::Join(Stream::Out, Stream::Out) => "1>&1",
            Self::Join(Stream::Out, Stream::Err) => "1>&2",
            Self::Join(Stream::Err, Stream::Out) => "2>&1",
            Self::Join(Stream::Err, Stream::Err) => "2>&2",
        })
    }
}
