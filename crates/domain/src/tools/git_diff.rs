//! `git_diff`.

use serde::{Deserialize, Serialize};

/// Show what changed in the agent's workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GitDiff {
    /// Only this file or folder, from the top of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A branch, tag or commit to compare with; the last commit if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
}
