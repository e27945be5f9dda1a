//! The tool `create_plan`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Tool, Words};
use crate::topics::plan;

/// Split the caller's task into tasks that wait for each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreatePlan {
    /// In any order.
    #[schemars(length(min = 1, max = 50))]
    pub tasks: Vec<plan::Step>,
}

impl Tool for CreatePlan {
    const NAME: &'static str = plan::TOOL;
    const DESCRIPTION: &'static str = "Split your task into tasks for others. Each begins when those it comes after have ended. You are \
        told when all have ended.";
    const INSIDE: bool = true;

    fn words(&self) -> Words {
        let plural = if self.tasks.len() == 1 { "" } else { "s" };
        let rest = format!("a plan ({} task{plural})", self.tasks.len());
        Words::new(format!("make {rest}"), format!("made {rest}"))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { tasks: Vec::new() })
    }
}
