//! Locks: whether a call that needs a lock of another can wait for it.

use super::{Inspector, Ruling};
use crate::kernel::state::State;
use crate::kernel::waits;
use crate::kernel::waits::{Cycle, Node};
use crate::topics::lock::Holder;
use crate::topics::lock::workspace::is_workspace;
use crate::words::id::{LockName, SessionId, Time};
use crate::words::label::Label;

/// The rule by which a call that cannot have its lock is denied.
const RULE: &str = "lock";

/// Why a call cannot even wait for a lock that another holds, and from whose words that is made.
pub(crate) fn judge(
    state: &State,
    at: Time,
    id: &SessionId,
    name: &LockName,
    wait_ms: u64,
) -> Option<(Ruling, Label)> {
    let deny = |advice: String| Ruling::deny(Inspector::Locks, RULE, advice);
    // Work of the same agent comes one after the other, however long one takes; its tasks are bounded elsewhere.
    let is_bounded = !is_workspace(name);
    if is_bounded && wait_ms == 0 {
        return Some((deny(held_by(state, at, name)), Label::owner()));
    }
    let most = state.config.settings.limits.locks.queue_max as usize;
    if is_bounded && state.locks.get(name).is_some_and(|lock| lock.queue.len() >= most) {
        let held = held_by(state, at, name);
        let why = format!("limits.lock_queue_max: {held}, and {most} wait for it already");
        return Some((deny(why), Label::owner()));
    }
    let cycle = waits::would_stand_still(state, id, waits::for_lock(state, id, name))?;
    let why = format!(
        "waiting would never end: {cycle}; give back what others wait for with unlock, then ask again"
    );
    Some((deny(why), label_of(state, &cycle)))
}

/// The names of locks are words of those who hold them.
pub(crate) fn label_of(state: &State, cycle: &Cycle) -> Label {
    let sessions = cycle.0.iter().filter_map(|node| match node {
        Node::Session(id) => state.sessions.get(id),
        _ => None,
    });
    sessions.fold(Label::owner(), |label, session| label.joined(&session.label))
}

/// In words who has a lock.
pub(crate) fn held_by(state: &State, at: Time, name: &LockName) -> String {
    let Some(lock) = state.locks.get(name) else { return format!("nobody has the lock {name}") };
    match &lock.holder {
        Some(Holder { session, since, .. }) => {
            let agent = state.sessions.get(session).map_or("somebody", |s| s.agent.as_str());
            format!("the lock {name} is held by {agent} in {session} for {} ms", at.ms_since(*since))
        }
        None => format!("the lock {name} goes to who waits for it"),
    }
}
