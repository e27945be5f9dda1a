//! Answers that are still to come.

use crate::kernel::state::State;
use crate::kernel::waits;
use crate::topics::session::Session;
use crate::words::id::SessionId;

/// Requests to one agent that have no answer yet: a task is not done before they have. Who asked many is not held up by
/// them.
pub(crate) fn owed(session: &Session) -> impl Iterator<Item = &String> {
    session.ties.asked.iter().filter(|(_, asked)| asked.len() == 1).map(|(name, _)| name)
}

/// Requests of others that what a conversation says now does not answer: it has not read them, or it has asked somebody since
/// and says more when it has heard. Unless that one may wait for it in turn: then what it says is all there is.
pub(crate) fn to_come<'a>(state: &State, id: &SessionId, session: &'a Session) -> Vec<&'a String> {
    let asked = owed(session).filter_map(|name| session.ties.asked_in.get(name)).max();
    let asked =
        asked.filter(|_| !session.ties.requests.is_empty() && !waits::is_asked_in_a_circle(state, id));
    let is_unread = |turn: &u32| session.talk.unread && *turn > session.pace.turns_total;
    let is_open = |turn: &u32| is_unread(turn) || asked.is_some_and(|asked| asked >= turn);
    session.ties.requests.iter().filter(|(_, turn)| is_open(turn)).map(|(name, _)| name).collect()
}
