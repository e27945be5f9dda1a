//! What a document must say after an edit, worked out on the tree alone.

use super::{Scalar, Value};
use crate::yaml::{Entry, Kind, Node, Style};

/// A value as the tree has it.
pub(super) fn node_of(value: &Value) -> Node {
    match value {
        Value::Scalar(scalar) => {
            let (text, style) = match scalar {
                Scalar::Text(text) => (text.clone(), Style::Double),
                plain => (plain_text(plain), Style::Plain),
            };
            node(Kind::Scalar { text, style })
        }
        Value::List(items) => {
            let items = items.iter().map(|item| node_of(&Value::Scalar(item.clone()))).collect();
            node(Kind::List { items, flow: true })
        }
    }
}

/// Whether there is a way to write a value at all.
pub(super) fn is_writable(value: &Value) -> bool {
    let finite = |scalar: &Scalar| !matches!(scalar, Scalar::Number(n) if !n.is_finite());
    match value {
        Value::Scalar(scalar) => finite(scalar),
        Value::List(items) => items.iter().all(finite),
    }
}

/// How a scalar that is not a text is written.
pub(super) fn plain_text(scalar: &Scalar) -> String {
    match scalar {
        Scalar::Nothing => "null".to_owned(),
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        // Not as `{}`: that writes a great number in hundreds of digits.
        Scalar::Number(value) => format!("{value:?}"),
        Scalar::Text(text) => text.clone(),
    }
}

fn node(kind: Kind) -> Node {
    Node { span: 0..0, line: 1, kind }
}

/// The value of a key, or an item by its number.
pub(super) fn child<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    match &node.kind {
        Kind::Map { .. } => node.entry(key).map(|e| &e.value),
        Kind::List { items, .. } => items.get(index(key)?),
        Kind::Scalar { .. } => None,
    }
}

/// A number as a path says it.
pub(super) fn index(key: &str) -> Option<usize> {
    key.parse().ok().filter(|n: &usize| n.to_string() == key)
}

/// Puts a value at a path; keys that lead there are added, and an item right behind a list's last.
pub(super) fn put(node: &mut Node, path: &[&str], value: Node) {
    let Some((key, rest)) = path.split_first() else {
        *node = value;
        return;
    };
    if node.is_null() {
        node.kind = Kind::Map { entries: Vec::new(), flow: false };
    }
    match &mut node.kind {
        Kind::Map { entries, .. } => {
            let at = entries.iter().position(|e| e.key == *key).unwrap_or(entries.len());
            if at == entries.len() {
                let nothing = node_of(&Value::Scalar(Scalar::Nothing));
                entries.push(Entry { key: (*key).to_owned(), key_span: 0..0, value: nothing });
            }
            put(&mut entries[at].value, rest, value);
        }
        Kind::List { items, .. } => match index(key) {
            Some(at) if at < items.len() => put(&mut items[at], rest, value),
            Some(_) | None => items.push(value),
        },
        Kind::Scalar { .. } => {}
    }
}

/// Takes the value at a path out. A map in lines that has no key left is nothing.
pub(super) fn take(node: &mut Node, path: &[&str]) {
    let Some((key, rest)) = path.split_first() else { return };
    let last = rest.is_empty();
    match &mut node.kind {
        Kind::Map { entries, .. } => {
            let Some(at) = entries.iter().position(|e| e.key == *key) else { return };
            if !last {
                return take(&mut entries[at].value, rest);
            }
            entries.remove(at);
        }
        Kind::List { items, .. } => {
            let Some(at) = index(key).filter(|at| *at < items.len()) else { return };
            if !last {
                return take(&mut items[at], rest);
            }
            items.remove(at);
        }
        Kind::Scalar { .. } => {}
    }
    if matches!(&node.kind, Kind::Map { entries, flow: false } if entries.is_empty()) {
        *node = node_of(&Value::Scalar(Scalar::Nothing));
    }
}

/// Whether two values read as the same, however they are written.
pub(super) fn is_same(a: &Node, b: &Node) -> bool {
    match (&a.kind, &b.kind) {
        (Kind::Scalar { text: x, .. }, Kind::Scalar { text: y, .. }) => {
            let typed = |n: &Node| n.bool().is_some() || n.number().is_some();
            match (a.is_null(), b.is_null()) {
                (false, false) => x == y && typed(a) == typed(b),
                (x, y) => x == y,
            }
        }
        (Kind::List { items: x, .. }, Kind::List { items: y, .. }) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| is_same(x, y))
        }
        (Kind::Map { entries: x, .. }, Kind::Map { entries: y, .. }) => {
            let same = |(x, y): (&Entry, &Entry)| x.key == y.key && is_same(&x.value, &y.value);
            x.len() == y.len() && x.iter().zip(y).all(same)
        }
        (Kind::Scalar { .. } | Kind::List { .. } | Kind::Map { .. }, _) => false,
    }
}
