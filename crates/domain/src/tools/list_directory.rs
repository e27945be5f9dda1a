//! `list_directory`.

use serde::{Deserialize, Serialize};

/// List a folder beneath the home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListDirectory {
    /// Relative to the home.
    pub path: String,
}
