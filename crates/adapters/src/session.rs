//! A session as adapters pass it on: where its file is, and what the file says.

use domain::id::SessionId;
use domain::session::Message;

/// A conversation as its file has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// The system prompt.
    pub system: String,
    /// The messages, oldest first.
    pub messages: Vec<Message>,
}

/// The path of a session's file, relative to the home.
pub(crate) fn path_of(session: &SessionId) -> String {
    format!("sessions/{session}.session.yaml")
}
