//! YAML as a small tree with byte spans. Anchors, aliases, tags, second documents and duplicate keys are
//! refused: a file of a home says what it says in one place.

use std::collections::HashSet;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use crate::diagnostic::Notes;

/// The longest text that is parsed.
pub const TEXT_BYTES_MAX: usize = 64 << 20;
/// The deepest nesting.
pub const DEPTH_MAX: usize = 64;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The bytes of the value; of a block collection, from its first key or dash to the end of its last
    /// value; of a `|` block, its lines without the `|`.
    pub span: Range<usize>,
    /// The line it starts on, from 1.
    pub line: usize,
    /// What it is.
    pub kind: Kind,
}

/// The three shapes of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A word, a number, a text.
    Scalar {
        /// The value with quotes, escapes and indentation taken off.
        text: String,
        /// Without quotes: only such a scalar can be a number, a boolean or nothing at all.
        plain: bool,
    },
    /// `- a` or `[a]`.
    List {
        /// The items.
        items: Vec<Node>,
        /// In brackets.
        flow: bool,
    },
    /// `a: b` or `{a: b}`.
    Map {
        /// The entries in the order of the file; no key occurs twice.
        entries: Vec<Entry>,
        /// In braces.
        flow: bool,
    },
}

/// One key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The bytes of the key.
    pub key_span: Range<usize>,
    /// The value.
    pub value: Node,
}

impl Node {
    /// Nothing: absent, `~` or `null`.
    pub fn is_null(&self) -> bool {
        matches!(&self.kind, Kind::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null"))
    }

    /// The text of a scalar that is not nothing.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar { text, .. } if !self.is_null() => Some(text),
            Kind::Scalar { .. } | Kind::List { .. } | Kind::Map { .. } => None,
        }
    }

    /// `true` or `false`, without quotes, and no other word.
    pub fn bool(&self) -> Option<bool> {
        match &self.kind {
            Kind::Scalar { text, plain: true } => text.parse().ok(),
            Kind::Scalar { .. } | Kind::List { .. } | Kind::Map { .. } => None,
        }
    }

    /// A whole number, written in digits without quotes.
    pub fn int(&self) -> Option<u64> {
        match &self.kind {
            Kind::Scalar { text, plain: true } if text.bytes().all(|b| b.is_ascii_digit()) => {
                text.parse().ok()
            }
            Kind::Scalar { .. } | Kind::List { .. } | Kind::Map { .. } => None,
        }
    }

    /// A finite number without quotes.
    pub fn number(&self) -> Option<f64> {
        match &self.kind {
            Kind::Scalar { text, plain: true } if is_number(text) => text.parse().ok(),
            Kind::Scalar { .. } | Kind::List { .. } | Kind::Map { .. } => None,
        }
    }

    /// The items of a list; none for anything else.
    pub fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::List { items, .. } => items,
            Kind::Scalar { .. } | Kind::Map { .. } => &[],
        }
    }

    /// The entries of a map; none for anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.kind {
            Kind::Map { entries, .. } => entries,
            Kind::Scalar { .. } | Kind::List { .. } => &[],
        }
    }

    /// The value of a key, if it is there and not nothing.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|e| &e.value).filter(|v| !v.is_null())
    }

    /// The entry of a key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|e| e.key == key)
    }

    /// The texts of a list's scalars.
    pub fn texts(&self) -> Vec<String> {
        self.items().iter().filter_map(Node::text).map(str::to_owned).collect()
    }

    /// The value as JSON, by the core schema of YAML 1.2.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value;
        match &self.kind {
            Kind::Scalar { .. } if self.is_null() => Value::Null,
            Kind::Scalar { text, .. } => {
                let as_bool = self.bool().map(Value::Bool);
                let as_int = || self.int().map(Value::from);
                let as_number = || self.number().and_then(|n| parse_number(text, n));
                as_bool.or_else(as_int).or_else(as_number).unwrap_or_else(|| Value::String(text.clone()))
            }
            Kind::List { items, .. } => Value::Array(items.iter().map(Node::to_json).collect()),
            Kind::Map { entries, .. } => {
                Value::Object(entries.iter().map(|e| (e.key.clone(), e.value.to_json())).collect())
            }
        }
    }
}

fn parse_number(text: &str, number: f64) -> Option<serde_json::Value> {
    let whole = text.parse::<i64>().ok().map(serde_json::Value::from);
    whole.or_else(|| serde_json::Number::from_f64(number).map(serde_json::Value::Number))
}

/// `-?digits[.digits][e[+-]digits]`: what YAML and JSON agree on.
fn is_number(text: &str) -> bool {
    const NUMBER_BYTES_MAX: usize = 64;
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    text.len() <= NUMBER_BYTES_MAX
        && digits.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'))
        && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Parses one document. `None` if and only if an error was noted. An empty text is nothing (null).
pub(crate) fn parse(text: &str, notes: &mut Notes<'_>) -> Option<Node> {
    if text.len() > TEXT_BYTES_MAX {
        notes.error(0..0, format!("the file has {} bytes, at most {TEXT_BYTES_MAX} are read", text.len()));
        return None;
    }
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let offsets = Offsets::new(body, text.len() - body.len());
    let mut builder = Builder { offsets, notes, stack: Vec::new(), root: None, documents: 0 };
    for event in Parser::new_from_str(body) {
        let (event, span) = match event {
            Ok(pair) => pair,
            Err(error) => {
                let at = builder.offsets.byte(error.marker().index());
                builder.notes.error(at..at, error.info().to_lowercase());
                return None;
            }
        };
        builder.take(event, span)?;
    }
    let end = text.len();
    let empty = || Node { span: end..end, line: 1, kind: Kind::Scalar { text: String::new(), plain: true } };
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
                let plain = style == ScalarStyle::Plain;
                let range = self.offsets.quoted(range, style);
                self.put(range, span.start.line(), Kind::Scalar { text: value.into_owned(), plain })
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
        let end = if open.flow { range.end } else { open.end };
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

/// A YAML text as JSON; `None` if it does not parse.
pub fn to_json(text: &str) -> Option<serde_json::Value> {
    parse(text, &mut Notes::new("", text)).map(|root| root.to_json())
}
