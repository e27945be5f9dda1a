//! The tool `query_tasks`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Tool, Words};
use policy::Nature;

/// Read-only SQL over all task files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryTasks {
    /// Such as SELECT id, title FROM tasks WHERE mark = 'open'
    #[schemars(length(min = 1, max = 10000))]
    pub sql: String,
}

impl Tool for QueryTasks {
    const NAME: &'static str = "query_tasks";
    const DESCRIPTION: &'static str = "One read-only SQLite SELECT over all tasks. Tables: tasks(id, file, line, title, mark, priority, \
        assignee, tag, tags, parent, depends_on, text, result, approval_required), properties(task, key, value), \
        depends(task, on_task). mark: open, running, asking, failed, done, cancelled.";
    const NATURE: Nature = Nature::Read;

    fn words(&self) -> Words {
        Words::new("look through the tasks with SQL", "looked through the tasks with SQL")
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { sql: "SELECT 1".to_owned() })
    }
}
