//! The tool `check`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Reach, Shown, Tool, Use, Words};
use crate::topics::evidence::Evidence;
use crate::words::id::TaskId;

/// Look whether what a task demands is there. Synod's own; no agent has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Of which task.
    #[schemars(with = "String")]
    pub task: TaskId,
    /// What.
    #[schemars(with = "String")]
    pub evidence: Evidence,
    /// What the agent says came of the task.
    pub result: String,
}

impl Tool for Check {
    const NAME: &'static str = "check";

    fn reach(&self) -> Reach<'_> {
        match &self.evidence {
            Evidence::Command(_) => Reach { workspace: Some(Use::Changes), ..Reach::default() },
            Evidence::File(path) | Evidence::Schema { file: path, .. } => {
                Reach { reads: vec![path], ..Reach::default() }
            }
            Evidence::Approval => Reach::default(),
        }
    }

    fn words(&self) -> Words {
        let rest = format!("that {} is done ({})", self.task, self.evidence);
        Words::new(format!("check {rest}"), format!("checked {rest}"))
    }

    fn shown(&self) -> Option<Shown> {
        let (task, evidence) = (&self.task, &self.evidence);
        Some(match evidence {
            Evidence::Approval => Shown::text(
                "work_done",
                format!("that {task} is done: {}", self.result),
                format!("What the agent says came of {task}"),
                &self.result,
            ),
            Evidence::Command(_) | Evidence::File(_) | Evidence::Schema { .. } => Shown::text(
                "evidence",
                format!("evidence for {task}: {evidence}"),
                format!("Evidence that {task} demands"),
                &evidence.to_string(),
            ),
        })
    }
}
