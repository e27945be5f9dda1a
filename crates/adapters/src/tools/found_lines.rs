//! Lines that match a regular expression: which they are, and how they are shown. Bounded; what is left out is counted.

use policy::glob;
use regex::{Regex, RegexBuilder};

use super::search::{self, named};
use crate::search::lines::Clean;

/// A larger expression is refused, before it takes the memory.
const EXPRESSION_BYTES_MAX: usize = 2 << 20;
/// So many matching lines of a file are shown.
const LINES_OF_A_FILE_MAX: usize = 50;
/// So many files are shown.
const FILES_MAX: usize = 100;
/// So much of a line is shown.
const LINE_CHARS_MAX: usize = 400;

/// What is looked for.
pub(super) struct Pattern {
    line: Regex,
    /// Each a pattern for names or paths; empty if all files are searched.
    globs: Vec<String>,
}

impl Pattern {
    pub(super) fn read(expression: &str, files: Option<&str>) -> Result<Self, String> {
        let built = RegexBuilder::new(expression).size_limit(EXPRESSION_BYTES_MAX).build();
        let line = built.map_err(|error| in_words(&error, expression))?;
        Ok(Self { line, globs: files.map(alternatives).unwrap_or_default() })
    }

    /// Whether a file is searched.
    pub(super) fn takes(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let takes = |pattern: &String| match pattern.contains('/') {
            true => glob(pattern, path) || glob(&format!("*/{pattern}"), path),
            false => glob(pattern, name),
        };
        self.globs.is_empty() || self.globs.iter().any(takes)
    }
}

/// `*.{c,h}` is `*.c` and `*.h`. A star stands for any run of characters, so `**/` is a star too.
fn alternatives(files: &str) -> Vec<String> {
    let braces = files.find('{').and_then(|open| Some((open, open + files[open..].find('}')?)));
    let Some((open, close)) = braces else {
        let plain = files.trim_start_matches("./").replace("/**/", "/*");
        return vec![plain.strip_prefix("**/").unwrap_or(&plain).to_owned()];
    };
    let one = |part: &str| alternatives(&format!("{}{part}{}", &files[..open], &files[close + 1..]));
    files[open + 1..close].split(',').take(16).flat_map(one).take(64).collect()
}

/// What is wrong with an expression, and where.
fn in_words(error: &regex::Error, expression: &str) -> String {
    let regex::Error::Syntax(text) = error else {
        return format!("the pattern is too large: {error}");
    };
    let reason = text.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or(text);
    // The error has the expression in it, and below a mark at the place, both indented.
    let mark = text.lines().find(|line| line.trim_start().starts_with('^'));
    let at = mark.and_then(|mark| mark.find('^')).and_then(|at| at.checked_sub(4));
    match at.filter(|_| !expression.contains('\n')) {
        Some(at) => format!("the pattern is not a regular expression: {reason}, at character {}", at + 1),
        None => format!("the pattern is not a regular expression: {reason}"),
    }
}

/// How much is shown.
pub(super) struct Limits {
    pub(super) bytes_max: u64,
    /// Lines before and after each.
    pub(super) context: usize,
    /// Only numbers are shown.
    pub(super) counts: bool,
}

/// What is shown.
pub(super) struct Report {
    limits: Limits,
    text: String,
    places: Vec<String>,
    /// All files that match.
    files: usize,
    /// All lines that match.
    lines: usize,
}

impl Report {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, text: String::new(), places: Vec::new(), files: 0, lines: 0 }
    }

    /// Adds the lines of a file that match, if there are any.
    pub(super) fn add(
        &mut self,
        pattern: &Pattern,
        (file, show): (String, &dyn Fn(&str) -> String),
        text: &str,
    ) {
        let lines: Vec<&str> = text.lines().collect();
        let matching: Vec<usize> = (0..lines.len()).filter(|at| pattern.line.is_match(lines[*at])).collect();
        if matching.is_empty() {
            return;
        }
        // A line matches as it is shown: nobody finds out a credential by looking for it.
        let clean = Clean::of(text);
        let matching: Vec<usize> =
            matching.into_iter().filter(|at| pattern.line.is_match(&clean.line(lines[*at]))).collect();
        if matching.is_empty() {
            return;
        }
        self.files += 1;
        self.lines += matching.len();
        if self.places.len() >= FILES_MAX {
            return;
        }
        let shown = named(&show(&file));
        if self.limits.counts {
            if self.push(&format!("{shown}: {}\n", matching.len())) {
                self.places.push(file);
            }
            return;
        }
        let mut told = 0;
        let mut next = 0;
        for at in matching.iter().take(LINES_OF_A_FILE_MAX) {
            let from = at.saturating_sub(self.limits.context).max(next);
            let to = (at + self.limits.context + 1).min(lines.len());
            let gap = self.limits.context > 0 && from > next && !self.text.is_empty();
            let mut block = if gap { "--\n".to_owned() } else { String::new() };
            for (number, line) in lines.iter().enumerate().take(to).skip(from) {
                let line = clean.line(line);
                let sign = if matching.binary_search(&number).is_ok() { ':' } else { '-' };
                block.push_str(&format!("{shown}{sign}{}{sign} {}\n", number + 1, brief(&line)));
            }
            if !self.push(&block) {
                break;
            }
            told += 1;
            next = to.max(next);
        }
        if told > 0 {
            // Context can show matching lines beyond the last that was told.
            let behind = matching.iter().skip(told).filter(|at| **at >= next).count();
            let more = search::more_lines(behind);
            self.text.extend(more.map(|more| format!("{more}\n")));
            self.places.push(file);
        }
    }

    /// Adds some lines if they fit.
    fn push(&mut self, lines: &str) -> bool {
        let fits = (self.text.len() + lines.len()) as u64 <= self.limits.bytes_max;
        if fits {
            self.text.push_str(lines);
        }
        fits
    }

    /// The text, with what was left out, and the files whose content is in it.
    pub(super) fn finish(mut self, nothing: &str, notes: Vec<String>) -> search::Found {
        if self.files == 0 {
            self.text.push_str(&format!("[{nothing}]\n"));
        }
        let left_out = self.files - self.places.len();
        if left_out > 0 {
            let noun = if left_out == 1 { "file" } else { "files" };
            self.text.push_str(&format!(
                "[{left_out} more {noun}; a narrower pattern, path or glob finds fewer]\n"
            ));
        }
        if self.limits.counts && self.files > 0 {
            let (lines, files) = (self.lines, self.files);
            let in_all =
                |count, noun| if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") };
            self.text.push_str(&format!("[{} in {}]\n", in_all(lines, "line"), in_all(files, "file")));
        }
        for note in notes {
            self.text.push_str(&format!("[{note}]\n"));
        }
        self.text.truncate(self.text.trim_end_matches('\n').len());
        (self.text, self.places)
    }
}

fn brief(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}
