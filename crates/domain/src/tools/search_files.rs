//! `search_files`.

use serde::{Deserialize, Serialize};

/// Find text in files, the best first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchFiles {
    /// Words and "quoted phrases"; files that have all of them come first.
    pub query: String,
    /// Where; `memory` and the agent's own workspace if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}
