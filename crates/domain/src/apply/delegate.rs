//! What events do to delegations, beside the records themselves: deadlines, and the clock of who asked.

use crate::event::Event;
use crate::id::Time;
use crate::lifecycle::Lifecycle;
use crate::state::{Deadline, On, State, Step};

impl State {
    pub(super) fn hand_on(&mut self, at: Time, event: &Event) {
        let Some(delegation) = self.delegations.follow(at, event).cloned() else { return };
        let deadline = delegation.deadline.map(|due| (due, Deadline::Delegation(delegation.id.clone())));
        if delegation.status.is_over() {
            deadline.iter().for_each(|deadline| _ = self.deadlines.remove(deadline));
        }
        match event {
            Event::Delegated { .. } => {
                self.deadlines.extend(deadline);
                if !delegation.callback {
                    return;
                }
                let step = Step::Waiting { on: On::Delegation { delegation: delegation.id } };
                self.step(&delegation.session, delegation.call.as_str(), step);
            }
            Event::TaskEnded { .. } => {
                let worker = self.tasks.get(&delegation.task).and_then(|t| t.session());
                // Its clock is stopped by the move that ends it, which comes before or after.
                let worked = worker.and_then(|id| self.sessions.get(id)).map_or(0, |worker| {
                    worker.worked_ms + worker.working_since.map_or(0, |since| at.ms_since(since))
                });
                // The time that the other worked is time of whoever asked, as if it had done the work itself; what others did
                // beside each other counts once.
                if let Some(asker) = self.sessions.get_mut(&delegation.session)
                    && delegation.callback
                    && asker.lifecycle == Lifecycle::Blocked
                {
                    asker.worked_ms = asker.worked_ms.max(delegation.worked_before_ms + worked);
                }
            }
            _ => {}
        }
    }
}
