//! Formats **reads and prints** every text file of a home, losslessly and with positions: text in, values
//! and diagnostics out, text out. No IO here.
//!
//! A document keeps its source text. Parsing gives typed views with byte spans; an edit is a splice of bytes
//! at a span. So printing what was parsed is the identity, and an edit changes its own bytes only.

pub mod acl;
pub mod agent;
pub mod approval;
pub mod check;
pub mod diagnostic;
pub mod document;
pub mod inbox;
mod json;
pub mod labels;
mod lines;
pub mod memory;
pub mod modeline;
pub mod policy;
pub mod run_mode;
mod scalar;
pub mod schema;
pub mod script;
pub mod session;
pub mod settings;
mod shape;
pub mod task;
pub mod time;
pub mod usage;
pub mod yaml;

pub use diagnostic::{Diagnostic, Read, Severity, did_you_mean, render};
