//! What the rules work with: the state made of the topics' parts, inputs, events, effects, and the draft of a decision.

pub(crate) mod answers;
pub(crate) mod apply;
pub mod chains;
pub(crate) mod draft;
pub mod effect;
pub mod endings;
pub mod event;
pub(crate) mod holds;
pub mod input;
mod known;
pub mod lineage;
mod money;
pub(crate) mod outages;
pub mod places;
pub(crate) mod react;
pub(crate) mod redacted;
pub(crate) mod refused;
pub mod reviews;
pub(crate) mod runs;
pub mod state;
pub mod terms;
pub mod waits;
pub mod workspaces;
