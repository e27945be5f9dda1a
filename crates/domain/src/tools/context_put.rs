//! `context_put`.

use serde::{Deserialize, Serialize};

/// Write a shared context, as far as a grant goes. Either `content`, or `field` and `value`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextPut {
    /// Its name.
    pub context: String,
    /// All that it shall say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Only this field changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Into this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<serde_json::Value>,
}
