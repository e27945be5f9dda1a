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
    /// Wait so long at most; 0 does not wait
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 3600000))]
    pub wait_ms: Option<u64>,
}

impl Tool for Lock {
    const NAME: &'static str = "lock";
    const DESCRIPTION: &'static str = "Take a lock, so that no other agent does what it stands for at the same time; waits if another \
        has it. Taking your own lock again is fine: give it back as often. Files that you write with \
        write_file, and commits, are locked by themselves while the call runs: take a lock for more than \
        one call, such as reading a file, thinking, and writing it. You lose it when your task ends, or \
        when you do nothing for long.";
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
