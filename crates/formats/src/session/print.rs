//! New heads and messages as text.

use domain::delegation::ON_BEHALF;
use domain::id::Time;
use domain::message::{BROADCAST, Envelope};
use domain::session::{Head, Message, Status};

use crate::modeline::modeline;
use crate::{scalar, time};

/// The column of the dash of a message.
pub(super) const INDENT: usize = 2;

/// A whole new session file without messages; what [`print_message`] gives can be appended to it.
pub fn print_head(head: &Head, updated: Time, status: Status) -> String {
    let mut out = modeline("session", 1);
    let mut put = |key: &str, printed: String| out.push_str(&format!("{key}:{printed}\n"));
    put("session_id", scalar::print(head.session.as_str(), 0));
    put("agent_id", scalar::print(head.agent.as_str(), 0));
    put("agent_type", scalar::print(&head.role, 0));
    put("model", scalar::print(&head.model, 0));
    put("system_prompt", scalar::print_block(&head.system_prompt, 0));
    if let Some(task) = &head.task {
        put("task", scalar::print(task.as_str(), 0));
    }
    put("created", format!(" '{}'", time::print(head.created)));
    put("updated", format!(" '{}'", time::print(updated)));
    put("status", format!(" {}", status.as_str()));
    put("metadata", " {}".to_owned());
    put("messages", String::new());
    out
}

/// One message as an item of the list, with its last line end. It starts with `id` and ends with `timestamp`,
/// always: this is how a message that was cut off while it was written is told from a whole one.
pub fn print_message(m: &Message) -> String {
    print_at(m, INDENT)
}

/// The same with its dash at another column.
pub(super) fn print_at(m: &Message, dash: usize) -> String {
    let key = dash + 2;
    let mut out = format!("{:dash$}- id:{}\n", "", scalar::print(m.id.as_str(), key));
    let mut put =
        |indent: usize, name: &str, printed: &str| out.push_str(&format!("{:indent$}{name}:{printed}\n", ""));
    put(key, "role", &format!(" {}", m.speaker.as_str()));
    if let Some(from) = &m.from {
        put(key, "from", &scalar::print(&from.to_string(), key));
    }
    if m.label.counts() {
        put(key, "label", &scalar::print(&m.label.to_string(), key));
    }
    for (name, printed) in m.envelope.iter().flat_map(|envelope| envelope_keys(envelope)) {
        match printed {
            Written::Text(text) => put(key, name, &scalar::print(&text, key)),
            Written::Flag(flag) => put(key, name, &format!(" {flag}")),
            Written::List(list) => {
                let item = |text: &String| format!("\n{:1$}-{2}", "", key + 2, scalar::print(text, key + 2));
                put(key, name, &list.iter().map(item).collect::<String>());
            }
        }
    }
    put(key, "content", &scalar::print(&m.content, key));
    if !m.calls.is_empty() {
        put(key, "tool_calls", "");
    }
    for call in &m.calls {
        put(key + 2, "- id", &scalar::print(call.id.as_str(), key + 4));
        put(key + 4, "type", " function");
        put(key + 4, "function", "");
        put(key + 6, "name", &scalar::print(call.want.tool(), key + 6));
        put(key + 6, "arguments", &scalar::print(&call.arguments, key + 6));
    }
    if let Some(call) = &m.call {
        put(key, "tool_call_id", &scalar::print(call.as_str(), key));
    }
    if let Some(through) = &m.summary_through {
        put(key, "summary_through", &scalar::print(through.as_str(), key));
    }
    if let Some(through) = &m.read_through {
        put(key, "read_through", &scalar::print(through.as_str(), key));
    }
    if m.is_error {
        put(key, "is_error", " true");
    }
    put(key, "timestamp", &format!(" '{}'", time::print(m.at)));
    out
}

/// The value of a key.
enum Written {
    Text(String),
    Flag(bool),
    List(Vec<String>),
}

/// The keys of an envelope, without those that say nothing.
fn envelope_keys(envelope: &Envelope) -> Vec<(&'static str, Written)> {
    let Envelope {
        kind,
        broadcast,
        channel,
        priority,
        correlation_id,
        in_reply_to,
        approved,
        issues,
        awaited,
        cause: _,
        hands,
    } = envelope;
    let text = |text: &str| Written::Text(text.to_owned());
    let mut keys = vec![("type", text(kind.as_str()))];
    keys.extend(broadcast.then(|| ("to", text(BROADCAST))));
    keys.extend(channel.as_ref().map(|name| ("channel", text(name))));
    keys.extend((!priority.is_normal()).then(|| ("priority", text(priority.as_str()))));
    keys.extend(correlation_id.as_ref().map(|id| ("correlation_id", text(id))));
    keys.extend(in_reply_to.as_ref().map(|id| ("in_reply_to", text(id))));
    keys.extend(awaited.then_some(("awaited", Written::Flag(true))));
    keys.extend(approved.map(|approved| ("approved", Written::Flag(approved))));
    keys.extend((!issues.is_empty()).then(|| ("issues", Written::List(issues.clone()))));
    keys.extend(hands.words().map(|chain| (ON_BEHALF, Written::Text(chain))));
    keys.extend(hands.approval_required.then_some(("approval_required", Written::Flag(true))));
    keys
}

/// The same in braces, for a list in brackets.
pub(super) fn print_flow(m: &Message) -> String {
    let mut object =
        serde_json::json!({"id": m.id.as_str(), "role": m.speaker.as_str(), "content": m.content});
    let calls: Vec<_> = m
        .calls
        .iter()
        .map(|c| {
            let function = serde_json::json!({"name": c.want.tool(), "arguments": c.arguments});
            serde_json::json!({"id": c.id.as_str(), "type": "function", "function": function})
        })
        .collect();
    if let Some(from) = &m.from {
        object["from"] = from.to_string().into();
    }
    if m.label.counts() {
        object["label"] = m.label.to_string().into();
    }
    for (name, written) in m.envelope.iter().flat_map(|envelope| envelope_keys(envelope)) {
        object[name] = match written {
            Written::Text(text) => text.into(),
            Written::Flag(flag) => flag.into(),
            Written::List(list) => list.into(),
        };
    }
    if !calls.is_empty() {
        object["tool_calls"] = calls.into();
    }
    if let Some(call) = &m.call {
        object["tool_call_id"] = call.as_str().into();
    }
    if let Some(through) = &m.summary_through {
        object["summary_through"] = through.as_str().into();
    }
    if let Some(through) = &m.read_through {
        object["read_through"] = through.as_str().into();
    }
    if m.is_error {
        object["is_error"] = true.into();
    }
    object["timestamp"] = time::print(m.at).into();
    object.to_string()
}
