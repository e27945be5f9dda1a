//! `lock`.

use serde::{Deserialize, Serialize};

/// Take a lock, and wait for it if somebody has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// What for: `deploy`, `file:memory/notes.md`.
    pub name: String,
    /// So long at most; 0 does not wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}
