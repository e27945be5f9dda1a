//! The run of each task and conversation, found by walking to what it began with, and its counters, counted one by one. The
//! state keeps both as events come; here they are made anew from the rest of it, for a comparison.

use std::collections::{BTreeMap, BTreeSet};

use domain::id::{RunId, SessionId, TaskId};
use domain::run::{Counts, Member};
use domain::state::{Requester, State, TASK_DEPTH_MAX};
use domain::task::End;

/// What a run has, counted.
#[derive(Default)]
struct Recount {
    counts: Counts,
    open: BTreeSet<TaskId>,
    sessions: BTreeSet<SessionId>,
}

/// Says what is wrong with the runs of a state, if anything is.
pub fn wrong_runs(state: &State) -> Option<String> {
    let mut all: BTreeMap<RunId, Recount> = BTreeMap::new();
    for (id, task) in &state.work.tasks {
        let known = state.run_of_task(id);
        let member = Member::Task(id.clone());
        if let Some(walked) = walk(state, &member).filter(|walked| walked != known.as_str()) {
            return Some(format!("{id} is in run {known}, and began with {walked}"));
        }
        let recount = all.entry(known).or_default();
        match task.end() {
            None => {
                recount.counts.open += 1;
                recount.open.insert(id.clone());
            }
            Some(End::Done) => recount.counts.done += 1,
            Some(End::Failed) => recount.counts.failed += 1,
            Some(End::Cancelled) => recount.counts.cancelled += 1,
        }
    }
    for (id, session) in &state.sessions {
        let known = state.run_of_session(id);
        let member = Member::Session(id.clone());
        if let Some(walked) = walk(state, &member).filter(|walked| walked != known.as_str()) {
            return Some(format!("{id} is in run {known}, and began with {walked}"));
        }
        let recount = all.entry(known).or_default();
        if !session.is_over() {
            recount.sessions.insert(id.clone());
            let is_listed =
                state.team.agents.get(&session.agent).is_some_and(|agent| agent.sessions.contains(id));
            let rests = session.stage == domain::state::Stage::Resting && !session.talk.unread;
            recount.counts.at_work += u32::from(is_listed && !rests);
        }
    }
    for (id, run) in &state.runs.by_id {
        let Recount { counts, open, sessions } = all.remove(id).unwrap_or_default();
        let Counts { turns, delegations, messages, .. } = run.counts;
        let counts = Counts { turns, delegations, messages, ..counts };
        if (&run.counts, &run.open, &run.sessions) != (&counts, &open, &sessions) {
            return Some(format!("run {id} says {:?}, and has {counts:?}, {open:?}, {sessions:?}", run));
        }
        if run.ended.is_some() == (counts.open > 0 || counts.at_work > 0) {
            return Some(format!("run {id} ended {:?} and has {counts:?}", run.ended));
        }
        let tree = state.runs.tree(id);
        let listed: BTreeSet<&Member> = tree.iter().map(|(_, member)| member).collect();
        let tasks = open.into_iter().map(Member::Task);
        let missing =
            tasks.chain(sessions.into_iter().map(Member::Session)).find(|one| !listed.contains(one));
        if let Some(member) = missing {
            return Some(format!("{member:?} is not in the tree of run {id}"));
        }
        if listed.len() != tree.len() {
            return Some(format!("the tree of run {id} has a member twice: {tree:?}"));
        }
    }
    all.into_keys().next().map(|id| format!("run {id} is not known"))
}

/// What a member began with. Nothing if that goes in a circle, which only people's edits and late answers make: then any
/// member of the circle will do.
fn walk(state: &State, member: &Member) -> Option<String> {
    let (mut session, mut task) = match member {
        Member::Task(id) => (None, Some(id)),
        Member::Session(id) => (Some(id), state.sessions.get(id)?.task.as_ref()),
    };
    for _ in 0..TASK_DEPTH_MAX {
        let above = match task {
            Some(part) => {
                let root = root_of(state, part)?;
                task = Some(root);
                asked_for_by(state, root)
            }
            None => session.and_then(|id| state.sessions.get(id)?.ties.cause.as_ref()),
        };
        let above = above.filter(|above| Some(*above) != session);
        let found = above.and_then(|above| state.sessions.get_key_value(above));
        let Some((id, found)) = found else {
            let name = task.map(ToString::to_string).or_else(|| session.map(ToString::to_string));
            return name;
        };
        let from_task = task.is_some();
        (session, task) = (Some(id), found.task.as_ref());
        if from_task && task.is_none() {
            return Some(id.to_string());
        }
    }
    None
}

/// The topmost task that a task is a part of, unless tasks are parts of each other.
fn root_of<'a>(state: &'a State, task: &'a TaskId) -> Option<&'a TaskId> {
    let mut at = task;
    for _ in 0..TASK_DEPTH_MAX {
        match state.work.tasks.get(at).and_then(|task| task.spec.parent.as_ref()) {
            Some(parent) if parent != at && state.work.tasks.contains_key(parent) => at = parent,
            _ => return Some(at),
        }
    }
    None
}

/// The conversation for which a topmost task was asked for, if that belongs to another request.
fn asked_for_by<'a>(state: &'a State, root: &TaskId) -> Option<&'a SessionId> {
    let task = state.work.tasks.get(root)?;
    let Requester::Session { session } = &task.by else { return None };
    let asker = state.sessions.get(session)?;
    match &asker.task {
        Some(above) => (root_of(state, above) != Some(root)).then_some(session),
        None => Some(task.cause.as_ref().unwrap_or(session)),
    }
}
