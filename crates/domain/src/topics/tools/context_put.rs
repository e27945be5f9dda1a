//! The tool `context_put`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Reach, Shown, Tool, Words};
use policy::Nature;

/// Write a shared context, as far as a grant goes. Either `content`, or `field` and `value`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextPut {
    /// Such as customers
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$"))]
    pub context: String,
    /// The whole new text or JSON
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Such as customer.name or rows.0
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1000))]
    pub field: Option<String>,
    /// The new value of the field, as JSON
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "serde_json::Value")]
    pub value: Option<serde_json::Value>,
}

impl Tool for ContextPut {
    const NAME: &'static str = "context_put";
    const DESCRIPTION: &'static str = "Write a shared context: content for all of it, or field and value. It needs a grant for read_write. \
        One that does not exist is made, for you alone.";
    const NATURE: Nature = Nature::Idempotent;

    fn reach(&self) -> Reach<'_> {
        Reach { context: Some(&self.context), ..Reach::default() }
    }

    fn words(&self) -> Words {
        let rest = format!("the shared context {}", self.context);
        Words::new(format!("write {rest}"), format!("wrote {rest}"))
    }

    fn shown(&self) -> Option<Shown> {
        let title = format!("shared context: {}", self.context);
        let label = format!("New text of the shared context {}", self.context);
        Some(Shown::text("context_put", title, label, self.content.as_ref()?))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        let content = Some("a word".to_owned());
        at.anything(Self { context: "plan".to_owned(), content, field: None, value: None })
    }
}
