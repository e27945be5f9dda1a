//! Ending tasks and conversations, with all that depends on them. Nobody is told anything here: an ending leaves
//! notices, and `deliver` brings them to whoever is still there.

use crate::kernel::draft::Draft;
use crate::kernel::event::Finish;
use crate::kernel::event::{ApprovalEvent, TaskEvent};
use crate::kernel::holds::{hold_of, is_hold};
use crate::kernel::state::State;
use crate::rules::moves::complete;
use crate::rules::say::{result, unknown_text};
use crate::rules::tree::{all_below, is_within, label_of_result, waited};
use crate::topics::approval::Outcome;
use crate::topics::session::{Pending, Session, Stage, Step};
use crate::topics::task::Task;
use crate::topics::task::{Change, End};
use crate::topics::wait::{Node, Why};
use crate::words::actor::Actor;
use crate::words::id::{AgentId, SessionId, TaskId};
use policy::Nature;

/// Ends a task and all that is below it.
pub(super) fn end_task(d: &mut Draft<'_>, id: &TaskId, end: End, result: &str, by: &Actor) {
    let Some(task) = d.work.tasks.get(id).filter(|task| !task.is_ended()) else { return };
    if end != End::Done && is_hold(d, task) {
        turn_down(d, id, by);
    }
    let below = all_below(d, id);
    let word = end.mark().as_str();
    for held in held_elsewhere(d, &below).into_iter().filter(|held| held != id) {
        let reason = format!("{id}, of which its plan is a part, is {word}");
        end_task(d, &held, End::Cancelled, &reason, by);
    }
    for part in below {
        if d.work.tasks.get(&part).is_some_and(|part| !part.is_ended()) {
            stop_worker(d, &part, &format!("{id} has ended"));
            let reason = format!("{id}, of which it is a part, is {word}");
            close(d, &part, End::Cancelled, &reason, by);
        }
    }
    stop_worker(d, id, &format!("{id} is {word}"));
    close(d, id, end, result, by);
}

/// Ends one task, whose parts have ended.
fn close(d: &mut Draft<'_>, id: &TaskId, end: End, result: &str, by: &Actor) {
    // What stopped its worker may have ended it already.
    let Some(task) = d.work.tasks.get(id).filter(|task| !task.is_ended()) else { return };
    if let Some(label) = new_origin(d, task) {
        d.emit(TaskEvent::Edited { task: id.clone(), change: Change::Label(label), in_file: false });
    }
    let session = d.acting().cloned();
    let (task, result, by) = (id.clone(), result.to_owned(), by.to_owned());
    d.emit(TaskEvent::Ended { task, end, result, by, session, found: false });
}

/// The origin of a task's result, if its file does not say so yet.
fn new_origin(state: &State, task: &Task) -> Option<crate::words::label::Label> {
    let label = label_of_result(state, task);
    let is_new = label.counts() && task.spec.properties.get("label") != Some(&label.to_string());
    is_new.then_some(label)
}

/// A plan does not get its yes: the steps that wait for it never begin.
pub(super) fn turn_down(d: &mut Draft<'_>, hold: &TaskId, by: &Actor) {
    let is_held = |task: &&Task| !task.is_ended() && hold_of(task).as_ref() == Some(hold);
    let held: Vec<TaskId> = d.work.tasks.values().filter(is_held).map(|task| task.spec.id.clone()).collect();
    let reason = format!("the plan was turned down ({hold})");
    for task in held {
        end_task(d, &task, End::Cancelled, &reason, by);
    }
}

/// Steps that wait for a yes to a plan among `tasks`, and are not among them: a person made them a part of something else.
fn held_elsewhere(state: &State, tasks: &[TaskId]) -> Vec<TaskId> {
    let is_open_hold =
        |id: &&TaskId| state.work.tasks.get(*id).is_some_and(|task| !task.is_ended() && is_hold(state, task));
    let holds: Vec<&TaskId> = tasks.iter().filter(is_open_hold).collect();
    if holds.is_empty() {
        return Vec::new();
    }
    let is_held = |task: &&Task| {
        !task.is_ended()
            && hold_of(task).is_some_and(|hold| holds.contains(&&hold))
            && !tasks.contains(&task.spec.id)
    };
    state.work.tasks.values().filter(is_held).map(|task| task.spec.id.clone()).collect()
}

fn stop_worker(d: &mut Draft<'_>, id: &TaskId, reason: &str) {
    let worker = d.work.tasks.get(id).and_then(|task| task.session());
    if let Some(worker) = worker.filter(|worker| d.acting() != Some(*worker)).cloned() {
        stop_session(d, &worker, reason, false);
    }
}

/// A conversation cannot go on: it ends with its task.
pub(super) fn fail(d: &mut Draft<'_>, id: &SessionId, reason: &str) {
    let own = d.sessions.get(id).and_then(|session| session.task.clone());
    let own = own.filter(|task| d.work.tasks.get(task).is_some_and(|task| task.session() == Some(id)));
    if let Some(task) = own {
        d.on_behalf(id, |d| end_task(d, &task, End::Failed, reason, &Actor::Synod));
    }
    stop_session(d, id, reason, true);
}

/// Ends a conversation: gives each open call a result, gives up what those waited for, and stops who worked for it alone.
pub(super) fn stop_session(d: &mut Draft<'_>, id: &SessionId, reason: &str, failed: bool) {
    let Some(session) = d.sessions.get(id).filter(|session| !session.is_over()) else { return };
    let (own, agent) = (session.task.clone(), session.agent.clone());
    let waited: Vec<TaskId> = waited(d, id).cloned().collect();
    let asked: Vec<SessionId> =
        session.ties.asked.values().flat_map(|asked| asked.values()).cloned().collect();
    drop_calls(d, id, reason);
    complete(d, id, failed, reason);
    let given_up = format!("{agent} gave it up: {reason}");
    for task in waited {
        // A person may have made its own task a part of what it waits for.
        if own.as_ref().is_none_or(|own| !is_within(d, own, &task)) {
            // Also if the conversation that acts works on it: nobody wants its result any more.
            d.by_itself(|d| end_task(d, &task, End::Cancelled, &given_up, &Actor::Synod));
        }
    }
    for other in asked {
        stop_servant(d, &other, &agent);
    }
}

/// Gives up what the calls of a conversation wait for.
pub(super) fn give_up(d: &mut Draft<'_>, id: &SessionId, reason: &str) {
    let Some(session) = d.sessions.get(id) else { return };
    let given_up = format!("{} gave it up: {reason}", session.agent);
    let tasks: Vec<TaskId> = waited(d, id).cloned().collect();
    for task in tasks {
        end_task(d, &task, End::Cancelled, &given_up, &Actor::Synod);
    }
}

/// Stops a conversation that only answered `asker`, who was stopped, with all that it had made for that.
fn stop_servant(d: &mut Draft<'_>, id: &SessionId, asker: &AgentId) {
    let Some(session) = d.sessions.get(id).filter(|session| works_for_others(d, id, session)) else { return };
    let hears = |asker: &SessionId| d.sessions.get(asker).is_some_and(|asker| !asker.is_over());
    if session.is_over() || d.acting() == Some(id) || session.ties.askers.iter().any(hears) {
        return;
    }
    let reason = format!("{asker}, who asked, was stopped");
    let by = Actor::from(&session.agent);
    let is_for_it = |task: &&TaskId| d.work.tasks[*task].cause == session.ties.cause;
    let tasks: Vec<TaskId> = d.work.open.asked_by(id).filter(is_for_it).cloned().collect();
    for task in tasks {
        d.on_behalf(id, |d| end_task(d, &task, End::Cancelled, &reason, &by));
    }
    stop_session(d, id, &reason, false);
}

/// Whether all that a conversation does now is to answer other agents.
fn works_for_others(state: &State, id: &SessionId, session: &Session) -> bool {
    let task = session.task.as_ref().and_then(|task| state.work.tasks.get(task));
    let has_own = task.is_some_and(|task| task.session() == Some(id) && !task.is_ended());
    !session.rests() && !has_own && session.ties.cause.is_some()
}

/// Gives every open call of the current turn a result, and withdraws its approval.
fn drop_calls(d: &mut Draft<'_>, id: &SessionId, reason: &str) {
    withdraw(d, id, reason);
    let Some(Stage::Acting { calls, .. }) = d.sessions.get(id).map(|session| &session.stage) else { return };
    let open: Vec<Pending> = calls.iter().filter(|p| !p.step.is_finished()).cloned().collect();
    for Pending { call, step } in open {
        let (finish, text) = match step {
            Step::Running { nature: Nature::Once, .. } => (Finish::Unknown, unknown_text(&call.want)),
            _ => (Finish::Dropped, format!("not carried out: {reason}")),
        };
        let message = result(d.at, &call.id, text);
        d.finish_call(id, finish, message);
    }
}

/// Withdraws the approvals of a conversation's current turn.
pub(super) fn withdraw(d: &mut Draft<'_>, id: &SessionId, reason: &str) {
    let asked = d.waits.waited_for(&Node::from(id), Why::Approval).filter_map(|node| match node {
        Node::Approval(approval) => Some(approval.clone()),
        _ => None,
    });
    for approval in asked.collect::<Vec<_>>() {
        let outcome = Outcome::Withdrawn { reason: reason.to_owned() };
        d.emit(ApprovalEvent::Ended { approval, outcome });
    }
}
