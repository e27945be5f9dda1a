//! Runs as the whole state knows them: the run of a task or a conversation, and where a run stands.

use crate::kernel::state::State;
use crate::topics::agent::PERSON;
use crate::topics::caps::Parked;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::run::{Member, Run, RunState};
use crate::topics::session::Session;
use crate::topics::task::Task;
use crate::words::id::{RunId, SessionId, TaskId};

impl State {
    /// The run that a conversation works for.
    pub fn run_of_session(&self, id: &SessionId) -> RunId {
        self.runs.of_session(id).cloned().unwrap_or_else(|| Member::Session(id.clone()).run())
    }

    /// The run of a task, also of one that nobody has begun.
    pub fn run_of_task(&self, id: &TaskId) -> RunId {
        self.runs.of_task(id).cloned().unwrap_or_else(|| Member::Task(id.clone()).run())
    }

    /// Where a run stands. Looks at what of it is open, and at nothing else.
    pub fn state_of_run(&self, run: &Run) -> RunState {
        let state = self.runs.state(run);
        let sessions = || run.sessions.iter().filter_map(|id| self.sessions.get(id));
        let tasks = || run.open.iter().filter_map(|id| self.work.tasks.get(id));
        let proceeds =
            |session: &Session| session.lifecycle == Lifecycle::Working || session.queued.is_some();
        let can_begin = |task: &Task| task.place().is_some_and(|place| place.parked.is_none());
        if state != RunState::Running || sessions().any(proceeds) || tasks().any(can_begin) {
            return state;
        }
        let asks = |id: &SessionId| {
            let session = self.sessions.get(id).filter(|session| session.lifecycle == Lifecycle::Blocked);
            session.is_some_and(|session| self.waits_for_people(id, session))
        };
        let is_chore = |task: &Task| task.spec.assignee.as_ref().is_some_and(|who| who.as_str() == PERSON);
        let is_stuck = |task: &Task| {
            task.place().and_then(|place| place.parked.as_ref()).is_some_and(Parked::is_for_people)
        };
        if run.sessions.iter().any(asks) || tasks().any(is_chore) || tasks().any(is_stuck) {
            return RunState::Waiting;
        }
        state
    }
}
