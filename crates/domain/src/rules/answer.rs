//! Answers: the last words of a conversation for those who asked in it, and the result of a call that waits for a task.

use crate::words::actor::Actor;
use std::fmt::Write as _;

use crate::kernel::draft::Draft;
use crate::kernel::event::Finish;
use crate::kernel::state::State;
use crate::rules::say::{result, said};
use crate::rules::talk::root;
use crate::rules::tree::label_of_result;
use crate::topics::chain;
use crate::topics::message::{Envelope, Kind};
use crate::topics::review::{Move, Review, Stage as ReviewStage, short};
use crate::topics::session::Session;
use crate::topics::session::{Message, Speaker};
use crate::topics::task::End;
use crate::topics::task::Task;
use crate::topics::wait::{Node, Why};
use crate::words::id::{AgentId, CallId, SessionId, TaskId, Time};

/// What a conversation says to another.
pub(super) fn write(at: Time, session: &Session, content: &str, envelope: Envelope) -> Message {
    let from = Actor::from(&session.agent);
    let message = said(at, Some(from), content.to_owned(), session.label.clone());
    Message { envelope: Some(Box::new(envelope)), ..message }
}

/// An answer is the result of the call that waits for it, else a message.
pub(super) fn hand_over(
    d: &mut Draft<'_>,
    asker: &SessionId,
    call: Option<CallId>,
    finish: &Finish,
    message: Message,
) {
    match call {
        Some(call) => {
            let message = Message { speaker: Speaker::ToolResult, call: Some(call), ..message };
            d.finish_call(asker, finish.clone(), message);
        }
        None => d.say(asker, message, None),
    }
}

/// The last words of a conversation for each that asked in it, but for requests that it answers later.
pub(super) fn answer_all(d: &mut Draft<'_>, id: &SessionId, later: &[String], text: &str) {
    answer_but(d, id, None, later, text);
}

/// The same, if one of them hears of it in another way too: only its calls that wait get a result.
pub(super) fn answer_but(
    d: &mut Draft<'_>,
    id: &SessionId,
    told: Option<&SessionId>,
    later: &[String],
    text: &str,
) {
    let Some(session) = d.sessions.get(id) else { return };
    for asker in session.ties.askers.clone() {
        let is_told = told == Some(&asker);
        last_words(d, id, &asker, (is_told, later), (&Finish::Done, text));
    }
}

/// The last words of a conversation for one that asked in it: the result of each call that waits, and a response to each
/// other request. An asker that hears of it in another way gets no message, but a call that waits must end.
pub(super) fn last_words(
    d: &mut Draft<'_>,
    id: &SessionId,
    asker_id: &SessionId,
    (is_told, later): (bool, &[String]),
    (finish, text): (&Finish, &str),
) {
    let (Some(session), Some(asker)) = (d.sessions.get(id), d.sessions.get(asker_id)) else { return };
    if asker.is_over() {
        return;
    }
    let open = asker.ties.asked.iter().filter(|(_, asked)| asked.get(&session.agent) == Some(id));
    let open: Vec<&String> = open.map(|(name, _)| name).collect();
    let names = open.iter().copied().filter(|name| !later.contains(name));
    let (waiting, others): (Vec<&String>, Vec<&String>) =
        names.partition(|name| asker.awaiting(name).is_some());
    let answer = |name: Option<&String>, text: &str| {
        let envelope = Envelope {
            kind: name.map_or(Kind::Response, |name| asker.answer_to(name)),
            correlation_id: name.cloned(),
            in_reply_to: name.cloned(),
            cause: Some(root(id, session).clone()),
            ..Envelope::default()
        };
        write(d.at, session, text, envelope)
    };
    let mut answers: Vec<(Option<CallId>, Message)> = Vec::new();
    for name in &waiting {
        answers.push((asker.awaiting(name).cloned(), answer(Some(name), text)));
    }
    if !is_told {
        // Said once in full: the last of the calls that wait has it, else the last response.
        let full = waiting.last().or(others.last());
        for name in &others {
            let said = match full {
                Some(full) if full != name => &format!("answered with {full}"),
                Some(_) | None => text,
            };
            answers.push((None, answer(Some(name), said)));
        }
        if open.is_empty() {
            answers.push((None, answer(None, text)));
        }
    }
    for (call, message) in answers {
        hand_over(d, asker_id, call, finish, message);
    }
}

/// The end of a task as the result of the call of `asker` that waits for it; `None` if none does.
pub(super) fn of_task(
    state: &State,
    at: Time,
    asker: &SessionId,
    task: &Task,
    (end, text): (End, &str),
) -> Option<(Finish, Message)> {
    if !state.waits.has(&Node::from(asker), &Node::from(&task.spec.id), Why::Delegation) {
        return None;
    }
    delegated(state, at, asker, task, (end, text)).or_else(|| reviewed(state, at, asker, task, (end, text)))
}

fn delegated(
    state: &State,
    at: Time,
    asker: &SessionId,
    task: &Task,
    (end, text): (End, &str),
) -> Option<(Finish, Message)> {
    let own = state.delegations.of_task(&task.spec.id).filter(|d| d.session == *asker);
    let delegation = own.filter(|delegation| delegation.callback)?;
    // A person may have given the work to somebody else meanwhile.
    let doer = task.spec.assignee.as_ref().unwrap_or(&delegation.target);
    let (finish, text) = outcome_of_delegation(doer, &task.spec.id, end, text, &delegation.chain);
    let label = label_of_result(state, task);
    Some((finish, Message { label, ..result(at, &delegation.call, text) }))
}

/// What came of delegated work, for its caller.
pub(super) fn outcome_of_delegation(
    doer: &AgentId,
    task: &TaskId,
    end: End,
    text: &str,
    chain: &[AgentId],
) -> (Finish, String) {
    let (finish, word) = match end {
        End::Done => (Finish::Done, "has done"),
        End::Failed => (Finish::Failed, "could not do"),
        End::Cancelled => (Finish::Failed, "no longer does, because it was cancelled,"),
    };
    let said = if text.is_empty() { "nothing was said about it" } else { text };
    (finish, format!("{doer} {word} {task}: {said}\nchain: {}", chain::shown(chain)))
}

fn reviewed(
    state: &State,
    at: Time,
    asker: &SessionId,
    task: &Task,
    (end, text): (End, &str),
) -> Option<(Finish, Message)> {
    let review = state.reviews.of_task(&task.spec.id).filter(|review| review.session == *asker)?;
    let (finish, text) = match end {
        End::Done => (Finish::Done, text.to_owned()),
        End::Failed => {
            let id = &review.id;
            (Finish::Failed, format!("{id} ended without a verdict: {text}\nAsk again with request_review."))
        }
        End::Cancelled => (Finish::Failed, format!("{} was cancelled: {text}", review.id)),
    };
    let (label, from) = (label_of_result(state, task), Actor::from(&review.reviewer));
    let envelope = verdict_envelope(review).map(Box::new);
    Some((finish, Message { label, from: Some(from), envelope, ..result(at, &review.call, text) }))
}

/// The verdict of a review in a form that programs read; `None` while there is none.
fn verdict_envelope(review: &Review) -> Option<Envelope> {
    let (approved, issues) = match &review.stage {
        ReviewStage::Approved => (true, Vec::new()),
        ReviewStage::Rejected { issues } => (false, issues.clone()),
        ReviewStage::Asked
        | ReviewStage::Conflicted { .. }
        | ReviewStage::Lapsed
        | ReviewStage::Merged { .. } => return None,
    };
    let in_reply_to = Some(review.id.to_string());
    Some(Envelope {
        kind: Kind::Response,
        in_reply_to,
        approved: Some(approved),
        issues,
        ..Envelope::default()
    })
}

/// The verdict as the author and the reviewer's task show it.
pub(super) fn verdict_words(state: &State, review: &Review, by: &AgentId, to: &Move) -> String {
    let (id, commit, round) = (&review.id, short(&review.place.commit), review.round);
    let most = state.config.settings.review.max_review_rounds;
    match to {
        Move::Rejected { issues } => {
            let mut text = format!("{id} round {round}: {by} rejected {commit}:");
            for issue in issues {
                _ = write!(text, "\n- {issue}");
            }
            if round >= most {
                _ = write!(
                    text,
                    "\nThis was round {round} of {most}: a person is asked before the next one."
                );
            }
            text
        }
        Move::Approved => {
            let told = |word: &str, passed: bool| {
                let so = review.checks.iter().filter(|(_, is_passed)| **is_passed == passed);
                let names: Vec<&str> = so.map(|(check, _)| check.as_str()).collect();
                if names.is_empty() { String::new() } else { format!("; {word}: {}", names.join(", ")) }
            };
            let (passed, failed) = (told("passed", true), told("failed", false));
            format!(
                "{id} round {round}: {by} approved {commit}{passed}{failed}. It can be merged: merge_branch {id}"
            )
        }
        other => format!("{id} round {round}: {}", other.as_str()),
    }
}
