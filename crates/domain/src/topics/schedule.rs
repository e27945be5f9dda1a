//! What is to happen next, and when.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::topics::deadline::Deadline;
use crate::topics::task::queue::Line;
use crate::words::id::{AgentId, SessionId, Time};

/// What is to happen next, and when.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Sessions that work now, all agents together.
    pub busy: u32,
    /// Sessions in which the domain has a next step to take.
    pub(crate) agenda: BTreeSet<SessionId>,
    /// Agents with a free slot and something to do, each with its best and its oldest.
    pub(crate) startable: Line<AgentId>,
    /// The session of a task that got its slot a moment ago and is only being opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) starting: Option<SessionId>,
    /// What must happen at a time.
    pub(crate) deadlines: BTreeSet<(Time, Deadline)>,
}
