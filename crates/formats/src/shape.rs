//! What a file may say, as a table. One table feeds the check of keys and values and the JSON Schema, so the
//! two cannot differ.

use serde_json::{Value, json};

use crate::diagnostic::{Notes, suggest};
use crate::time;
use crate::yaml::{Kind, Node};

/// The shape of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Any scalar but nothing; numbers and booleans count as the text they are written as.
    Text,
    /// `[a-z][a-z0-9-]{0,62}`.
    Id,
    /// `true` or `false`.
    Bool,
    /// A whole number between both, inclusive.
    Int(u64, u64),
    /// A number between both, inclusive.
    Number(f64, f64),
    /// RFC 3339.
    Time,
    /// `24h`, `500ms` or milliseconds.
    Duration,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Anything.
    Any,
    /// A list of such values.
    List(&'static Shape),
    /// Free keys, each with such a value.
    Map(&'static Shape),
    /// Known keys.
    Record(&'static [Key]),
    /// Known keys beside free ones.
    Open(&'static [Key]),
    /// Known keys that depend on the word under the first key: the key, then each word with all its keys.
    Kinds(&'static str, &'static [(&'static str, &'static [Key])]),
    /// Known keys that say where a secret is. A secret itself is refused without being shown.
    Place(&'static [Key]),
    /// The first whose kind (scalar, list, map) fits.
    Either(&'static [Shape]),
}

/// One key of a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
    pub(crate) doc: &'static str,
}

pub(crate) const fn must(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, required: true, doc }
}

pub(crate) const fn may(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, required: false, doc }
}

pub(crate) const TEXTS: Shape = Shape::List(&Shape::Text);
pub(crate) const COUNT: Shape = Shape::Int(1, u32::MAX as u64);

/// What an alias stands for.
pub(crate) const MODEL: Shape = Shape::Record(&[
    must("provider", Shape::Text, "a name of `providers`"),
    must("model", Shape::Text, "the model's name there"),
    may("context_tokens", Shape::Int(0, INT_MAX), "tokens that its window holds; 0 or left out: 128000"),
    may(
        "max_tokens",
        Shape::Int(1, u32::MAX as u64),
        "tokens of its longest answer; left out: the limit of the family for Anthropic's models",
    ),
]);

/// JSON numbers are exact up to here.
pub(crate) const INT_MAX: u64 = (1 << 53) - 1;

impl Shape {
    /// Notes everything in `node` that does not fit.
    pub(crate) fn check(&self, node: &Node, notes: &mut Notes<'_>) {
        match self {
            Self::Any => {}
            // If none takes it, the one for this kind of node says best what is wrong.
            Self::Either(shapes) => {
                match shapes.iter().find(|s| s.takes(node)).or(shapes.iter().find(|s| s.is_for(node))) {
                    Some(shape) => shape.check(node, notes),
                    None => self.refuse(node, notes, None),
                }
            }
            Self::Record(keys) | Self::Open(keys) => self.check_record(keys, node, notes),
            Self::Kinds(tag, kinds) => self.check_kinds(tag, kinds, node, notes),
            Self::Place(keys) => self.check_place(keys, node, notes),
            Self::List(shape) => match &node.kind {
                Kind::List { items, .. } => items.iter().for_each(|i| shape.check(i, notes)),
                Kind::Scalar { .. } | Kind::Map { .. } => self.refuse(node, notes, None),
            },
            Self::Map(shape) => match &node.kind {
                Kind::Map { entries, .. } => entries.iter().for_each(|e| shape.check(&e.value, notes)),
                Kind::Scalar { .. } | Kind::List { .. } => self.refuse(node, notes, None),
            },
            Self::Id => match node.text().filter(|_| node.bool().is_none()).map(domain::id::check) {
                Some(Ok(())) => {}
                Some(Err(bad)) => notes.error(node.span.clone(), bad.to_string()),
                None => self.refuse(node, notes, None),
            },
            Self::Word(words) => {
                if !self.takes(node) {
                    let help = node.text().and_then(|t| suggest(t, words.iter().copied()));
                    self.refuse(node, notes, help);
                }
            }
            Self::Text | Self::Bool | Self::Int(..) | Self::Number(..) | Self::Time | Self::Duration => {
                if !self.takes(node) {
                    self.refuse(node, notes, self.hint(node));
                }
            }
        }
    }

    fn check_record(&self, keys: &[Key], node: &Node, notes: &mut Notes<'_>) {
        let Kind::Map { entries, .. } = &node.kind else { return self.refuse(node, notes, None) };
        for entry in entries {
            match keys.iter().find(|k| k.name == entry.key) {
                Some(key) if entry.value.is_null() && !key.required => {}
                Some(key) => key.shape.check(&entry.value, notes),
                None if matches!(self, Self::Open(_)) => {}
                None => {
                    let help = suggest(&entry.key, keys.iter().map(|k| k.name));
                    let known = || format!("known keys: {}", names(keys));
                    let message = format!("unknown key `{}`", entry.key);
                    notes.unknown_key(entry.key_span.clone(), message, help.or_else(|| Some(known())));
                }
            }
        }
        for key in keys.iter().filter(|k| k.required && node.entry(k.name).is_none()) {
            let at = node.span.start..node.span.start;
            notes.error_with(at, format!("the key `{}` is missing", key.name), Some(key.doc.to_owned()));
        }
    }

    fn check_kinds(
        &self,
        tag: &str,
        kinds: &[(&'static str, &'static [Key])],
        node: &Node,
        notes: &mut Notes<'_>,
    ) {
        if !matches!(node.kind, Kind::Map { .. }) {
            return self.refuse(node, notes, None);
        }
        let words = || kinds.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        let Some(given) = node.get(tag) else {
            let at = node.span.start..node.span.start;
            let help = Some(format!("one of {}", words()));
            return notes.error_with(at, format!("the key `{tag}` is missing"), help);
        };
        match kinds.iter().find(|(word, _)| given.text() == Some(word)) {
            Some((_, keys)) => self.check_record(keys, node, notes),
            None => {
                let found = given.text().unwrap_or("something else");
                let help = suggest(found, kinds.iter().map(|(word, _)| *word));
                let message = format!("expected one of {}, found `{found}`", words());
                notes.error_with(given.span.clone(), message, help);
            }
        }
    }

    /// A complaint about a secret must not point at it: the line would be shown.
    fn check_place(&self, keys: &[Key], node: &Node, notes: &mut Notes<'_>) {
        let line = notes.position(node.span.start).0;
        let places = names(keys);
        let given = match &node.kind {
            Kind::Map { entries, .. } => entries.iter().filter(|e| keys.iter().any(|k| k.name == e.key)),
            Kind::Scalar { .. } | Kind::List { .. } => {
                let message = format!("line {line}: a secret does not belong into a file of the home");
                let help = format!("say where it is, with one of {places}: `{{{}: NAME}}`", keys[0].name);
                return notes.error_with(0..0, message, Some(help));
            }
        };
        if given.count() != 1 {
            let message = format!("line {line}: expected exactly one of {places}");
            return notes.error_with(0..0, message, None);
        }
        self.check_record(keys, node, notes);
    }

    /// Whether the value itself fits; of collections and either, whether the kind does.
    fn takes(&self, node: &Node) -> bool {
        match self {
            Self::Any => true,
            Self::Text => node.text().is_some(),
            Self::Id => node.text().is_some() && node.bool().is_none(),
            Self::Bool => node.bool().is_some(),
            Self::Int(least, greatest) => node.int().is_some_and(|n| (*least..=*greatest).contains(&n)),
            Self::Number(least, greatest) => node.number().is_some_and(|n| (*least..=*greatest).contains(&n)),
            Self::Time => node.text().is_some_and(|t| time::parse(t).is_some()),
            Self::Duration => node.text().is_some_and(|t| time::parse_duration(t).is_some()),
            Self::Word(words) => node.text().is_some_and(|t| words.contains(&t)),
            Self::List(_) => matches!(node.kind, Kind::List { .. }),
            Self::Map(_) | Self::Record(_) | Self::Open(_) | Self::Kinds(..) | Self::Place(_) => {
                matches!(node.kind, Kind::Map { .. })
            }
            Self::Either(shapes) => shapes.iter().any(|s| s.takes(node)),
        }
    }

    /// Whether the shape is one for scalars, lists or maps, as the node is.
    fn is_for(&self, node: &Node) -> bool {
        match (self, &node.kind) {
            (Self::List(_), Kind::List { .. })
            | (
                Self::Map(_) | Self::Record(_) | Self::Open(_) | Self::Kinds(..) | Self::Place(_),
                Kind::Map { .. },
            ) => true,
            (Self::List(_) | Self::Map(_) | Self::Record(_), _) => false,
            (Self::Open(_) | Self::Kinds(..) | Self::Place(_), _) => false,
            (Self::Either(shapes), _) => shapes.iter().any(|s| s.is_for(node)),
            (_, Kind::Scalar { .. }) => !node.is_null(),
            (_, Kind::List { .. } | Kind::Map { .. }) => false,
        }
    }

    fn refuse(&self, node: &Node, notes: &mut Notes<'_>, help: Option<String>) {
        let found = match &node.kind {
            _ if node.is_null() => "nothing".to_owned(),
            Kind::Scalar { text, .. } => {
                format!("`{}`", text.chars().take(40).collect::<String>().replace('\n', " "))
            }
            Kind::List { .. } => "a list".to_owned(),
            Kind::Map { .. } => "a map".to_owned(),
        };
        notes.error_with(node.span.clone(), format!("expected {}, found {found}", self.name()), help);
    }

    fn hint(&self, node: &Node) -> Option<String> {
        let text = node.text()?;
        let yes = ["yes", "on", "y"].contains(&text.to_lowercase().as_str());
        let no = ["no", "off", "n"].contains(&text.to_lowercase().as_str());
        let word = match self {
            Self::Bool if yes || text.eq_ignore_ascii_case("true") => "true",
            Self::Bool if no || text.eq_ignore_ascii_case("false") => "false",
            _ => return None,
        };
        Some(format!("write `{word}`, without quotes"))
    }

    fn name(&self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Id => "an id".to_owned(),
            Self::Bool => "`true` or `false`".to_owned(),
            Self::Int(least, greatest) if *greatest >= INT_MAX => {
                format!("a whole number of at least {least}")
            }
            Self::Int(least, greatest) => format!("a whole number from {least} to {greatest}"),
            Self::Number(least, greatest) => format!("a number from {least} to {greatest}"),
            Self::Time => "a time such as 2026-01-31T12:00:00Z".to_owned(),
            Self::Duration => "a duration such as 24h or 500ms".to_owned(),
            Self::Word(words) => words
                .iter()
                .map(|w| format!("`{w}`"))
                .collect::<Vec<_>>()
                .join(", ")
                .replacen("", "one of ", 1),
            Self::Any => "a value".to_owned(),
            Self::List(_) => "a list".to_owned(),
            Self::Map(_) | Self::Record(_) | Self::Open(_) | Self::Kinds(..) | Self::Place(_) => {
                "a map".to_owned()
            }
            Self::Either(shapes) => shapes.iter().map(Self::name).collect::<Vec<_>>().join(" or "),
        }
    }

    /// The same as JSON Schema.
    pub(crate) fn schema(&self) -> Value {
        match self {
            Self::Text => json!({"type": ["string", "number", "boolean"]}),
            Self::Id => json!({"type": "string", "pattern": "^[a-z][a-z0-9-]{0,62}$"}),
            Self::Bool => json!({"type": "boolean"}),
            Self::Int(least, greatest) if *greatest >= INT_MAX => {
                json!({"type": "integer", "minimum": least})
            }
            Self::Int(least, greatest) => json!({"type": "integer", "minimum": least, "maximum": greatest}),
            Self::Number(least, greatest) => json!({"type": "number", "minimum": least, "maximum": greatest}),
            Self::Time => json!({"type": "string", "format": "date-time"}),
            Self::Duration => json!({
                "type": ["string", "integer"],
                "minimum": 0,
                "pattern": "^\\s*([0-9]+|([0-9]+(ms|s|m|min|h|d)\\s*)+)$",
            }),
            // YAML reads the unquoted words `true` and `false` as booleans.
            Self::Word(words) => Value::Object(
                [("enum".to_owned(), Value::Array(words.iter().flat_map(|w| word_values(w)).collect()))]
                    .into_iter()
                    .collect(),
            ),
            Self::Any => json!({}),
            Self::List(shape) => json!({"type": "array", "items": shape.schema()}),
            Self::Map(shape) => json!({"type": "object", "additionalProperties": shape.schema()}),
            Self::Record(keys) => record_schema(keys, false),
            Self::Open(keys) => record_schema(keys, true),
            Self::Kinds(_, kinds) => {
                json!({"anyOf": kinds.iter().map(|(_, keys)| record_schema(keys, false)).collect::<Vec<_>>()})
            }
            Self::Place(keys) => {
                let mut schema = record_schema(keys, false);
                schema["minProperties"] = json!(1);
                schema["maxProperties"] = json!(1);
                schema
            }
            Self::Either(shapes) => json!({"anyOf": shapes.iter().map(Self::schema).collect::<Vec<_>>()}),
        }
    }
}

fn word_values(word: &str) -> Vec<Value> {
    match word.parse::<bool>() {
        Ok(value) => vec![Value::Bool(value), Value::from(word)],
        Err(_) => vec![Value::from(word)],
    }
}

fn record_schema(keys: &[Key], open: bool) -> Value {
    let property = |key: &Key| {
        let mut schema = key.shape.schema();
        if !key.required && !matches!(key.shape, Shape::Any) {
            schema = json!({"anyOf": [schema, {"type": "null"}]});
        }
        if let (Some(object), false) = (schema.as_object_mut(), key.doc.is_empty()) {
            object.insert("description".to_owned(), Value::from(key.doc));
        }
        (key.name.to_owned(), schema)
    };
    let required: Vec<&str> = keys.iter().filter(|k| k.required).map(|k| k.name).collect();
    json!({
        "type": "object",
        "properties": keys.iter().map(property).collect::<serde_json::Map<_, _>>(),
        "required": required,
        "additionalProperties": open,
    })
}

fn names(keys: &[Key]) -> String {
    keys.iter().map(|k| format!("`{}`", k.name)).collect::<Vec<_>>().join(", ")
}
