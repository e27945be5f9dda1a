//! What events do to delegations, beside the records themselves: deadlines, and the clock of who asked.

use crate::kernel::event::Event;
use crate::kernel::event::{DelegationEvent, TaskEvent};
use crate::kernel::state::State;
use crate::topics::deadline::Deadline;
use crate::topics::delegation::Delegation;
use crate::topics::delegation::Delegations;
use crate::topics::delegation::Status;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::session::{On, Step};
use crate::topics::task::End;
use crate::words::id::TaskId;
use crate::words::id::Time;
use crate::words::text::RESULT_BYTES_MAX;
use crate::words::text::cut;

impl State {
    pub(super) fn hand_on(&mut self, at: Time, event: &Event) {
        let Some(delegation) = self.delegations.follow(at, event).cloned() else { return };
        let deadline = delegation.deadline.map(|due| (due, Deadline::Delegation(delegation.id.clone())));
        if delegation.status.is_over() {
            deadline.iter().for_each(|deadline| _ = self.schedule.deadlines.remove(deadline));
        }
        match event {
            Event::Delegation(DelegationEvent::Made { .. }) => {
                self.schedule.deadlines.extend(deadline);
                if !delegation.callback {
                    return;
                }
                let step = Step::Waiting { on: On::Delegation { delegation: delegation.id } };
                self.step(&delegation.session, delegation.call.as_str(), step);
            }
            Event::Task(TaskEvent::Ended { .. }) => {
                let worker = self.work.tasks.get(&delegation.task).and_then(|t| t.session());
                // Its clock is stopped by the move that ends it, which comes before or after.
                let worked = worker.and_then(|id| self.sessions.get(id)).map_or(0, |worker| {
                    worker.clock.worked_ms + worker.clock.working_since.map_or(0, |since| at.ms_since(since))
                });
                // The time that the other worked is time of whoever asked, as if it had done the work itself; what others did
                // beside each other counts once.
                if let Some(asker) = self.sessions.get_mut(&delegation.session)
                    && delegation.callback
                    && asker.lifecycle == Lifecycle::Blocked
                {
                    asker.clock.worked_ms = asker.clock.worked_ms.max(delegation.worked_before_ms + worked);
                }
            }
            _ => {}
        }
    }
}

impl Delegations {
    /// What an event makes of one of them; which one it is, if any. A record follows the task that was made of it, for
    /// the state and for whoever keeps a table of them.
    pub fn follow(&mut self, at: Time, event: &Event) -> Option<&Delegation> {
        match event {
            Event::Delegation(DelegationEvent::Made { delegation }) => {
                let id = delegation.id.clone();
                self.by_task.insert(delegation.task.clone(), id.clone());
                self.by_id.insert(id.clone(), (**delegation).clone());
                self.by_id.get(&id)
            }
            Event::Delegation(DelegationEvent::Crashed { delegation, reason, retried }) => {
                let known = self.by_id.get_mut(delegation)?;
                known.error = Some(reason.clone());
                if !retried {
                    (known.status, known.completed) = (Status::Crashed, Some(at));
                }
                Some(known)
            }
            Event::Task(TaskEvent::Started { task, .. }) => {
                let known = self.going(task)?;
                (known.status, known.started) = (Status::Running, Some(at));
                Some(known)
            }
            // The work goes to somebody else, or begins once more.
            Event::Task(TaskEvent::Reopened { task, .. }) => {
                let known = self.going(task)?;
                known.status = Status::Pending;
                Some(known)
            }
            Event::Task(TaskEvent::Ended { task, end, result, .. }) => {
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
}
