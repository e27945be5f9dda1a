//! The policy **judges** commands and paths: whether a command runs, needs an approval or is denied, and which paths a
//! rule covers. It uses the text and the owner's rules only: no IO, no async, no clock, no other crate of ours.

pub mod command;
pub mod path;
mod rules;
mod text;

pub use rules::{CommandRule, CommandVerdict, Nature, Policy, Risk};
pub use text::{glob, hidden_character};
