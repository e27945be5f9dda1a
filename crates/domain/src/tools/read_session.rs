//! `read_session`.

use serde::{Deserialize, Serialize};

use crate::id::SessionId;

/// Read a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadSession {
    /// Which.
    pub session: SessionId,
    /// At most so many messages, the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<u32>,
}
