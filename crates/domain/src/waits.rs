//! Who waits for what: one graph, derived from the state whenever somebody asks and stored nowhere.
//!
//! A cycle is looked for when an edge is added (`would_close`), along what that edge leads to and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::id::{AgentId, ApprovalId, SessionId, TaskId, Time};
use crate::lifecycle::Lifecycle;
use crate::state::{Session, Stage, State, Step};
use crate::task;

/// One who waits, or what is waited for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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
}

/// Why one waits for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// A task begins when another has ended.
    Dependency,
    /// A task ends when its parts have.
    Part,
    /// A call goes on when a person has decided.
    Approval,
    /// A conversation rests until another has answered.
    Answer,
    /// Something is to be done, and nobody is free.
    Slot,
    /// A model failed and is asked again later.
    Retry,
}

/// An edge of the graph.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Wait {
    /// Who waits.
    pub from: Node,
    /// For what.
    pub to: Node,
    /// Why.
    pub why: Why,
}

/// Tasks that wait for each other: each for the next, the last for the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle(pub Vec<TaskId>);

impl std::fmt::Display for Cycle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.0.iter().chain(self.0.first()).map(TaskId::as_str).collect();
        f.write_str(&names.join(" → "))
    }
}

/// Every wait there is, in order. Looks at all tasks and at conversations that are not over.
pub fn edges(state: &State) -> Vec<Wait> {
    let mut found = Vec::new();
    for (id, task) in state.tasks.iter().filter(|(_, task)| !task.is_ended()) {
        let from = Node::Task(id.clone());
        let mut add = |to: Node, why: Why| found.push(Wait { from: from.clone(), to, why });
        state.open_dependencies(task).for_each(|on| add(Node::Task(on.clone()), Why::Dependency));
        state.open_children(task).for_each(|part| add(Node::Task(part.clone()), Why::Part));
        if let Some(place) = &task.queued {
            add(Node::Slot(place.agent.clone()), Why::Slot);
        }
    }
    let open = state.agents.values().flat_map(|agent| &agent.sessions);
    for (id, session) in open.filter_map(|id| state.sessions.get_key_value(id)) {
        add_session(state, id, session, &mut found);
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
    match &session.stage {
        Stage::Acting { calls, .. } => {
            for pending in calls {
                if let Step::Asking { approval } = &pending.step {
                    add(&node, Node::Approval(approval.clone()), Why::Approval);
                }
            }
        }
        Stage::Retrying { due, .. } => add(&node, Node::Moment(*due), Why::Retry),
        Stage::Resting | Stage::Thinking { .. } | Stage::Concluding { .. } | Stage::Over => {}
    }
    for asker in &session.askers {
        let rests = |s: &&Session| s.lifecycle == Lifecycle::Waiting && !s.unread;
        if state.sessions.get(asker).filter(rests).is_some() {
            add(&Node::Session(asker.clone()), node.clone(), Why::Answer);
        }
    }
}

/// The cycle that there would be if a task said what `spec` says, whether it is new or known.
///
/// Follows what tasks need before they can end: open dependencies and open parts. Whoever waits for words, a person or a
/// slot is not followed, because a message, a decision or an end elsewhere gets it going again. Costs what `spec` leads to.
pub fn would_close(state: &State, spec: &task::Spec) -> Option<Cycle> {
    if state.tasks.get(&spec.id).is_some_and(|task| task.is_ended()) {
        return None;
    }
    let start = &spec.id;
    let mut came_from: BTreeMap<TaskId, TaskId> = BTreeMap::new();
    let mut ahead = vec![start.clone()];
    let mut seen = BTreeSet::from([start.clone()]);
    while let Some(at) = ahead.pop() {
        for next in needs(state, spec, &at) {
            if next == *start {
                return Some(Cycle(way(&came_from, start, at)));
            }
            if seen.insert(next.clone()) {
                came_from.insert(next.clone(), at.clone());
                ahead.push(next);
            }
        }
    }
    None
}

/// What a task needs before it can end, with `spec` in place of what its task says now.
fn needs(state: &State, spec: &task::Spec, id: &TaskId) -> Vec<TaskId> {
    let known = state.tasks.get(id);
    if known.is_some_and(|task| task.is_ended()) {
        return Vec::new();
    }
    let said = if *id == spec.id { Some(spec) } else { known.map(|task| &task.spec) };
    let is_open = |id: &&TaskId| state.tasks.get(*id).is_none_or(|task| !task.is_ended());
    let on = said.into_iter().flat_map(|said| &said.depends_on).filter(is_open);
    // What the task is no longer a part of once it says what `spec` says does not count.
    let parts = known.into_iter().flat_map(|task| &task.children);
    let parts = parts.filter(|part| **part != spec.id || spec.parent.as_ref() == Some(id)).filter(is_open);
    let new = (spec.parent.as_ref() == Some(id)).then_some(&spec.id);
    on.chain(parts).chain(new).cloned().collect()
}

/// From `start` to `last`, the way it was found.
fn way(came_from: &BTreeMap<TaskId, TaskId>, start: &TaskId, last: TaskId) -> Vec<TaskId> {
    let mut way = vec![last];
    while let Some(before) = way.last().filter(|id| *id != start).and_then(|id| came_from.get(id)) {
        way.push(before.clone());
    }
    way.reverse();
    way
}
