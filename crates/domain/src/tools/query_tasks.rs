//! `query_tasks`.

use serde::{Deserialize, Serialize};

/// Read-only SQL over all task files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryTasks {
    /// One SELECT.
    pub sql: String,
}
