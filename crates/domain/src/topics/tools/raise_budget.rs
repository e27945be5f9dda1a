//! The tool `raise_budget`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Shown, Tool, Words};
use crate::words::usage;

/// Let a budget that is used up be passed once. Synod asks a person for it; no agent has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

impl Tool for RaiseBudget {
    const NAME: &'static str = "raise_budget";

    fn words(&self) -> Words {
        let rest = format!("{} once by {}", self.budget, usage::amount(self.tokens, self.money));
        Words::new(format!("pass {rest}"), format!("passed {rest}"))
    }

    fn shown(&self) -> Option<Shown> {
        let (budget, amount) = (&self.budget, usage::amount(self.tokens, self.money));
        let title = format!("passing {budget} once by {amount}");
        let text = format!("{budget} may be passed once, by {amount}, until its window ends");
        Some(Shown::text("budget", title, "Budget that has no room", &text))
    }
}
