//! All integration tests of the adapters, in one binary.

mod home;

mod commands;
mod files;
mod journal;
mod lock;
mod slack;
mod tasks_sql;
