//! `check`.

use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;
use crate::id::TaskId;

/// Look whether what a task demands is there. Synod's own; no agent has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Of which task.
    pub task: TaskId,
    /// What.
    pub evidence: Evidence,
    /// What the agent says came of the task.
    pub result: String,
}
