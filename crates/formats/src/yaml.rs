//! YAML as a small tree with byte spans. Anchors, aliases, tags, second documents and duplicate keys are
//! refused: a file of a home says what it says in one place.

mod build;

use std::ops::Range;

use crate::diagnostic::Notes;

pub(crate) use build::parse;

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
        /// How it is written.
        style: Style,
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

/// How a scalar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without quotes: only such a scalar can be a number, a boolean or nothing at all.
    Plain,
    /// `'a'`
    Single,
    /// `"a"`
    Double,
    /// `|` and lines.
    Literal,
    /// `>` and lines.
    Folded,
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
        matches!(&self.kind, Kind::Scalar { text, style: Style::Plain } if matches!(text.as_str(), "" | "~" | "null"))
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
            Kind::Scalar { text, style: Style::Plain } => text.parse().ok(),
            Kind::Scalar { .. } | Kind::List { .. } | Kind::Map { .. } => None,
        }
    }

    /// A whole number, written in digits without quotes.
    pub fn int(&self) -> Option<u64> {
        match &self.kind {
            Kind::Scalar { text, style: Style::Plain } if text.bytes().all(|b| b.is_ascii_digit()) => {
                text.parse().ok()
            }
            Kind::Scalar { .. } | Kind::List { .. } | Kind::Map { .. } => None,
        }
    }

    /// A finite number without quotes.
    pub fn number(&self) -> Option<f64> {
        match &self.kind {
            Kind::Scalar { text, style: Style::Plain } if is_number(text) => text.parse().ok(),
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

    /// The text of a key.
    pub fn get_text(&self, key: &str) -> Option<String> {
        self.get(key).and_then(Node::text).map(str::to_owned)
    }

    /// The texts of a key's list.
    pub fn get_texts(&self, key: &str) -> Option<Vec<String>> {
        self.get(key).map(Node::texts)
    }

    /// The whole number of a key, if it is not too great.
    pub fn get_int(&self, key: &str) -> Option<u32> {
        self.get(key).and_then(Node::int).and_then(|n| u32::try_from(n).ok())
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

/// A YAML text as JSON; `None` if it does not parse.
pub fn to_json(text: &str) -> Option<serde_json::Value> {
    parse(text, &mut Notes::new("", text)).map(|root| root.to_json())
}
