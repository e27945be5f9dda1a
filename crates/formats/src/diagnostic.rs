//! What is wrong with a file, and where: made here, shown by `synod check`, the daemon and the dashboard.

use std::fmt::Write as _;
use std::ops::Range;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file is not used as it is.
    Error,
    /// The file is used, but probably means something else.
    Warning,
}

/// One finding in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The file, relative to the home.
    pub path: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The bytes that are meant.
    pub span: Range<usize>,
    /// A lower-case fragment without a period.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// What reading a file gave. `value` is `None` if and only if there is an error among the diagnostics.
#[derive(Debug, Clone, PartialEq)]
pub struct Read<T> {
    /// What the file says.
    pub value: Option<T>,
    /// Errors and warnings in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
}

/// The most findings that are kept for one file: after a hundred nobody reads on.
pub const DIAGNOSTICS_MAX: usize = 100;

/// Collects the findings of one file and knows its lines.
#[derive(Debug)]
pub(crate) struct Notes<'a> {
    path: &'a str,
    text: &'a str,
    line_starts: Option<Vec<usize>>,
    list: Vec<Diagnostic>,
    failed: bool,
    keeps_unknown: bool,
}

impl<'a> Notes<'a> {
    pub(crate) fn new(path: &'a str, text: &'a str) -> Self {
        Self { path, text, line_starts: None, list: Vec::new(), failed: false, keeps_unknown: false }
    }

    pub(crate) fn error(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.push(Severity::Error, span, message.into(), None);
    }

    pub(crate) fn error_with(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        self.push(Severity::Error, span, message.into(), help);
    }

    pub(crate) fn warning(&mut self, span: Range<usize>, message: impl Into<String>, help: Option<String>) {
        self.push(Severity::Warning, span, message.into(), help);
    }

    /// An unknown key is kept with a warning: another program may read the file as well.
    pub(crate) fn keep_unknown(&mut self) {
        self.keeps_unknown = true;
    }

    /// A key that nobody knows.
    pub(crate) fn unknown_key(&mut self, span: Range<usize>, message: String, help: Option<String>) {
        let severity = if self.keeps_unknown { Severity::Warning } else { Severity::Error };
        self.push(severity, span, message, help);
    }

    /// Whether an error was found.
    pub(crate) fn failed(&self) -> bool {
        self.failed
    }

    /// Whether nothing more is kept.
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() >= DIAGNOSTICS_MAX
    }

    /// Line and column, both from 1, of a byte.
    pub(crate) fn position(&mut self, at: usize) -> (usize, usize) {
        let starts = self.line_starts.get_or_insert_with(|| line_starts(self.text));
        let line = starts.partition_point(|start| *start <= at).max(1);
        let start = starts.get(line - 1).copied().unwrap_or(0);
        (line, 1 + column_of(self.text, start, at))
    }

    fn push(&mut self, severity: Severity, span: Range<usize>, message: String, help: Option<String>) {
        self.failed |= severity == Severity::Error;
        if self.list.len() >= DIAGNOSTICS_MAX {
            // The error that makes the value absent must be among those that are kept.
            if severity == Severity::Warning || self.list.iter().any(|d| d.severity == Severity::Error) {
                return;
            }
            self.list.pop();
        }
        let (line, column) = self.position(span.start);
        self.list.push(Diagnostic {
            severity,
            path: self.path.to_owned(),
            line,
            column,
            span,
            message,
            help,
        });
    }

    pub(crate) fn into_list(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|d| (d.line, d.column));
        self.list
    }

    /// Puts the value and the findings together.
    pub(crate) fn finish<T>(mut self, value: Option<T>) -> Read<T> {
        if value.is_none() && !self.failed {
            self.error(0..0, "the file could not be read");
        }
        let value = if self.failed { None } else { value };
        Read { value, diagnostics: self.into_list() }
    }
}

fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0)
        .chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1))
        .collect()
}

/// Characters between `start` and `at`; a byte order mark is not a character anybody sees.
fn column_of(text: &str, start: usize, at: usize) -> usize {
    let at = floor(text, at);
    text.get(start..at).map_or(0, |s| s.chars().filter(|c| *c != '\u{feff}').count())
}

/// The nearest character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The word of `known` that was probably meant.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const WORD_BYTES_MAX: usize = 64;
    if word.is_empty() || word.len() > WORD_BYTES_MAX {
        return None;
    }
    let lower = word.to_lowercase();
    let distance_max = (word.chars().count() / 3).clamp(1, 3);
    known
        .into_iter()
        .filter(|k| k.len() <= WORD_BYTES_MAX)
        .map(|k| (strsim::damerau_levenshtein(&lower, &k.to_lowercase()), k))
        .filter(|(distance, k)| *distance <= distance_max && *distance < k.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, k)| k)
}

/// The help line for a word that is not known.
pub(crate) fn suggest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    did_you_mean(word, known).map(|k| format!("did you mean `{k}`?"))
}

/// The finding as people read it: message, place, the line with carets, help. `source` is the file's text.
pub fn render(d: &Diagnostic, source: Option<&str>, color: bool) -> String {
    let paint = |code: &str, text: &str| {
        if color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    };
    let (word, code) = match d.severity {
        Severity::Error => ("error", "1;31"),
        Severity::Warning => ("warning", "1;33"),
    };
    let gutter = d.line.to_string().len();
    let bar = paint("1;34", "|");
    let mut out = format!("{}{}\n", paint(code, word), paint("1", &format!(": {}", visible(&d.message))));
    let _ =
        writeln!(out, "{:gutter$}{} {}:{}:{}", "", paint("1;34", "-->"), visible(&d.path), d.line, d.column);
    if let Some(line) = source.and_then(|s| s.split('\n').nth(d.line.saturating_sub(1))) {
        let (shown, skipped) =
            window(line.trim_end_matches('\r').trim_start_matches('\u{feff}'), d.column - 1);
        let before: String = shown.chars().take(d.column - 1 - skipped).map(blank).collect();
        let room = shown.chars().count().saturating_sub(d.column - 1 - skipped).max(1);
        let width = source.and_then(|s| s.get(d.span.clone())).map_or(1, first_line_width).clamp(1, room);
        let number = paint("1;34", &d.line.to_string());
        let _ = writeln!(out, "{:gutter$} {bar}", "");
        let _ = writeln!(out, "{number} {bar} {}", visible(&shown));
        let _ = writeln!(out, "{:gutter$} {bar} {before}{}", "", paint(code, &"^".repeat(width)));
    }
    if let Some(help) = &d.help {
        let _ = writeln!(out, "{:gutter$} {} {}", "", paint("1;34", "="), visible(&format!("help: {help}")));
    }
    out
}

fn first_line_width(text: &str) -> usize {
    text.lines().next().map_or(1, |l| l.chars().count())
}

fn blank(c: char) -> char {
    if c == '\t' { '\t' } else { ' ' }
}

/// A part of a very long line around a column, and how many characters were left out before it.
fn window(line: &str, column: usize) -> (String, usize) {
    const WIDTH_MAX: usize = 160;
    let skipped = column.saturating_sub(WIDTH_MAX / 2);
    let skipped = if line.chars().nth(WIDTH_MAX).is_some() { skipped } else { 0 };
    (line.chars().skip(skipped).take(WIDTH_MAX).collect(), skipped)
}

/// A file's text must not steer the terminal it is shown on.
fn visible(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_shows_the_place_and_the_help() {
        let source = "id: a\nmodle: x\n";
        let mut notes = Notes::new("agents/a.agent.yaml", source);
        notes.error_with(6..11, "unknown key `modle`", suggest("modle", ["model", "id"]));
        let list = notes.into_list();
        assert_eq!(
            render(&list[0], Some(source), false),
            "error: unknown key `modle`\n --> agents/a.agent.yaml:2:1\n  |\n2 | modle: x\n  | ^^^^^\n  = help: did you mean `model`?\n"
        );
    }

    #[test]
    fn a_suggestion_is_near() {
        assert_eq!(did_you_mean("desciption", ["description", "id"]), Some("description"));
        assert_eq!(did_you_mean("TYPE", ["type"]), Some("type"));
        assert_eq!(did_you_mean("xy", ["id", "model"]), None);
        assert_eq!(did_you_mean("", ["id"]), None);
    }
}
