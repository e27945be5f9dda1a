//! `approve_work`.

use serde::{Deserialize, Serialize};

/// Say whether the work that the caller was asked to look at is good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApproveWork {
    /// Whether it is.
    pub approved: bool,
    /// What is wrong with it, one thing each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<String>,
}
