//! What events do to approvals: asked for, and ended.

use crate::kernel::state::State;
use crate::topics::approval::{Answer, Outcome, Request};
use crate::topics::deadline::Deadline;
use crate::topics::session::{On, Step};
use crate::topics::tool::{Act, RaiseBudget};
use crate::words::id::{ApprovalId, Time};
use crate::words::text::number_in;

impl State {
    /// A call waits for a person, and has no lock while it does.
    pub(super) fn ask_person(&mut self, at: Time, request: &Request) {
        self.leave_locks(at, &request.session, Some(&request.call));
        self.people.next_approval =
            self.people.next_approval.max(number_in(request.id.as_str()).saturating_add(1));
        if let Some(expires) = request.expires {
            self.schedule.deadlines.insert((expires, Deadline::Approval(request.id.clone())));
        }
        self.step(
            &request.session,
            request.call.as_str(),
            Step::Waiting { on: On::Approval { approval: request.id.clone() } },
        );
        if let Act::RaiseBudget(RaiseBudget { budget, .. }) = &request.act {
            self.ledger.asked(&self.config.settings, at, budget, &request.id);
            self.wait_question(budget);
        }
        self.people.approvals.insert(request.id.clone(), request.clone());
    }

    pub(super) fn end_approval(&mut self, at: Time, id: &ApprovalId, outcome: &Outcome) {
        self.people.decided.insert(id.clone(), outcome.clone());
        let Some(request) = self.people.approvals.remove(id) else { return };
        if let Some(expires) = request.expires {
            self.schedule.deadlines.remove(&(expires, Deadline::Approval(id.clone())));
        }
        if let Act::RaiseBudget(RaiseBudget { budget, .. }) = &request.act {
            self.ledger.asked_no_more(&self.config.settings, at, budget);
            self.wait_question(budget);
            if let Outcome::Answered { answer: Answer::Rejected { .. }, .. } = outcome {
                self.ledger.refuse(&self.config.settings, at, budget);
            }
            return;
        }
        if let Outcome::Answered { answer: Answer::Approved, .. } = outcome {
            self.step(
                &request.session,
                request.call.as_str(),
                Step::Approved { approval: id.clone(), permit: request.permit },
            );
        }
    }
}
