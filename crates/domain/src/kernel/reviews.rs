//! The review that a conversation or a call is about.

use crate::kernel::state::State;
use crate::topics::review::{Review, Stage};
use crate::topics::session::Session;
use crate::topics::tool::{AboutReview, Call, Want};
use crate::words::id::{ReviewId, SessionId};

/// The review that a conversation is there to answer, whatever has become of it: it stays one about the work of others.
pub fn of_session<'a>(state: &'a State, session: &Session) -> Option<&'a Review> {
    state.reviews.by_task.get(session.task.as_ref()?).and_then(|id| state.reviews.by_id.get(id))
}

/// The review that a call is about when it begins: the one it merges, or the one that its conversation is there to answer. What
/// is no longer approved by then is not merged, whatever it was when the call was let through.
pub fn of_call<'a>(state: &'a State, session: &SessionId, call: &Call) -> Option<&'a Review> {
    match merged(call) {
        Some(review) => {
            let review = state.reviews.by_id.get(review)?;
            matches!(review.stage, Stage::Approved | Stage::Merged { .. }).then_some(review)
        }
        None => of_session(state, state.sessions.get(session)?),
    }
}

/// The review whose work a call merges.
pub(crate) fn merged(call: &Call) -> Option<&ReviewId> {
    let Want::Act(act) = &call.want else { return None };
    match act.reach().review {
        Some(AboutReview::Merges(review)) => Some(review),
        Some(AboutReview::Asks | AboutReview::Answers) | None => None,
    }
}
