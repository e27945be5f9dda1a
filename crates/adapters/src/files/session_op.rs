//! Edits of session files, and how they are made.

use std::collections::BTreeSet;

use domain::id::{MessageId, Time};
use domain::session::{Head, Message, Status};
use formats::session::{MessageItem, SessionFile, torn_tail};

use super::reports::Reports;

/// A small edit of one session file.
#[derive(Debug, Clone)]
pub(super) enum SessionOp {
    Create(Box<Head>),
    Append(Message),
    /// A person wrote the message without an id.
    GiveId(Message),
    Status(Status, Time),
    /// The same, and why it is over.
    Over(Status, Time, String),
}

impl SessionOp {
    pub(super) fn has_calls(&self) -> bool {
        matches!(self, Self::Append(message) if !message.calls.is_empty())
    }

    /// Whether it names a message that is not in the file.
    pub(super) fn names_what_is_gone(&self, file: &SessionFile) -> bool {
        let Self::GiveId(message) = self else { return false };
        !file.messages().iter().any(|item| item.id.as_ref() == Some(&message.id))
    }
}

/// Parses a session file; a last entry that a crash cut off is dropped, the journal has it whole.
pub(super) fn read_session(reports: &mut Reports, path: &str, text: &str) -> Option<SessionFile> {
    let kept = torn_tail(text).map_or(text, |keep| &text[..keep]);
    let (file, diagnostics) = SessionFile::parse(path, kept);
    reports.complain(path, diagnostics);
    file
}

/// Makes the edits; what already stands there is left alone.
pub(super) fn carry_out<'a>(file: &mut SessionFile, ops: impl Iterator<Item = &'a SessionOp> + Clone) {
    let mut here: BTreeSet<MessageId> = file.messages().iter().filter_map(|item| item.id.clone()).collect();
    let mut named = Vec::new();
    let mut taken = BTreeSet::new();
    for op in ops.clone() {
        if let SessionOp::GiveId(message) = op
            && !here.contains(&message.id)
        {
            let unnamed = |(index, item): &(usize, &MessageItem)| {
                let same = item.speaker == message.speaker && item.content == message.content;
                item.id.is_none() && same && !taken.contains(index)
            };
            if let Some((index, _)) = file.messages().iter().enumerate().find(unnamed) {
                taken.insert(index);
                here.insert(message.id.clone());
                named.push((index, &message.id));
            }
        }
    }
    file.set_message_ids(&named);
    for op in ops {
        match op {
            SessionOp::Create(_) | SessionOp::GiveId(_) => {}
            SessionOp::Append(message) => {
                if here.insert(message.id.clone()) {
                    file.append(message);
                }
            }
            SessionOp::Status(status, at) => {
                turn(file, *status, *at);
                // It goes on: why it was over is over, too.
                if matches!(status, Status::Active | Status::Sleeping) {
                    file.set_reason("");
                }
            }
            SessionOp::Over(status, at, why) => {
                turn(file, *status, *at);
                file.set_reason(why);
            }
        }
    }
}

fn turn(file: &mut SessionFile, status: Status, at: Time) {
    if file.status() != status {
        file.set_status(status);
        if at.0 != 0 {
            file.set_updated(at);
        }
    }
}
