//! `send_message`.

use serde::{Deserialize, Serialize};

use crate::id::AgentId;
use crate::message::{Kind, Urgency};

/// Say something to another agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    /// Whom; `broadcast` is all others, `#ops` those that listen to that channel.
    pub to: AgentId,
    /// What.
    pub content: String,
    /// What it wants; an answer if left out.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// How urgent it is.
    #[serde(default, skip_serializing_if = "Urgency::is_normal")]
    pub priority: Urgency,
    /// Of a response: the request that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// Of a request: stand still so long for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// Of a response about somebody's work: whether it is good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// And what is wrong with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<String>,
}
