//! Giving work up: a task, a delegation or a conversation, with all that is below it, in one decision.

use crate::decide::{delegate, finish};
use crate::event::Event;
use crate::id::{DelegationId, SessionId, TaskId, Time};
use crate::lifecycle::Lifecycle;
use crate::refused::Refused;
use crate::state::{State, Task};
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
