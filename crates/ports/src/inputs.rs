//! The way in: where adapters put what they read and what came of their deeds.

use async_trait::async_trait;
use domain::id::SessionId;
use domain::input::Input;
use domain::usage::Usage;

/// The text of an answer that a model has not finished. It is no state: whoever is too slow to hear it misses some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// In which conversation.
    pub session: SessionId,
    /// How many bytes came so far.
    pub bytes: usize,
    /// The last of them.
    pub tail: String,
    /// What the answer took so far.
    pub usage: Usage,
}

/// Why an input was not taken.
#[derive(Debug)]
pub enum NotTaken {
    /// There is no room right now; here it is back.
    Full(Box<Input>),
    /// Nobody takes inputs any more.
    Closed,
}

/// Takes inputs, a bounded number at a time.
#[async_trait]
pub trait Inputs: Send + Sync {
    /// Gives an input if there is room at once.
    fn try_give(&self, input: Input) -> Result<(), NotTaken>;

    /// Gives an input and waits for room; lost only if nobody takes inputs any more.
    async fn give(&self, input: Input);

    /// Whether anybody wants to know what models say while they say it.
    fn is_overheard(&self) -> bool {
        false
    }

    /// Tells what a model says. Never waits; lost where nobody listens.
    fn overhear(&self, _: Heard) {}
}
