//! Whether a conversation can end its task now, and what it waits for before that.

use crate::kernel::answers;
use crate::kernel::state::State;
use crate::kernel::{reviews, waits};
use crate::topics::session::Session;
use crate::topics::wait::Node;
use crate::words::id::SessionId;

/// What a conversation waits for before its task can be done, in words.
pub(crate) fn open_work(state: &State, id: &SessionId, session: &Session) -> Vec<String> {
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

/// Whether a conversation has a task of its own and nothing left to wait for: it goes on with the task, or ends it with
/// `finish_task`. A review ends with a verdict instead.
pub fn is_due(state: &State, id: &SessionId) -> bool {
    let Some(session) = state.sessions.get(id) else { return false };
    let task = session.task.as_ref().and_then(|task| state.work.tasks.get(task));
    task.is_some_and(|task| task.session() == Some(id) && !task.is_ended())
        && reviews::of_session(state, session).is_none()
        && open_work(state, id, session).is_empty()
}
