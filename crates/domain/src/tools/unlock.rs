//! `unlock`.

use serde::{Deserialize, Serialize};

/// Give a lock back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unlock {
    /// Which.
    pub name: String,
}
