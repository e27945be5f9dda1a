//! The messages in which Synod speaks, and the results of calls.

use crate::topics::message::{Envelope, Kind};
use crate::topics::session::{Message, Speaker};
use crate::topics::tool::{Act, Want};
use crate::words::actor::Actor;
use crate::words::id::{CallId, MessageId, Time};
use crate::words::label::Label;
use crate::words::text::cut;

/// The longest title that is made of a text.
const TITLE_BYTES_MAX: usize = 100;

/// A message to an agent. The draft gives it its number.
pub(super) fn said(at: Time, from: Option<Actor>, content: String, label: Label) -> Message {
    Message {
        id: MessageId::new(""),
        at,
        speaker: Speaker::User,
        from,
        content,
        calls: Vec::new(),
        call: None,
        summary_through: None,
        read_through: None,
        is_error: false,
        envelope: None,
        label,
    }
}

/// A tool's result.
pub(super) fn result(at: Time, call: &CallId, text: String) -> Message {
    Message { speaker: Speaker::ToolResult, call: Some(call.clone()), ..said(at, None, text, Label::owner()) }
}

/// Words of Synod that want no answer.
pub(super) fn notification(at: Time, text: String) -> Message {
    let envelope = Envelope { kind: Kind::Notification, ..Envelope::default() };
    Message { envelope: Some(Box::new(envelope)), ..said(at, Some(Actor::Synod), text, Label::team()) }
}

/// The result of a call that was under way at a crash and must not be repeated.
pub(super) fn unknown_text(want: &Want) -> String {
    let what = match want {
        Want::Act(act) => act.tool(),
        Want::Invalid { .. } => "this call",
    };
    format!(
        "outcome unknown: {what} was under way when Synod stopped and must not run twice. \
         It may or may not have taken effect; check before you repeat it."
    )
}

/// One short line made of a text.
pub(super) fn title_of(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let short = cut(line, TITLE_BYTES_MAX);
    let shown: String = short.chars().map(|c| if c == '"' || c.is_control() { '\'' } else { c }).collect();
    if short.len() < line.len() { format!("{shown}…") } else { shown }
}

/// The act of a call, if it has one.
pub(super) fn act_of(want: &Want) -> Option<&Act> {
    match want {
        Want::Act(act) => Some(act),
        Want::Invalid { .. } => None,
    }
}
