//! The tool `update_task`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Tool, Words};
use crate::topics::task::{Mark, Priority};
use crate::words::id::{AgentId, TaskId};

/// Change a task that the caller works on, asked for, or is the parent of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateTask {
    /// Id of the task
    #[schemars(with = "String", length(min = 1, max = 63))]
    pub id: TaskId,
    /// How it ended
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("enum" = ["done", "failed", "cancelled"]))]
    pub status: Option<Mark>,
    /// What came of it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// New title
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 500), regex(pattern = r"^[^\r\n]+$"))]
    pub title: Option<String>,
    /// Id of the agent that does it instead
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = r"^[a-z][a-z0-9-]{0,62}$"))]
    pub assignee: Option<AgentId>,
    /// A is first
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("enum" = ["A", "B", "C", "D", "E", "F"]))]
    pub priority: Option<Priority>,
    /// All tasks that must end first; before it begins
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>", length(max = 100), inner(length(min = 1, max = 63)))]
    pub depends_on: Option<Vec<TaskId>>,
}

impl Tool for UpdateTask {
    const NAME: &'static str = "update_task";
    const DESCRIPTION: &'static str = "Change a task that you work on, asked for or are the parent of.";
    const INSIDE: bool = true;

    fn words(&self) -> Words {
        Words::new(format!("change {}", self.id), format!("changed {}", self.id))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self {
            id: TaskId::new("task-001"),
            status: None,
            result: None,
            title: None,
            assignee: None,
            priority: None,
            depends_on: None,
        })
    }
}
