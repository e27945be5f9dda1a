//! `read_file`.

use serde::{Deserialize, Serialize};

/// Read a text file beneath the home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadFile {
    /// Relative to the home.
    pub path: String,
    /// The first line that is shown, from 1; the first of the file if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_line: Option<u64>,
    /// At most so many lines; all that fit if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
}
