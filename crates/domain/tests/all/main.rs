//! The rules of the domain, told through its own door: inputs in, events and effects out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod evidence;
mod foreign;
mod home;

mod answers;
mod approvals;
mod behalf;
mod budgets;
mod bus;
mod calls;
mod chance;
mod choices;
mod delegating;
mod delegation;
mod endings;
mod laws;
mod limits;
mod locks;
mod look_up;
mod messages;
mod models;
mod offers;
mod outages;
mod parking;
mod plans;
mod questions;
mod queues;
mod reading;
mod recovering;
mod reload;
mod requests;
mod reviews;
mod routing;
mod runs;
mod slots;
mod spawning;
mod summaries;
mod tables;
mod trust;
mod waits;
#[path = "../../../testkit/src/world/runs.rs"]
mod walked;
mod workspaces;
