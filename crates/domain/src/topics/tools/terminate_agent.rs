//! The tool `terminate_agent`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Listener, Reach, Tool, Words};
use crate::topics::role::Permission;
use crate::topics::spawn;
use crate::words::id::AgentId;

/// End an agent that was spawned, with all that it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TerminateAgent {
    /// Id of the agent
    #[schemars(with = "String", regex(pattern = r"^[a-z][a-z0-9-]{0,62}$"))]
    pub agent: AgentId,
    /// For those who waited for it
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1000))]
    pub reason: String,
}

impl Tool for TerminateAgent {
    const NAME: &'static str = spawn::TERMINATE;
    const DESCRIPTION: &'static str = "End an agent that you spawned; its work is given up.";
    const NEEDS: Option<Permission> = Some(Permission::SpawnAgents);
    const INSIDE: bool = true;

    fn reach(&self) -> Reach<'_> {
        let listener = (!self.reason.trim().is_empty()).then_some(Listener::Everybody);
        Reach { listener, ..Reach::default() }
    }

    fn words(&self) -> Words {
        Words::new(format!("terminate {}", self.agent), format!("terminated {}", self.agent))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { agent: at.agent.clone(), reason: String::new() })
    }
}
