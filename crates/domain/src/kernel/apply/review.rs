//! What events do to reviews.

use std::collections::BTreeSet;

use crate::kernel::event::ReviewEvent;
use crate::kernel::state::State;
use crate::topics::review::{Move, Review, Stage, written};
use crate::topics::session::{On, Step};
use crate::topics::task::Spec;
use crate::topics::wait::{Node, Why};
use crate::words::id::{SessionId, TaskId};

impl State {
    pub(super) fn look_over(&mut self, event: &ReviewEvent) {
        match event {
            ReviewEvent::Asked { review } => self.ask_review(review),
            ReviewEvent::Moved { review, commit, to, .. } => {
                let known = self.reviews.by_id.get_mut(review).filter(|known| known.place.commit == *commit);
                if let Some(known) = known {
                    move_on(known, to);
                }
            }
        }
    }

    /// A file tells of a review that is not known: nothing but the files is left of it.
    pub(super) fn find_review(&mut self, spec: &Spec) {
        let Some(review) = written::read(spec) else { return };
        if self.reviews.by_id.get(&review.id).is_none_or(|known| known.round < review.round) {
            self.enter_review(review);
        } else {
            self.reviews.by_task.insert(review.task.clone(), review.id);
        }
    }

    /// A call that waits for a review waits for the reviewer's task of now.
    fn enter_review(&mut self, review: Review) {
        let known = self.reviews.by_id.get(&review.id);
        let task = known.map(|known| Node::from(&known.task));
        let waited = task.iter().flat_map(|task| self.waits.waiters_for(task, Why::Delegation));
        let waited: Vec<SessionId> = waited.filter_map(Node::session).cloned().collect();
        let asked_in = review.session.clone();
        self.reviews.enter(review);
        self.wait_session(&asked_in);
        waited.iter().for_each(|id| self.wait_session(id));
    }

    fn ask_review(&mut self, review: &Review) {
        self.enter_review(review.clone());
        let step = Step::Waiting { on: On::Review { review: review.id.clone() } };
        self.step(&review.session, review.call.as_str(), step);
    }

    /// The reviewer's task is over: who has not answered by then does not.
    pub(super) fn end_review(&mut self, task: &TaskId) {
        let Some(id) = self.reviews.by_task.get(task) else { return };
        let review = self.reviews.by_id.get_mut(id).filter(|r| r.task == *task && r.stage == Stage::Asked);
        if let Some(review) = review {
            move_on(review, &Move::Lapsed);
        }
    }
}

/// What was decided is so: which checks it needed was looked at then.
fn move_on(review: &mut Review, to: &Move) {
    if let Ok(after) = review.after(to, &BTreeSet::new()) {
        *review = after;
    }
}
