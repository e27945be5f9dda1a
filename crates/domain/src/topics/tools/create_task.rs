//! The tool `create_task`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Listener, Reach, Tool, Words};
use crate::topics::task::Priority;
use crate::words::id::{AgentId, TaskId};

/// Add a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTask {
    /// One line
    #[schemars(length(min = 1, max = 500), regex(pattern = r"^[^\r\n]+$"))]
    pub title: String,
    /// All that is needed for it
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Agent, if not by tag
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = r"^[a-z][a-z0-9-]{0,62}$"))]
    pub assignee: Option<AgentId>,
    /// Tasks that must end first
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>", length(max = 100), inner(length(min = 1, max = 63)))]
    pub depends_on: Vec<TaskId>,
    /// The task it is a part of, if not yours
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 63))]
    pub parent: Option<TaskId>,
    /// Words for finding it
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50), inner(length(min = 1, max = 63)))]
    pub tags: Vec<String>,
    /// Kind of work, such as ops:check
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub tag: Option<String>,
    /// A is first
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("enum" = ["A", "B", "C", "D", "E", "F"]))]
    pub priority: Option<Priority>,
    /// Ask a person before each change
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approval_required: bool,
    /// Evidence, one a line: `command: …` exits with 0, `file: …` is not empty, approval
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2000))]
    pub done_when: Option<String>,
    /// Ended tasks whose results go along
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>", length(max = 20), inner(length(min = 1, max = 63)))]
    pub with_results: Vec<TaskId>,
}

impl Tool for CreateTask {
    const NAME: &'static str = "create_task";
    const DESCRIPTION: &'static str =
        "Add a task for another agent. It starts when those it depends on have ended.";
    const UNSHOWN: &'static [&'static str] = &["parent", "tags", "priority", "approval_required"];
    const INSIDE: bool = true;

    fn reach(&self) -> Reach<'_> {
        Reach { listener: self.assignee.as_ref().map(Listener::Agent), ..Reach::default() }
    }

    fn words(&self) -> Words {
        Words::new(format!("make a task \"{}\"", self.title), format!("made a task \"{}\"", self.title))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self {
            title: "a task".to_owned(),
            description: String::new(),
            assignee: None,
            depends_on: Vec::new(),
            parent: None,
            tags: Vec::new(),
            tag: None,
            priority: None,
            approval_required: false,
            done_when: None,
            with_results: Vec::new(),
        })
    }
}
