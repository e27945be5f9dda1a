//! All integration tests of the adapters, in one binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod grep;
mod home;

mod audit;
mod checkouts;
mod commands;
mod contexts;
mod delegations;
mod delete_file;
mod edit_file;
mod fences;
mod files;
mod journal;
mod kills;
mod lock;
mod meaning;
mod models;
mod move_file;
mod ports;
mod printing;
mod providers;
mod redacted_files;
mod reviews;
mod sandbox;
mod search;
mod seen;
mod sessions;
mod slack;
mod spelling;
mod storm;
mod tasks_sql;
mod updates;
mod usage;
mod works;
mod workspaces;
