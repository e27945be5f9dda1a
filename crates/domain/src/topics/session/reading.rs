//! The order in which an agent reads what others said.

use std::cmp::Reverse;

use crate::topics::message::Urgency;
use crate::topics::session::{Message, Speaker};
use crate::words::id::MessageId;
use crate::words::text::number_in;

/// How urgent a message is.
pub fn urgency(message: &Message) -> Urgency {
    message.envelope.as_ref().map(|envelope| envelope.priority).unwrap_or_default()
}

/// Puts messages that wait for the same turn into the order in which the agent reads them: the most urgent first, and as
/// they came where that is the same. Results of tools may stand between them and stay where they are, and so does all
/// that the agent has answered, or that a summary stands for.
pub fn order(messages: &mut [Message]) {
    order_behind(messages, None);
}

/// The same, if a summary stands for what is numbered up to `through`: what came while it was made overtakes nothing of that,
/// or it would be taken for summarised.
pub fn order_behind(messages: &mut [Message], through: Option<&MessageId>) {
    let last = through.map(|id| number_in(id.as_str()));
    let is_behind = |message: &Message| last.is_some_and(|last| number_in(message.id.as_str()) > last);
    let rank = |message: &Message| (is_behind(message), Reverse(urgency(message)));
    let ends = |message: &Message| matches!(message.speaker, Speaker::Assistant | Speaker::System);
    for waiting in messages.split_mut(ends) {
        let is_said = |at: &usize| waiting[*at].speaker == Speaker::User;
        let places: Vec<usize> = (0..waiting.len()).filter(is_said).collect();
        if places.windows(2).all(|pair| rank(&waiting[pair[0]]) <= rank(&waiting[pair[1]])) {
            continue;
        }
        let mut said: Vec<Message> = places.iter().map(|at| waiting[*at].clone()).collect();
        // The sort is stable.
        said.sort_by_key(rank);
        places.into_iter().zip(said).for_each(|(at, message)| waiting[at] = message);
    }
}

/// Moves what came while an answer was made, and which that answer did not see, behind it and the results of its calls: this is
/// where the agent reads it. In a file it stands before the answer, where it came in.
pub fn put_behind(messages: &mut Vec<Message>) {
    if messages.iter().all(|message| message.read_through.is_none()) {
        return;
    }
    let mut put: Vec<Message> = Vec::with_capacity(messages.len());
    let mut late: Vec<Message> = Vec::new();
    let mut answered = 0;
    for message in messages.drain(..) {
        match message.speaker {
            Speaker::ToolResult => {}
            Speaker::User | Speaker::System => put.append(&mut late),
            Speaker::Assistant => {
                put.append(&mut late);
                if let Some(through) = &message.read_through {
                    // What a person put there later has a number behind the answer's own, or none.
                    let came = number_in(through.as_str()) + 1..number_in(message.id.as_str());
                    let is_late = |m: &mut Message| {
                        m.speaker == Speaker::User && came.contains(&number_in(m.id.as_str()))
                    };
                    late.extend(put.extract_if(answered.., is_late));
                }
                answered = put.len() + 1;
            }
        }
        put.push(message);
    }
    put.append(&mut late);
    *messages = put;
}

/// Leaves out what came when the model was already asked: `from` is the first number that it was not asked with. The next
/// turn reads it. Only the end of a conversation is looked at: what stands before is older, whatever a person numbered it.
pub fn leave_unread(messages: &mut Vec<Message>, from: u32) {
    let is_known = |message: &Message| (1..from).contains(&number_in(message.id.as_str()));
    let end = messages.iter().rposition(is_known).map_or(0, |at| at + 1);
    let is_new = |m: &mut Message| m.speaker == Speaker::User && number_in(m.id.as_str()) >= from;
    messages.extract_if(end.., is_new).for_each(drop);
}
