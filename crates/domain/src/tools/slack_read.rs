//! `slack_read`.

use serde::{Deserialize, Serialize};

/// Read messages that came in from Slack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlackRead {
    /// At most so many, the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}
