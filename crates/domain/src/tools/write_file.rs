//! `write_file`.

use serde::{Deserialize, Serialize};

/// Write a whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteFile {
    /// Relative to the home.
    pub path: String,
    /// The whole new text.
    pub content: String,
}
