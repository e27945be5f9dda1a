//! All tests that speak through the public door of the crate, in one binary.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

#[path = "all/adversary.rs"]
mod adversary;
#[path = "all/agents.rs"]
mod agents;
#[path = "all/approvals.rs"]
mod approvals;
#[path = "all/corpus.rs"]
mod corpus;
#[path = "all/document_laws.rs"]
mod document_laws;
#[path = "all/documents.rs"]
mod documents;
#[path = "all/eve.rs"]
mod eve;
#[path = "all/golden.rs"]
mod golden;
#[path = "all/grants.rs"]
mod grants;
#[path = "all/home.rs"]
mod home;
#[path = "all/refusals.rs"]
mod refusals;
#[path = "all/schemas.rs"]
mod schemas;
#[path = "all/sessions.rs"]
mod sessions;
#[path = "all/tasks.rs"]
mod tasks;
