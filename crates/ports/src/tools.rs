//! Hands: carrying out what the gate let through.

use async_trait::async_trait;
use domain::id::{AgentId, Ticket};
use domain::tool::{Act, Call};

use crate::model::{RawCall, Tool};

/// One act to carry out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Names this try; what must happen once carries it outside.
    pub ticket: Ticket,
    /// For whom.
    pub agent: AgentId,
    /// What.
    pub act: Act,
    /// How long it may take.
    pub ms_max: u64,
    /// How much of its output is kept.
    pub output_bytes_max: u64,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was done; this is what the agent sees.
    Done(String),
    /// It was tried and did not work; this is what the agent sees. Nothing is left half done.
    Failed(String),
}

/// All tools of a home.
#[async_trait]
pub trait Tools: Send + Sync {
    /// The tools with these names, as a model sees them; unknown names are left out.
    fn describe(&self, names: &[&str]) -> Vec<Tool>;

    /// Reads a call's arguments against the tool's schema. Never fails: what does not fit becomes
    /// `Want::Invalid` with words that tell the model what to fix. `number` makes an id where the model gave none.
    fn read(&self, raw: RawCall, number: usize) -> Call;

    /// Carries out one act. Dropping the future stops it, and every process it started.
    async fn run(&self, order: Order) -> Outcome;
}
