//! Giving work up: a task, a delegation, a conversation or a run, with all that is below it, in one decision.

use std::collections::BTreeSet;

use crate::decide::{delegate, finish, inside, spawn};
use crate::event::Event;
use crate::id::{DelegationId, SessionId, TaskId, Time};
use crate::lifecycle::Lifecycle;
use crate::refused::Refused;
use crate::state::{Session, State, Task};
use crate::task::End;

/// A person wants that what has this id is given up.
pub(super) fn wanted(state: &State, at: Time, what: &str, by: &str) -> Result<Vec<Event>, Refused> {
    if let Some(task) = state.tasks.get(&TaskId::new(what)) {
        return end(state, at, what, task, by);
    }
    if let Some(delegation) = state.delegations.by_id.get(&DelegationId::new(what)) {
        let task = state.tasks.get(&delegation.task).ok_or_else(|| Refused::Ended(what.to_owned()))?;
        return end(state, at, what, task, by);
    }
    let Some((id, session)) = state.sessions.get_key_value(&SessionId::new(what)) else {
        return Err(Refused::NoSuchWork(what.to_owned()));
    };
    if session.lifecycle == Lifecycle::Complete {
        return Err(Refused::Ended(what.to_owned()));
    }
    // Whoever works on a task is stopped with it: a task without its conversation would begin once more.
    let task = session.task.as_ref().and_then(|task| state.tasks.get(task));
    if let Some(task) = task.filter(|task| task.session() == Some(id)) {
        return end(state, at, what, task, by);
    }
    let reason = format!("cancelled by {by}");
    let mut events = delegate::give_up(state, at, session, &reason);
    events.extend(finish::stop_session(state, at, id, &reason, false));
    Ok(finish::tell_left_behind(state, at, events, None))
}

fn end(state: &State, at: Time, what: &str, task: &Task, by: &str) -> Result<Vec<Event>, Refused> {
    if task.is_ended() {
        return Err(Refused::Ended(what.to_owned()));
    }
    let (result, by) = (format!("cancelled by {by}"), format!("person:{by}"));
    Ok(finish::end(state, at, &task.spec.id, End::Cancelled, &result, &by))
}

/// A person wants that a run is given up: all that was made for one request, whoever made it, also tasks of a
/// conversation, which are a part of nothing.
pub(super) fn run_wanted(state: &State, at: Time, run: &str, by: &str) -> Result<Vec<Event>, Refused> {
    is_run(state, run)?;
    let open: BTreeSet<&TaskId> = state.open.all().filter(|id| state.run_of_task(id) == run).collect();
    let is_in = |id: &SessionId, session: &Session| {
        session.lifecycle != Lifecycle::Complete && state.run_of(id, session.task.as_ref()) == run
    };
    let hears = |id: &SessionId| {
        state.sessions.get(id).is_some_and(|s| s.lifecycle != Lifecycle::Complete && !is_in(id, s))
    };
    let is_there = |(id, session): &(&SessionId, &Session)| {
        // Who only answers in it goes on for others, and stays for them.
        let answers = session.task.is_none() && session.cause.is_some();
        is_in(id, session) && !(answers && (session.rests() || session.askers.iter().any(hears)))
    };
    let there: Vec<(&SessionId, &Session)> = state.sessions.iter().filter(is_there).collect();
    if open.is_empty() && there.is_empty() {
        return Err(Refused::Ended(run.to_owned()));
    }
    let (reason, person) = (format!("run {run} was cancelled by {by}"), format!("person:{by}"));
    let mut events = Vec::new();
    for task in inside::topmost(state, &open) {
        events.extend(finish::end_parts_too(state, at, task, End::Cancelled, &reason, &person, None));
    }
    for (id, session) in there {
        events.extend(delegate::give_up(state, at, session, &reason));
        events.extend(finish::stop_session(state, at, id, &reason, false));
    }
    Ok(finish::tell_left_behind(state, at, spawn::once(events), None))
}

/// A run has the name of what it began with. Who names something else of it is told what that belongs to.
fn is_run(state: &State, name: &str) -> Result<(), Refused> {
    let delegated = state.delegations.by_id.get(&DelegationId::new(name)).map(|d| d.task.clone());
    let task = delegated.unwrap_or_else(|| TaskId::new(name));
    let run = if state.tasks.contains_key(&task) {
        state.run_of_task(&task)
    } else if let Some((id, session)) = state.sessions.get_key_value(&SessionId::new(name)) {
        state.run_of(id, session.task.as_ref())
    } else {
        return Err(Refused::NoRun(name.to_owned()));
    };
    if run == name { Ok(()) } else { Err(Refused::PartOfRun { what: name.to_owned(), run }) }
}
