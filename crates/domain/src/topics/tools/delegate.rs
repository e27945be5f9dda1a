//! The tool `delegate`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Listener, Reach, Tool, Words};
use crate::topics::context::Pass;
use crate::topics::delegation;
use crate::words::id::{AgentId, TaskId};

/// Hand a piece of work to another agent, and wait for what comes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delegate {
    /// Id of the agent
    #[schemars(with = "String", regex(pattern = r"^[a-z][a-z0-9-]{0,62}$"))]
    pub to: AgentId,
    /// Kind of work that it does, such as ops:check
    #[schemars(length(min = 1, max = 200))]
    pub tag: String,
    /// All that is needed for it
    #[schemars(length(min = 1, max = 20000))]
    pub task: String,
    /// Data, any JSON value
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "serde_json::Value")]
    pub payload: Option<serde_json::Value>,
    /// false: do not wait and hear no more of it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<bool>,
    /// Give up after this time
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_592_000_000_u64))]
    pub deadline_ms: Option<u64>,
    /// Shared contexts that it may see meanwhile
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub contexts: Vec<Pass>,
    /// Ended tasks whose results go along
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>", length(max = 20), inner(length(min = 1, max = 63)))]
    pub with_results: Vec<TaskId>,
}

impl Tool for Delegate {
    const NAME: &'static str = delegation::TOOL;
    const DESCRIPTION: &'static str = "Hand work to another agent and wait for its result.";
    const INSIDE: bool = true;

    fn reach(&self) -> Reach<'_> {
        Reach { listener: Some(Listener::Agent(&self.to)), ..Reach::default() }
    }

    fn words(&self) -> Words {
        Words::new(format!("delegate to {}", self.to), format!("delegated to {}", self.to))
            .about(self.task.clone())
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self {
            to: at.agent.clone(),
            tag: "a:tag".to_owned(),
            task: "a word".to_owned(),
            payload: None,
            callback: None,
            deadline_ms: None,
            contexts: Vec::new(),
            with_results: Vec::new(),
        })
    }
}
