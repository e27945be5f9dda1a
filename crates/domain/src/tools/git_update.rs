//! `git_update`.

use serde::{Deserialize, Serialize};

/// Bring what others merged meanwhile into the agent's branch, in its workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GitUpdate {
    /// Instead, undo a merge that is not committed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub take_back: bool,
}
