//! What must happen at a time.

use serde::{Deserialize, Serialize};

use crate::words::id::{ApprovalId, CallId, DelegationId, LockName, SessionId, TaskId};

/// What must happen at a time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deadline {
    /// A session has worked too long.
    Work(SessionId),
    /// A failed model call is due again.
    Retry(SessionId),
    /// An approval lapses.
    Approval(ApprovalId),
    /// Delegated work is too late.
    Delegation(DelegationId),
    /// Nobody waits for an answer any longer.
    Answer(SessionId, CallId),
    /// A window opens that a parked session waits for.
    Window(SessionId),
    /// A task has waited too long for a slot.
    Queue(TaskId),
    /// Nobody waits for a lock any longer.
    Lock(SessionId, CallId),
    /// A lock was not used for too long.
    Lease(LockName),
    /// A window opens that a parked task waits for.
    Begin(TaskId),
    /// A provider that does not answer is tried again; its name among the outages.
    Provider(String),
}
