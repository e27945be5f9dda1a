//! Moving a conversation through its lifecycle, and blocking it when only others can bring it on.

use crate::kernel::draft::Draft;
use crate::kernel::event::SessionEvent;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::session::{On, Stage, Step, next_call};
use crate::words::id::SessionId;

/// Brings a conversation to `to`, by way of what lies between.
pub(super) fn move_to(d: &mut Draft<'_>, id: &SessionId, to: Lifecycle, reason: &str) {
    go(d, id, to, false, reason);
}

/// Ends a conversation, perhaps with a failure.
pub(super) fn complete(d: &mut Draft<'_>, id: &SessionId, failed: bool, reason: &str) {
    go(d, id, Lifecycle::Complete, failed, reason);
}

fn go(d: &mut Draft<'_>, id: &SessionId, to: Lifecycle, failed: bool, reason: &str) {
    let Some(session) = d.sessions.get(id) else { return };
    let (task, path) = (session.task.clone(), session.lifecycle.path(to));
    for to in path {
        let failed = failed && to == Lifecycle::Complete;
        d.emit(SessionEvent::Moved {
            session: id.clone(),
            task: task.clone(),
            to,
            failed,
            reason: reason.to_owned(),
        });
    }
}

/// Blocks a conversation if only people or other agents can bring it on.
pub(super) fn settle(d: &mut Draft<'_>, id: &SessionId) {
    settle_for(d, id, None);
}

/// The same, with the reason for which it waits since now.
pub(super) fn settle_for(d: &mut Draft<'_>, id: &SessionId, reason: Option<String>) {
    let Some(session) = d.sessions.get(id) else { return };
    let Stage::Acting { calls, .. } = &session.stage else { return };
    let runs = calls.iter().any(|pending| pending.step.is_under_way());
    if runs || next_call(calls).is_some() {
        return;
    }
    let reason = reason.or_else(|| calls.iter().find_map(|pending| waits_for(&pending.step)));
    if let Some(reason) = reason {
        move_to(d, id, Lifecycle::Blocked, &reason);
    }
}

/// What a call waits for, in words.
fn waits_for(step: &Step) -> Option<String> {
    let Step::Waiting { on } = step else { return None };
    Some(match on {
        On::Approval { approval } => format!("waits for a person to decide {approval}"),
        On::Delegation { delegation } => format!("waits for {delegation}"),
        On::Review { review } => format!("waits for {review}"),
        On::Answer { correlation, .. } => format!("waits for the answer to {correlation}"),
        On::Lock { name, .. } => format!("waits for the lock {name}"),
    })
}
