//! Language models: a conversation in, an answer out. Cancel by dropping the future.

use async_trait::async_trait;
use domain::id::AgentId;
use domain::session::Message;

/// What a model is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// For whom.
    pub agent: AgentId,
    /// The model's name at its provider.
    pub model: String,
    /// What it is told first.
    pub system: String,
    /// The conversation so far, oldest first.
    pub messages: Vec<Message>,
    /// Tools it may ask for.
    pub tools: Vec<Tool>,
    /// Which turn of the session this is, from 1.
    pub turn: u32,
    /// Longest answer.
    pub max_tokens: Option<u32>,
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments, as text.
    pub schema: String,
}

/// A tool call as a model wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawCall {
    /// The model's own id for it; may be empty.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments, as text that should be a JSON object.
    pub arguments: String,
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    /// What it says.
    pub text: String,
    /// What it asks for.
    pub calls: Vec<RawCall>,
    /// Tokens that went in.
    pub tokens_in: u64,
    /// Tokens that came out.
    pub tokens_out: u64,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What the engine can do about it.
    pub kind: ErrorKind,
    /// For people.
    pub message: String,
}

/// What can be done about a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Try again, not before so many milliseconds.
    Retry {
        /// What the provider asked for; 0 if it did not say.
        after_ms: u64,
    },
    /// Trying again will not help.
    GiveUp,
}

/// A way to reach models.
#[async_trait]
pub trait Model: Send + Sync {
    /// Asks and waits for the whole answer.
    async fn ask(&self, request: Request) -> Result<Reply, ModelError>;
}
