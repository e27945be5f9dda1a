//! The tool `slack_send`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Outward, Reach, Shown, Tool, Words};
use crate::topics::role::Permission;
use crate::words::layout;
use policy::Nature;

/// Post to Slack, through `inbox/slack-outbox.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlackSend {
    /// Channel or user, such as #ops
    #[schemars(length(min = 1, max = 200))]
    pub channel: String,
    /// What to post
    #[schemars(length(min = 1, max = 40000))]
    pub text: String,
}

impl Tool for SlackSend {
    const NAME: &'static str = "slack_send";
    const DESCRIPTION: &'static str = "Post a message to Slack. A person is asked first.";
    const NEEDS: Option<Permission> = Some(Permission::ExecuteTools);
    /// The line in the outbox carries the effect's id, and is looked for before it is written again.
    const NATURE: Nature = Nature::Idempotent;

    fn reach(&self) -> Reach<'_> {
        let outward = Outward { to: &self.channel, file: layout::SLACK_OUTBOX };
        Reach { outward: Some(outward), ..Reach::default() }
    }

    fn words(&self) -> Words {
        Words::new(format!("post in {}", self.channel), format!("posted in {}", self.channel))
            .quoting(&self.text)
    }

    fn shown(&self) -> Option<Shown> {
        let title = format!("message to {}: {}", self.channel, self.text);
        Some(Shown::text("slack_message", title, format!("Message to {}", self.channel), &self.text))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { channel: "a channel".to_owned(), text: "a word".to_owned() })
    }
}
