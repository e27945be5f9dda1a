//! Approvals in both places: an item of the queue `tasks/approvals.task.md`, and a file of their own with all
//! details. What an agent said stands in quotes, fences and list items, so that it can never pass for a decision.

mod detail;
mod queue;
mod review;

use std::borrow::Cow;

use domain::approval::Request;
use domain::tool::{Act, Shown};

use crate::shape::{INT_MAX, Shape, TEXTS, may, must};

pub use detail::{close_detail, print_detail, read_detail};
pub use queue::{queue_item, read_queue};

/// What a person decided in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing yet.
    None,
    /// Yes.
    Approved {
        /// Who; empty if the file does not say.
        by: String,
    },
    /// No.
    Rejected {
        /// Who; empty if the file does not say.
        by: String,
        /// Why, for the agent; may be empty.
        reason: String,
    },
    /// Something that could be a decision, but not which. It decides nothing.
    Unclear {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What is unclear and what to write instead.
        why: String,
    },
}

/// What an approval's own file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// What was asked.
    pub request: Request,
    /// What was decided.
    pub decision: Decision,
}

/// What a person must see of an act, as it stands in both files: without hidden characters, and with a short title.
pub(crate) fn show(act: &Act) -> Shown {
    let Shown { kind, title, label, language, text } = act.shown().unwrap_or_else(|| arguments(act));
    let title = short(&visible(&format!("Approve {title}")));
    Shown { kind, title, label: visible(&label), language, text: visible(&text) }
}

/// The arguments of an act, one a line.
fn arguments(act: &Act) -> Shown {
    let arguments = &serde_json::to_value(act).unwrap_or_default()["arguments"];
    Shown {
        kind: Cow::Owned(act.tool().to_owned()),
        title: act.tool().to_owned(),
        label: "Arguments".to_owned(),
        language: "json",
        text: serde_json::to_string_pretty(arguments).unwrap_or_default(),
    }
}

/// Characters that hide or reorder text are shown by their number: people must see what they approve.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let hidden = matches!(c as u32, 0xad | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff | 0xe0000..=0xe0fff);
        if hidden || (c.is_control() && !matches!(c, '\n' | '\t')) {
            out.push_str(&format!("\\u{{{:x}}}", c as u32));
        } else {
            out.push(c);
        }
    }
    out
}

fn short(title: &str) -> String {
    const TITLE_CHARS_MAX: usize = 120;
    let line = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= TITLE_CHARS_MAX {
        return line;
    }
    line.chars().take(TITLE_CHARS_MAX - 2).chain(" …".chars()).collect()
}

/// The record of an approval's own file.
pub(crate) const SHAPE: Shape = Shape::Record(&[
    must("id", Shape::Text, "unique in the home"),
    must("agent", Shape::Text, "who wants it"),
    must("session", Shape::Text, "in which conversation"),
    must("call", Shape::Text, "which of its calls"),
    may("task", Shape::Text, "for which task"),
    must(
        "act",
        Shape::Record(&[
            must("tool", Shape::Text, "the tool's name"),
            must("arguments", Shape::Map(&Shape::Any), "its arguments"),
        ]),
        "exactly what would be done",
    ),
    must("digest", Shape::Text, "SHA-256 of the act"),
    must("why", Shape::Text, "what the agent said when it asked"),
    must("risk", Shape::Word(&["LOW", "MEDIUM", "HIGH", "CRITICAL"]), "how much harm it could do"),
    must("factors", TEXTS, "why the risk is what it is"),
    must("created", Shape::Int(0, INT_MAX), "when it was asked, in milliseconds since 1970"),
    may("expires", Shape::Int(0, INT_MAX), "when it lapses"),
]);
