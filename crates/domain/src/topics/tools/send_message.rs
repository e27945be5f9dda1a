//! The tool `send_message`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Listener, Reach, Tool, Words};
use crate::topics::message::{Kind, Urgency};
use crate::words::id::AgentId;

/// Say something to another agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    /// Agent, broadcast or #channel
    #[schemars(with = "String", regex(pattern = r"^#?[a-z][a-z0-9-]{0,62}$"))]
    pub to: AgentId,
    /// What to say
    #[schemars(length(min = 1))]
    pub content: String,
    /// A notification wants no answer
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("enum" = ["request", "response", "notification", "dependency_request", "dependency_resolution", "help_request", "help_response"]))]
    pub kind: Option<Kind>,
    /// How soon it is read; normal if left out
    #[serde(default, skip_serializing_if = "Urgency::is_normal")]
    #[schemars(with = "String", extend("enum" = ["low", "normal", "high", "critical"]))]
    pub priority: Urgency,
    /// The request that this answers
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub reply_to: Option<String>,
    /// Wait so long for the answer
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3600000))]
    pub wait_ms: Option<u64>,
    /// Of a response about somebody's work: whether it is good
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// Of a response about somebody's work: what is wrong with it
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), inner(length(min = 1)))]
    pub issues: Vec<String>,
}

impl Tool for SendMessage {
    const NAME: &'static str = "send_message";
    const DESCRIPTION: &'static str =
        "Send a message to an agent, to all (broadcast) or to a channel (#name).";
    const UNSHOWN: &'static [&'static str] = &["priority", "wait_ms", "approved", "issues"];
    const INSIDE: bool = true;

    fn reach(&self) -> Reach<'_> {
        Reach { listener: Some(Listener::Agent(&self.to)), ..Reach::default() }
    }

    fn words(&self) -> Words {
        Words::new(format!("tell {}", self.to), format!("told {}", self.to)).about(self.content.clone())
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self::plain(at.agent.clone(), "a word"))
    }
}

impl SendMessage {
    /// A message that wants an answer some time.
    pub fn plain(to: AgentId, content: impl Into<String>) -> Self {
        Self {
            to,
            content: content.into(),
            kind: None,
            priority: Urgency::Normal,
            reply_to: None,
            wait_ms: None,
            approved: None,
            issues: Vec::new(),
        }
    }
}
