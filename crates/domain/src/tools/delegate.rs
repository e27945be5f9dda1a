//! `delegate`.

use serde::{Deserialize, Serialize};

use crate::context::Pass;
use crate::id::AgentId;

/// Hand a piece of work to another agent, and wait for what comes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delegate {
    /// To whom.
    pub to: AgentId,
    /// The kind of work, one that the other answers for.
    pub tag: String,
    /// What is to be done.
    pub task: String,
    /// What the other needs for it, as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<serde_json::Value>,
    /// Whether the call waits for the result; absent: it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<bool>,
    /// How long it may take by the clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// Contexts that the other may see meanwhile, as far as whoever asks may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<Pass>,
}
