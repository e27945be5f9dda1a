//! `context_get`.

use serde::{Deserialize, Serialize};

/// Read a shared context, as far as a grant goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextGet {
    /// Its name.
    pub context: String,
    /// Only this field, such as `customer.name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}
