//! Agents as their files define them.

use crate::words::actor::Actor;
use crate::words::usage::ByModel;
use std::collections::BTreeMap;
use strum::IntoStaticStr;

use serde::{Deserialize, Serialize};

use crate::topics::message;
use crate::topics::message::Channel;
use crate::topics::spawn::Origin;
use crate::topics::task::queue::Line;
use crate::topics::task::queue::Rank;
use crate::topics::task::queue::Work;
use crate::words::id::AgentId;
use crate::words::id::Seq;
use crate::words::id::SessionId;
use crate::words::id::TaskId;
use crate::words::table::Table;
use std::collections::BTreeSet;

/// Bounds of seed 003, each `(least, greatest, default)`.
pub mod bounds {
    /// How often work may be handed on.
    pub const DELEGATION_DEPTH: (u32, u32, u32) = (1, 10, 3);
    /// Tasks that one agent works on at once.
    pub const PARALLEL_TASKS: (u32, u32, u32) = (1, 50, 5);
    /// Tasks that may wait for one agent.
    pub const PENDING_QUEUE: (u32, u32, u32) = (1, 100, 20);
    /// Working time of a task in milliseconds; no greatest value.
    pub const TASK_TIMEOUT_MS: (u64, u64, u64) = (1_000, u64::MAX, 3_600_000);
    /// How long a task may wait for a slot, in milliseconds; no default.
    pub const QUEUE_TIMEOUT_MS: (u64, u64) = (1_000, u64::MAX);
    /// Scheduling priority of an agent, 1 is first.
    pub const PRIORITY: (u32, u32, u32) = (1, 10, 5);
}

/// Who takes a task that is for a person.
pub const PERSON: &str = "human";
/// Words that stand for somebody or something else wherever an agent can be named: an agent of that name would be taken for
/// it, and do what only it may do.
const RESERVED: [&str; 4] = [PERSON, "person", "synod", message::BROADCAST];

/// Why no agent can have this name: it stands for somebody or something else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is a word of Synod's own; name the agent otherwise")]
pub struct Reserved(String);

/// Whether an agent can have this name.
pub fn check_name(name: &str) -> Result<(), Reserved> {
    let is_channel = Channel::ALL.iter().any(|channel| channel.as_str() == name);
    match is_channel || RESERVED.contains(&name) {
        true => Err(Reserved(name.to_owned())),
        false => Ok(()),
    }
}

/// What an agent's file says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// Its name, unique in the home.
    pub id: AgentId,
    /// A name for people, if it differs from the id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The role (`type:` in the file).
    pub role: String,
    /// One line for people and for agents that choose whom to ask.
    #[serde(default)]
    pub description: String,
    /// Which model answers for it.
    pub model: Model,
    /// What the model is told first.
    #[serde(default)]
    pub system_prompt: String,
    /// Tools it has, or words that describe what it can do.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// Fields of knowledge, for finding help.
    #[serde(default)]
    pub expertise: Vec<String>,
    /// Task tags it answers for, as patterns.
    #[serde(default)]
    pub responsibilities: Vec<String>,
    /// Channels it listens to, without the `#`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
    /// 1 is first.
    pub priority: u32,
    /// What it may do.
    #[serde(default)]
    pub permissions: Permissions,
    /// A repository to work in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Workspace>,
    /// Who made it while the team worked; absent if a person wrote its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawned_by: Option<Origin>,
    /// Free words of the owner; Synod does not read them.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

impl Spec {
    /// An agent with defaults for everything that may be left out.
    pub fn new(id: AgentId, role: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            id,
            name: None,
            role: role.into(),
            description: String::new(),
            model: Model::alias(model),
            system_prompt: String::new(),
            capabilities: Vec::new(),
            expertise: Vec::new(),
            responsibilities: Vec::new(),
            channels: Vec::new(),
            priority: bounds::PRIORITY.2,
            permissions: Permissions::default(),
            workspace: None,
            spawned_by: None,
            metadata: BTreeMap::new(),
        }
    }

    /// Tokens of the longest answer that may be asked for, if there is a limit: the agent's own, or that of its model.
    pub fn answer_max(&self, of_model: Option<u32>) -> Option<u32> {
        [self.permissions.max_tokens_per_call, self.model.max_tokens, of_model].into_iter().flatten().min()
    }
}

/// The model an agent speaks with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// An alias of `synod.yaml`, or a model's own name.
    pub primary: String,
    /// Used when the primary is down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// As the provider takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Longest answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// How hard to think, in the provider's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
}

impl Model {
    /// Only a name, everything else as the provider does it.
    pub fn alias(name: impl Into<String>) -> Self {
        Self { primary: name.into(), fallback: None, temperature: None, max_tokens: None, thinking: None }
    }
}

/// `permissions:` of an agent. What is absent narrows nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Permissions {
    /// Which tools.
    pub tools: Tools,
    /// Whether and how it hands work on.
    pub delegation: Delegation,
    /// Whom it may spawn.
    #[serde(skip_serializing_if = "Spawn::is_default")]
    pub spawn: Spawn,
    /// How much at once.
    pub concurrency: Concurrency,
    /// `false` beats every grant.
    pub can_access_context: Option<bool>,
    /// Longest answer of one call.
    pub max_tokens_per_call: Option<u32>,
}

/// Patterns of tool names; deny wins.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tools {
    /// If present, only these.
    pub allow: Option<Vec<String>>,
    /// Never these.
    pub deny: Vec<String>,
}

/// Handing work on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Delegation {
    /// Whether at all.
    pub can_delegate: bool,
    /// To whom; absent: anybody.
    pub allowed_targets: Option<Vec<String>>,
    /// Which tags; absent: all.
    pub allowed_tags: Option<Vec<String>>,
    /// How often one piece of work may be handed on; absent: `limits.default_delegation_depth`.
    pub max_delegation_depth: Option<u32>,
}

/// Spawning other agents. It takes the permission `spawn_agents` of the role as well.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Spawn {
    /// The roles of agents that it may spawn, as patterns; absent: [`SPAWNED_ROLES`].
    pub roles: Option<Vec<String>>,
}

/// The roles of agents that an agent may spawn unless its file says otherwise, as far as the home has them.
pub const SPAWNED_ROLES: [&str; 4] = ["planner", "coder", "reviewer", "tester"];

impl Spawn {
    fn is_default(&self) -> bool {
        self.roles.is_none()
    }

    /// The patterns that count.
    pub fn patterns(&self) -> Vec<&str> {
        match &self.roles {
            Some(roles) => roles.iter().map(String::as_str).collect(),
            None => SPAWNED_ROLES.to_vec(),
        }
    }
}

/// How much an agent does at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Concurrency {
    /// Sessions that work at the same time.
    pub max_parallel_tasks: u32,
    /// Tasks that may wait in its queue. What people ask for beyond that waits in its file, agents are refused.
    pub max_pending_queue: u32,
    /// How long a task may wait for a slot before it fails; absent: what was delegated as long as `task_timeout_ms`, and
    /// everything else as long as it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_timeout_ms: Option<u64>,
    /// Working time of one task; waiting for people does not count.
    pub task_timeout_ms: u64,
}

impl Default for Concurrency {
    fn default() -> Self {
        Self {
            max_parallel_tasks: bounds::PARALLEL_TASKS.2,
            max_pending_queue: bounds::PENDING_QUEUE.2,
            queue_timeout_ms: None,
            task_timeout_ms: bounds::TASK_TIMEOUT_MS.2,
        }
    }
}

/// Where an agent works.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Workspace {
    /// A repository to make a worktree of; relative to the home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// The branch the agent works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The command that runs its tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// The command that checks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lint: Option<String>,
}

/// An agent and what it is busy with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// What its file says.
    pub spec: Spec,
    /// How often that changed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) version: u32,
    /// What its file said before, as long as a session goes on that began with it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) past: BTreeMap<u32, Spec>,
    /// Whether its file is gone: it finishes what it has and gets nothing new.
    pub retired: bool,
    /// By whom it was ended, if it was: it is retired for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminated: Option<Actor>,
    /// Sessions that work now.
    pub busy: u32,
    /// How many sessions it ever had; makes the next session's id.
    pub sessions_begun: u32,
    /// Sessions that are not over.
    pub sessions: BTreeSet<SessionId>,
    /// What it could do if it had a slot.
    pub(crate) queue: Line<Work>,
    /// Tasks that could begin and for which the queue has no place.
    pub(crate) backlog: Line<TaskId>,
    /// Tasks in the queue: never more than `max_pending_queue`. Sessions are not counted: what has begun goes on.
    pub(crate) waiting: u32,
    /// Its entry in `startable`: its best, and since when its oldest waits.
    pub(crate) head: Option<(Rank, Seq)>,
}

impl Agent {
    /// How many sessions and tasks wait for a slot of its.
    pub fn pending(&self) -> usize {
        self.queue.len() + self.backlog.len()
    }

    /// How many tasks wait in its queue.
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// How many tasks wait until its queue has a place for them.
    pub fn backlog(&self) -> usize {
        self.backlog.len()
    }

    /// Whether its queue has a place for one more task.
    pub fn has_place(&self) -> bool {
        self.waiting < self.spec.permissions.concurrency.max_pending_queue
    }

    /// Whether it takes one more task: there is a place in its queue, or will be as soon as who waits has its free slots.
    pub fn has_room(&self) -> bool {
        let concurrency = &self.spec.permissions.concurrency;
        let most = concurrency.max_parallel_tasks.saturating_add(concurrency.max_pending_queue) as usize;
        let taken = self.busy as usize + self.queue.len().max(self.waiting as usize) + self.backlog.len();
        self.has_place() || taken < most
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The agents of a home.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Team {
    /// Agents by id.
    pub agents: Table<AgentId, Agent>,
    /// Agents that are over and whose workspace is still there, each with the conversation that ended it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cleaning: BTreeMap<AgentId, Option<SessionId>>,
    /// Agents that were spawned and are not over for good.
    pub(crate) spawned: BTreeSet<AgentId>,
    /// What each agent used and spent, as far back as the journal goes.
    #[serde(default, skip_serializing_if = "Table::is_empty")]
    pub spent: Table<AgentId, ByModel>,
}

/// What happens to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Event {
    /// An agent's file is new or says something new.
    #[strum(to_string = "agent_defined")]
    Defined {
        /// All of it.
        spec: Box<Spec>,
    },
    /// An agent's file is gone.
    #[strum(to_string = "agent_retired")]
    Retired {
        /// Whose.
        agent: AgentId,
    },
    /// An agent was made while the team works; its file is printed.
    #[strum(to_string = "agent_spawned")]
    Spawned {
        /// All of it; `spawned_by` says who made it.
        spec: Box<Spec>,
        /// The conversation in which that was asked for, if an agent did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
    },
    /// A spawned agent was ended; its file is taken away and it does not come back.
    #[strum(to_string = "agent_terminated")]
    Terminated {
        /// Which.
        agent: AgentId,
        /// Who said so.
        by: Actor,
        /// Why.
        reason: String,
        /// The conversation in which that was asked for, if an agent did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
    },
    /// The workspace of an agent that is over was taken away.
    #[strum(to_string = "workspace_cleaned")]
    Cleaned {
        /// Whose.
        agent: AgentId,
        /// What was kept, in words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<String>,
    },
    /// A start takes up what was to be taken away before.
    CleaningResumed {
        /// Whose workspace.
        agent: AgentId,
    },
}
