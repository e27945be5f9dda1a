//! The tool `context_get`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Reach, Tool, Words};
use policy::Nature;

/// Read a shared context, as far as a grant goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextGet {
    /// Such as customers
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$"))]
    pub context: String,
    /// Such as customer.name or rows.0
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1000))]
    pub field: Option<String>,
}

impl Tool for ContextGet {
    const NAME: &'static str = "context_get";
    const DESCRIPTION: &'static str = "Read a shared context that was granted to you, or one field.";
    const NATURE: Nature = Nature::Read;

    fn reach(&self) -> Reach<'_> {
        Reach { context: Some(&self.context), ..Reach::default() }
    }

    fn words(&self) -> Words {
        Words::same(format!("read the shared context {}", self.context))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { context: "plan".to_owned(), field: None })
    }
}
