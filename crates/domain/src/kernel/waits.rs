//! Who waits for what: one graph, read from the index that `apply` keeps (`State::waits`).
//!
//! A cycle is looked for before an edge is added, along what that edge leads to and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use crate::kernel::state::State;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::session::{Session, Stage};
use crate::topics::task;
pub use crate::topics::wait::{Node, Wait, Waits, Why};
use crate::words::id::{LockName, SessionId, TaskId};

/// Who waits for each other: each for the next, the last for the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle(pub Vec<Node>);

impl std::fmt::Display for Cycle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<String> = self.0.iter().chain(self.0.first()).map(Node::to_string).collect();
        f.write_str(&names.join(" → "))
    }
}

/// Every wait there is, in order.
pub fn edges(state: &State) -> Vec<Wait> {
    state.waits.all().collect()
}

/// The cycle that there would be if a task said what `spec` says, whether it is new or known.
///
/// Follows what can go on only when something else has: tasks by open dependencies and open parts, conversations by what
/// `ahead` says. A person, a slot or a moment is not followed, because a decision, an end elsewhere or time gets those who
/// wait for it going again. Costs what `spec` leads to, and nothing if nobody waits for a task that is known: a file of tasks
/// that each come after the one before is read in one go.
pub fn would_close(state: &State, spec: &task::Spec) -> Option<Cycle> {
    let known = state.work.tasks.get(&spec.id);
    if known.is_some_and(|task| task.is_ended() || !is_waited_for(state, spec)) {
        return None;
    }
    let start = Node::Task(spec.id.clone());
    let first = ahead(state, Some(spec), &start);
    find(state, Some(spec), start, first)
}

/// Whether anything waits for a task that is known, or would if it said what `spec` says.
fn is_waited_for(state: &State, spec: &task::Spec) -> bool {
    state.waits.is_waited_for(&Node::from(&spec.id))
        || spec.parent.is_some()
        || spec.depends_on.contains(&spec.id)
}

/// The cycle that there would be if a conversation also waited for all of `on`.
pub fn would_stand_still(state: &State, session: &SessionId, on: Vec<Node>) -> Option<Cycle> {
    find(state, None, Node::Session(session.clone()), on)
}

/// Whether anything that a conversation asked for may wait for that conversation in turn, also by what others have asked and
/// do not stand still for yet.
pub fn is_asked_in_a_circle(state: &State, id: &SessionId) -> bool {
    let asked = |id: &SessionId| {
        let session = state.sessions.get(id).into_iter();
        session.flat_map(|session| session.ties.asked.values().flat_map(|asked| asked.values()))
    };
    let mut seen = BTreeSet::new();
    let mut next: Vec<Node> = asked(id).map(|other| Node::Session(other.clone())).collect();
    while let Some(node) = next.pop() {
        if matches!(&node, Node::Session(other) if other == id) {
            return true;
        }
        if seen.contains(&node) {
            continue;
        }
        next.extend(ahead(state, None, &node));
        if let Node::Session(other) = &node {
            next.extend(asked(other).map(|further| Node::Session(further.clone())));
        }
        seen.insert(node);
    }
    false
}

/// A way from `start` by way of `first` back to `start`.
fn find(state: &State, spec: Option<&task::Spec>, start: Node, first: Vec<Node>) -> Option<Cycle> {
    let mut came_from: BTreeMap<Node, Node> = BTreeMap::new();
    let mut seen = BTreeSet::from([start.clone()]);
    let mut next: Vec<(Node, Node)> = first.into_iter().map(|to| (start.clone(), to)).collect();
    while let Some((from, to)) = next.pop() {
        if to == start {
            return Some(Cycle(way(&came_from, &start, from)));
        }
        if seen.insert(to.clone()) {
            next.extend(ahead(state, spec, &to).into_iter().map(|further| (to.clone(), further)));
            came_from.insert(to, from);
        }
    }
    None
}

/// What must come about before `node` can go on or come about, with `spec` in place of what its task says now.
fn ahead(state: &State, spec: Option<&task::Spec>, node: &Node) -> Vec<Node> {
    match node {
        Node::Task(id) => {
            let worker = state.work.tasks.get(id).and_then(|task| task.session());
            let mut found = needs(state, spec, id);
            found.extend(worker.map(Node::from));
            found
        }
        Node::Session(id) => of_session(state, id),
        // A lock that only a call has is free when the call has run, whatever else its conversation waits for.
        Node::Lock(name) => {
            let holder = state.locks.get(name).and_then(|lock| lock.holder.as_ref());
            let keeps = holder.filter(|holder| holder.kept > 0);
            keeps.map(|holder| Node::Session(holder.session.clone())).into_iter().collect()
        }
        Node::Approval(_) | Node::Slot(_) | Node::Moment(_) | Node::Window(_) => Vec::new(),
    }
}

fn of_session(state: &State, id: &SessionId) -> Vec<Node> {
    let Some(session) = state.sessions.get(id) else { return Vec::new() };
    match (&session.stage, session.lifecycle) {
        (Stage::Resting, Lifecycle::Waiting) if !session.talk.unread => while_resting(state, id, session),
        // It was found with calls that have not begun: those wait for nothing yet.
        (Stage::Acting { .. }, Lifecycle::Waiting) => Vec::new(),
        (Stage::Acting { .. }, _) => {
            let mut found = Vec::new();
            for (to, why) in state.waits.waits_of(&Node::from(id)) {
                match (to, why) {
                    (Node::Lock(name), Why::Lock) => found.extend(for_lock(state, id, name)),
                    (to, _) => found.push(to.clone()),
                }
            }
            found
        }
        (
            Stage::Resting
            | Stage::Thinking { .. }
            | Stage::Retrying { .. }
            | Stage::Concluding { .. }
            | Stage::Over,
            _,
        ) => Vec::new(),
    }
}

/// What must come about before `session` can have a lock: who has it, and who is before it in the queue and keeps it then.
pub fn for_lock(state: &State, session: &SessionId, name: &LockName) -> Vec<Node> {
    let lock = state.locks.get(name);
    if lock.and_then(|lock| lock.holder.as_ref()).is_some_and(|h| h.session == *session && h.kept > 0) {
        // It waits for a call of its own, which ends by itself.
        return Vec::new();
    }
    let queue = lock.into_iter().flat_map(|lock| &lock.queue);
    let before = queue.take_while(|waiter| waiter.session != *session).filter(|waiter| waiter.kept);
    let before = before.map(|waiter| Node::Session(waiter.session.clone()));
    [Node::Lock(name.clone())].into_iter().chain(before).collect()
}

/// What a conversation that rests waits for: the parts of its task, else the one that it asked. Of several that it asked
/// any one gets it going again.
pub fn while_resting(state: &State, id: &SessionId, session: &Session) -> Vec<Node> {
    let task = session.task.as_ref().and_then(|task| state.work.tasks.get(task));
    let own = task.filter(|task| task.session() == Some(id)).map(|task| Node::from(&task.spec.id));
    let parts: Vec<Node> =
        own.iter().flat_map(|own| state.waits.waited_for(own, Why::Part)).cloned().collect();
    if !parts.is_empty() {
        return parts;
    }
    let asked: BTreeSet<&SessionId> = session.ties.asked.values().flat_map(|asked| asked.values()).collect();
    match asked.first() {
        Some(only) if asked.len() == 1 => vec![Node::Session((*only).clone())],
        Some(_) | None => Vec::new(),
    }
}

/// What a task needs before it can end, with `spec` in place of what its task says now.
fn needs(state: &State, spec: Option<&task::Spec>, id: &TaskId) -> Vec<Node> {
    let is_ended = |id: &TaskId| state.work.tasks.get(id).is_some_and(|task| task.is_ended());
    if is_ended(id) {
        return Vec::new();
    }
    let node = Node::from(id);
    let Some(spec) = spec else {
        let on = state.waits.waited_for(&node, Why::Dependency);
        return on.chain(state.waits.waited_for(&node, Why::Part)).cloned().collect();
    };
    let mut found: Vec<Node> = if spec.id == *id {
        spec.depends_on.iter().filter(|on| !is_ended(on)).map(Node::from).collect()
    } else {
        state.waits.waited_for(&node, Why::Dependency).cloned().collect()
    };
    // What the task is no longer a part of once it says what `spec` says does not count.
    let own = Node::from(&spec.id);
    found.extend(state.waits.waited_for(&node, Why::Part).filter(|part| **part != own).cloned());
    if spec.parent.as_ref() == Some(id) {
        found.push(own);
    }
    found
}

/// From `start` to `last`, the way it was found.
fn way(came_from: &BTreeMap<Node, Node>, start: &Node, last: Node) -> Vec<Node> {
    let mut way = vec![last];
    while let Some(before) = way.last().filter(|node| *node != start).and_then(|node| came_from.get(node)) {
        way.push(before.clone());
    }
    way.reverse();
    way
}
