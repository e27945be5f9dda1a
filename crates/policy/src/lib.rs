//! The policy **judges**: whether a command may run, must be asked for, or is denied, and which paths a rule covers.
//! It decides by spelling and by the owner's rules alone: no IO, no async, no clock, and no other crate of ours.

pub mod command;
pub mod path;
mod rules;
mod text;

pub use rules::{CommandRule, CommandVerdict, Nature, Policy, Risk};
pub use text::{glob, hidden_character};
