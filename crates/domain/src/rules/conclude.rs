//! What follows when a model has answered without asking for anything, or reports its task done.

use crate::kernel::answers;
use crate::kernel::draft::Draft;
use crate::kernel::endings::open_work;
use crate::kernel::event::{TaskEvent, TurnEvent};
use crate::kernel::reviews;
use crate::rules::answer::{answer_all, answer_but};
use crate::rules::end::{end_task, fail};
use crate::rules::locks::must_not_rest;
use crate::rules::moves::{complete, move_to};
use crate::rules::next::next_turn;
use crate::rules::say::{notification, said};
use crate::rules::talk::root;
use crate::topics::evidence::ROUNDS_MAX;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::message::{Envelope, Kind};
use crate::topics::session::Proving;
use crate::topics::session::{Message, Speaker};
use crate::topics::task::End;
use crate::topics::tool::{Act, Call, Check, Want};
use crate::words::actor::Actor;
use crate::words::id::{CallId, SessionId, TaskId};
use crate::words::text::cut;

/// So often an agent that answers in words is told that its task is open; then the task fails.
const REMINDERS_MAX: u32 = 1;
/// So much of its last words is quoted then.
const QUOTED_BYTES_MAX: usize = 500;

/// The model has answered without asking for anything. Words do not end a task.
pub(super) fn conclude(d: &mut Draft<'_>, id: &SessionId, text: &str) {
    if let Some(task) = due(d, id, text) {
        leave_open(d, id, &task, text);
    }
}

/// The agent reports its task done.
pub(super) fn report(d: &mut Draft<'_>, id: &SessionId, text: &str) {
    if let Some(task) = due(d, id, text) {
        prove(d, id, &task, text);
    }
}

/// The conversation's own task, if nothing is left to read or to wait for. Else the conversation reads, rests or ends.
fn due(d: &mut Draft<'_>, id: &SessionId, text: &str) -> Option<TaskId> {
    let session = d.sessions.get(id)?;
    if session.talk.unread {
        // What was read so far is answered by this; the next turn is for what came meanwhile.
        answer_read(d, id, text);
        next_turn(d, id);
        return None;
    }
    let Some(task) = session.task.as_ref().and_then(|task| d.work.tasks.get(task)) else {
        rest(d, id, text, "it has said what it had to say");
        return None;
    };
    let open = open_work(d, id, session);
    if !open.is_empty() {
        let reason = format!("waits for {}", open.join(", "));
        rest(d, id, text, &reason);
        return None;
    }
    if task.session() != Some(id) {
        let reason = if task.is_ended() { "its task has ended" } else { "its task is worked on elsewhere" };
        answer_all(d, id, &[], text);
        complete(d, id, false, reason);
        return None;
    }
    Some(task.spec.id.clone())
}

/// Words alone: they answer those who asked, and the agent is told that its task is open. If it was told already, the task fails.
fn leave_open(d: &mut Draft<'_>, id: &SessionId, task: &TaskId, text: &str) {
    let Some(session) = d.sessions.get(id) else { return };
    let review = reviews::of_session(d, session).map(|review| (review.id.clone(), review.about.clone()));
    let (agent, reminders) = (session.agent.clone(), session.proof.reminders);
    if !session.ties.requests.is_empty() {
        // An answer to others is no attempt at an end.
        answer_read(d, id, text);
    } else if reminders < REMINDERS_MAX {
        d.emit(TurnEvent::Reminded { session: id.clone() });
    } else {
        let times = reminders + 1;
        match review {
            // Never the words in place of the verdict.
            Some((review, about)) => {
                let reason =
                    format!("no verdict: {agent} answered {times} times in words, without approve_work");
                fail(d, id, &reason);
                tell_coordinator(d, about.as_ref(), &format!("{review}: {reason}"));
            }
            None => {
                let quoted = cut(text.trim(), QUOTED_BYTES_MAX);
                let reason = format!(
                    "{agent} answered {times} times in words and did not end the task with finish_task; its last words: {quoted}"
                );
                fail(d, id, &reason);
            }
        }
        return;
    }
    let text = match review {
        Some((review, _)) => format!(
            "{review} has no verdict yet, and words are none. Give it with approve_work: approved: true, or approved: false with the issues."
        ),
        None => format!(
            "{task} is still open: words alone do not end it. Go on with it, or end it with finish_task: done, failed or blocked, and what came of it."
        ),
    };
    tell(d, id, &text);
    next_turn(d, id);
}

/// Says something for the request that a conversation is at: its turns go on counting.
fn tell(d: &mut Draft<'_>, id: &SessionId, text: &str) {
    let cause = d.sessions.get(id).map(|session| root(id, session).clone());
    let envelope = Envelope { kind: Kind::Notification, cause, ..Envelope::default() };
    let message = Message { envelope: Some(Box::new(envelope)), ..notification(d.at, text.to_owned()) };
    d.say(id, message, None);
}

/// Whoever gave the author the work hears that its review ended without a verdict.
fn tell_coordinator(d: &mut Draft<'_>, about: Option<&TaskId>, text: &str) {
    let task = about.and_then(|about| d.work.tasks.get(about));
    let asker = task.and_then(|task| d.asker_of(task)).cloned();
    if let Some(asker) = asker.filter(|asker| d.sessions.get(asker).is_some_and(|asker| !asker.is_over())) {
        tell(d, &asker, text);
    }
}

/// Done is what the task's evidence shows.
fn prove(d: &mut Draft<'_>, id: &SessionId, task_id: &TaskId, text: &str) {
    let (Some(session), Some(task)) = (d.sessions.get(id), d.work.tasks.get(task_id)) else { return };
    match task.spec.evidence() {
        Ok(evidence) if evidence.is_empty() => done(d, id, task_id, text),
        Ok(evidence) => {
            let (turns, label) = (session.pace.turns_total, session.label.clone());
            let calls = evidence.into_iter().enumerate().map(|(number, evidence)| {
                let act = Act::Check(Check { task: task_id.clone(), evidence, result: text.to_owned() });
                Call {
                    id: CallId::new(format!("check-{turns}-{}", number + 1)),
                    arguments: serde_json::to_string(&act).unwrap_or_default(),
                    want: Want::Act(act),
                    seen: None,
                }
            });
            let calls = calls.collect();
            let blank = said(d.at, Some(Actor::Synod), String::new(), label);
            let message = d.placed(id, Message { speaker: Speaker::Assistant, calls, ..blank });
            d.emit(TurnEvent::EvidenceDemanded { session: id.clone(), message });
        }
        // Nothing can meet it, so a person must correct it; the agent's work is not lost, it stands in the session.
        Err(why) => fail(d, id, &format!("done_when of {task_id} cannot be read: {why}")),
    }
}

fn rest(d: &mut Draft<'_>, id: &SessionId, text: &str, reason: &str) {
    if must_not_rest(d, id) {
        return;
    }
    answer_read(d, id, text);
    move_to(d, id, Lifecycle::Waiting, reason);
}

/// Answers all requests that the conversation has read and for which nothing is still to come.
fn answer_read(d: &mut Draft<'_>, id: &SessionId, text: &str) {
    let Some(session) = d.sessions.get(id) else { return };
    let later: Vec<String> = answers::to_come(d, id, session).into_iter().cloned().collect();
    answer_all(d, id, &later, text);
}

/// The evidence was looked at: the task is done, or the agent hears what is missing.
pub(super) fn proven(d: &mut Draft<'_>, id: &SessionId, proving: &Proving) {
    let Some(session) = d.sessions.get(id) else { return };
    let task = session.task.as_ref().and_then(|task| d.work.tasks.get(task));
    let Some(task) = task.filter(|task| task.session() == Some(id)) else { return next_turn(d, id) };
    if session.talk.unread || (proving.missing && session.proof.unproven + 1 < ROUNDS_MAX) {
        return next_turn(d, id);
    }
    if proving.missing {
        let reason =
            format!("done_when: it was reported done {ROUNDS_MAX} times, and the evidence was not there");
        return fail(d, id, &reason);
    }
    let (task, evidence) = (task.spec.id.clone(), task.spec.evidence().unwrap_or_default());
    d.emit(TaskEvent::Verified { task: task.clone(), evidence });
    done(d, id, &task, &proving.said);
}

/// A conversation's task is done.
fn done(d: &mut Draft<'_>, id: &SessionId, task_id: &TaskId, text: &str) {
    let (Some(session), Some(task)) = (d.sessions.get(id), d.work.tasks.get(task_id)) else { return };
    let by = Actor::from(&session.agent);
    // The conversation that asked for the task hears of its end by a notice.
    let asker = d.asker_of(task).cloned();
    answer_but(d, id, asker.as_ref(), &[], text);
    d.on_behalf(id, |d| end_task(d, task_id, End::Done, text, &by));
    complete(d, id, false, "its task is done");
}
