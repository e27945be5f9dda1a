//! `extract`.

use serde::{Deserialize, Serialize};

use crate::closed::Closed;

/// Let a model without tools answer one question about a text that is not to be trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extract {
    /// The text, relative to the home.
    pub path: String,
    /// What is asked.
    pub question: String,
    /// All that may be answered.
    pub answer: Closed,
}
