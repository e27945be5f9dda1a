//! The tool `list_agents`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Tool, Words};
use policy::Nature;

/// See what the other agents do now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListAgents {}

impl Tool for ListAgents {
    const NAME: &'static str = "list_agents";
    const DESCRIPTION: &'static str = "List who is free, their tasks and queues.";
    const INSIDE: bool = true;
    const NATURE: Nature = Nature::Read;

    fn words(&self) -> Words {
        Words::new("list the agents", "listed the agents")
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self {})
    }
}
