//! The domain **decides**. It is a deterministic state machine: no IO, no async, no clock, no randomness,
//! no unordered map. Time comes in with the input, ids come from the state and the journal's sequence.
//!
//! Four layers, each of which knows only those before it: `words`, `topics`, `kernel`, `rules`. What other crates use
//! stands here by its subject.

mod kernel;
mod rules;
mod topics;
mod words;

pub use kernel::react::{pending, react};
pub use kernel::refused::Refused;
pub use kernel::{effect, event, input, terms, waits};
pub use rules::route::route;
pub use rules::{STEPS_MAX, choices, gate, offer, play, route};
pub use topics::task::queue::PASSED_MAX;
pub use topics::{
    agent, approval, caps, chain, claude, closed, context, deadline, evidence, lifecycle, mode, notice,
    outage, role, run, settings, task, tool,
};
pub use words::actor::Actor;
pub use words::text::{RESULT_BYTES_MAX, cut};
pub use words::{id, layout, redact, spelling, table, usage};

/// Budgets: the bounds, what is spent, and who pays.
pub mod budget {
    pub use crate::topics::budget::*;
    pub use crate::topics::caps::{Budgets, Cap, Rate, Share};
}

/// Delegations, and the chain of a conversation.
pub mod delegation {
    pub use crate::kernel::chains::{chain, line};
    pub use crate::rules::may_delegate::check;
    pub use crate::topics::chain::{CHAIN, Hands, ON_BEHALF, shown};
    pub use crate::topics::delegation::*;
}

/// Labels, and those of places.
pub mod label {
    pub use crate::kernel::places::{folder_for, hidden_from, of_place, written_by};
    pub use crate::words::label::*;
}

/// Locks and workspaces.
pub mod lock {
    pub use crate::kernel::workspaces::of_act;
    pub use crate::topics::lock::*;

    /// The workspace of an agent.
    pub mod workspace {
        pub use crate::kernel::workspaces::{hold, is_only_own, needed, room};
        pub use crate::topics::lock::workspace::*;
    }
}

/// Messages, and the order in which they are read.
pub mod message {
    pub use crate::topics::message::*;
    pub use crate::topics::session::reading::{leave_unread, order, order_behind, put_behind, urgency};
}

/// Plans.
pub mod plan {
    pub use crate::kernel::holds::{hold_of, is_hold};
    pub use crate::topics::plan::*;
    pub use crate::words::layout::{is_plan as is_file, plan_file as file_of, task_of_plan as task_of};
}

/// Reviews.
pub mod review {
    pub use crate::kernel::reviews::{of_call, of_session};
    pub use crate::rules::gate::review::{MayNotLook, may_look};
    pub use crate::topics::review::*;
}

/// Conversations in their files.
pub mod session {
    pub use crate::kernel::endings::is_due;
    pub use crate::topics::lifecycle::Status;
    pub use crate::topics::session::*;
}

/// Agents that are made while the team works.
pub mod spawn {
    pub use crate::kernel::lineage::{above, below, depth};
    pub use crate::topics::spawn::*;
}

/// The state of a home and what it is made of.
pub mod state {
    pub use crate::kernel::state::{Halt, State};
    pub use crate::topics::agent::Agent;
    pub use crate::topics::caps::Parked;
    pub use crate::topics::deadline::Deadline;
    pub use crate::topics::session::{On, Pending, Proving, Session, Stage, Step};
    pub use crate::topics::task::queue::{Place, Rank, Work};
    pub use crate::topics::task::{Requester, TASK_DEPTH_MAX, Task, TaskStage};
}
