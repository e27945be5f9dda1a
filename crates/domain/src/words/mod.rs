//! What everything may name. Knows nothing else of the domain.

pub mod actor;
pub mod id;
pub mod label;
pub mod layout;
pub mod redact;
pub mod spelling;
pub mod table;
pub mod text;
pub mod usage;
