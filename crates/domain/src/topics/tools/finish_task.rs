//! The tool `finish_task`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Tool, Words};

/// End the task that the caller works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishTask {
    /// blocked: somebody has to do something first
    #[schemars(with = "String", extend("enum" = ["done", "failed", "blocked"]))]
    pub status: Status,
    /// What came of it or what is in the way
    #[schemars(length(min = 1, max = 50000))]
    pub result: String,
}

/// How a task ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// All of it is done.
    Done,
    /// It cannot be done.
    Failed,
    /// Somebody has to do something first.
    Blocked,
}

impl Status {
    /// The word in arguments.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
        }
    }
}

impl Tool for FinishTask {
    const NAME: &'static str = "finish_task";
    const DESCRIPTION: &'static str = "End your task and report. Calls behind it are not run.";
    const INSIDE: bool = true;

    fn words(&self) -> Words {
        let status = self.status.as_str();
        Words::new(format!("report the task {status}"), format!("reported the task {status}"))
            .about(self.result.clone())
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { status: Status::Done, result: "done".to_owned() })
    }
}
