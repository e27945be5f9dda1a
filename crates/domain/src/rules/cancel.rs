//! Giving work up: a task, a delegation, a conversation or a run, with all that is below it, in one decision.

use crate::words::actor::Actor;

use crate::kernel::draft::Draft;
use crate::kernel::refused::Refused;
use crate::kernel::state::State;
use crate::rules::end::{end_task, stop_session};
use crate::rules::tree::topmost;
use crate::topics::session::Session;
use crate::topics::task::End;
use crate::words::id::{DelegationId, RunId, SessionId, TaskId};

/// A person cancels the work that has this id.
pub(super) fn cancel(d: &mut Draft<'_>, what: &str, by: &str) -> Result<(), Refused> {
    if d.work.tasks.contains_key(&TaskId::new(what)) {
        return end(d, what, &TaskId::new(what), by);
    }
    if let Some(delegation) = d.delegations.by_id.get(&DelegationId::new(what)) {
        let task = delegation.task.clone();
        return end(d, what, &task, by);
    }
    let id = SessionId::new(what);
    let session = d.sessions.get(&id).ok_or_else(|| Refused::NoSuchWork(what.to_owned()))?;
    if session.is_over() {
        return Err(Refused::Ended(what.to_owned()));
    }
    // The worker of a task is stopped with it: a task without its conversation would begin once more.
    let task = session.task.as_ref().and_then(|task| d.work.tasks.get(task));
    if let Some(task) = task.filter(|task| task.session() == Some(&id)) {
        let task = task.spec.id.clone();
        return end(d, what, &task, by);
    }
    stop_session(d, &id, &format!("cancelled by {by}"), false);
    Ok(())
}

fn end(d: &mut Draft<'_>, what: &str, task: &TaskId, by: &str) -> Result<(), Refused> {
    if d.work.tasks.get(task).is_none_or(|task| task.is_ended()) {
        return Err(Refused::Ended(what.to_owned()));
    }
    let (result, by) = (format!("cancelled by {by}"), Actor::person(by));
    end_task(d, task, End::Cancelled, &result, &by);
    Ok(())
}

/// A person cancels a run: all that was made for one request, whoever made it, also tasks of a conversation, which are a
/// part of nothing.
pub(super) fn cancel_run(d: &mut Draft<'_>, run: &str, by: &str) -> Result<(), Refused> {
    let id = find_run(d, run)?;
    let open = d.runs.by_id.get(&id).map(|run| run.open.clone()).unwrap_or_default();
    let sessions = members(d, &id);
    if open.is_empty() && sessions.is_empty() {
        return Err(Refused::Ended(run.to_owned()));
    }
    let (reason, person) = (format!("run {run} was cancelled by {by}"), Actor::person(by));
    for task in topmost(d, &open) {
        end_task(d, &task, End::Cancelled, &reason, &person);
    }
    for session in sessions {
        stop_session(d, &session, &reason, false);
    }
    Ok(())
}

/// The conversations that end with a run. One that only answers in it goes on for others, and stays for them.
fn members(state: &State, run: &RunId) -> Vec<SessionId> {
    let hears = |id: &SessionId| {
        let is_open = state.sessions.get(id).is_some_and(|session| !session.is_over());
        is_open && state.runs.of_session(id) != Some(run)
    };
    let stays = |session: &Session| {
        let answers = session.task.is_none() && session.ties.cause.is_some();
        answers && (session.rests() || session.ties.askers.iter().any(hears))
    };
    let is_member = |id: &&SessionId| state.sessions.get(*id).is_some_and(|session| !stays(session));
    let known = state.runs.by_id.get(run);
    known.into_iter().flat_map(|run| &run.sessions).filter(is_member).cloned().collect()
}

/// A run has the name of what it began with. The refusal of anything else names the run that it belongs to.
fn find_run(state: &State, name: &str) -> Result<RunId, Refused> {
    let delegated = state.delegations.by_id.get(&DelegationId::new(name)).map(|d| d.task.clone());
    let task = delegated.unwrap_or_else(|| TaskId::new(name));
    let run = if state.work.tasks.contains_key(&task) {
        state.run_of_task(&task)
    } else if let Some((id, _)) = state.sessions.get_key_value(&SessionId::new(name)) {
        state.run_of_session(id)
    } else {
        return Err(Refused::NoRun(name.to_owned()));
    };
    let is_named = run.as_str() == name;
    if is_named { Ok(run) } else { Err(Refused::PartOfRun { what: name.to_owned(), run: run.to_string() }) }
}
