//! The tool `slack_read`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Tool, Words};
use policy::Nature;

/// Read messages that came in from Slack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlackRead {
    /// 20 if left out
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 200))]
    pub limit: Option<u32>,
}

impl Tool for SlackRead {
    const NAME: &'static str = "slack_read";
    const DESCRIPTION: &'static str = "Read the newest messages from Slack, as JSON lines.";
    const NATURE: Nature = Nature::Read;

    fn words(&self) -> Words {
        Words::same("read Slack messages")
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { limit: None })
    }
}
