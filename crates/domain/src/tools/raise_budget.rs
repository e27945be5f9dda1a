//! `raise_budget`.

use serde::{Deserialize, Serialize};

/// Let a budget that is used up be passed once. Synod asks a person for it; no agent has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RaiseBudget {
    /// The node, as in the settings; a run with its name.
    pub budget: String,
    /// By so many tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// By so much money, in millionths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<u64>,
}
