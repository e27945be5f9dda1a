//! What is so: the state that events add up to. Only `apply` changes it.

use crate::words::table::Table;

use serde::{Deserialize, Serialize};

use crate::topics::agent::{Agent, Team};
use crate::topics::approval::Approvals;
use crate::topics::budget::Ledger;
use crate::topics::budget::question::Due;
use crate::topics::caps::Parked;
use crate::topics::config::Config;
use crate::topics::delegation::Delegations;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::lock::Locks;
use crate::topics::notice::Notices;
use crate::topics::outage::Outages;
use crate::topics::review::Reviews;
use crate::topics::role::Role;
use crate::topics::run::Runs;
use crate::topics::schedule::Schedule;
use crate::topics::session::Session;
use crate::topics::task::Mark;
use crate::topics::task::Requester;
use crate::topics::task::TASK_DEPTH_MAX;
use crate::topics::task::Task;
use crate::topics::task::TaskStage;
use crate::topics::task::Tasks;
use crate::topics::tool::foreign;
use crate::topics::trust::Origins;
use crate::topics::wait::{Node, Waits, Why};
use crate::words::id::{AgentId, Seq, SessionId, TaskId, Time};

mod lists;
mod waits;

/// Everything Synod knows of a home, but for the words of conversations, which live in session files.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct State {
    /// The last event that was applied.
    pub seq: Seq,
    /// When that was decided.
    #[serde(default)]
    pub(crate) at: Time,
    /// Its settings and policy.
    #[serde(default)]
    pub config: Config,
    /// The facts about tools of foreign servers.
    #[serde(default, skip_serializing_if = "foreign::Known::is_empty")]
    pub foreign: foreign::Known,
    /// Its agents.
    #[serde(default)]
    pub team: Team,
    /// Sessions by id.
    pub sessions: Table<SessionId, Session>,
    /// Its tasks.
    #[serde(default)]
    pub work: Tasks,
    /// What people are asked.
    #[serde(default)]
    pub people: Approvals,
    /// Where words came from.
    #[serde(default)]
    pub trust: Origins,
    /// What is to happen next.
    #[serde(default)]
    pub schedule: Schedule,
    /// Work that agents handed to each other.
    #[serde(default, skip_serializing_if = "Delegations::is_empty")]
    pub delegations: Delegations,
    /// Work that agents asked each other to look at.
    #[serde(default, skip_serializing_if = "Reviews::is_empty")]
    pub reviews: Reviews,
    /// Requests, each with all that was made for it.
    #[serde(default, skip_serializing_if = "Runs::is_empty")]
    pub runs: Runs,
    /// What is spent and reserved in each budget, and what was spent on each day.
    #[serde(default, skip_serializing_if = "Ledger::is_empty")]
    pub ledger: Ledger,
    /// Providers that do not answer.
    #[serde(default, skip_serializing_if = "Outages::is_empty")]
    pub outages: Outages,
    /// Who may change what several want.
    #[serde(default, skip_serializing_if = "Locks::is_empty")]
    pub locks: Locks,
    /// News that is to be delivered.
    #[serde(default, skip_serializing_if = "Notices::is_empty")]
    pub notices: Notices,
    /// Who waits for what.
    #[serde(default, skip_serializing_if = "Waits::is_empty")]
    pub waits: Waits,
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

impl State {
    /// The state before anything happened.
    pub fn new() -> Self {
        Self {
            work: Tasks { next_task: 1, ..Tasks::default() },
            people: Approvals { next_approval: 1, ..Approvals::default() },
            ..Self::default()
        }
    }

    /// The place of the next event.
    pub fn next_seq(&self) -> Seq {
        self.seq.plus(1)
    }

    /// A role by name: the home's own, else a built-in one.
    pub fn role(&self, name: &str) -> Option<&Role> {
        self.config.settings.role(name)
    }

    /// An agent whose file is there: only such gets anything new.
    pub fn employed(&self, id: &AgentId) -> Option<&Agent> {
        self.team.agents.get(id).filter(|agent| !agent.retired)
    }

    /// When something is due next, if anything is.
    pub fn next_deadline(&self) -> Option<Time> {
        self.schedule.deadlines.first().map(|(at, _)| *at)
    }

    /// Whether the domain has nothing to do until something comes from outside: an outcome, a person, a deadline.
    pub fn is_settled(&self) -> bool {
        let is_asked = self.question_due().is_none();
        let can_go_on = self.can_start() || self.next_to_look().is_some();
        is_asked
            && self.notices.is_empty()
            && self.schedule.agenda.is_empty()
            && self.locks.is_settled()
            && !can_go_on
    }

    /// What is to be asked about a budget that is used up, or to be taken back.
    pub(crate) fn question_due(&self) -> Option<Due<'_>> {
        self.ledger.question_due(self.at)
    }

    /// Whether nothing is under way either: whatever comes next comes from a person or from outside.
    pub fn is_idle(&self) -> bool {
        // Asked after each cycle: what has to look at all that waits comes last.
        self.schedule.busy == 0
            && self.team.cleaning.is_empty()
            && self.is_settled()
            && !(self.waits.count(Why::Lock) > 0 && self.locks.is_waited_for())
            && !self.parked().any(|halt| halt.parked.is_brief())
    }

    /// Sessions with a model call or a tool call under way.
    pub fn sessions_in_flight(&self) -> impl Iterator<Item = (&SessionId, &Session)> {
        // A session that is not working has nothing in flight, and only open sessions of agents can work.
        self.team
            .agents
            .values()
            .flat_map(|agent| &agent.sessions)
            .filter_map(|id| self.sessions.get_key_value(id))
            .filter(|(_, session)| session.in_flight())
    }

    pub(crate) fn can_start(&self) -> bool {
        self.schedule.busy < self.config.settings.limits.parallel_max && !self.schedule.startable.is_empty()
    }

    /// The topmost task that `task` is a part of.
    pub fn root_of<'a>(&'a self, task: &'a TaskId) -> &'a TaskId {
        let mut at = task;
        for _ in 0..TASK_DEPTH_MAX {
            match self.work.tasks.get(at).and_then(|t| t.spec.parent.as_ref()) {
                Some(parent) if self.work.tasks.contains_key(parent) => at = parent,
                _ => break,
            }
        }
        at
    }

    /// The conversation that waits for a task: that of the task it is a part of, else the one that asked for it.
    pub(crate) fn asker_of<'a>(&'a self, task: &'a Task) -> Option<&'a SessionId> {
        let parent = task.spec.parent.as_ref().and_then(|p| self.work.tasks.get(p));
        let is_left_alone = || self.delegations.of_task(&task.spec.id).is_some_and(|d| !d.callback);
        match (parent.and_then(Task::session), &task.by) {
            (Some(session), _) => Some(session),
            (None, Requester::Session { session }) => Some(session).filter(|_| !is_left_alone()),
            (None, Requester::Person { .. } | Requester::Inbox { .. }) => None,
        }
    }

    /// Parts of `task` that have not ended.
    pub fn open_children(&self, task: &Task) -> impl Iterator<Item = &TaskId> + use<'_> {
        self.work.open.parts_of(&task.spec.id)
    }

    /// Tasks that `task` waits for and that have not ended. A task that does not exist counts as open:
    /// it may yet be written, and starting early is worse than saying why nothing starts.
    pub fn open_dependencies<'a>(&'a self, task: &'a Task) -> impl Iterator<Item = &'a TaskId> {
        task.spec.depends_on.iter().filter(|id| self.work.tasks.get(*id).is_none_or(|t| !t.is_ended()))
    }
}

impl State {
    /// The mark that a task's file should show.
    pub fn mark_of(&self, task: &Task) -> Mark {
        match &task.stage {
            TaskStage::Open => Mark::Open,
            TaskStage::Running { session: id } => match self.sessions.get(id) {
                Some(session)
                    if session.lifecycle == Lifecycle::Blocked && self.waits_for_people(id, session) =>
                {
                    Mark::Asking
                }
                _ => Mark::Running,
            },
            TaskStage::Ended { end } => end.mark(),
        }
    }

    /// Whether calls of a conversation wait, and for nothing but other agents.
    pub fn waits_for_agents(&self, id: &SessionId) -> bool {
        let mut is_so = false;
        for (_, why) in self.waits.waits_of(&Node::from(id)) {
            match why {
                Why::Approval => return false,
                Why::Answer | Why::Delegation | Why::Lock => is_so = true,
                Why::Dependency | Why::Part | Why::Held | Why::Window | Why::Slot | Why::Retry => {}
            }
        }
        is_so
    }

    /// Whether a person is asked, or could help.
    pub(crate) fn waits_for_people(&self, id: &SessionId, session: &Session) -> bool {
        !self.waits_for_agents(id) && session.purse.parked.as_ref().is_none_or(Parked::is_for_people)
    }
}
