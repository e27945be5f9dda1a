//! Names of files in a home that more than one adapter writes.

/// The task file with the approvals that people are asked for.
pub(crate) const QUEUE: &str = "tasks/approvals.task.md";

/// The folder with the audit log: only ever added to, and never taken back.
pub(crate) const LOG: &str = "log/";
