//! `slack_send`.

use serde::{Deserialize, Serialize};

/// Post to Slack, through `inbox/slack-outbox.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlackSend {
    /// Where.
    pub channel: String,
    /// What.
    pub text: String,
}
