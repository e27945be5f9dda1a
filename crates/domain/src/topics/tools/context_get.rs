//! The tool `context_get`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Reach, Tool, Words};
use policy::Nature;

/// Read a shared context, as far as a grant goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextGet {
    /// Name of the context, such as customers
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$"))]
    pub context: String,
    /// Only this field, such as customer.name, or rows.0 for the first of a list; everything if left out
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1000))]
    pub field: Option<String>,
}

impl Tool for ContextGet {
    const NAME: &'static str = "context_get";
    const DESCRIPTION: &'static str = "Read a shared context, or one field of it. You see those that were granted to you, without the \
        fields that are hidden from you.";
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
