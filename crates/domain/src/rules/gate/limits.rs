//! Limits: how many calls a turn has, and how often the same one is made.

use super::{Case, Opinion, Place};
use crate::topics::session::Step;

pub(super) fn inspect(case: &Case<'_>) -> Opinion {
    let Some(Place { state, session, pending, index }) = case.place else { return Opinion::NONE };
    let limits = &state.terms(session).limits;
    if index >= limits.calls_max as usize {
        let advice = format!("refused by limits.calls_max: at most {} calls in one turn", limits.calls_max);
        return Opinion::Deny { rule: "limits.calls_max".to_owned(), advice };
    }
    let again = session.pace.repeated.as_ref().filter(|(last, _)| pending.call.is_act(last));
    let is_over = again.is_some_and(|(_, times)| *times >= limits.same_call_max);
    if pending.step != Step::New || !is_over {
        return Opinion::NONE;
    }
    let advice = format!(
        "refused by limits.same_call_max: this exact call was made {} times in a row; do something else or say what is in the way",
        limits.same_call_max
    );
    Opinion::Deny { rule: "limits.same_call_max".to_owned(), advice }
}
