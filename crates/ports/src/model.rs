//! Language models: a conversation in, an answer out. Cancel by dropping the future.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use domain::id::AgentId;
use domain::session::Message;
use domain::usage::Usage;

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
    pub tools: Arc<[Tool]>,
    /// Which turn of the session this is, from 1.
    pub turn: u32,
    /// Longest answer.
    pub max_tokens: Option<u32>,
    /// As the provider takes it.
    pub temperature: Option<f64>,
    /// How hard to think, in the provider's words.
    pub thinking: Option<String>,
    /// What the whole answer must be, if it must be JSON.
    pub schema: Option<Schema>,
    /// Whether the conversation has a task to end and waits for nothing.
    pub is_due: bool,
    /// What its answer has taken so far.
    pub progress: Progress,
}

/// Hears the text of an answer as far as it came, and what it took.
pub type Listener = Arc<dyn Fn(&str, Usage) + Send + Sync>;

/// What an answer has taken so far, for whoever gives up on it before it is whole. Clones are the same progress.
#[derive(Clone, Default)]
pub struct Progress {
    noted: Arc<Mutex<(Usage, u64)>>,
    listener: Option<Listener>,
}

impl Progress {
    /// Of an answer that somebody watches as it comes.
    pub fn watched(listener: Listener) -> Self {
        Self { listener: Some(listener), ..Self::default() }
    }

    /// Of another answer to the same listener.
    pub fn anew(&self) -> Self {
        Self { noted: Arc::default(), listener: self.listener.clone() }
    }

    /// So much by now, all in all.
    pub fn note(&self, usage: Usage) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        *noted = (usage, noted.1.wrapping_add(1));
    }

    /// The same, with all of the text that came by now.
    pub fn hear(&self, text: &str, usage: Usage) {
        self.note(usage);
        if let Some(listener) = &self.listener {
            listener(text, usage);
        }
    }

    /// What was noted last; nothing before anything came.
    pub fn so_far(&self) -> Usage {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    /// How often something was noted: a number that changes shows that the answer goes on.
    pub fn signs(&self) -> u64 {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Progress").field(&self.so_far()).finish()
    }
}

/// Requests are the same if they ask the same.
impl PartialEq for Progress {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What an answer must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// A name for it, of letters, digits, `_` and `-`.
    pub name: String,
    /// JSON Schema, as text.
    pub schema: String,
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
    /// What it took.
    pub usage: Usage,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What it took all the same: a provider is paid for what it began to say.
    pub usage: Usage,
    /// What the engine can do about it.
    pub kind: ErrorKind,
    /// For people.
    pub message: String,
}

impl ModelError {
    /// One that cost nothing.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { usage: Usage::default(), kind, message: message.into() }
    }

    /// The same, after so much more was used.
    #[must_use]
    pub fn after(self, usage: Usage) -> Self {
        Self { usage: self.usage.plus(usage), ..self }
    }
}

/// What can be done about a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Try again, not before so many milliseconds.
    Retry {
        /// What the provider asked for; 0 if it did not say.
        after_ms: u64,
    },
    /// The model has no room now; another of the provider may have. Not before so many milliseconds.
    Limited {
        /// What the provider asked for; 0 if it did not say.
        after_ms: u64,
    },
    /// The provider does not answer, whatever it is asked. Not before so many milliseconds.
    Outage {
        /// What it asked for; 0 if it did not say.
        after_ms: u64,
    },
    /// This model does not serve: trying it again will not help, another model may.
    Down,
    /// The provider refuses the key, or there is none: only a model of another provider may serve.
    Denied,
    /// The conversation does not fit this model's window; less of it may.
    TooLong,
    /// No model would answer this.
    GiveUp,
}

/// A way to reach models.
#[async_trait]
pub trait Model: Send + Sync {
    /// Asks and waits for the whole answer.
    async fn ask(&self, request: Request) -> Result<Reply, ModelError>;
}
