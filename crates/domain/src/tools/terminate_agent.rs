//! `terminate_agent`.

use serde::{Deserialize, Serialize};

use crate::id::AgentId;

/// End an agent that was spawned, with all that it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TerminateAgent {
    /// Which.
    pub agent: AgentId,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}
