//! What each agent is doing: from its sessions, and from the daemon if there is one.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use domain::id::AgentId;
use domain::lifecycle::Lifecycle;
use domain::session::Status;
use domain::state::State;
use domain::task::Mark;
use web::api::{Live, Request, Response, Waits};
use web::client::{self, ClientError};

use super::sessions::Session;
use super::spent::Spending;
use super::tasks::{Around, INTERRUPTED, Task, Tasks};
use super::team::Team;
use super::{Waiting, waits};
use crate::out::Out;
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
    waits: OnceCell<Waits>,
    whys: OnceCell<BTreeMap<String, String>>,
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
    /// What keeps it from going on.
    pub why: Option<String>,
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
            waits: OnceCell::new(),
            whys: OnceCell::new(),
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

    /// Who waits for what, as the daemon says, or the journal if it does not.
    pub fn waits(&self) -> &Waits {
        self.waits.get_or_init(|| {
            let live = match &self.daemon {
                Daemon::Live(_) => client::ask(&wire::socket(&self.home), &Request::Waits).ok(),
                Daemon::Absent | Daemon::Mute(_) => None,
            };
            match live {
                Some(Response::Waits(waits)) => *waits,
                _ => web::server::waits(self.known()),
            }
        })
    }

    /// The same, and says so if the daemon did not answer: it is not asked again.
    pub fn waits_told(&self, out: &Out) -> &Waits {
        if let Daemon::Mute(why) = &self.daemon {
            waits::tell_mute(why, out);
        }
        self.waits()
    }

    /// In words what a session waits for, but for what files tell.
    fn why_of(&self, session: &str) -> Option<&String> {
        self.whys.get_or_init(|| waits::by_session(self.waits())).get(session)
    }

    /// Why tasks do not go on, as far as no file tells: the daemon says it, or the journal if there is none.
    fn waiting(&self) -> &[web::api::Waiting] {
        self.waiting.get_or_init(|| {
            let is_any = |is: fn(Mark) -> bool| self.tasks.list.iter().any(|task| is(task.mark));
            let mut told = match &self.daemon {
                Daemon::Live(live) => live.waiting.clone(),
                Daemon::Mute(_) => return Vec::new(),
                Daemon::Absent if is_any(|mark| !mark.is_ended()) => web::state::waiting(self.known()),
                Daemon::Absent => Vec::new(),
            };
            if is_any(|mark| mark == Mark::Running) {
                told.extend(self.waits().sessions.iter().filter_map(|(session, talk)| {
                    let why = self.why_of(session)?.clone();
                    Some(web::api::Waiting { task: talk.task.clone()?, why })
                }));
            }
            told
        })
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
            return Activity { state: Lifecycle::Working, task, doing, why: None };
        }
        let mut best = Activity { state: Lifecycle::Idle, task: None, doing: Vec::new(), why: None };
        for session in self.sessions().iter().filter(|s| s.head.agent == *agent) {
            let (state, why) = self.state(session);
            if liveliness(state) > liveliness(best.state) {
                let task = session.head.task.as_ref().map(ToString::to_string);
                best = Activity { state, task, doing: Vec::new(), why };
            }
        }
        best
    }

    /// How an agent stands in a session, and what keeps it from going on.
    fn state(&self, session: &Session) -> (Lifecycle, Option<String>) {
        let task = session.head.task.as_ref().and_then(|id| self.tasks.find(id.as_str()));
        let mark = task.map(|index| self.tasks.list[index].mark);
        let is_over = match session.status {
            Status::Completed | Status::Error => true,
            Status::Sleeping => mark.is_some_and(Mark::is_ended),
            Status::Active => false,
        };
        if is_over {
            return (Lifecycle::Complete, None);
        }
        let asks = |w: &&Waiting| w.request.session == session.head.session;
        if let Some(asked) = self.approvals.waiting.iter().find(asks) {
            return (Lifecycle::Blocked, Some(format!("waits for you: {}", asked.request.id)));
        }
        let id = session.head.session.as_str();
        let told = self.why_of(id).cloned();
        let why = told.or_else(|| task.and_then(|index| self.tasks.why(index, &self.around())));
        // The file says how it stands a moment later than the daemon.
        let state = match (session.status, &self.daemon) {
            (Status::Sleeping, _) => Lifecycle::Waiting,
            (_, Daemon::Live(_)) => self.known_as(id),
            (_, Daemon::Absent | Daemon::Mute(_)) => Lifecycle::Working,
        };
        match (state, &self.daemon) {
            // With no task and nothing to wait for, it has said what it had to say.
            (Lifecycle::Waiting, _) if task.is_none() && why.is_none() => (Lifecycle::Idle, None),
            (Lifecycle::Waiting | Lifecycle::Complete, _) => (state, why),
            (_, Daemon::Absent) => (Lifecycle::Blocked, Some(why.unwrap_or_else(|| INTERRUPTED.to_owned()))),
            _ if why.is_some() || mark == Some(Mark::Asking) => (Lifecycle::Blocked, why),
            (Lifecycle::Idle | Lifecycle::Working | Lifecycle::Blocked, _) => (state, None),
        }
    }

    /// The state of a session as the daemon knows it.
    fn known_as(&self, session: &str) -> Lifecycle {
        let Some(talk) = self.waits().sessions.get(session) else { return Lifecycle::Complete };
        let state = Lifecycle::ALL.into_iter().find(|state| state.as_str() == talk.state);
        state.unwrap_or_default()
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
        Ok(Response::Done { .. } | Response::Waits(_) | Response::Runs(_) | Response::Awaited { .. }) => {
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

/// The state of an agent, in a word. A session that is over leaves its agent idle.
pub fn state(state: Lifecycle) -> &'static str {
    match state {
        Lifecycle::Complete => Lifecycle::Idle.as_str(),
        Lifecycle::Idle | Lifecycle::Working | Lifecycle::Blocked | Lifecycle::Waiting => state.as_str(),
    }
}
