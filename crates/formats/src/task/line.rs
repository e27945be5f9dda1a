//! One line of a task file: what it looks like, whatever stands around it.

use std::ops::Range;

/// A line with its place in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// Without its end.
    pub(super) text: &'a str,
    /// Where it starts.
    pub(super) start: usize,
    /// Where the next one starts.
    pub(super) next: usize,
    /// From 1.
    pub(super) number: usize,
}

impl<'a> Line<'a> {
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The white space that the line starts with; a no-break space counts, people paste it.
    pub(super) fn indent(&self) -> &'a str {
        indent_of(self.text)
    }

    pub(super) fn width(&self) -> usize {
        width(self.indent())
    }

    /// The line behind its indent.
    pub(super) fn body(&self) -> &'a str {
        &self.text[self.indent().len()..]
    }
}

/// All lines of a text. A byte order mark is no part of the first.
pub(super) fn lines(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut start = text.len() - text.trim_start_matches('\u{feff}').len();
    for (index, piece) in text[start..].split_inclusive('\n').enumerate() {
        let bare = piece.strip_suffix('\n').unwrap_or(piece);
        let bare = bare.strip_suffix('\r').unwrap_or(bare);
        lines.push(Line { text: bare, start, next: start + piece.len(), number: index + 1 });
        start += piece.len();
    }
    lines
}

/// The white space that a text starts with.
pub(super) fn indent_of(text: &str) -> &str {
    &text[..text.len() - text.trim_start_matches([' ', '\t', '\u{a0}']).len()]
}

/// Columns of an indent; a tab goes to the next multiple of four.
pub(super) fn width(indent: &str) -> usize {
    indent.chars().fold(0, advance)
}

fn advance(column: usize, c: char) -> usize {
    const TAB: usize = 4;
    if c == '\t' { (column / TAB + 1) * TAB } else { column + 1 }
}

/// A text without its first `columns` of white space.
pub(super) fn unindent(text: &str, columns: usize) -> &str {
    let mut column = 0;
    for (at, c) in text.char_indices() {
        if !matches!(c, ' ' | '\t') || column >= columns {
            return &text[at..];
        }
        column = advance(column, c);
    }
    ""
}

/// The fence that a line opens, if it does: its character and length.
pub(super) fn fence(body: &str) -> Option<(char, usize)> {
    let c = body.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = body.chars().take_while(|x| *x == c).count();
    // A line such as ```` ```a``` ```` is code inside a line.
    let inline = c == '`' && body[length..].contains('`');
    (length >= 3 && !inline).then_some((c, length))
}

/// A line that looks like a task.
pub(super) struct Box<'a> {
    /// What stands between the brackets, and where in the body.
    pub(super) mark: &'a str,
    pub(super) mark_span: Range<usize>,
    /// Where the rest starts in the body.
    pub(super) rest: usize,
}

/// `- [x] …`: a bullet, a box with at most three characters, then white space or nothing.
pub(super) fn task_box(body: &str) -> Option<Box<'_>> {
    const MARK_CHARS_MAX: usize = 3;
    let after_bullet = body.strip_prefix(['-', '*', '+'])?;
    let trimmed = after_bullet.trim_start_matches([' ', '\t', '\u{a0}']);
    if trimmed.len() == after_bullet.len() {
        return None;
    }
    let inner = trimmed.strip_prefix('[')?;
    let start = body.len() - inner.len();
    let close = inner.char_indices().take(MARK_CHARS_MAX + 1).find(|(_, c)| *c == ']')?.0;
    let rest = &inner[close + 1..];
    if !(rest.is_empty() || rest.starts_with([' ', '\t', '\u{a0}'])) {
        return None;
    }
    Some(Box { mark: &inner[..close], mark_span: start..start + close, rest: start + close + 1 })
}

/// `key: value` or `- key: value` in a body: the key's and the value's place.
pub(super) fn property(body: &str) -> Option<(Range<usize>, Range<usize>)> {
    let bulleted = body.strip_prefix(['-', '*', '+']).filter(|r| r.starts_with([' ', '\t']));
    let rest = bulleted.map_or(body, |r| r.trim_start_matches([' ', '\t']));
    let start = body.len() - rest.len();
    let length = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')).count();
    if length == 0 || !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return None;
    }
    let value = rest[length..].strip_prefix(':')?;
    if !(value.is_empty() || value.starts_with([' ', '\t'])) {
        return None;
    }
    Some((start..start + length, body.len() - value.len()..body.len()))
}

/// `|`, `|2`, `|-`: a block follows; its explicit indent, if it has one.
pub(super) fn block(value: &str) -> Option<Option<usize>> {
    let rest = value.strip_prefix('|')?;
    let digit = rest.chars().find(char::is_ascii_digit).and_then(|c| c.to_digit(10)).filter(|d| *d > 0);
    let known = rest.len() <= 2 && rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '+'));
    known.then_some(digit.map(|d| d as usize))
}
