//! The binary, from outside: homes are folders that the tests write, answers are what it prints.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

#[path = "all/accounts.rs"]
mod accounts;
#[path = "all/approvals.rs"]
mod approvals;
#[path = "all/asking.rs"]
mod asking;
#[path = "all/audit.rs"]
mod audit;
#[path = "all/bad_homes.rs"]
mod bad_homes;
#[path = "all/begin.rs"]
mod begin;
#[path = "all/blocked.rs"]
mod blocked;
#[path = "all/budget.rs"]
mod budget;
#[path = "all/calls.rs"]
mod calls;
#[path = "all/check.rs"]
mod check;
#[path = "all/code.rs"]
mod code;
#[path = "all/conflict.rs"]
mod conflict;
#[path = "all/context.rs"]
mod context;
#[path = "all/contexts.rs"]
mod contexts;
#[path = "all/decisions.rs"]
mod decisions;
#[path = "all/delegation.rs"]
mod delegation;
#[path = "all/demo.rs"]
mod demo;
#[path = "all/evidence.rs"]
mod evidence;
#[path = "all/files_alone.rs"]
mod files_alone;
#[path = "all/graph.rs"]
mod graph;
#[path = "all/history.rs"]
mod history;
#[path = "all/home.rs"]
mod home;
#[path = "all/injection.rs"]
mod injection;
#[path = "all/late.rs"]
mod late;
#[path = "all/lifecycle.rs"]
mod lifecycle;
#[path = "all/lock.rs"]
mod lock;
#[path = "all/look.rs"]
mod look;
#[path = "all/matrix.rs"]
mod matrix;
#[path = "all/message.rs"]
mod message;
#[path = "all/outages.rs"]
mod outages;
#[path = "all/passing.rs"]
mod passing;
#[path = "all/people.rs"]
mod people;
#[path = "all/plans.rs"]
mod plans;
#[path = "all/policy.rs"]
mod policy;
#[path = "all/processes.rs"]
mod processes;
#[path = "all/providers.rs"]
mod providers;
#[path = "all/queues.rs"]
mod queues;
#[path = "all/race.rs"]
mod race;
#[path = "all/reload.rs"]
mod reload;
#[path = "all/repo.rs"]
mod repo;
#[path = "all/rights.rs"]
mod rights;
#[path = "all/route.rs"]
mod route;
#[path = "all/runs.rs"]
mod runs;
#[path = "all/sandbox.rs"]
mod sandbox;
#[path = "all/screen.rs"]
mod screen;
#[path = "all/sent.rs"]
mod sent;
#[path = "all/strangers.rs"]
mod strangers;
#[path = "all/team.rs"]
mod team;
#[path = "all/terminal.rs"]
mod terminal;
#[path = "all/workspaces.rs"]
mod workspaces;
