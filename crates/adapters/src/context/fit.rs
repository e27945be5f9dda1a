//! What of a conversation is sent when not all of it fits: the task, a summary of what is older, what was asked last,
//! and the newest turns whole.

use domain::session::{Message, Speaker};

use super::history::{self, History};
use crate::tokens::{self, BYTES_PER_TOKEN, MESSAGE_TOKENS};

/// The task has at most this part of the room.
const GOAL_SHARE: u64 = 4;
/// What was asked last, and the summary, have this part each.
const PINNED_SHARE: u64 = 8;
/// What a note about turns that are left out takes.
const NOTE_TOKENS: u64 = 64;
/// The least that is left of a message, in bytes.
const MESSAGE_BYTES_MIN: usize = 64;

/// What to do with a conversation.
#[derive(Debug, PartialEq)]
pub(super) enum Plan {
    /// Send this.
    Send(Vec<Message>),
    /// Summarise the parts from the history's `first` up to here before anything is sent.
    Summarise {
        /// The first part that stays as it is.
        until: usize,
    },
}

/// Fits a conversation into so many tokens. A summary is asked for rarely: half of the room is free again after it.
pub(super) fn plan(history: &History, room: u64, may_summarise: bool) -> Plan {
    let pinned = Pinned::of(history, room);
    let after: u64 = history.sizes[history.first..].iter().sum();
    if pinned.size(history, history.first) + after <= room {
        return Plan::Send(pinned.with(history, history.first));
    }
    let left = room.saturating_sub(pinned.size(history, history.parts.len()) + NOTE_TOKENS);
    let until = newest(history, left / 2);
    if may_summarise && is_worth(history, until) {
        return Plan::Summarise { until };
    }
    let from = newest(history, left);
    let mut sent = pinned.with(history, from);
    squeeze(&mut sent, history, from, left);
    Plan::Send(sent)
}

/// The first of the newest parts that fit together, and at least the last one.
fn newest(history: &History, room: u64) -> usize {
    let mut left = room;
    let fits = |size: &&u64| {
        let is_room = **size <= left;
        left = left.saturating_sub(**size);
        is_room
    };
    let count = history.sizes[history.first..].iter().rev().take_while(fits).count();
    history.sizes.len().saturating_sub(count.max(1))
}

/// Whether a summary would stand for more than what is sent in any case.
fn is_worth(history: &History, until: usize) -> bool {
    let mut parts = history.parts.iter().take(until).skip(history.first);
    let pinned = [history.goal, history.asked];
    parts.any(|part| part.len() > 1 || !pinned.contains(&Some(part.start)))
        && history.last_id(until).is_some()
}

/// What is sent in any case, cut to its share.
struct Pinned {
    goal: Option<Message>,
    summary: Option<Message>,
    asked: Option<Message>,
}

impl Pinned {
    fn of(history: &History, room: u64) -> Self {
        let cut = |message: &Message, share: u64| {
            let mut message = message.clone();
            let bytes = (room / share).saturating_sub(MESSAGE_TOKENS) * BYTES_PER_TOKEN;
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).max(MESSAGE_BYTES_MIN);
            history::cut(&mut message, bytes, &history.place);
            message
        };
        let asked = history.asked.filter(|at| Some(*at) != history.goal);
        Self {
            goal: history.goal.map(|at| cut(&history.messages[at], GOAL_SHARE)),
            summary: history.summary.as_ref().map(|summary| {
                let mut summary = cut(summary, PINNED_SHARE);
                let through = summary.summary_through.as_ref().map_or("", |id| id.as_str());
                let head = format!(
                    "[What was said up to {through}, in short; all of it stands in {}.]",
                    history.place
                );
                summary.content = format!("{head}\n{}", summary.content);
                summary
            }),
            asked: asked.map(|at| cut(&history.messages[at], PINNED_SHARE)),
        }
    }

    /// Whether a message is sent with the parts from here on.
    fn is_in(history: &History, from: usize, at: Option<usize>) -> bool {
        let start = history.parts.get(from).map_or(history.messages.len(), |part| part.start);
        at.is_none_or(|at| at >= start)
    }

    /// What is sent beside the parts from `from` on.
    fn beside(&self, history: &History, from: usize) -> impl Iterator<Item = &Message> {
        let goal = self.goal.as_ref().filter(|_| !Self::is_in(history, from, history.goal));
        let asked = self.asked.as_ref().filter(|_| !Self::is_in(history, from, history.asked));
        goal.into_iter().chain(&self.summary).chain(asked)
    }

    fn size(&self, history: &History, from: usize) -> u64 {
        self.beside(history, from).map(tokens::of_message).sum()
    }

    /// All that is sent, with the parts from `from` on whole.
    fn with(&self, history: &History, from: usize) -> Vec<Message> {
        let start = history.parts.get(from).map_or(history.messages.len(), |part| part.start);
        let mut sent: Vec<Message> = Vec::with_capacity(history.messages.len() - start + 4);
        let goal = self.goal.iter().filter(|_| !Self::is_in(history, from, history.goal));
        sent.extend(goal.chain(&self.summary).cloned());
        sent.extend(note(history, from));
        let asked = self.asked.iter().filter(|_| !Self::is_in(history, from, history.asked));
        sent.extend(asked.cloned());
        sent.extend_from_slice(&history.messages[start..]);
        sent
    }
}

/// Says that turns are left out that no summary stands for.
fn note(history: &History, from: usize) -> Option<Message> {
    let gap = history.parts[history.first..from.max(history.first)].iter();
    let messages = gap.map(|part| part.len()).sum::<usize>();
    let first = history.messages.first().filter(|_| messages > 0)?;
    let text = format!(
        "[{messages} earlier messages are left out here, because they do not fit; they stand in {}.]",
        history.place
    );
    let (calls, call) = (Vec::new(), None);
    let from = Some(domain::Actor::Synod);
    Some(Message { speaker: Speaker::System, from, content: text, calls, call, ..first.clone() })
}

/// Cuts the messages of the only part that is left until it fits.
fn squeeze(sent: &mut [Message], history: &History, from: usize, room: u64) {
    let Some(part) = history.parts.last().filter(|_| from + 1 == history.parts.len()) else { return };
    if history.sizes[from] <= room {
        return;
    }
    let count = part.len();
    let start = sent.len() - count;
    let bytes = (room / count as u64).saturating_sub(MESSAGE_TOKENS) * BYTES_PER_TOKEN;
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).max(MESSAGE_BYTES_MIN);
    for message in &mut sent[start..] {
        history::cut(message, bytes, &history.place);
    }
}

#[cfg(test)]
mod tests;
