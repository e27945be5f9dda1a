//! New versions of session files that report a status, on their way to the disk.

use domain::id::{SessionId, Time};

use crate::disk::{Known, Prepared};

/// A status that is to be told.
#[derive(Debug, Clone)]
pub(super) struct Due {
    /// Since when it is so.
    pub(super) at: Time,
    /// Why the conversation is over, if it is.
    pub(super) why: Option<String>,
}

/// A new version of a session file that waits for the disk.
pub(super) struct Turned {
    pub(super) session: SessionId,
    pub(super) due: Due,
    pub(super) old: Known,
    pub(super) new: Prepared,
}

impl Turned {
    /// The file whose bytes must be durable before it takes its place.
    pub(super) fn prepared(&self) -> &Prepared {
        &self.new
    }
}
