//! From the tree to a session: head, messages, and where edits go.

use std::collections::HashSet;
use std::ops::Range;

use domain::Actor;
use domain::delegation::{Hands, ON_BEHALF};
use domain::id::{AgentId, CallId, MessageId, SessionId, TaskId};
use domain::label::Label;
use domain::message::{self, Envelope, Urgency};
use domain::session::{Head, Speaker, Status};

use super::{List, MessageItem, Places, RawCall, SessionFile, print};
use crate::diagnostic::Notes;
use crate::lines;
use crate::time;
use crate::yaml::{self, Kind, Node};

pub(super) fn document(path: &str, source: &str, root: &Node, notes: &mut Notes<'_>) -> Option<SessionFile> {
    if let Kind::Map { flow: true, .. } = root.kind {
        notes.error(root.span.clone(), "a session is written in lines, not in braces");
    }
    let at = |key: &str| root.get(key).and_then(Node::text).and_then(time::parse);
    let created = at("created").unwrap_or_default();
    let head = Head {
        session: SessionId::new(root.get_text("session_id")?),
        agent: AgentId::new(root.get_text("agent_id")?),
        role: root.get_text("agent_type").unwrap_or_default(),
        model: root.get_text("model").unwrap_or_default(),
        system_prompt: root.get_text("system_prompt").unwrap_or_default(),
        task: root.get_text("task").map(TaskId::new),
        created,
    };
    let items = root.get("messages").map(Node::items).unwrap_or_default();
    let messages = items.iter().map(item).collect::<Option<Vec<_>>>()?;
    check(items, &messages, notes);
    Some(SessionFile {
        path: path.to_owned(),
        text: source.to_owned(),
        head,
        status: root.get("status").and_then(Node::text).and_then(Status::parse).unwrap_or(Status::Active),
        reason: root.get_text("reason").unwrap_or_default(),
        updated: at("updated"),
        messages,
        places: places(source, root),
    })
}

fn item(node: &Node) -> Option<MessageItem> {
    let call = |n: &Node| {
        let function = n.get("function")?;
        let arguments = function
            .get("arguments")
            .map_or_else(String::new, |a| a.text().map_or_else(|| a.to_json().to_string(), str::to_owned));
        Some(RawCall { id: CallId::new(n.get_text("id")?), name: function.get_text("name")?, arguments })
    };
    let calls = node.get("tool_calls").map(Node::items).unwrap_or_default();
    Some(MessageItem {
        id: node.get_text("id").map(MessageId::new),
        at: node.get("timestamp").and_then(Node::text).and_then(time::parse),
        speaker: Speaker::parse(node.get("role")?.text()?)?,
        from: node.get_text("from").filter(|from| !from.is_empty()).map(|from| Actor::from(from.as_str())),
        label: node.get("label").map(label).unwrap_or_default(),
        content: node.get_text("content").unwrap_or_default(),
        calls: calls.iter().map(call).collect::<Option<Vec<_>>>()?,
        call: node.get_text("tool_call_id").map(CallId::new),
        summary_through: node.get_text("summary_through").map(MessageId::new),
        read_through: node.get_text("read_through").map(MessageId::new),
        is_error: node.get("is_error").and_then(Node::bool).unwrap_or_default(),
        envelope: envelope(node),
        line: node.line,
        span: node.span.clone(),
    })
}

fn envelope(node: &Node) -> Option<Box<Envelope>> {
    let kind = node.get("type").and_then(Node::text).and_then(message::Kind::parse)?;
    let is = |key: &str| node.get(key).and_then(Node::bool);
    let words = |key: &str| node.get(key).and_then(Node::text);
    let hands = Hands {
        approval_required: is("approval_required").unwrap_or_default(),
        ..Hands::of_words(words(ON_BEHALF))
    };
    Some(Box::new(Envelope {
        kind,
        broadcast: node.get_text("to").is_some(),
        channel: node.get_text("channel"),
        priority: node.get("priority").and_then(Node::text).and_then(Urgency::parse).unwrap_or_default(),
        correlation_id: node.get_text("correlation_id"),
        in_reply_to: node.get_text("in_reply_to"),
        approved: is("approved"),
        issues: node.get_texts("issues").unwrap_or_default(),
        awaited: is("awaited").unwrap_or_default(),
        cause: None,
        hands,
    }))
}

/// A label that cannot be read says the worst.
fn label(node: &Node) -> Label {
    let text = node.text().unwrap_or_default();
    text.parse().unwrap_or_else(|_| Label::outside("a label that cannot be read"))
}

fn check(nodes: &[Node], messages: &[MessageItem], notes: &mut Notes<'_>) {
    let mut seen = HashSet::new();
    for (node, item) in nodes.iter().zip(messages) {
        if let (Some(id), Some(entry)) = (&item.id, node.entry("id"))
            && !seen.insert(id)
        {
            notes.error_with(
                entry.value.span.clone(),
                format!("the message id `{id}` is already used"),
                Some("leave the id out of a message that you add; Synod adds one".to_owned()),
            );
        }
        if node.entry("content").is_none() && item.calls.is_empty() {
            let at = node.span.start..node.span.start;
            notes.error(at, "the message has neither `content` nor `tool_calls`");
        }
    }
}

fn places(source: &str, root: &Node) -> Places {
    let value = |key: &str| root.entry(key).map(|e| value_place(source, e));
    let entries = root.entries();
    let Some(at) = entries.iter().position(|e| e.key == "messages") else {
        let end = lines::content_end(source, root.span.end);
        return Places {
            status: value("status"),
            reason: value("reason"),
            updated: value("updated"),
            messages: end,
            list: List::Absent { end },
        };
    };
    let entry = &entries[at];
    let next = entries.get(at + 1).map(|e| lines::start(source, e.key_span.start));
    let end =
        next.map_or_else(|| lines::content_end(source, entry.value.span.end), |n| above_comments(source, n));
    let list = match &entry.value.kind {
        Kind::List { items, flow: true } if items.is_empty() => {
            let brackets = entry.value.span.clone();
            let line_end = source[brackets.end..].find('\n').map_or(source.len(), |i| brackets.end + i + 1);
            List::Empty { brackets, line_end }
        }
        Kind::List { flow: true, .. } => List::Flow { end: entry.value.span.end - 1 },
        Kind::List { flow: false, items } => {
            let item = items.first().map_or(entry.value.span.start, |i| i.span.start);
            let dash = source[..item].rfind('-').unwrap_or(item);
            List::Block { end, indent: dash - lines::start(source, dash) }
        }
        Kind::Scalar { .. } | Kind::Map { .. } => {
            // `~` or `null` would stand in front of the list.
            let span = entry.value.span.clone();
            if span.is_empty() {
                List::Block { end, indent: print::INDENT }
            } else {
                List::Empty { brackets: span, line_end: end }
            }
        }
    };
    Places {
        status: value("status"),
        reason: value("reason"),
        updated: value("updated"),
        messages: lines::start(source, entry.key_span.start),
        list,
    }
}

fn value_place(source: &str, entry: &yaml::Entry) -> Range<usize> {
    let colon = entry.key_span.end + 1;
    let value = entry.value.span.clone();
    // A block's span does not have its `|`; a value that is absent has a place in front of the colon.
    let plain = value.start >= colon && !source[colon..value.start].contains(['|', '>']);
    if plain { value } else { colon..colon + source[colon..value.end.max(colon)].trim_end().len() }
}

/// The start of the comment lines in the first column right above `at`: they belong to what follows.
fn above_comments(source: &str, mut at: usize) -> usize {
    while at > 0 {
        let previous = lines::start(source, at - 1);
        if !source[previous..at].starts_with('#') {
            break;
        }
        at = previous;
    }
    at
}
