//! What somebody waits for, as it follows from what is so. `apply` asks this of whatever has changed and keeps it in the
//! index; all of it at once is asked by tests, which compare.

use crate::kernel::state::State;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::session::{On, Session, Stage, Step};
use crate::topics::wait::{Node, Wait, Waits, Why};
use crate::words::id::SessionId;

impl State {
    /// What a conversation waits for.
    pub(in crate::kernel) fn waits_of_session(&self, id: &SessionId) -> Vec<(Node, Why)> {
        let Some(session) = self.sessions.get(id) else { return Vec::new() };
        let mut found = Vec::new();
        if session.queued.is_some() {
            found.push((Node::Slot(session.agent.clone()), Why::Slot));
        }
        if let Some(parked) = &session.purse.parked {
            found.push((Node::Window(parked.limit.clone()), Why::Window));
        }
        match &session.stage {
            Stage::Acting { calls, .. } => {
                calls.iter().for_each(|pending| found.extend(self.waits_of_call(session, &pending.step)));
            }
            Stage::Retrying { due, .. } => found.push((Node::Moment(*due), Why::Retry)),
            Stage::Resting | Stage::Thinking { .. } | Stage::Concluding { .. } | Stage::Over => {}
        }
        if !self.is_open(id, session) {
            found.clear();
        }
        if session.lifecycle == Lifecycle::Waiting && !session.talk.unread {
            let is_open = |id: &&SessionId| self.sessions.get(*id).is_some_and(|s| self.is_open(id, s));
            let asked = self.waits.asked_by(id).filter(is_open);
            found.extend(asked.map(|other| (Node::from(other), Why::Answer)));
        }
        found
    }

    /// Whether a conversation is one of those that its agent goes on with.
    fn is_open(&self, id: &SessionId, session: &Session) -> bool {
        self.team.agents.get(&session.agent).is_some_and(|agent| agent.sessions.contains(id))
    }

    /// What a call waits for.
    fn waits_of_call(&self, session: &Session, step: &Step) -> Vec<(Node, Why)> {
        match step {
            Step::Waiting { on: On::Approval { approval } } => {
                vec![(Node::Approval(approval.clone()), Why::Approval)]
            }
            Step::Waiting { on: On::Delegation { delegation } } => {
                let task = self.delegations.by_id.get(delegation).map(|delegation| &delegation.task);
                task.map(|task| (Node::from(task), Why::Delegation)).into_iter().collect()
            }
            Step::Waiting { on: On::Review { review } } => {
                let task = self.reviews.by_id.get(review).map(|review| &review.task);
                task.map(|task| (Node::from(task), Why::Delegation)).into_iter().collect()
            }
            Step::Waiting { on: On::Answer { correlation, .. } } => {
                let asked = session.ties.asked.get(correlation).into_iter().flat_map(|asked| asked.values());
                asked.map(|id| (Node::from(id), Why::Answer)).collect()
            }
            Step::Waiting { on: On::Lock { name, .. } } => vec![(Node::from(name), Why::Lock)],
            Step::New
            | Step::Looking { .. }
            | Step::Looked
            | Step::Approved { .. }
            | Step::Locked { .. }
            | Step::Running { .. }
            | Step::Finished { .. } => Vec::new(),
        }
    }

    /// The index as it follows from all tasks and from conversations that are not over. To ask looks at everything: it is for
    /// tests.
    pub(super) fn derived_waits(&self) -> Waits {
        let mut found = Vec::new();
        for (id, task) in self.work.tasks.iter().filter(|(_, task)| !task.is_ended()) {
            let from = Node::from(id);
            let mut add = |to: Node, why: Why| found.push(Wait { from: from.clone(), to, why });
            self.open_dependencies(task).for_each(|on| add(Node::from(on), Why::Dependency));
            self.open_children(task).for_each(|part| add(Node::from(part), Why::Part));
            match task.queued.as_ref().map(|place| (&place.agent, &place.parked)) {
                // It keeps its place in the queue, but a slot would not help it.
                Some((_, Some(parked))) => add(Node::Window(parked.limit.clone()), Why::Window),
                Some((agent, None)) => add(Node::Slot(agent.clone()), Why::Slot),
                None => {}
            }
        }
        for (limit, approval) in self.ledger.questions() {
            let (from, to) = (Node::Window(limit.to_owned()), Node::Approval(approval.clone()));
            found.push(Wait { from, to, why: Why::Approval });
        }
        let open = self.team.agents.values().flat_map(|agent| &agent.sessions);
        for (id, session) in open.filter_map(|id| self.sessions.get_key_value(id)) {
            self.derive_session(id, session, &mut found);
        }
        for (name, lock) in self.locks.all() {
            if let Some(holder) = lock.holder.as_ref().filter(|_| !lock.queue.is_empty()) {
                found.push(Wait { from: Node::from(name), to: Node::from(&holder.session), why: Why::Held });
            }
        }
        let mut waits: Waits = found.into_iter().collect();
        for (id, session) in &self.sessions {
            session.ties.askers.iter().for_each(|asker| waits.ask(asker, id));
        }
        waits
    }

    fn derive_session(&self, id: &SessionId, session: &Session, found: &mut Vec<Wait>) {
        let node = Node::from(id);
        let mut add = |from: &Node, to: Node, why: Why| found.push(Wait { from: from.clone(), to, why });
        if session.queued.is_some() {
            add(&node, Node::Slot(session.agent.clone()), Why::Slot);
        }
        if let Some(parked) = &session.purse.parked {
            add(&node, Node::Window(parked.limit.clone()), Why::Window);
        }
        match &session.stage {
            Stage::Acting { calls, .. } => {
                for (to, why) in calls.iter().flat_map(|pending| self.waits_of_call(session, &pending.step)) {
                    add(&node, to, why);
                }
            }
            Stage::Retrying { due, .. } => add(&node, Node::Moment(*due), Why::Retry),
            Stage::Resting | Stage::Thinking { .. } | Stage::Concluding { .. } | Stage::Over => {}
        }
        for asker in &session.ties.askers {
            let rests = |s: &&Session| s.lifecycle == Lifecycle::Waiting && !s.talk.unread;
            if self.sessions.get(asker).filter(rests).is_some() {
                add(&Node::from(asker), node.clone(), Why::Answer);
            }
        }
    }
}
