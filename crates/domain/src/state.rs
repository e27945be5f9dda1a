//! What is so: the state that events add up to. Only `apply` changes it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::agent;
use crate::approval::{Outcome, Request};
use crate::budget::question::Due;
use crate::budget::{Cap, Ledger};
use crate::delegation::{Delegations, Hands};
use crate::id::{
    AgentId, ApprovalId, CallId, DelegationId, LockName, ReviewId, Seq, SessionId, TaskId, Ticket, Time,
};
use crate::label::Label;
use crate::lifecycle::Lifecycle;
use crate::line::Line;
use crate::lock::Locks;
use crate::message::{Kind, Urgency};
use crate::notice::Notices;
use crate::open::Open;
use crate::review::Reviews;
use crate::role::Role;
use crate::session::Status;
use crate::settings::Settings;
use crate::task::{self, Mark, Priority};
use crate::tool::{self, Act, Call, Permit, Want};
use crate::usage::{ByModel, Spent};
use policy::{Nature, Policy};

mod lists;

/// Everything Synod knows of a home, but for the words of conversations, which live in session files.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct State {
    /// The last event that was applied.
    pub seq: Seq,
    /// When that was decided.
    #[serde(default)]
    pub(crate) at: Time,
    /// `synod.yaml`.
    pub settings: Settings,
    /// How often it changed in what work keeps.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) edition: u32,
    /// What work goes by that began before such a change, as long as it goes on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) terms: BTreeMap<u32, Settings>,
    /// `policy/commands.yaml`.
    pub policy: Policy,
    /// Agents by id.
    pub agents: BTreeMap<AgentId, Agent>,
    /// Sessions by id.
    pub sessions: BTreeMap<SessionId, Session>,
    /// Tasks by id.
    pub tasks: BTreeMap<TaskId, Task>,
    /// Approvals that wait for a person.
    pub approvals: BTreeMap<ApprovalId, Request>,
    /// Approvals that have ended, and how; so that a late answer can be told who was first.
    pub decided: BTreeMap<ApprovalId, Outcome>,
    /// Files and folders that agents wrote from what is not to be trusted, or not for all.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, Label>,
    /// How many lines of each inbox file were taken.
    pub inbox: BTreeMap<String, u64>,
    /// The number of the next task.
    pub next_task: u32,
    /// The number of the next approval.
    pub next_approval: u32,
    /// Sessions that work now, all agents together.
    pub busy: u32,
    /// Tasks that have not ended.
    pub open_tasks: u32,
    /// What each agent used and spent, as far back as the journal goes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub spent: BTreeMap<AgentId, ByModel>,
    /// Work that agents handed to each other.
    #[serde(default, skip_serializing_if = "Delegations::is_empty")]
    pub delegations: Delegations,
    /// Work that agents asked each other to look at.
    #[serde(default, skip_serializing_if = "Reviews::is_empty")]
    pub reviews: Reviews,
    /// What is spent and reserved in each budget, and what was spent on each day.
    #[serde(default, skip_serializing_if = "Ledger::is_empty")]
    pub ledger: Ledger,
    /// Who may change what several want.
    #[serde(default, skip_serializing_if = "Locks::is_empty")]
    pub locks: Locks,
    /// News that is to be delivered.
    #[serde(default, skip_serializing_if = "Notices::is_empty")]
    pub notices: Notices,
    /// Agents that are over and whose workspace is still there, each with the conversation that ended it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cleaning: BTreeMap<AgentId, Option<SessionId>>,
    /// Agents that were spawned and are not over for good.
    pub(crate) spawned: BTreeSet<AgentId>,
    /// Sessions in which the domain has a next step to take.
    pub(crate) agenda: BTreeSet<SessionId>,
    /// Agents with a free slot and something to do, each with its best and its oldest.
    pub(crate) startable: Line<AgentId>,
    /// The session of a task that got its slot a moment ago and is only being opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) starting: Option<SessionId>,
    /// Tasks that others name and that do not exist (yet), each with those that name it.
    pub(crate) dangling: BTreeMap<TaskId, BTreeSet<TaskId>>,
    /// Tasks that have not ended, by what they are looked for.
    pub(crate) open: Open,
    /// What must happen at a time.
    pub(crate) deadlines: BTreeSet<(Time, Deadline)>,
}

/// An agent and what it is busy with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// What its file says.
    pub spec: agent::Spec,
    /// How often that changed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) version: u32,
    /// What its file said before, as long as a session goes on that began with it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) past: BTreeMap<u32, agent::Spec>,
    /// Whether its file is gone: it finishes what it has and gets nothing new.
    pub retired: bool,
    /// By whom it was ended, if it was: it is retired for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminated: Option<String>,
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

/// The order in a queue: lower is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rank {
    /// The task's letter.
    pub priority: Priority,
    /// The agent's own priority.
    pub agent_priority: u32,
    /// First come, first served.
    pub since: Seq,
}

/// What waits for a slot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// A session that goes on.
    Session(SessionId),
    /// A task that begins.
    Task(TaskId),
}

/// What must happen at a time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deadline {
    /// A session has worked too long.
    Work(SessionId),
    /// A failed model call is due again.
    Retry(SessionId),
    /// An approval lapses.
    Approval(ApprovalId),
    /// Delegated work is too late.
    Delegation(DelegationId),
    /// Nobody waits for an answer any longer.
    Answer(SessionId, CallId),
    /// A window opens that a parked session waits for.
    Window(SessionId),
    /// A task has waited too long for a slot.
    Queue(TaskId),
    /// Nobody waits for a lock any longer.
    Lock(SessionId, CallId),
    /// A lock was not used for too long.
    Lease(LockName),
    /// A window opens that a parked task waits for.
    Begin(TaskId),
}

/// A task and how far it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// What the file says.
    pub spec: task::Spec,
    /// Who asked for it.
    pub by: Requester,
    /// The conversation for whose request another agent asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<SessionId>,
    /// How far it is.
    pub stage: TaskStage,
    /// What came of it, cut to a bound; the whole text is in the session.
    pub result: String,
    /// Where its words and its result come from.
    #[serde(default, skip_serializing_if = "Label::is_plain")]
    pub label: Label,
    /// Tasks that are a part of it.
    pub children: BTreeSet<TaskId>,
    /// Tasks that wait for it.
    pub dependents: BTreeSet<TaskId>,
    /// Where it waits for a slot.
    pub(crate) queued: Option<Place>,
}

/// Where a task waits for a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Of this agent.
    pub agent: AgentId,
    /// In this order.
    pub(crate) rank: Rank,
    /// So long; absent: as long as it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Time>,
    /// Whether the agent's queue has a place for it.
    pub admitted: bool,
    /// The budget that keeps it from beginning; it keeps its place in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<Parked>,
}

/// How far a task is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStage {
    /// Not begun.
    Open,
    /// An agent is at it.
    Running {
        /// In this conversation.
        session: SessionId,
    },
    /// Over.
    Ended {
        /// How.
        end: task::End,
    },
}

/// Who asked for a task, and so who is told how it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Requester {
    /// A person, through a file or a command.
    Person {
        /// The name, if it is known.
        name: String,
    },
    /// An agent, in this conversation.
    Session {
        /// Which.
        session: SessionId,
    },
    /// A line that came in from outside.
    Inbox {
        /// `inbox/slack-messages.jsonl:1`
        source: String,
    },
}

/// A conversation and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Whose.
    pub agent: AgentId,
    /// About what.
    pub task: Option<TaskId>,
    /// The version of its agent with which it began.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) version: u32,
    /// The edition of the settings with which it began.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) edition: u32,
    /// The agent's state in it.
    pub lifecycle: Lifecycle,
    /// Whether it is over with a failure.
    pub failed: bool,
    /// What happens in it right now.
    pub stage: Stage,
    /// Turns since somebody spoke to the agent.
    pub turns: u32,
    /// All turns.
    pub turns_total: u32,
    /// How often the model failed in this turn; a restart makes a new try, but is no failure.
    pub failures: u32,
    /// Until when the agent's fallback is asked in place of its primary model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_until: Option<Time>,
    /// How often older messages were summarised in this turn.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub summaries: u32,
    /// What was used and spent here.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub spent: Spent,
    /// Tokens that the next request will have, as far as anybody can tell before it is built.
    #[serde(default, skip_serializing_if = "is_none")]
    pub expects: u64,
    /// The largest request that was built here and had more tokens than were reserved for it.
    #[serde(default, skip_serializing_if = "is_none")]
    pub outgrown: u64,
    /// The budget that keeps it from going on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<Parked>,
    /// Since when it waits for a budget; it keeps its place when it is parked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parked_since: Option<Seq>,
    /// The number after that of the last message in its file.
    pub next_message: u32,
    /// Numbers below this were given, also to messages that a person cut off: who puts them back finds their numbers free.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) numbered: u32,
    /// Whether somebody spoke since the last turn began.
    pub unread: bool,
    /// While the model answers: the number of the first message that it was not asked with; 0 if there is none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unread_from: u32,
    /// Agents that told it something since the last turn began and want no answer.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unheard: BTreeSet<AgentId>,
    /// The same, of what the model is asked with now: it has heard it when it answers.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub hearing: BTreeSet<AgentId>,
    /// Who waits for the agent's last words, beside whoever asked for the task.
    pub askers: BTreeSet<SessionId>,
    /// Its requests that have no answer yet: by name, who was asked, and in which of their conversations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub asked: BTreeMap<String, BTreeMap<AgentId, SessionId>>,
    /// In which of its turns it asked each of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) asked_in: BTreeMap<String, u32>,
    /// What kind of request each of them is, if it is not a plain one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) asked_as: BTreeMap<String, Kind>,
    /// Requests of others that have no answer yet: by name, the turn in which it reads them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) requests: BTreeMap<String, u32>,
    /// The conversation whose request this one works for, if that came from another agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<SessionId>,
    /// Through whose hands went what it does now, if it is about no task.
    #[serde(default, skip_serializing_if = "Hands::is_empty")]
    pub hands: Hands,
    /// Turns of all conversations that the last request here has caused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub caused: u32,
    /// The most urgent of what was said since the last turn began.
    #[serde(default, skip_serializing_if = "Urgency::is_normal")]
    pub urgency: Urgency,
    /// The last act and how often it came in a row.
    pub repeated: Option<(String, u32)>,
    /// What the agent reported, while Synod looks for the evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proving: Option<Proving>,
    /// How often it reported its task done and the evidence was not there.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unproven: u32,
    /// The worst of all that was read in it: whatever is made here has this label.
    #[serde(default, skip_serializing_if = "Label::is_plain")]
    pub label: Label,
    /// Working time so far.
    pub worked_ms: u64,
    /// Since when it works now.
    pub(crate) working_since: Option<Time>,
    /// When that is too long.
    pub(crate) work_due: Option<Time>,
    /// Its place in its agent's queue while it waits there.
    pub(crate) queued: Option<Rank>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

impl Parked {
    /// Whether it is a matter of a minute: a provider's limits, not a budget.
    pub fn is_brief(&self) -> bool {
        self.until.is_some() && self.limit.starts_with("providers.")
    }

    /// Whether a person may help: a budget is used up, and not only reserved by others.
    pub fn is_for_people(&self) -> bool {
        !self.held && self.limit.starts_with("budgets.")
    }
}

/// What a budget keeps from going on.
#[derive(Debug, Clone, Copy)]
pub struct Halt<'a> {
    /// The conversation; none if the task has not begun.
    pub session: Option<&'a SessionId>,
    /// Whose.
    pub agent: &'a AgentId,
    /// About what.
    pub task: Option<&'a TaskId>,
    /// Why.
    pub parked: &'a Parked,
}

/// Why a session that could go on does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    /// The node of the budgets, or the provider's limits.
    pub limit: String,
    /// In words.
    pub reason: String,
    /// When it looks again by itself; absent: when a person raises the budget, or others give back what they reserved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// Whether it looks again when others give back what they reserved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// What its call may take, in the units that the node bounds.
    #[serde(default, skip_serializing_if = "Cap::is_none")]
    pub need: Cap,
}

/// A report of which Synod looks at the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proving {
    /// What the agent said.
    pub said: String,
    /// Whether a piece of evidence was missing.
    pub missing: bool,
}

/// What happens in a session right now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Nothing; `unread` says whether there is something to answer.
    Resting,
    /// The model is asked.
    Thinking {
        /// The call.
        ticket: Ticket,
    },
    /// The model failed and is asked again later.
    Retrying {
        /// The failed call.
        ticket: Ticket,
        /// When it is due.
        due: Time,
    },
    /// The model asked for tools.
    Acting {
        /// What the model said along with it: the reason an approval shows.
        said: String,
        /// Each call and how far it is, in the model's order.
        calls: Vec<Pending>,
    },
    /// The model has answered without asking for anything.
    Concluding {
        /// Its words.
        said: String,
    },
    /// The session is over.
    Over,
}

/// A tool call of the current turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// What the model asked for.
    pub call: Call,
    /// How far it is.
    pub step: Step,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The gate has not seen it.
    New,
    /// A person said yes; the gate looks once more before it runs.
    Approved {
        /// Which approval said so.
        approval: ApprovalId,
        /// What the approval showed that a command may do.
        #[serde(default, skip_serializing_if = "Permit::is_none")]
        permit: Permit,
    },
    /// It is being carried out.
    Running {
        /// The try.
        ticket: Ticket,
        /// What repeating it would do.
        nature: Nature,
        /// What a command may do beyond reading.
        #[serde(default, skip_serializing_if = "Permit::is_none")]
        permit: Permit,
        /// Whether a person said yes to exactly this.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        approved: bool,
    },
    /// It waits, and holds back the calls behind it.
    Waiting {
        /// For this.
        on: On,
    },
    /// It has waited and has its lock; the gate looks once more before it runs.
    Locked {
        /// The approval that a person gave for it before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approved: Option<(ApprovalId, Permit)>,
    },
    /// There is a result.
    Finished {
        /// Whether it was carried out and worked.
        ok: bool,
    },
}

/// What a call can wait for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// A person's decision.
    Approval {
        /// Its id.
        approval: ApprovalId,
    },
    /// Work that was handed on.
    Delegation {
        /// Its id.
        delegation: DelegationId,
    },
    /// A review of the caller's work.
    Review {
        /// Its id.
        review: ReviewId,
    },
    /// Another agent's answer.
    Answer {
        /// The request that it answers.
        correlation: String,
        /// When the call gives up.
        due: Time,
    },
    /// A lock.
    Lock {
        /// Its name.
        name: LockName,
        /// The approval that a person gave for the call before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approved: Option<(ApprovalId, Permit)>,
    },
}

impl On {
    /// Whether other agents, and not people, decide when the call goes on.
    pub fn is_agents(&self) -> bool {
        match self {
            Self::Approval { .. } => false,
            Self::Delegation { .. } | Self::Review { .. } | Self::Answer { .. } | Self::Lock { .. } => true,
        }
    }
}

impl Step {
    /// Whether there is a result.
    pub fn is_finished(&self) -> bool {
        matches!(self, Self::Finished { .. })
    }

    /// The approval that a person gave, and what it showed, if the call may run by it.
    pub(crate) fn approval(&self) -> Option<(&ApprovalId, Permit)> {
        match self {
            Self::Approved { approval, permit } | Self::Locked { approved: Some((approval, permit)) } => {
                Some((approval, *permit))
            }
            Self::New
            | Self::Running { .. }
            | Self::Waiting { .. }
            | Self::Locked { approved: None }
            | Self::Finished { .. } => None,
        }
    }
}

impl Pending {
    /// Whether the call changes nothing, so that its neighbours of the same kind may run at the same time.
    pub(crate) fn only_reads(&self) -> bool {
        match &self.call.want {
            Want::Act(act) => {
                tool::facts(act.tool()).is_some_and(|facts| facts.nature == Nature::Read && !facts.inside)
            }
            Want::Invalid { .. } => true,
        }
    }

    /// How the call may be under way beside its neighbours: while it reads, or while others work for it.
    fn together(&self) -> Option<Together> {
        match (&self.step, &self.call.want) {
            (Step::Waiting { on: On::Delegation { .. } }, _) => Some(Together::Delegates),
            (Step::Waiting { .. }, _) => None,
            (_, Want::Act(Act::Delegate(_))) => Some(Together::Delegates),
            (_, _) => self.only_reads().then_some(Together::Reads),
        }
    }

    /// Whether the call is Synod's own look at evidence.
    fn is_check(&self) -> bool {
        matches!(self.call.want, Want::Act(Act::Check(_)))
    }
}

/// The call of an answer that goes on next, if one can. Calls take effect in the order given: a call that changes
/// something starts when all before it have ended, and a call that waits holds back those behind it. Neighbours that only
/// read may run at once, and neighbours that delegate are handed on together.
pub(crate) fn next_call(calls: &[Pending]) -> Option<usize> {
    let mut before: Option<Together> = None;
    for (index, pending) in calls.iter().enumerate() {
        let kind = pending.together();
        match &pending.step {
            Step::Finished { .. } => {}
            Step::Running { .. } | Step::Waiting { .. } => match (kind, before) {
                (Some(kind), None) => before = Some(kind),
                (Some(kind), Some(same)) if kind == same => {}
                (Some(_) | None, _) => return None,
            },
            Step::New | Step::Approved { .. } | Step::Locked { .. } => {
                return (before.is_none() || before == kind).then_some(index);
            }
        }
    }
    None
}

/// Calls that may be under way at the same time as their neighbours of the same kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Together {
    Reads,
    Delegates,
}

/// The call of an answer that did not work out, and because of which the one at `index` is not run: it would change something
/// on a wrong premise.
pub(crate) fn spoiled_by(calls: &[Pending], index: usize) -> Option<&Pending> {
    let own = calls.get(index)?;
    if own.only_reads() || own.is_check() {
        return None;
    }
    calls[..index].iter().find(|before| before.step == Step::Finished { ok: false })
}

impl State {
    /// The state before anything happened.
    pub fn new() -> Self {
        Self { next_task: 1, next_approval: 1, ..Self::default() }
    }

    /// The place of the next event.
    pub fn next_seq(&self) -> Seq {
        self.seq.plus(1)
    }

    /// A role by name: the home's own, else a built-in one.
    pub fn role(&self, name: &str) -> Option<&Role> {
        self.settings.role(name)
    }

    /// An agent whose file is there: only such gets anything new.
    pub fn employed(&self, id: &AgentId) -> Option<&Agent> {
        self.agents.get(id).filter(|agent| !agent.retired)
    }

    /// When something is due next, if anything is.
    pub fn next_deadline(&self) -> Option<Time> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Whether the domain has nothing to do until something comes from outside: an outcome, a person, a deadline.
    pub fn is_settled(&self) -> bool {
        let is_asked = self.question_due().is_none();
        let can_go_on = self.can_start() || self.next_to_look().is_some();
        is_asked && self.notices.is_empty() && self.agenda.is_empty() && self.locks.is_settled() && !can_go_on
    }

    /// What is to be asked about a budget that is used up, or to be taken back.
    pub(crate) fn question_due(&self) -> Option<Due<'_>> {
        self.ledger.question_due(self.at)
    }

    /// Whether nothing is under way either: whatever comes next comes from a person or from outside.
    pub fn is_idle(&self) -> bool {
        // Asked after each cycle: what has to look at all that waits comes last.
        self.busy == 0
            && self.cleaning.is_empty()
            && self.is_settled()
            && !self.locks.is_waited_for()
            && !self.parked().any(|halt| halt.parked.is_brief())
    }

    /// Sessions with a model call or a tool call under way.
    pub fn sessions_in_flight(&self) -> impl Iterator<Item = (&SessionId, &Session)> {
        // A session that is not working has nothing in flight, and only open sessions of agents can work.
        self.agents
            .values()
            .flat_map(|agent| &agent.sessions)
            .filter_map(|id| self.sessions.get_key_value(id))
            .filter(|(_, session)| session.in_flight())
    }

    pub(crate) fn can_start(&self) -> bool {
        self.busy < self.settings.limits.parallel_max && !self.startable.is_empty()
    }

    /// The topmost task that `task` is a part of.
    pub fn root_of<'a>(&'a self, task: &'a TaskId) -> &'a TaskId {
        let mut at = task;
        for _ in 0..TASK_DEPTH_MAX {
            match self.tasks.get(at).and_then(|t| t.spec.parent.as_ref()) {
                Some(parent) if self.tasks.contains_key(parent) => at = parent,
                _ => break,
            }
        }
        at
    }

    /// The conversation that waits for a task: that of the task it is a part of, else the one that asked for it.
    pub(crate) fn asker_of<'a>(&'a self, task: &'a Task) -> Option<&'a SessionId> {
        if self.delegations.of_task(&task.spec.id).is_some_and(|delegation| !delegation.callback) {
            return None;
        }
        let parent = task.spec.parent.as_ref().and_then(|p| self.tasks.get(p));
        match (parent.and_then(Task::session), &task.by) {
            (Some(session), _) | (None, Requester::Session { session }) => Some(session),
            (None, Requester::Person { .. } | Requester::Inbox { .. }) => None,
        }
    }

    /// Parts of `task` that have not ended.
    pub fn open_children(&self, task: &Task) -> impl Iterator<Item = &TaskId> + use<'_> {
        self.open.parts_of(&task.spec.id)
    }

    /// Tasks that `task` waits for and that have not ended. A task that does not exist counts as open:
    /// it may yet be written, and starting early is worse than saying why nothing starts.
    pub fn open_dependencies<'a>(&'a self, task: &'a Task) -> impl Iterator<Item = &'a TaskId> {
        task.spec.depends_on.iter().filter(|id| self.tasks.get(*id).is_none_or(|t| !t.is_ended()))
    }
}

/// The deepest nesting of tasks that is followed.
pub const TASK_DEPTH_MAX: usize = 64;

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

impl Task {
    /// Where it waits for a slot, if it does.
    pub fn place(&self) -> Option<&Place> {
        self.queued.as_ref()
    }

    /// Whether it is over.
    pub fn is_ended(&self) -> bool {
        matches!(self.stage, TaskStage::Ended { .. })
    }

    /// How it ended, if it has.
    pub fn end(&self) -> Option<task::End> {
        match self.stage {
            TaskStage::Ended { end } => Some(end),
            TaskStage::Open | TaskStage::Running { .. } => None,
        }
    }

    /// The conversation it is worked on in.
    pub fn session(&self) -> Option<&SessionId> {
        match &self.stage {
            TaskStage::Running { session } => Some(session),
            TaskStage::Open | TaskStage::Ended { .. } => None,
        }
    }
}

impl State {
    /// The mark that a task's file should show.
    pub fn mark_of(&self, task: &Task) -> Mark {
        match &task.stage {
            TaskStage::Open => Mark::Open,
            TaskStage::Running { session } => match self.sessions.get(session) {
                Some(session) if session.lifecycle == Lifecycle::Blocked && session.waits_for_people() => {
                    Mark::Asking
                }
                _ => Mark::Running,
            },
            TaskStage::Ended { end } => end.mark(),
        }
    }
}

impl Session {
    /// Whether a model call or a tool call is under way.
    pub fn in_flight(&self) -> bool {
        match &self.stage {
            Stage::Thinking { .. } => true,
            Stage::Acting { calls, .. } => calls.iter().any(|p| matches!(p.step, Step::Running { .. })),
            Stage::Resting | Stage::Retrying { .. } | Stage::Concluding { .. } | Stage::Over => false,
        }
    }

    /// Whether nothing but other agents is in its way.
    pub fn waits_for_agents(&self) -> bool {
        let Stage::Acting { calls, .. } = &self.stage else { return false };
        let waits = |pending: &Pending| match &pending.step {
            Step::Waiting { on } => Some(on.is_agents()),
            _ => None,
        };
        let mut waits = calls.iter().filter_map(waits).peekable();
        waits.peek().is_some() && waits.all(|is_agents| is_agents)
    }

    /// Whether a person is asked, or could help.
    fn waits_for_people(&self) -> bool {
        !self.waits_for_agents() && self.parked.as_ref().is_none_or(Parked::is_for_people)
    }

    /// The call that waits for the answer to a request.
    pub fn awaiting(&self, correlation: &str) -> Option<&CallId> {
        let Stage::Acting { calls, .. } = &self.stage else { return None };
        let waits = |p: &&Pending| matches!(&p.step, Step::Waiting { on: On::Answer { correlation: c, .. } } if c == correlation);
        calls.iter().find(waits).map(|p| &p.call.id)
    }

    /// The word for `status:` in its file.
    pub fn status(&self) -> Status {
        self.lifecycle.status(self.failed)
    }

    /// One of the current turn's calls.
    pub fn pending(&self, call: &CallId) -> Option<&Pending> {
        match &self.stage {
            Stage::Acting { calls, .. } => calls.iter().find(|p| p.call.id == *call),
            Stage::Resting
            | Stage::Thinking { .. }
            | Stage::Retrying { .. }
            | Stage::Concluding { .. }
            | Stage::Over => None,
        }
    }

    /// Whether the domain has a next step to take here, without anything from outside.
    pub(crate) fn wants_attention(&self) -> bool {
        match &self.stage {
            Stage::Concluding { .. } => true,
            Stage::Acting { calls, .. } => {
                next_call(calls).is_some() || calls.iter().all(|pending| pending.step.is_finished())
            }
            Stage::Resting | Stage::Thinking { .. } | Stage::Retrying { .. } | Stage::Over => false,
        }
    }
}
