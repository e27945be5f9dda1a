//! What follows when a model has answered without asking for anything: the task is done, or the conversation rests.

use crate::kernel::answers;
use crate::kernel::draft::Draft;
use crate::kernel::event::{TaskEvent, TurnEvent};
use crate::kernel::state::State;
use crate::kernel::waits;
use crate::kernel::waits::Node;
use crate::rules::answer::{answer_all, answer_but};
use crate::rules::end::{end_task, fail};
use crate::rules::locks::must_not_rest;
use crate::rules::moves::{complete, move_to};
use crate::rules::next::next_turn;
use crate::rules::say::said;
use crate::topics::evidence::ROUNDS_MAX;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::session::{Message, Speaker};
use crate::topics::session::{Proving, Session};
use crate::topics::task::End;
use crate::topics::tool::{Act, Call, Check, Want};
use crate::words::actor::Actor;
use crate::words::id::{CallId, SessionId, TaskId};

/// The model has answered without asking for anything.
pub(super) fn conclude(d: &mut Draft<'_>, id: &SessionId, text: &str) {
    let Some(session) = d.sessions.get(id) else { return };
    if session.talk.unread {
        // What was read so far is answered by this; the next turn is for what came meanwhile.
        answer_read(d, id, text);
        return next_turn(d, id);
    }
    let Some(task) = session.task.as_ref().and_then(|task| d.work.tasks.get(task)) else {
        return rest(d, id, text, "it has said what it had to say");
    };
    let is_its = task.session() == Some(id);
    let open = open_work(d, id, session);
    if !open.is_empty() {
        let reason = format!("waits for {}", open.join(", "));
        return rest(d, id, text, &reason);
    }
    if !is_its {
        let reason = if task.is_ended() { "its task has ended" } else { "its task is worked on elsewhere" };
        answer_all(d, id, &[], text);
        return complete(d, id, false, reason);
    }
    let task_id = task.spec.id.clone();
    match task.spec.evidence() {
        Ok(evidence) if evidence.is_empty() => done(d, id, &task_id, text),
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

/// What a conversation waits for before its task can be done, in words.
fn open_work(state: &State, id: &SessionId, session: &Session) -> Vec<String> {
    let task = session.task.as_ref().and_then(|task| state.work.tasks.get(task));
    let own = task.filter(|task| task.session() == Some(id));
    let parts = own.into_iter().flat_map(|task| state.open_children(task)).map(ToString::to_string);
    // An agent that waits for this conversation cannot answer it: to wait for that would never end.
    let comes = |name: &&String| {
        let asked = session.ties.asked.get(*name).into_iter().flat_map(|asked| asked.values());
        let asked = asked.map(|other| Node::Session(other.clone())).collect();
        waits::would_stand_still(state, id, asked).is_none()
    };
    let answers = answers::owed(session).filter(comes).map(|name| format!("the answer to {name}"));
    parts.chain(answers).collect()
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
