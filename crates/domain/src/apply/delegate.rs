//! What events do to delegations: a record follows the task that was made of it.

use crate::apply::{RESULT_BYTES_MAX, cut};
use crate::delegation::{Delegation, Status};
use crate::event::Event;
use crate::id::{DelegationId, TaskId, Time};
use crate::lifecycle::Lifecycle;
use crate::state::{Deadline, State, Step};
use crate::task;

impl State {
    pub(super) fn hand_on(&mut self, at: Time, event: &Event) {
        match event {
            Event::Delegated { delegation } => self.delegate(delegation),
            Event::DelegationCrashed { delegation, reason, retried } => {
                self.crash_delegation(at, delegation, reason, *retried)
            }
            _ => {}
        }
    }

    fn delegate(&mut self, delegation: &Delegation) {
        let id = delegation.id.clone();
        if let Some(deadline) = delegation.deadline {
            self.deadlines.insert((deadline, Deadline::Delegation(id.clone())));
        }
        self.delegations.by_task.insert(delegation.task.clone(), id.clone());
        self.delegations.by_id.insert(id.clone(), delegation.clone());
        self.step(&delegation.session, delegation.call.as_str(), Step::Delegated { delegation: id });
    }

    pub(super) fn begin_delegation(&mut self, at: Time, task: &TaskId) {
        self.change_delegation(task, |delegation| {
            delegation.status = Status::Running;
            delegation.started = Some(at);
        });
    }

    /// The work goes to somebody else, or begins once more.
    pub(super) fn requeue_delegation(&mut self, task: &TaskId) {
        self.change_delegation(task, |delegation| delegation.status = Status::Pending);
    }

    pub(super) fn end_delegation(&mut self, at: Time, task: &TaskId, end: task::End, result: &str) {
        let worker = self.tasks.get(task).and_then(|t| t.session()).and_then(|id| self.sessions.get(id));
        // Its clock is stopped by the move that ends it, which comes before or after.
        let worked = worker.map_or(0, |worker| {
            worker.worked_ms + worker.working_since.map_or(0, |since| at.ms_since(since))
        });
        let mut over = None;
        self.change_delegation(task, |delegation| {
            (delegation.status, delegation.error) = match end {
                task::End::Done => (Status::Success, None),
                task::End::Failed => (Status::Failed, Some(cut(result, RESULT_BYTES_MAX).to_owned())),
                task::End::Cancelled => (Status::Cancelled, Some(cut(result, RESULT_BYTES_MAX).to_owned())),
            };
            delegation.completed = Some(at);
            over = Some(delegation.clone());
        });
        let Some(delegation) = over else { return };
        if let Some(deadline) = delegation.deadline {
            self.deadlines.remove(&(deadline, Deadline::Delegation(delegation.id.clone())));
        }
        // The time that the other worked is time of whoever asked, as if it had done the work itself; what others did
        // beside each other counts once.
        if let Some(asker) = self.sessions.get_mut(&delegation.session)
            && asker.lifecycle == Lifecycle::Blocked
        {
            asker.worked_ms = asker.worked_ms.max(delegation.worked_before_ms + worked);
        }
    }

    fn crash_delegation(&mut self, at: Time, id: &DelegationId, reason: &str, retried: bool) {
        let Some(delegation) = self.delegations.by_id.get_mut(id) else { return };
        delegation.error = Some(reason.to_owned());
        if !retried {
            delegation.status = Status::Crashed;
            delegation.completed = Some(at);
            if let Some(deadline) = delegation.deadline {
                self.deadlines.remove(&(deadline, Deadline::Delegation(id.clone())));
            }
        }
    }

    /// Changes the delegation that `task` was made of, unless it is over.
    fn change_delegation(&mut self, task: &TaskId, change: impl FnOnce(&mut Delegation)) {
        let Some(id) = self.delegations.by_task.get(task) else { return };
        if let Some(delegation) = self.delegations.by_id.get_mut(id).filter(|d| !d.status.is_over()) {
            change(delegation);
        }
    }
}
