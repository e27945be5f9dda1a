//! Values and entries as text, in the manner of the file they go into.

use super::expect::plain_text;
use super::place::{Places, Slot};
use super::{Scalar, Value};
use crate::scalar::{self, Around};
use crate::yaml::{Kind, Node, Style};

/// How far a file indents what stands below a key.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    /// Keys below a key.
    pub(super) map: usize,
    /// Dashes below a key.
    pub(super) list: usize,
}

/// How lists are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ListLook {
    /// `[a, b]`
    Brackets,
    /// `- a`
    Lines,
}

impl Places<'_> {
    /// The steps of the first map and the first list below a key; two columns if there is none.
    pub(super) fn steps(&self, root: &Node) -> Steps {
        let (mut map, mut list) = (None, None);
        let mut open = vec![self.root(root)];
        while let Some(slot) = open.pop().filter(|_| map.is_none() || list.is_none()) {
            match &slot.node.kind {
                Kind::Map { entries, flow: false } if !slot.flow => {
                    let children: Vec<Slot<'_>> = entries.iter().map(|e| self.entry(e, slot.flow)).collect();
                    for child in children.into_iter().rev() {
                        let first = self.skip_space(child.after);
                        let step = || self.column(first).saturating_sub(self.column(child.lead));
                        match &child.node.kind {
                            Kind::Map { flow: false, .. } => map = Some(step()),
                            Kind::List { flow: false, .. } => list = Some(step()),
                            Kind::Scalar { .. } | Kind::List { .. } | Kind::Map { .. } => continue,
                        }
                        open.push(child);
                    }
                }
                Kind::List { flow: false, .. } if !slot.flow => open.extend(self.items(&slot)),
                Kind::Scalar { .. } | Kind::List { .. } | Kind::Map { .. } => {}
            }
        }
        Steps { map: map.filter(|n| *n > 0).unwrap_or(2), list: list.unwrap_or(2) }
    }

    /// A scalar on one line.
    pub(super) fn inline(&self, scalar: &Scalar, style: Style, around: Around) -> String {
        match scalar {
            Scalar::Text(text) if self.json => json_text(text),
            Scalar::Text(text) => scalar::print_inline(text, style, around),
            Scalar::Nothing | Scalar::Bool(_) | Scalar::Int(_) | Scalar::Number(_) => plain_text(scalar),
        }
    }

    /// A value inside brackets, or a list in them.
    pub(super) fn in_brackets(&self, value: &Value, style: Style) -> String {
        match value {
            Value::Scalar(scalar) => self.inline(scalar, style, Around::Brackets),
            Value::List(items) => {
                let items: Vec<String> =
                    items.iter().map(|item| self.inline(item, style, Around::Brackets)).collect();
                format!("[{}]", items.join(", "))
            }
        }
    }

    /// A key in the quotes of its neighbours.
    pub(super) fn key(&self, key: &str, style: Style) -> String {
        self.inline(&Scalar::Text(key.to_owned()), style, Around::Brackets)
    }

    /// `a: {b: c}` for the keys `a` and `b`, inside braces.
    pub(super) fn entry_in_braces(&self, keys: &[&str], value: &Value, style: Style, colon: &str) -> String {
        let Some((key, rest)) = keys.split_first() else { return self.in_brackets(value, style) };
        let inner = self.entry_in_braces(rest, value, style, colon);
        let inner = if rest.is_empty() { inner } else { format!("{{{inner}}}") };
        format!("{}{colon}{inner}", self.key(key, style))
    }

    /// The same in lines, the first key at `column`.
    pub(super) fn entry_in_lines(
        &self,
        keys: &[&str],
        value: &Value,
        column: usize,
        steps: Steps,
        look: ListLook,
        style: Style,
    ) -> String {
        let Some((key, rest)) = keys.split_first() else { return String::new() };
        let key = self.key(key, style);
        if rest.is_empty() {
            return format!("{key}:{}", self.behind_key(value, column, steps, look));
        }
        let below = column + steps.map;
        format!("{key}:\n{:below$}{}", "", self.entry_in_lines(rest, value, below, steps, look, style))
    }

    /// What stands behind `key:`, with its own white space in front.
    pub(super) fn behind_key(&self, value: &Value, column: usize, steps: Steps, look: ListLook) -> String {
        match value {
            Value::Scalar(scalar) => self.behind_mark(scalar, Style::Plain, column),
            Value::List(items) if look == ListLook::Lines && !items.is_empty() => {
                let dash = column + steps.list;
                let item = |i| format!("\n{:dash$}{}", "", self.item(i, Style::Plain, dash));
                items.iter().map(item).collect()
            }
            Value::List(_) => format!(" {}", self.in_brackets(value, Style::Plain)),
        }
    }

    /// An item of a list in lines, with its dash.
    pub(super) fn item(&self, scalar: &Scalar, style: Style, column: usize) -> String {
        format!("-{}", self.behind_mark(scalar, style, column))
    }

    fn behind_mark(&self, scalar: &Scalar, style: Style, column: usize) -> String {
        match scalar {
            Scalar::Text(text) if text.contains('\n') && is_closed(text) => scalar::print(text, column),
            other => format!(" {}", self.inline(other, style, Around::Lines)),
        }
    }
}

/// A block of such a text does not depend on the blank lines behind it, which may be somebody's.
pub(super) fn is_closed(text: &str) -> bool {
    !text.ends_with("\n\n")
}

fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
