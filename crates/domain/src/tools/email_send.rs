//! `email_send`.

use serde::{Deserialize, Serialize};

/// Send a mail, through `inbox/email-outbox.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmailSend {
    /// Whom: one address.
    pub to: String,
    /// One line.
    pub subject: String,
    /// What.
    pub text: String,
}
