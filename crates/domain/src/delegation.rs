//! Delegation: work that is handed on along a chain of agents, and what must be so before it is.
//! Nothing here makes anything; `decide/delegate.rs` does.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::apply::{RESULT_BYTES_MAX, cut};
use crate::context::{Link, Pass};
use crate::event::Event;
use crate::id::{AgentId, CallId, DelegationId, SessionId, TaskId, Time};
use crate::settings::WhenFull;
use crate::spawn::Origin;
use crate::state::{Agent, Requester, Session, State, TASK_DEPTH_MAX, Task};
use crate::task::End;
use policy::glob;

/// The tool by which work is handed on.
pub const TOOL: &str = "delegate";
/// The property of a task's file that names its chain, so that it binds also without a journal.
pub const CHAIN: &str = "chain";
/// The property of a task that was made for such work otherwise than by a delegation, and by nobody who has a task.
pub const ON_BEHALF: &str = "on_behalf_of";
/// What stands between two agents of a chain.
const THEN: &str = " → ";

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

/// Through whose hands work went.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Hands {
    /// One after the other, from the first to the last.
    pub chain: Vec<AgentId>,
    /// Whether a task for which it is demands a person's yes for every effect.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub approval_required: bool,
}

impl Hands {
    /// Whether nobody handed anything on, and nothing is demanded.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// A second request comes in while the first goes on: the longer chain counts, and an approval that either of them
    /// requires is required.
    pub fn add(&mut self, other: &Self) {
        self.approval_required |= other.approval_required;
        if other.chain.len() > self.chain.len() {
            self.chain.clone_from(&other.chain);
        }
    }

    /// It is in the hands of `agent` now.
    fn reach(&mut self, agent: &AgentId) {
        if self.chain.last() != Some(agent) {
            self.chain.push(agent.clone());
        }
    }

    /// The chain as it stands in files; `None` if it is empty.
    pub fn words(&self) -> Option<String> {
        (!self.chain.is_empty()).then(|| shown(&self.chain))
    }

    /// What such words say.
    pub fn of_words(chain: Option<&str>) -> Self {
        let chain = chain.into_iter().flat_map(read).filter(|id| !id.is_empty());
        Self { chain: chain.map(AgentId::new).collect(), approval_required: false }
    }

    /// What the file of a delegated task says of it.
    pub(crate) fn write(&self, properties: &mut BTreeMap<String, String>) {
        properties.insert(CHAIN.to_owned(), shown(&self.chain));
    }

    /// What the file of a task says of it, if anything.
    fn read(properties: &BTreeMap<String, String>) -> Option<Self> {
        let chain = properties.get(CHAIN).or_else(|| properties.get(ON_BEHALF))?;
        Some(Self::of_words(Some(chain)))
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

    /// What an event makes of one of them; which one it is, if any. A record follows the task that was made of it, for
    /// the state and for whoever keeps a table of them.
    pub fn follow(&mut self, at: Time, event: &Event) -> Option<&Delegation> {
        match event {
            Event::Delegated { delegation } => {
                let id = delegation.id.clone();
                self.by_task.insert(delegation.task.clone(), id.clone());
                self.by_id.insert(id.clone(), (**delegation).clone());
                self.by_id.get(&id)
            }
            Event::DelegationCrashed { delegation, reason, retried } => {
                let known = self.by_id.get_mut(delegation)?;
                known.error = Some(reason.clone());
                if !retried {
                    (known.status, known.completed) = (Status::Crashed, Some(at));
                }
                Some(known)
            }
            Event::TaskStarted { task, .. } => {
                let known = self.going(task)?;
                (known.status, known.started) = (Status::Running, Some(at));
                Some(known)
            }
            // The work goes to somebody else, or begins once more.
            Event::TaskReopened { task, .. } => {
                let known = self.going(task)?;
                known.status = Status::Pending;
                Some(known)
            }
            Event::TaskEnded { task, end, result, .. } => {
                let known = self.going(task)?;
                let why = || Some(cut(result, RESULT_BYTES_MAX).to_owned());
                (known.status, known.error) = match end {
                    End::Done => (Status::Success, None),
                    End::Failed => (Status::Failed, why()),
                    End::Cancelled => (Status::Cancelled, why()),
                };
                known.completed = Some(at);
                Some(known)
            }
            _ => None,
        }
    }

    /// The one that a task was made of, unless it is over.
    fn going(&mut self, task: &TaskId) -> Option<&mut Delegation> {
        let id = self.by_task.get(task)?;
        self.by_id.get_mut(id).filter(|known| !known.status.is_over())
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
pub(crate) fn check_tag(tag: &str) -> Result<(), String> {
    let hidden = tag.chars().find(|c| c.is_control()).or_else(|| policy::hidden_character(tag));
    match hidden {
        Some(c) => Err(format!(
            "{tag:?} is no tag: a tag is one line of characters that can be seen, and {:?} is none; use one like ops:check",
            c.to_string()
        )),
        None => Ok(()),
    }
}

/// The eight checks, in their order: who may, to whom, which work (twice), how deep, no circle, room, provider.
pub fn check(state: &State, request: &Request<'_>) -> Verdict {
    let Request { chain, target, tag, provider } = *request;
    let spec_of = |id: &AgentId| state.employed(id).map(|agent| &agent.spec);
    let Some(source) = chain.last().and_then(spec_of).filter(|s| s.permissions.delegation.can_delegate)
    else {
        return Verdict::Reject(Rejected::Source(chain.last().unwrap_or(target).clone()));
    };
    let rules = &source.permissions.delegation;
    let found = state.employed(target);
    // The owner consented to its work when they let the source spawn it.
    let is_own = found.is_some_and(|agent| is_maker(&source.id, agent));
    let targets = rules.allowed_targets.as_ref().filter(|list| !list.is_empty());
    let is_listed = is_own || targets.is_none_or(|list| list.iter().any(|name| name == target.as_str()));
    let Some(agent) = found.filter(|_| is_listed) else {
        let able = || state.agents.values().filter(|a| !a.retired).map(|a| a.spec.id.to_string());
        let allowed = targets.map_or_else(|| able().take(20).collect(), Clone::clone);
        let source_agent = source.id.clone();
        return Verdict::Reject(Rejected::Target { target: target.clone(), source_agent, allowed });
    };
    let able = &agent.spec.responsibilities;
    let takes_all = is_own && able.is_empty();
    if !takes_all && !able.iter().any(|pattern| glob(pattern, tag)) {
        let (target, tag, able) = (target.clone(), tag.to_owned(), able.clone());
        return Verdict::Reject(Rejected::TargetTag { target, tag, able });
    }
    let tags = rules.allowed_tags.as_ref().filter(|list| !list.is_empty());
    if let Some(allowed) = tags.filter(|list| !list.iter().any(|pattern| glob(pattern, tag))) {
        let (tag, source_agent, allowed) = (tag.to_owned(), source.id.clone(), allowed.clone());
        return Verdict::Reject(Rejected::SourceTag { tag, source_agent, allowed });
    }
    let depth = chain.len().saturating_sub(1);
    // No agent of the chain lets work go deeper than its own file says.
    let usual = state.settings.limits.default_delegation_depth;
    let members = chain.iter().filter_map(|id| state.agents.get(id));
    let depths = members.map(|a| a.spec.permissions.delegation.max_delegation_depth.unwrap_or(usual));
    let depth_max = depths.min().unwrap_or(0);
    if depth >= depth_max as usize {
        return Verdict::Reject(Rejected::Depth { depth, depth_max, chain: chain.to_vec() });
    }
    if chain.contains(target) {
        let chain = chain.iter().chain([target]).cloned().collect();
        return Verdict::Reject(Rejected::Cycle { chain });
    }
    room(state, agent, provider)
}

/// Whether `id` spawned this agent.
fn is_maker(id: &AgentId, agent: &Agent) -> bool {
    agent.spec.spawned_by.as_ref().and_then(Origin::parent) == Some(id)
}

fn room(state: &State, agent: &Agent, provider: Option<&str>) -> Verdict {
    let (busy, pending) = (agent.busy, agent.pending());
    let concurrency = &agent.spec.permissions.concurrency;
    let is_free = busy as usize + pending < concurrency.max_parallel_tasks as usize;
    let full = |limit: &str| {
        let (target, limit) = (agent.spec.id.clone(), limit.to_owned());
        Verdict::Reject(Rejected::Full { target, busy, pending, limit })
    };
    match state.settings.limits.delegation_when_full {
        WhenFull::Reject if !is_free => return full("limits.delegation_when_full: reject"),
        WhenFull::Queue if !is_free && !agent.has_room() => {
            return full("max_pending_queue");
        }
        WhenFull::Queue | WhenFull::Reject => {}
    }
    if let Some(rejected) = over_total(state, &agent.spec.id) {
        return Verdict::Reject(rejected);
    }
    match provider {
        Some(reason) => Verdict::BackOff { reason: reason.to_owned() },
        None if is_free => Verdict::Start,
        None => Verdict::Queue,
    }
}

/// The limit of the whole home that work for `target` would pass.
fn over_total(state: &State, target: &AgentId) -> Option<Rejected> {
    let limits = &state.settings.limits;
    let is_under_way = |id: &SessionId| state.sessions.get(id).is_some_and(|session| !session.rests());
    let mut tasks = 0;
    let mut agents = 0;
    let mut works = false;
    for (id, agent) in &state.agents {
        let here = agent.sessions.iter().filter(|id| is_under_way(id)).count();
        tasks += here;
        agents += usize::from(here > 0);
        works |= here > 0 && id == target;
    }
    if tasks >= limits.max_total_tasks as usize {
        return Some(Rejected::TotalTasks { active: tasks, most: limits.max_total_tasks });
    }
    let is_over = !works && agents >= limits.max_total_agents as usize;
    is_over.then_some(Rejected::TotalAgents { active: agents, most: limits.max_total_agents })
}

/// Whose hands the work of a conversation went through, its own agent last.
pub fn chain(state: &State, session: &Session) -> Hands {
    let mut hands = above(state, session);
    hands.reach(&session.agent);
    hands
}

/// Whose hands the work of a conversation went through before it: of its task, of the work that its task was made for, or
/// without a task of those whose words it acts on. Empty if nobody delegated it. With it goes whether a yes is demanded for
/// what is done.
pub(crate) fn above(state: &State, session: &Session) -> Hands {
    let Some(task) = &session.task else { return session.hands.clone() };
    let task = state.tasks.get(task);
    let approval_required = task.is_some_and(|task| task.spec.approval_required);
    Hands { approval_required, ..of_task(state, task) }
}

fn of_task<'a>(state: &'a State, mut task: Option<&'a Task>) -> Hands {
    for _ in 0..TASK_DEPTH_MAX {
        let Some(at) = task else { break };
        if let Some(hands) = Hands::read(&at.spec.properties) {
            return hands;
        }
        let asked = match &at.by {
            Requester::Session { session } => state.sessions.get(session).and_then(|s| s.task.as_ref()),
            Requester::Person { .. } | Requester::Inbox { .. } => None,
        };
        let next = asked.or(at.spec.parent.as_ref()).and_then(|id| state.tasks.get(id));
        task = next.filter(|next| next.spec.id != at.spec.id);
    }
    Hands::default()
}

/// What the file of a task says that a conversation makes: without a task of its own, nothing else would tell later for
/// whom that was.
pub(crate) fn bind(session: &Session, properties: &mut BTreeMap<String, String>) {
    if session.task.is_none() && !session.hands.chain.is_empty() {
        properties.insert(ON_BEHALF.to_owned(), shown(&session.hands.chain));
    }
}

/// Those through whose hands the work of a conversation went, with the contexts that went along, as long as it is under
/// way; nobody if none did. What was made for delegated work by `create_task` gets nothing along.
pub fn line(state: &State, id: &SessionId) -> Vec<Link> {
    let mut at = under_way(state, id).filter(|own| !own.contexts.is_empty());
    let Some(own) = at else { return Vec::new() };
    let link = |agent: &AgentId, passed: Vec<Pass>| {
        Link::new(agent, state.agents.get(agent).map(|agent| &agent.spec), passed)
    };
    let mut links = Vec::new();
    for agent in own.chain.iter().rev() {
        let here = at.filter(|delegation| delegation.target == *agent);
        let passed = here.map(|delegation| delegation.contexts.clone()).unwrap_or_default();
        links.push(link(agent, passed));
        at = here.and_then(|delegation| under_way(state, &delegation.session));
    }
    links.reverse();
    links
}

/// The delegation that a conversation is the work of.
fn under_way<'a>(state: &'a State, id: &SessionId) -> Option<&'a Delegation> {
    let session = state.sessions.get(id)?;
    let task = session.task.as_ref()?;
    let is_its = state.tasks.get(task).is_some_and(|task| task.session() == Some(id));
    // Who was given the work since then was not trusted with what went along.
    let is_meant = |delegation: &&Delegation| delegation.target == session.agent;
    let found = state.delegations.of_task(task).filter(is_meant);
    found.filter(|delegation| is_its && !delegation.status.is_over())
}

/// The names in a chain as it stands in files.
pub(crate) fn read(chain: &str) -> impl Iterator<Item = &str> {
    chain.split(THEN.trim()).map(str::trim)
}

/// A chain as it stands in files and is shown to people.
pub fn shown(chain: &[AgentId]) -> String {
    chain.iter().map(AgentId::as_str).collect::<Vec<_>>().join(THEN)
}

fn list(words: &[String]) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}
