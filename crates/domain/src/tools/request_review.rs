//! `request_review`.

use serde::{Deserialize, Serialize};

use crate::id::AgentId;

/// Ask another agent to look at what is committed on the caller's branch, and wait for what it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestReview {
    /// What changed and why, for who looks at it.
    pub summary: String,
    /// Whom; somebody who may is found if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AgentId>,
}
