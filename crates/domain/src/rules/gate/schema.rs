//! Schema: the arguments of a call are what its tool takes.

use super::{Inspector, Ruling};

/// Adapters check the arguments where they parse them; what did not fit is denied here.
pub(super) fn deny(tool: &str, error: &str) -> Ruling {
    Ruling::deny(Inspector::Schema, format!("schema of {tool}"), error)
}
