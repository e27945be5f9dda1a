//! The tool `unlock`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Tool, Words};

/// Give a lock back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unlock {
    /// As you took it
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
}

impl Tool for Unlock {
    const NAME: &'static str = "unlock";
    const DESCRIPTION: &'static str = "Give back a lock.";
    const INSIDE: bool = true;

    fn lock_name(&mut self) -> Option<&mut String> {
        Some(&mut self.name)
    }

    fn words(&self) -> Words {
        Words::new(format!("release the lock {}", self.name), format!("released the lock {}", self.name))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { name: "a-name".to_owned() })
    }
}
