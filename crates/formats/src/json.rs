//! JSON into the same tree as YAML, with lines that are comments (`// …`). `serde_json` says whether the text is JSON at
//! all; this walk only adds the positions, so it may assume a valid text and never has to explain one.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::diagnostic::Notes;
use crate::yaml::{DEPTH_MAX, Entry, Kind, Node, Style, TEXT_BYTES_MAX};

/// Parses a JSON text. `None` if and only if an error was noted.
pub(crate) fn parse(text: &str, notes: &mut Notes<'_>) -> Option<Node> {
    if text.len() > TEXT_BYTES_MAX {
        notes.error(0..0, format!("the file has {} bytes, at most {TEXT_BYTES_MAX} are read", text.len()));
        return None;
    }
    let text = &*without_comments(text);
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let shift = text.len() - body.len();
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(body) {
        let start =
            body.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
        let at = shift + (start + error.column().saturating_sub(1)).min(body.len());
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or("not JSON").to_lowercase();
        notes.error(at..at, message);
        return None;
    }
    let mut walk = Walk { text, at: shift, line: 1, notes };
    walk.value(0)
}

/// The text with blanks in place of comments, so that every other byte stays where it is. No text of JSON goes over the end
/// of a line, so a line that begins with `//` is a comment.
fn without_comments(text: &str) -> Cow<'_, str> {
    let is_comment = |line: &str| line.trim_start().starts_with("//");
    if !text.lines().any(is_comment) {
        return Cow::Borrowed(text);
    }
    let blank = |line: &str| line.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }).collect::<String>();
    let lines = text.split_inclusive('\n');
    Cow::Owned(lines.map(|line| if is_comment(line) { blank(line) } else { line.to_owned() }).collect())
}

struct Walk<'t, 'n, 'a> {
    text: &'t str,
    at: usize,
    line: usize,
    notes: &'n mut Notes<'a>,
}

impl Walk<'_, '_, '_> {
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(b' ')
    }

    fn space(&mut self) {
        while let Some(b) = self.text.as_bytes().get(self.at).filter(|b| b.is_ascii_whitespace()) {
            self.line += usize::from(*b == b'\n');
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        self.space();
        let (start, line) = (self.at, self.line);
        if depth > DEPTH_MAX {
            self.notes.error(start..start, format!("the file is nested more than {DEPTH_MAX} deep"));
            return None;
        }
        let kind = match self.peek() {
            b'{' => self.map(depth)?,
            b'[' => self.list(depth)?,
            b'"' => Kind::Scalar { text: self.string()?, style: Style::Double },
            _ => {
                let rest = self.text.as_bytes().get(start..)?;
                self.at +=
                    rest.iter().take_while(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b)).count();
                Kind::Scalar { text: self.text.get(start..self.at)?.to_owned(), style: Style::Plain }
            }
        };
        Some(Node { span: start..self.at, line, kind })
    }

    fn map(&mut self, depth: usize) -> Option<Kind> {
        let (mut entries, mut seen) = (Vec::new(), HashSet::new());
        self.at += 1;
        loop {
            self.space();
            match self.peek() {
                b'}' => break,
                b',' => self.at += 1,
                _ => {
                    let start = self.at;
                    let key = self.string()?;
                    let key_span = start..self.at;
                    if !seen.insert(key.clone()) {
                        self.notes.error(key_span, format!("the key `{key}` stands here a second time"));
                        return None;
                    }
                    self.space();
                    self.at += 1;
                    entries.push(Entry { key, key_span, value: self.value(depth + 1)? });
                }
            }
        }
        self.at += 1;
        Some(Kind::Map { entries, flow: true })
    }

    fn list(&mut self, depth: usize) -> Option<Kind> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.space();
            match self.peek() {
                b']' => break,
                b',' => self.at += 1,
                _ => items.push(self.value(depth + 1)?),
            }
        }
        self.at += 1;
        Some(Kind::List { items, flow: true })
    }

    fn string(&mut self) -> Option<String> {
        let rest = self.text.as_bytes().get(self.at + 1..)?;
        let mut length = 0;
        while *rest.get(length)? != b'"' {
            length += if rest[length] == b'\\' { 2 } else { 1 };
        }
        let end = self.at + length + 2;
        let text = serde_json::from_str(self.text.get(self.at..end)?).ok();
        self.at = end;
        text
    }
}
