//! The tool `spawn_agent`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Listener, Reach, Tool, Words};
use crate::topics::role::Permission;
use crate::topics::spawn;

/// Make a new agent, with at most the rights of whoever asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpawnAgent {
    /// Such as coder
    #[schemars(length(min = 1, max = 100))]
    pub role: String,
    /// For people
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub name: Option<String>,
    /// What it is for and must always know
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(min = 1, max = 20000))]
    pub goal: String,
    /// Kinds of work for it, such as code:*
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20), inner(length(min = 1, max = 200)))]
    pub responsibilities: Vec<String>,
}

impl Tool for SpawnAgent {
    const NAME: &'static str = spawn::SPAWN;
    const DESCRIPTION: &'static str = "Make a new agent with the rights of its role; it ends with you. Give it work with delegate or \
        create_task. Returns its id.";
    const NEEDS: Option<Permission> = Some(Permission::SpawnAgents);
    const INSIDE: bool = true;

    fn reach(&self) -> Reach<'_> {
        Reach { listener: Some(Listener::NewAgent), ..Reach::default() }
    }

    fn words(&self) -> Words {
        let article = if self.role.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        let rest = format!("{article} {}", self.role);
        Words::new(format!("spawn {rest}"), format!("spawned {rest}")).about(self.goal.clone())
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self {
            role: "coder".to_owned(),
            name: None,
            goal: String::new(),
            responsibilities: Vec::new(),
        })
    }
}
