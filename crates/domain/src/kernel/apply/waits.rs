//! Keeps the index of waits true: whatever has changed says anew what it waits for, and nothing else is looked at.

use crate::kernel::state::State;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::session::{Session, Stage, Step};
use crate::topics::task::Tasks;
use crate::topics::wait::{Node, Why};
use crate::words::id::{LockName, SessionId, TaskId};

impl Session {
    /// Whether it may wait for anything. Asked before and after each change: most conversations wait neither before nor after
    /// it, and nothing is looked up for those.
    pub(super) fn may_wait(&self) -> bool {
        let waits = match &self.stage {
            Stage::Acting { calls, .. } => calls.iter().any(|p| matches!(p.step, Step::Waiting { .. })),
            Stage::Retrying { .. } => true,
            Stage::Resting | Stage::Thinking { .. } | Stage::Concluding { .. } | Stage::Over => false,
        };
        let rests = self.lifecycle == Lifecycle::Waiting && !self.talk.unread;
        waits || rests || self.queued.is_some() || self.purse.parked.is_some()
    }
}

impl State {
    /// Says anew what a conversation waits for.
    pub(super) fn wait_session(&mut self, id: &SessionId) {
        let waits = self.waits_of_session(id);
        self.waits.set(&Node::from(id), waits);
    }

    /// A conversation owes another an answer.
    pub(super) fn wait_answer(&mut self, asker: &SessionId, id: &SessionId) {
        self.waits.ask(asker, id);
        self.wait_session(asker);
    }

    /// A conversation owes another nothing any longer.
    pub(super) fn wait_answer_no_more(&mut self, asker: &SessionId, id: &SessionId) {
        self.waits.ask_no_more(asker, id);
        self.wait_session(asker);
    }

    /// Says anew whether a lock is waited for, and so who is to give it back.
    pub(super) fn wait_lock(&mut self, name: &LockName) {
        let lock = self.locks.get(name).filter(|lock| !lock.queue.is_empty());
        let holder = lock.and_then(|lock| lock.holder.as_ref());
        let held = holder.map(|holder| (Node::from(&holder.session), Why::Held));
        self.waits.set(&Node::from(name), held.into_iter().collect());
    }

    /// Says anew whether a person is asked about a budget.
    pub(super) fn wait_question(&mut self, budget: &str) {
        let asked = self.ledger.question(budget).map(|id| (Node::Approval(id.clone()), Why::Approval));
        self.waits.set(&Node::Window(budget.to_owned()), asked.into_iter().collect());
    }

    /// An open task waits for those that it names, and the task that it is a part of waits for it.
    pub(super) fn wait_links(&mut self, id: &TaskId) {
        let Some(task) = self.work.tasks.get(id).filter(|task| !task.is_ended()) else { return };
        for on in task.spec.depends_on.iter() {
            if self.work.tasks.get(on).is_none_or(|on| !on.is_ended()) {
                self.waits.add(Node::from(id), Node::from(on), Why::Dependency);
            }
        }
        if let Some(parent) = task.spec.parent.as_ref().filter(|parent| is_going(&self.work, parent)) {
            self.waits.add(Node::from(parent), Node::from(id), Why::Part);
        }
    }

    /// What a task names will change.
    pub(super) fn drop_links(&mut self, id: &TaskId) {
        let Some(task) = self.work.tasks.get(id) else { return };
        for on in &task.spec.depends_on {
            self.waits.drop(&Node::from(id), &Node::from(on), Why::Dependency);
        }
        if let Some(parent) = &task.spec.parent {
            self.waits.drop(&Node::from(parent), &Node::from(id), Why::Part);
        }
    }

    /// A task is open that was not: it waits for its parts, and those that named it wait for it.
    pub(super) fn wait_begun(&mut self, id: &TaskId) {
        let Some(task) = self.work.tasks.get(id) else { return };
        for part in self.work.open.parts_of(id) {
            self.waits.add(Node::from(id), Node::from(part), Why::Part);
        }
        for other in task.dependents.iter().filter(|other| is_going(&self.work, other)) {
            self.waits.add(Node::from(other), Node::from(id), Why::Dependency);
        }
    }

    /// A task has ended: it waits for nothing, and as a task nobody waits for it. The call that handed it on waits until it has
    /// its result.
    pub(super) fn wait_ended(&mut self, id: &TaskId) {
        let node = Node::from(id);
        self.waits.set(&node, Vec::new());
        self.waits.ended(&node, Why::Dependency);
        self.waits.ended(&node, Why::Part);
    }
}

/// Whether a task is known and has not ended.
fn is_going(work: &Tasks, id: &TaskId) -> bool {
    work.tasks.get(id).is_some_and(|task| !task.is_ended())
}
