//! Moving a conversation through its lifecycle, and blocking it when only others can bring it on.

use crate::event::Event;
use crate::id::{ApprovalId, SessionId};
use crate::kernel::draft::Draft;
use crate::lifecycle::Lifecycle;
use crate::state::{Stage, Step};

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
        d.emit(Event::Moved {
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
    let is_busy = |step: &Step| {
        matches!(step, Step::New | Step::Approved { .. } | Step::Locked { .. } | Step::Running { .. })
    };
    if calls.iter().any(|pending| is_busy(&pending.step)) {
        return;
    }
    let reason = reason.or_else(|| calls.iter().find_map(|pending| waits_for(&pending.step)));
    if let Some(reason) = reason {
        move_to(d, id, Lifecycle::Blocked, &reason);
    }
}

/// What a call waits for, in words.
fn waits_for(step: &Step) -> Option<String> {
    match step {
        Step::Asking { approval } => Some(for_person(approval)),
        Step::Delegated { delegation } => Some(format!("waits for {delegation}")),
        Step::Reviewing { review } => Some(format!("waits for {review}")),
        Step::Awaiting { correlation, .. } => Some(format!("waits for the answer to {correlation}")),
        Step::Locking { name, .. } => Some(format!("waits for the lock {name}")),
        Step::New | Step::Approved { .. } | Step::Locked { .. } | Step::Running { .. } | Step::Finished => {
            None
        }
    }
}

fn for_person(approval: &ApprovalId) -> String {
    format!("waits for a person to decide {approval}")
}
