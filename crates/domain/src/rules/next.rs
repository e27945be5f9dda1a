//! The next turn of a conversation.

use crate::kernel::draft::Draft;
use crate::rules::budget;
use crate::rules::end::fail;
use crate::words::id::SessionId;

/// All results are there: ask the model again, unless it was asked often enough.
pub(super) fn next_turn(d: &mut Draft<'_>, id: &SessionId) {
    let Some(session) = d.sessions.get(id) else { return };
    let most = d.terms(session).limits.turns_max;
    if session.pace.turns >= most {
        let reason = format!("limits.turns_max: the agent took {most} turns without coming to an end");
        return fail(d, id, &reason);
    }
    budget::begin(d, id, "all results are there");
}
