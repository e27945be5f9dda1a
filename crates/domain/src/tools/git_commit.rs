//! `git_commit`.

use serde::{Deserialize, Serialize};

/// Commit what changed in the agent's workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GitCommit {
    /// Why it changed.
    pub message: String,
    /// Only these files and folders, from the top of the workspace; all if left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}
