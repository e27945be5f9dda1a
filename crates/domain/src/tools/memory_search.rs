//! `memory_search`.

use serde::{Deserialize, Serialize};

/// Find text in memory, the best first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemorySearch {
    /// As of `search_files`.
    pub query: String,
    /// At most so many files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}
