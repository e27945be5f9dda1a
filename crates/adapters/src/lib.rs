//! The adapters **do**: they turn what the outside does into inputs and what the engine asks for into deeds.
//! They decide nothing: who may do what was settled before an adapter is called.

pub mod audit;
mod beneath;
pub mod clock;
mod context;
pub mod contexts;
pub mod delegations;
mod digest;
pub mod disk;
mod extract;
pub mod files;
pub mod git;
pub mod hands;
pub mod journal;
pub mod lock;
pub mod model;
pub mod problem;
pub mod redact;
pub mod sandbox;
mod search;
pub mod session;
mod summarize;
mod text;
mod tokens;
pub mod tools;
mod until;
mod verbatim;
