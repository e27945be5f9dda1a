//! Who waits for what: one graph, derived from the state whenever somebody asks and stored nowhere.
//!
//! A cycle is looked for when an edge is added (`would_close`), along what that edge leads to and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::kernel::state::State;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::session::{On, Session, Stage, Step};
use crate::topics::task;
use crate::topics::task::{Requester, Task};
use crate::words::id::{AgentId, ApprovalId, LockName, SessionId, TaskId, Time};

/// One who waits, or what is waited for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum Node {
    /// A task that has not ended.
    Task(TaskId),
    /// A conversation that is not over.
    Session(SessionId),
    /// A person's decision.
    Approval(ApprovalId),
    /// A free slot of an agent, or of the whole home.
    Slot(AgentId),
    /// A moment.
    Moment(Time),
    /// A lock that somebody has.
    Lock(LockName),
    /// A budget, or a provider's limits, with room again.
    Window(String),
}

impl std::fmt::Display for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Task(id) => write!(f, "{id}"),
            Self::Session(id) => write!(f, "{id}"),
            Self::Approval(id) => write!(f, "{id}"),
            Self::Slot(agent) => write!(f, "slot of {agent}"),
            Self::Moment(at) => write!(f, "{}", at.0),
            Self::Lock(name) => write!(f, "lock {name}"),
            Self::Window(limit) => f.write_str(limit),
        }
    }
}

/// Why one waits for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// A task begins when another has ended.
    Dependency,
    /// A task ends when its parts have.
    Part,
    /// A call goes on when a person has decided, or a budget may be passed then.
    Approval,
    /// A conversation rests, or stands still, until another has answered.
    Answer,
    /// A call goes on when delegated work has ended.
    Delegation,
    /// A call goes on when it has a lock.
    Lock,
    /// A lock is free when who has it gives it back.
    Held,
    /// A model is asked when a budget or a provider's minute has room.
    Window,
    /// Something is to be done, and nobody is free.
    Slot,
    /// A model failed and is asked again later.
    Retry,
}

/// An edge of the graph.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Wait {
    /// Who waits.
    pub from: Node,
    /// For what.
    pub to: Node,
    /// Why.
    pub why: Why,
}

/// Who waits for each other: each for the next, the last for the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle(pub Vec<Node>);

impl std::fmt::Display for Cycle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<String> = self.0.iter().chain(self.0.first()).map(Node::to_string).collect();
        f.write_str(&names.join(" → "))
    }
}

/// Every wait there is, in order. Looks at all tasks and at conversations that are not over.
pub fn edges(state: &State) -> Vec<Wait> {
    let mut found = Vec::new();
    for (id, task) in state.work.tasks.iter().filter(|(_, task)| !task.is_ended()) {
        let from = Node::Task(id.clone());
        let mut add = |to: Node, why: Why| found.push(Wait { from: from.clone(), to, why });
        state.open_dependencies(task).for_each(|on| add(Node::Task(on.clone()), Why::Dependency));
        state.open_children(task).for_each(|part| add(Node::Task(part.clone()), Why::Part));
        match task.queued.as_ref().map(|place| (&place.agent, &place.parked)) {
            // It keeps its place in the queue, but a slot would not help it.
            Some((_, Some(parked))) => add(Node::Window(parked.limit.clone()), Why::Window),
            Some((agent, None)) => add(Node::Slot(agent.clone()), Why::Slot),
            None => {}
        }
    }
    for (limit, approval) in state.ledger.questions() {
        let (from, to) = (Node::Window(limit.to_owned()), Node::Approval(approval.clone()));
        found.push(Wait { from, to, why: Why::Approval });
    }
    let open = state.team.agents.values().flat_map(|agent| &agent.sessions);
    for (id, session) in open.filter_map(|id| state.sessions.get_key_value(id)) {
        add_session(state, id, session, &mut found);
    }
    for (name, lock) in state.locks.all() {
        if let Some(holder) = lock.holder.as_ref().filter(|_| !lock.queue.is_empty()) {
            let (from, to) = (Node::Lock(name.clone()), Node::Session(holder.session.clone()));
            found.push(Wait { from, to, why: Why::Held });
        }
    }
    found.sort();
    found.dedup();
    found
}

fn add_session(state: &State, id: &SessionId, session: &Session, found: &mut Vec<Wait>) {
    let node = Node::Session(id.clone());
    let mut add = |from: &Node, to: Node, why: Why| found.push(Wait { from: from.clone(), to, why });
    if session.queued.is_some() {
        add(&node, Node::Slot(session.agent.clone()), Why::Slot);
    }
    if let Some(parked) = &session.purse.parked {
        add(&node, Node::Window(parked.limit.clone()), Why::Window);
    }
    match &session.stage {
        Stage::Acting { calls, .. } => {
            for pending in calls {
                for (to, why) in of_call(state, session, &pending.step) {
                    add(&node, to, why);
                }
            }
        }
        Stage::Retrying { due, .. } => add(&node, Node::Moment(*due), Why::Retry),
        Stage::Resting | Stage::Thinking { .. } | Stage::Concluding { .. } | Stage::Over => {}
    }
    for asker in &session.ties.askers {
        let rests = |s: &&Session| s.lifecycle == Lifecycle::Waiting && !s.talk.unread;
        if state.sessions.get(asker).filter(rests).is_some() {
            add(&Node::Session(asker.clone()), node.clone(), Why::Answer);
        }
    }
}

/// What a call waits for.
fn of_call(state: &State, session: &Session, step: &Step) -> Vec<(Node, Why)> {
    match step {
        Step::Waiting { on: On::Approval { approval } } => {
            vec![(Node::Approval(approval.clone()), Why::Approval)]
        }
        Step::Waiting { on: On::Delegation { delegation } } => {
            let task = state.delegations.by_id.get(delegation).map(|delegation| &delegation.task);
            task.map(|task| (Node::Task(task.clone()), Why::Delegation)).into_iter().collect()
        }
        Step::Waiting { on: On::Review { review } } => {
            let task = state.reviews.by_id.get(review).map(|review| &review.task);
            task.map(|task| (Node::Task(task.clone()), Why::Delegation)).into_iter().collect()
        }
        Step::Waiting { on: On::Answer { correlation, .. } } => {
            let asked = session.ties.asked.get(correlation).into_iter().flat_map(|asked| asked.values());
            asked.map(|id| (Node::Session(id.clone()), Why::Answer)).collect()
        }
        Step::Waiting { on: On::Lock { name, .. } } => vec![(Node::Lock(name.clone()), Why::Lock)],
        Step::New
        | Step::Approved { .. }
        | Step::Locked { .. }
        | Step::Running { .. }
        | Step::Finished { .. } => Vec::new(),
    }
}

/// The cycle that there would be if a task said what `spec` says, whether it is new or known.
///
/// Follows what can go on only when something else has: tasks by open dependencies and open parts, conversations by what
/// `ahead` says. A person, a slot or a moment is not followed, because a decision, an end elsewhere or time gets those who
/// wait for it going again. Costs what `spec` leads to, and nothing if nobody waits for a task that is known: a file of tasks
/// that each come after the one before is read in one go.
pub fn would_close(state: &State, spec: &task::Spec) -> Option<Cycle> {
    let known = state.work.tasks.get(&spec.id);
    if known.is_some_and(|task| task.is_ended() || !is_waited_for(state, task, spec)) {
        return None;
    }
    let start = Node::Task(spec.id.clone());
    let first = ahead(state, Some(spec), &start);
    find(state, Some(spec), start, first)
}

/// Whether anything may wait for a task that says what `spec` says.
fn is_waited_for(state: &State, task: &Task, spec: &task::Spec) -> bool {
    let asked = match task.by {
        Requester::Session { .. } => true,
        Requester::Person { .. } | Requester::Inbox { .. } => state.delegations.of_task(&spec.id).is_some(),
    };
    let is_part = spec.parent.is_some() || task.spec.parent.is_some();
    asked || is_part || !task.dependents.is_empty() || spec.depends_on.contains(&spec.id)
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
            let needs = needs(state, spec, id).into_iter().map(Node::Task);
            needs.chain(worker.map(|session| Node::Session(session.clone()))).collect()
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
    match &session.stage {
        Stage::Acting { calls, .. } => {
            let mut found = Vec::new();
            for pending in calls {
                match &pending.step {
                    Step::Waiting { on: On::Lock { name, .. } } => found.extend(for_lock(state, id, name)),
                    step => found.extend(of_call(state, session, step).into_iter().map(|(to, _)| to)),
                }
            }
            found
        }
        Stage::Resting if session.lifecycle == Lifecycle::Waiting && !session.talk.unread => {
            while_resting(state, id, session)
        }
        Stage::Resting
        | Stage::Thinking { .. }
        | Stage::Retrying { .. }
        | Stage::Concluding { .. }
        | Stage::Over => Vec::new(),
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
    let own = task.filter(|task| task.session() == Some(id));
    let parts: Vec<Node> =
        own.into_iter().flat_map(|task| state.open_children(task)).cloned().map(Node::Task).collect();
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
fn needs(state: &State, spec: Option<&task::Spec>, id: &TaskId) -> Vec<TaskId> {
    let known = state.work.tasks.get(id);
    if known.is_some_and(|task| task.is_ended()) {
        return Vec::new();
    }
    let spec_id = spec.map(|spec| &spec.id);
    let said = if Some(id) == spec_id { spec } else { known.map(|task| &task.spec) };
    let is_open = |id: &&TaskId| state.work.tasks.get(*id).is_none_or(|task| !task.is_ended());
    let on = said.into_iter().flat_map(|said| &said.depends_on).filter(is_open);
    // What the task is no longer a part of once it says what `spec` says does not count.
    let is_here = spec.is_some_and(|spec| spec.parent.as_ref() == Some(id));
    let parts = known.into_iter().flat_map(|task| &task.children);
    let parts = parts.filter(|part| Some(*part) != spec_id || is_here).filter(is_open);
    let new = spec_id.filter(|_| is_here);
    on.chain(parts).chain(new).cloned().collect()
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
