//! Delegation: work that is handed on along a chain of agents, and what must be so before it is.
//! Nothing here makes anything; `rules/delegate.rs` does.

use std::collections::BTreeMap;
use strum::IntoStaticStr;

use serde::{Deserialize, Serialize};

use crate::topics::agent::Agent;
use crate::topics::chain::shown;
use crate::topics::context::Pass;
use crate::words::id::{AgentId, CallId, DelegationId, SessionId, TaskId, Time};

/// The tool by which work is handed on.
pub const TOOL: &str = "delegate";
/// One piece of work that one agent handed to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    /// Unique in the home.
    pub id: DelegationId,
    /// Who handed it on.
    pub source: AgentId,
    /// Who got it.
    pub target: AgentId,
    /// The kind of work.
    pub tag: String,
    /// Whose hands it went through, from the first to `target`.
    pub chain: Vec<AgentId>,
    /// The task with which all of it began.
    pub request: TaskId,
    /// The task of whoever handed it on, or for which that one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// The task that was made of it.
    pub task: TaskId,
    /// The conversation that waits for it.
    pub session: SessionId,
    /// The call that waits for it there.
    pub call: CallId,
    /// When it was handed on.
    pub created: Time,
    /// Whether the call waits for the result. If not, the caller has its answer already and hears no more of it.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub callback: bool,
    /// When it is too late by the clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    /// Contexts that the target may see until it is over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<Pass>,
    /// How long it may be worked on: what whoever asks has left, or the target's own bound, whichever is less.
    pub work_ms_max: u64,
    /// How long whoever asks had worked by then.
    pub worked_before_ms: u64,
    /// How far it is.
    pub status: Status,
    /// When the target began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Time>,
    /// When it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<Time>,
    /// Why it did not work out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

fn yes() -> bool {
    true
}

impl Delegation {
    /// How often the work was handed on.
    pub fn depth(&self) -> usize {
        self.chain.len().saturating_sub(1)
    }
}

/// How far a delegation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Its target has not begun.
    Pending,
    /// Its target is at it.
    Running,
    /// It has a result.
    Success,
    /// It could not be done.
    Failed,
    /// It was given up.
    Cancelled,
    /// It was under way when Synod stopped, and nobody knows what was done.
    Crashed,
}

impl Status {
    /// The word in the log and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Crashed => "crashed",
        }
    }

    /// Whether nothing more comes of it.
    pub fn is_over(self) -> bool {
        match self {
            Self::Pending | Self::Running => false,
            Self::Success | Self::Failed | Self::Cancelled | Self::Crashed => true,
        }
    }
}

/// All delegations of a home.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Delegations {
    /// By id, those that are over too.
    pub by_id: BTreeMap<DelegationId, Delegation>,
    /// Which one a task was made of.
    pub by_task: BTreeMap<TaskId, DelegationId>,
    /// The highest number that was given before this journal began.
    pub found: u32,
}

impl Delegations {
    /// Whether there never was one.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty() && self.found == 0
    }

    /// The id of the next one. None is ever forgotten, so it is higher than all that were given.
    pub(crate) fn fresh(&self) -> DelegationId {
        let given = u64::from(self.found) + self.by_id.len() as u64;
        DelegationId::new(format!("delegation-{:04}", given + 1))
    }

    /// The one that a task was made of.
    pub fn of_task(&self, task: &TaskId) -> Option<&Delegation> {
        self.by_task.get(task).and_then(|id| self.by_id.get(id))
    }

    /// How long a conversation about `task` may work, if it is an agent's.
    pub(crate) fn work_ms_max(&self, task: Option<&TaskId>, agent: &Agent) -> u64 {
        let own = agent.spec.permissions.concurrency.task_timeout_ms;
        task.and_then(|task| self.of_task(task)).map_or(own, |delegation| delegation.work_ms_max.min(own))
    }
}

/// Who wants to hand on what to whom.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Whose hands the work went through so far; the last one asks.
    pub chain: &'a [AgentId],
    /// Who shall do it.
    pub target: &'a AgentId,
    /// The kind of work.
    pub tag: &'a str,
    /// Why the target's provider takes nothing now, if it does not.
    pub provider: Option<&'a str>,
}

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The target has a free slot.
    Start,
    /// It waits for one.
    Queue,
    /// It waits for the provider.
    BackOff {
        /// Why.
        reason: String,
    },
    /// It is not made.
    Reject(Rejected),
}

/// Why work is not handed on, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// Its file does not say `can_delegate: true`.
    #[error(
        "Agent not authorized to delegate: permissions.delegation.can_delegate of {0} is not true; do it yourself or use create_task"
    )]
    Source(AgentId),
    /// Not in `allowed_targets`, or nobody.
    #[error("Target agent not in allowed list: {target} is not one of those that {source_agent} may delegate to ({})", list(.allowed))]
    Target {
        /// Whom.
        target: AgentId,
        /// Who asks.
        source_agent: AgentId,
        /// To whom it could go.
        allowed: Vec<String>,
    },
    /// Not in the target's `responsibilities`.
    #[error("Target cannot handle this task type: {tag} is none of the responsibilities of {target} ({}); give another tag or another agent", list(.able))]
    TargetTag {
        /// Whom.
        target: AgentId,
        /// Which.
        tag: String,
        /// What it answers for.
        able: Vec<String>,
    },
    /// Not in the source's `allowed_tags`.
    #[error("Agent not authorized to delegate this task type: {tag} is none of allowed_tags of {source_agent} ({})", list(.allowed))]
    SourceTag {
        /// Which.
        tag: String,
        /// Who asks.
        source_agent: AgentId,
        /// What it may hand on.
        allowed: Vec<String>,
    },
    /// Handed on too often.
    #[error("Max delegation depth exceeded: the work was handed on {depth} times and {depth_max} is the most ({}); do it yourself", shown(.chain))]
    Depth {
        /// How often.
        depth: usize,
        /// The least of what the chain's members may.
        depth_max: u32,
        /// Through whose hands.
        chain: Vec<AgentId>,
    },
    /// It would come back to one who handed it on.
    #[error("Circular delegation detected: {}; do it yourself or ask somebody else", shown(.chain))]
    Cycle {
        /// Through whose hands, the target last.
        chain: Vec<AgentId>,
    },
    /// Too many tasks are under way in the home.
    #[error("Global task limit reached ({active}/{most}): limits.max_total_tasks; ask later")]
    TotalTasks {
        /// Tasks that are under way.
        active: usize,
        /// The setting.
        most: u32,
    },
    /// Too many agents work in the home, and the target does not work yet.
    #[error(
        "Global agent limit reached ({active}/{most}): limits.max_total_agents; ask later, or ask an agent that works already"
    )]
    TotalAgents {
        /// Agents that have work under way.
        active: usize,
        /// The setting.
        most: u32,
    },
    /// No slot, and no place to wait for one.
    #[error(
        "Target agent has no capacity: {target} works on {busy} and {pending} wait ({limit}); ask later or ask somebody else"
    )]
    Full {
        /// Whom.
        target: AgentId,
        /// Conversations that work.
        busy: u32,
        /// What waits for a slot.
        pending: usize,
        /// The setting that says so.
        limit: String,
    },
}

impl Rejected {
    /// The rule that decided, in words that can be searched for.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Source(_) => "delegation: can_delegate",
            Self::Target { .. } => "delegation: allowed_targets",
            Self::TargetTag { .. } => "delegation: responsibilities of the target",
            Self::SourceTag { .. } => "delegation: allowed_tags",
            Self::Depth { .. } => "delegation: max_delegation_depth",
            Self::Cycle { .. } => "delegation: no circle",
            Self::TotalTasks { .. } => "limits.max_total_tasks",
            Self::TotalAgents { .. } => "limits.max_total_agents",
            Self::Full { .. } => "delegation: capacity of the target",
        }
    }
}

/// Why a text is no kind of work: it stands in tables and files, one to a line, and people read it there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{tag:?} is no tag: a tag is one line of characters that can be seen, and {:?} is none; use one like ops:check",
    hidden.to_string()
)]
pub(crate) struct BadTag {
    tag: String,
    hidden: char,
}

/// Whether a text can be a kind of work.
pub(crate) fn check_tag(tag: &str) -> Result<(), BadTag> {
    let hidden = tag.chars().find(|c| c.is_control()).or_else(|| policy::hidden_character(tag));
    match hidden {
        Some(hidden) => Err(BadTag { tag: tag.to_owned(), hidden }),
        None => Ok(()),
    }
}

fn list(words: &[String]) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// What happens to a delegation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Event {
    /// An agent handed work to another and waits for it; the task stands in an event of its own.
    #[strum(to_string = "delegated")]
    Made {
        /// What, as it begins.
        delegation: Box<Delegation>,
    },
    /// Delegated work was under way when Synod stopped, and nobody knows what it did.
    #[strum(to_string = "delegation_crashed")]
    Crashed {
        /// Which.
        delegation: DelegationId,
        /// What is not known.
        reason: String,
        /// Whether it goes on all the same.
        retried: bool,
    },
}
