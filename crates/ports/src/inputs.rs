//! The way in: where adapters put what they read and what came of their deeds.

use async_trait::async_trait;
use domain::input::Input;

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
}
