//! All integration tests of the adapters, in one binary.

mod journal;
mod lock;
