//! From the parser's events to the tree.

use std::collections::HashSet;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::{DEPTH_MAX, Entry, Kind, Node, Style, TEXT_BYTES_MAX};
use crate::diagnostic::Notes;

/// Parses one document. `None` if and only if an error was noted. An empty text is nothing (null).
pub(crate) fn parse(text: &str, notes: &mut Notes<'_>) -> Option<Node> {
    if text.len() > TEXT_BYTES_MAX {
        notes.error(0..0, format!("the file has {} bytes, at most {TEXT_BYTES_MAX} are read", text.len()));
        return None;
    }
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(at) = body.find('\u{feff}') {
        let at = at + text.len() - body.len();
        let help = Some("delete the invisible character, or write `\\ufeff` in double quotes".to_owned());
        notes.error_with(at..at + '\u{feff}'.len_utf8(), "a byte order mark stands inside the file", help);
        return None;
    }
    let offsets = Offsets::new(body, text.len() - body.len());
    let mut builder = Builder { offsets, notes, stack: Vec::new(), root: None, documents: 0 };
    for event in Parser::new_from_str(body) {
        let (event, span) = match event {
            Ok(pair) => pair,
            Err(error) => {
                let at = builder.offsets.byte(error.marker().index());
                let message = match error.info() {
                    // The parser's own limit comes before ours when nothing but brackets was seen.
                    "recursion limit exceeded" => format!("the file is nested more than {DEPTH_MAX} deep"),
                    info => info.to_lowercase(),
                };
                builder.notes.error(at..at, message);
                return None;
            }
        };
        builder.take(event, span)?;
    }
    let end = text.len();
    let kind = || Kind::Scalar { text: String::new(), style: Style::Plain };
    let empty = || Node { span: end..end, line: 1, kind: kind() };
    Some(builder.root.unwrap_or_else(empty))
}

/// A collection that is not closed yet.
struct Open {
    start: usize,
    end: usize,
    line: usize,
    flow: bool,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, seen: HashSet<String>, key: Option<(String, Range<usize>)> },
}

struct Builder<'n, 't, 'a> {
    offsets: Offsets<'t>,
    notes: &'n mut Notes<'a>,
    stack: Vec<Open>,
    root: Option<Node>,
    documents: usize,
}

impl Builder<'_, '_, '_> {
    /// `None` after an error that ends the parse.
    fn take(&mut self, event: Event<'_>, span: Span) -> Option<()> {
        let range = self.offsets.byte(span.start.index())..self.offsets.byte(span.end.index());
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Some(()),
            Event::DocumentStart(_) => {
                self.documents += 1;
                self.refuse_if(self.documents > 1, range, "a second document in one file")
            }
            Event::Alias(_) => self.refuse_if(true, range, "an alias (`*name`) is not read here"),
            Event::Scalar(value, style, anchor, tag) => {
                self.refuse_if(anchor != 0, range.clone(), "an anchor (`&name`) is not read here")?;
                self.refuse_if(tag.is_some(), range.clone(), "a tag (`!name`) is not read here")?;
                let range = self.offsets.quoted(range, style);
                let style = match style {
                    ScalarStyle::Plain => Style::Plain,
                    ScalarStyle::SingleQuoted => Style::Single,
                    ScalarStyle::DoubleQuoted => Style::Double,
                    ScalarStyle::Literal => Style::Literal,
                    ScalarStyle::Folded => Style::Folded,
                };
                self.put(range, span.start.line(), Kind::Scalar { text: value.into_owned(), style })
            }
            Event::SequenceStart(anchor, tag) => {
                self.open(range, span.start.line(), anchor != 0, tag.is_some(), OpenKind::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                let kind = OpenKind::Map { entries: Vec::new(), seen: HashSet::new(), key: None };
                self.open(range, span.start.line(), anchor != 0, tag.is_some(), kind)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(range),
        }
    }

    fn refuse_if(&mut self, refused: bool, span: Range<usize>, why: &str) -> Option<()> {
        if refused {
            self.notes.error_with(
                span,
                why,
                Some("write the value itself".to_owned()).filter(|_| why.contains("is not read")),
            );
            return None;
        }
        Some(())
    }

    fn open(
        &mut self,
        range: Range<usize>,
        line: usize,
        anchor: bool,
        tag: bool,
        kind: OpenKind,
    ) -> Option<()> {
        self.refuse_if(anchor, range.clone(), "an anchor (`&name`) is not read here")?;
        self.refuse_if(tag, range.clone(), "a tag (`!name`) is not read here")?;
        if let Some(Open { kind: OpenKind::Map { key: None, .. }, .. }) = self.stack.last() {
            return self.refuse_if(true, range, "a key must be a word");
        }
        if self.stack.len() >= DEPTH_MAX {
            self.notes.error(range, format!("the file is nested more than {DEPTH_MAX} deep"));
            return None;
        }
        let first = self.offsets.text.as_bytes().get(range.start - self.offsets.shift);
        let flow = !range.is_empty() && matches!(first, Some(b'[' | b'{'));
        self.stack.push(Open { start: range.start, end: range.start, line, flow, kind });
        Some(())
    }

    fn close(&mut self, range: Range<usize>) -> Option<()> {
        let open = self.stack.pop()?;
        // The parser counts white space and comments behind the bracket to it.
        let end = if open.flow { range.start + 1 } else { open.end };
        let start = open.start;
        let flow = open.flow;
        let kind = match open.kind {
            OpenKind::List(items) => Kind::List { items, flow },
            OpenKind::Map { entries, .. } => Kind::Map { entries, flow },
        };
        self.put(start..end.max(start), open.line, kind)
    }

    fn put(&mut self, span: Range<usize>, line: usize, kind: Kind) -> Option<()> {
        let node = Node { span: span.clone(), line, kind };
        let Some(parent) = self.stack.last_mut() else {
            self.root = Some(node);
            return Some(());
        };
        parent.end = parent.end.max(span.end);
        match &mut parent.kind {
            OpenKind::List(items) => items.push(node),
            OpenKind::Map { entries, seen, key } => match (key.take(), node.kind) {
                (Some((name, key_span)), kind) => {
                    entries.push(Entry { key: name, key_span, value: Node { span, line, kind } });
                }
                (None, Kind::Scalar { text, .. }) => {
                    if !seen.insert(text.clone()) {
                        self.notes.error(span, format!("the key `{text}` stands here a second time"));
                        return None;
                    }
                    *key = Some((text, span));
                }
                (None, Kind::List { .. } | Kind::Map { .. }) => {
                    self.notes.error(span, "a key must be a word");
                    return None;
                }
            },
        }
        Some(())
    }
}

/// The parser counts characters, spans are bytes: a checkpoint every few characters turns one into the other.
struct Offsets<'a> {
    text: &'a str,
    shift: usize,
    checkpoints: Vec<usize>,
}

const CHECKPOINT_CHARS: usize = 64;

impl<'a> Offsets<'a> {
    fn new(text: &'a str, shift: usize) -> Self {
        let checkpoints = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices().step_by(CHECKPOINT_CHARS).map(|(i, _)| i).collect()
        };
        Self { text, shift, checkpoints }
    }

    /// The parser counts white space and comments behind a closing quote to the value; the value ends before.
    fn quoted(&self, range: Range<usize>, style: ScalarStyle) -> Range<usize> {
        let (start, end) = (range.start - self.shift, range.end - self.shift);
        let bytes = self.text.as_bytes().get(start..end).unwrap_or_default();
        let mut at = 1;
        while let Some(byte) = bytes.get(at) {
            match (style, byte) {
                (ScalarStyle::SingleQuoted, b'\'') if bytes.get(at + 1) == Some(&b'\'') => at += 2,
                (ScalarStyle::DoubleQuoted, b'\\') => at += 2,
                (ScalarStyle::SingleQuoted, b'\'') | (ScalarStyle::DoubleQuoted, b'"') => {
                    return range.start..range.start + at + 1;
                }
                (ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted, _) => at += 1,
                (ScalarStyle::Plain | ScalarStyle::Literal | ScalarStyle::Folded, _) => return range,
            }
        }
        range
    }

    fn byte(&self, index: usize) -> usize {
        if self.checkpoints.is_empty() {
            return self.shift + index.min(self.text.len());
        }
        let from = self.checkpoints.get(index / CHECKPOINT_CHARS).copied();
        let Some(from) = from else { return self.shift + self.text.len() };
        let mut rest = self.text[from..].char_indices();
        let within = rest.nth(index % CHECKPOINT_CHARS).map_or(self.text.len() - from, |(i, _)| i);
        self.shift + from + within
    }
}
