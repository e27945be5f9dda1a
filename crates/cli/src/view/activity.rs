//! What each agent is doing: from its sessions, and from the daemon if there is one.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use domain::id::AgentId;
use domain::lifecycle::Lifecycle;
use domain::session::Status;
use domain::state::State;
use domain::task::Mark;
use web::api::{Live, Request, Response};
use web::client::{self, ClientError};

use super::Waiting;
use super::sessions::Session;
use super::spent::Spending;
use super::tasks::{Around, Task, Tasks};
use super::team::Team;
use crate::wire;

/// Everything that commands about several things look at, read once.
pub struct Overview {
    /// Who there is.
    pub team: Team,
    /// All tasks.
    pub tasks: Tasks,
    /// All approvals.
    pub approvals: super::Approvals,
    /// What the daemon says, if there is one.
    pub daemon: Daemon,
    home: PathBuf,
    // Not every command asks for sessions, and there may be many.
    sessions: OnceCell<Vec<Session>>,
    spending: OnceCell<Spending>,
    known: OnceCell<State>,
    waiting: OnceCell<Vec<web::api::Waiting>>,
}

/// The process that works in the home.
pub enum Daemon {
    /// There is none.
    Absent,
    /// There is one, and it says what it does.
    Live(Live),
    /// There is one, but it does not answer as it should.
    Mute(String),
}

/// What an agent is doing.
pub struct Activity {
    /// Its state, over all its sessions.
    pub state: Lifecycle,
    /// The task of the session that the state comes from.
    pub task: Option<String>,
    /// `model`, or the tools that run, if the daemon says so.
    pub doing: Vec<String>,
}

impl Overview {
    /// Reads the home, and asks the daemon if there is one.
    pub fn read(home: &Path) -> Self {
        Self {
            team: super::team::read(home),
            tasks: super::tasks::read(home),
            approvals: super::approvals(home),
            daemon: ask(home),
            home: home.to_owned(),
            sessions: OnceCell::new(),
            spending: OnceCell::new(),
            known: OnceCell::new(),
            waiting: OnceCell::new(),
        }
    }

    /// All sessions whose heads can be read.
    pub fn sessions(&self) -> &[Session] {
        self.sessions.get_or_init(|| super::sessions::list(&self.home).0)
    }

    /// What was spent so far.
    pub fn spending(&self) -> &Spending {
        self.spending.get_or_init(|| Spending::of(self.known()))
    }

    /// What the journal says.
    pub fn known(&self) -> &State {
        self.known.get_or_init(|| super::spent::known(&self.home))
    }

    /// Why tasks do not go on, as far as no file tells: the daemon says it, or the journal if there is none.
    fn waiting(&self) -> &[web::api::Waiting] {
        match &self.daemon {
            Daemon::Live(live) => &live.waiting,
            Daemon::Mute(_) => &[],
            Daemon::Absent => self.waiting.get_or_init(|| {
                let is_open = self.tasks.list.iter().any(|task| !task.mark.is_ended());
                if is_open { web::server::waiting(self.known()) } else { Vec::new() }
            }),
        }
    }

    /// What tasks are judged by.
    pub fn around(&self) -> Around<'_> {
        let is_running = !matches!(self.daemon, Daemon::Absent);
        Around { approvals: &self.approvals.waiting, is_running, waiting: self.waiting() }
    }

    /// What an agent is doing. One that does several things shows the liveliest.
    pub fn activity(&self, agent: &AgentId) -> Activity {
        if let Daemon::Live(live) = &self.daemon
            && let Some(working) = live.working.iter().find(|w| w.agent == agent.as_str())
        {
            let (task, doing) = (working.task.clone(), working.doing.clone());
            return Activity { state: Lifecycle::Working, task, doing };
        }
        let mut best = Activity { state: Lifecycle::Idle, task: None, doing: Vec::new() };
        for session in self.sessions().iter().filter(|s| s.head.agent == *agent) {
            let state = self.state(session);
            if liveliness(state) > liveliness(best.state) {
                best = Activity {
                    state,
                    task: session.head.task.as_ref().map(ToString::to_string),
                    doing: Vec::new(),
                };
            }
        }
        best
    }

    fn state(&self, session: &Session) -> Lifecycle {
        let asks = |w: &Waiting| w.request.session == session.head.session;
        let task = session.head.task.as_ref().and_then(|id| self.tasks.find(id.as_str()));
        let task = task.map(|index| &self.tasks.list[index]);
        match session.status {
            Status::Completed | Status::Error => Lifecycle::Complete,
            Status::Sleeping if task.is_some_and(|t| t.mark.is_ended()) => Lifecycle::Complete,
            Status::Sleeping => Lifecycle::Waiting,
            Status::Active if self.approvals.waiting.iter().any(asks) => Lifecycle::Blocked,
            Status::Active if task.is_some_and(|t| t.mark == Mark::Asking) => Lifecycle::Blocked,
            Status::Active if task.is_some_and(|t| self.around().told(t).is_some()) => Lifecycle::Blocked,
            Status::Active => Lifecycle::Working,
        }
    }

    /// Tasks of an agent that have not ended.
    pub fn open_tasks<'a>(&'a self, agent: &'a AgentId) -> impl Iterator<Item = &'a Task> {
        self.tasks.list.iter().filter(move |t| t.spec.assignee.as_ref() == Some(agent) && !t.mark.is_ended())
    }
}

fn liveliness(state: Lifecycle) -> u8 {
    match state {
        Lifecycle::Idle | Lifecycle::Complete => 0,
        Lifecycle::Waiting => 1,
        Lifecycle::Blocked => 2,
        Lifecycle::Working => 3,
    }
}

fn ask(home: &Path) -> Daemon {
    match client::ask(&wire::socket(home), &Request::Live) {
        Ok(Response::Live(live)) => Daemon::Live(live),
        Ok(Response::Refused { reason } | Response::Bad { reason }) => Daemon::Mute(reason),
        Ok(Response::Done { .. } | Response::Waits(_) | Response::Awaited { .. }) => {
            Daemon::Mute("the daemon gave another answer".to_owned())
        }
        Err(error @ ClientError::Garbled(_)) => Daemon::Mute(error.to_string()),
        // Between the connection and the answer it may have ended; if not, it is there and slow.
        Err(error) if wire::is_running(home) => Daemon::Mute(error.to_string()),
        Err(ClientError::Unreachable { .. } | ClientError::Silent { .. } | ClientError::Ended) => {
            Daemon::Absent
        }
    }
}
