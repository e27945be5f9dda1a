//! The domain **decides**. It is a deterministic state machine: no IO, no async, no clock, no randomness,
//! no unordered map. Time comes in with the input, ids come from the state and the journal's sequence.

pub mod agent;
mod apply;
pub mod approval;
mod brief;
pub mod budget;
pub mod closed;
pub mod command;
pub mod context;
mod decide;
pub mod delegation;
pub mod effect;
pub mod event;
pub mod evidence;
pub mod gate;
pub mod id;
pub mod input;
pub mod label;
pub mod lifecycle;
mod line;
pub mod lock;
pub mod message;
pub mod mode;
mod open;
pub mod plan;
mod react;
pub mod redact;
mod refused;
pub mod review;
pub mod role;
pub mod route;
pub mod session;
pub mod settings;
pub mod spawn;
pub mod state;
pub mod task;
mod terms;
pub mod tool;
pub mod usage;
pub mod waits;

pub use apply::{RESULT_BYTES_MAX, cut};
pub use decide::{STEPS_MAX, decide, play};
pub use line::PASSED_MAX;
pub use react::{pending, react};
pub use refused::Refused;
pub use route::route;
