//! `create_directory`.

use serde::{Deserialize, Serialize};

/// Make a folder and those above it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateDirectory {
    /// Relative to the home.
    pub path: String,
}
