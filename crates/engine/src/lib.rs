//! The engine **drives**: take inputs, decide, journal, apply, perform. It has no opinions: what follows from
//! what is the domain's business, how things are done is the adapters'.

mod codec;
mod core;
mod run;

pub use crate::codec::{STATE_VERSION, decode, encode};
pub use crate::core::{Cycle, Engine, Stopped};
pub use crate::run::{Closed, Events, GRACE_MS, Handle, INPUTS_MAX, Overheard, Parts, Pulse, Taken, spawn};
