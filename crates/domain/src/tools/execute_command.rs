//! `execute_command`.

use serde::{Deserialize, Serialize};

/// Run a command in the agent's workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecuteCommand {
    /// As one would type it.
    pub command: String,
}
