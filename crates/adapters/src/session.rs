//! A conversation as adapters pass it on.

use domain::session::Message;

/// A conversation as its file has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// The system prompt.
    pub system: String,
    /// The messages, oldest first.
    pub messages: Vec<Message>,
}
