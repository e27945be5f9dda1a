//! The domain **decides**. It is a deterministic state machine: no IO, no async, no clock, no randomness,
//! no unordered map. Time comes in with the input, ids come from the state and the journal's sequence.

pub mod agent;
pub mod approval;
pub mod id;
pub mod mode;
pub mod role;
pub mod session;
pub mod settings;
pub mod task;
pub mod tool;
