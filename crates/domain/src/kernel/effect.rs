//! What is to be done outside. Effects name things; whoever performs them looks up the rest.

use std::sync::Arc;

use crate::topics::agent;
use crate::topics::lock::Grant;
use crate::topics::lock::workspace::Hold;
use crate::topics::tool::{Call, Permit};
use crate::words::id::{AgentId, SessionId, Ticket};

/// One deed. Its outcome is an input.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask the agent's model, with what the session file says.
    CallModel {
        /// Names the try.
        ticket: Ticket,
        /// Which conversation.
        session: SessionId,
        /// Whose.
        agent: AgentId,
        /// Which turn, from 1.
        turn: u32,
        /// The most tokens that may go in and come out, if the call counts in a budget.
        reserved: Option<(u64, u64)>,
    },
    /// Carry out a tool call.
    RunTool {
        /// Names the try.
        ticket: Ticket,
        /// Which conversation.
        session: SessionId,
        /// Whose.
        agent: AgentId,
        /// What.
        call: Arc<Call>,
        /// What a command may do beyond reading.
        permit: Permit,
        /// The locks that it has on what it changes.
        locks: Vec<Grant>,
        /// Its hold on the agent's workspace, if it works there.
        hold: Option<Hold>,
    },
    /// Look at what a call depends on.
    Look {
        /// Names the try.
        ticket: Ticket,
        /// Which conversation.
        session: SessionId,
        /// Whose.
        agent: AgentId,
        /// What.
        call: Arc<Call>,
    },
    /// From now on, whoever had this lock before changes nothing any more. Has no outcome.
    Fence(Grant),
    /// Take away the workspace of an agent that is over; what is nowhere else stays.
    CleanUp {
        /// Whose.
        agent: AgentId,
        /// Where it worked, as its file said.
        workspace: Option<agent::Workspace>,
    },
    /// Stop what is under way in a session; its outcome no longer counts.
    Stop {
        /// Which conversation.
        session: SessionId,
    },
}
