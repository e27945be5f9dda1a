//! The rules for commands and paths, through the door that other crates use.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod commands;
mod paths;
mod scripts;
