//! The tool `get_task`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Tool, Words};
use crate::words::id::TaskId;
use policy::Nature;

/// Read one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetTask {
    /// Such as task-001
    #[schemars(with = "String", length(min = 1, max = 63))]
    pub id: TaskId,
}

impl Tool for GetTask {
    const NAME: &'static str = "get_task";
    const DESCRIPTION: &'static str = "Read a task, its result and parts.";
    const INSIDE: bool = true;
    const NATURE: Nature = Nature::Read;

    fn words(&self) -> Words {
        Words::new(format!("read {}", self.id), format!("read {}", self.id))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { id: TaskId::new("task-001") })
    }
}
