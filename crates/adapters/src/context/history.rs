//! A conversation cut into parts that are sent whole or not at all, and what of it a request must have in any case.
//! Everything here takes time in proportion to the conversation.

use std::collections::BTreeSet;
use std::ops::Range;

use domain::id::{CallId, MessageId};
use domain::message::{self, Envelope};
use domain::session::{Message, Speaker};

use super::shorten::shorten;
use crate::tokens;

/// Results of tools further back than this, in parts, are shortened. The border moves in steps of as many parts, so
/// that the beginning of requests stays the same for a while and providers can keep it.
const FRESH_PARTS: usize = 12;
/// A result that is far back keeps so many bytes.
const OLD_RESULT_BYTES_MAX: usize = 2_048;

/// A conversation.
pub(super) struct History {
    /// Without summaries and without results that belong to no call.
    pub(super) messages: Vec<Message>,
    /// A turn with its results, or a single message. In order, without gaps.
    pub(super) parts: Vec<Range<usize>>,
    /// What each part takes.
    pub(super) sizes: Vec<u64>,
    /// The last summary.
    pub(super) summary: Option<Message>,
    /// The first part that the summary does not stand for.
    pub(super) first: usize,
    /// The first message that somebody wrote to the agent: its task.
    pub(super) goal: Option<usize>,
    /// The last one.
    pub(super) asked: Option<usize>,
    /// `sessions/….session.yaml`.
    pub(super) place: String,
}

impl History {
    /// Of the messages of a file, oldest first.
    pub(super) fn of(mut all: Vec<Message>, place: String) -> Self {
        message::put_behind(&mut all);
        let through = all.iter().rev().find_map(|message| message.summary_through.clone());
        message::order_behind(&mut all, through.as_ref());
        all.iter_mut().for_each(head);
        let mut messages = Vec::with_capacity(all.len());
        let mut summaries: Vec<(usize, Message)> = Vec::new();
        let mut parts: Vec<Range<usize>> = Vec::new();
        let mut open: BTreeSet<CallId> = BTreeSet::new();
        for message in all {
            if message.summary_through.is_some() {
                summaries.push((messages.len(), message));
                continue;
            }
            let at = messages.len();
            match message.speaker {
                Speaker::Assistant => {
                    open = message.calls.iter().map(|call| call.id.clone()).collect();
                    parts.push(at..at + 1);
                }
                Speaker::ToolResult => {
                    // A result without its call is refused by providers, and means nothing.
                    let is_awaited = message.call.as_ref().is_some_and(|call| open.remove(call));
                    let Some(part) = parts.last_mut().filter(|_| is_awaited) else { continue };
                    part.end = at + 1;
                }
                Speaker::User | Speaker::System => match parts.last_mut() {
                    // Said while results were still to come: it stays with them.
                    Some(part) if !open.is_empty() => part.end = at + 1,
                    Some(_) | None => parts.push(at..at + 1),
                },
            }
            messages.push(message);
        }
        let parts = closed(&messages, parts);
        let is_said = |message: &Message| message.speaker == Speaker::User;
        let (goal, asked) = (messages.iter().position(is_said), messages.iter().rposition(is_said));
        let (summary, first) = match summaries.pop() {
            Some((before, summary)) => {
                let end = stands_for(&messages[..before], &summary);
                (Some(summary), parts.iter().position(|part| part.end > end).unwrap_or(parts.len()))
            }
            None => (None, 0),
        };
        let mut history = Self { messages, sizes: Vec::new(), parts, summary, first, goal, asked, place };
        history.shorten_old();
        history.sizes = history.parts.iter().map(|part| history.size(part.clone())).collect();
        history
    }

    fn size(&self, part: Range<usize>) -> u64 {
        self.messages[part].iter().map(tokens::of_message).sum()
    }

    fn shorten_old(&mut self) {
        let border = self.parts.len().saturating_sub(FRESH_PARTS) / FRESH_PARTS * FRESH_PARTS;
        let end = self.parts.get(border).map_or(0, |part| part.start);
        for message in self.messages[..end].iter_mut().filter(|m| m.speaker == Speaker::ToolResult) {
            cut(message, OLD_RESULT_BYTES_MAX, &self.place);
        }
    }

    /// The newest message of the parts up to `end` that has a name of its own: a summary of them stands for all up to it.
    pub(super) fn last_id(&self, end: usize) -> Option<MessageId> {
        let messages = &self.messages[..self.parts[..end].last()?.end];
        messages.iter().map(|m| &m.id).filter(|id| number(id) > 0).max_by_key(|id| number(id)).cloned()
    }
}

/// Parts of which each has only messages that came before those of the next: what is read in another order than it came in
/// stays together, so that a summary up to the end of a part stands for all that is numbered before it.
fn closed(messages: &[Message], parts: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut all: Vec<(Range<usize>, u32)> = Vec::with_capacity(parts.len());
    for mut part in parts {
        let numbers = || messages[part.clone()].iter().map(|m| number(&m.id)).filter(|number| *number > 0);
        let (oldest, mut newest) = (numbers().min().unwrap_or(u32::MAX), numbers().max().unwrap_or(0));
        while let Some((before, last)) = all.pop_if(|(_, last)| *last > oldest) {
            (part.start, newest) = (before.start, newest.max(last));
        }
        all.push((part, newest));
    }
    all.into_iter().map(|(part, _)| part).collect()
}

/// What stands on a message is told above its words.
fn head(message: &mut Message) {
    // Of a result the agent knows what it answers; a judgement is news all the same.
    let is_news = |envelope: &&Envelope| {
        message.speaker == Speaker::User || envelope.approved.is_some() || !envelope.issues.is_empty()
    };
    let envelope = message.envelope.as_deref().filter(is_news);
    let Some(heading) = envelope.and_then(|envelope| envelope.heading(message.from.as_ref())) else { return };
    message.content = format!("{heading}\n{}", message.content);
}

/// Shortens a message to about so many bytes.
pub(super) fn cut(message: &mut Message, bytes_max: usize, place: &str) {
    if message.content.len() > bytes_max {
        message.content = shorten(&message.content, bytes_max, &format!("{} of {place}", message.id));
    }
}

/// How many of the messages before it a summary stands for: all up to its last message by number, also if that is gone.
fn stands_for(before: &[Message], summary: &Message) -> usize {
    let Some(through) = &summary.summary_through else { return 0 };
    let is_older = |m: &Message| number(&m.id) > 0 && number(&m.id) <= number(through);
    before.iter().rposition(|m| m.id == *through || is_older(m)).map_or(0, |at| at + 1)
}

/// The number in `m-0042`; 0 for a message that has none.
fn number(id: &MessageId) -> u32 {
    id.as_str().rsplit('-').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
