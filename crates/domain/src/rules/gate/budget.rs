//! Budget: whether there are tokens and money for a call that asks a model itself.

use super::{Inspector, Ruling};
use crate::topics::budget::Short;

/// A call waits for its budget if nothing else of its turn is under way; otherwise it is denied, since the turn cannot wait
/// for this one alone.
pub(crate) fn judge(short: &Short, others_run: bool) -> Option<Ruling> {
    let advice = || format!("not carried out: {}", short.reason);
    others_run.then(|| Ruling::deny(Inspector::Budget, short.limit.clone(), advice()))
}
