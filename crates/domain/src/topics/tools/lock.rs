//! The tool `lock`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Reach, Tool, Words};

/// Take a lock, and wait for it if somebody has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// What for, such as deploy; file: and a path for a file, such as file:memory/notes.md
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// At most; 0 does not wait
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 3600000))]
    pub wait_ms: Option<u64>,
}

impl Tool for Lock {
    const NAME: &'static str = "lock";
    const DESCRIPTION: &'static str = "Take a lock for more than one call, such as reading a file, thinking and writing it; waits if \
        another agent has it. Single writes and commits need none. It ends with your task.";
    const INSIDE: bool = true;

    fn reach(&self) -> Reach<'_> {
        Reach { lock: Some(&self.name), ..Reach::default() }
    }

    fn lock_name(&mut self) -> Option<&mut String> {
        Some(&mut self.name)
    }

    fn words(&self) -> Words {
        Words::new(format!("take the lock {}", self.name), format!("took the lock {}", self.name))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { name: "a-name".to_owned(), wait_ms: None })
    }
}
