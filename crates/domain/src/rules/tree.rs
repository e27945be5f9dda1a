//! Questions about the tree of tasks.

use std::collections::BTreeSet;

use crate::kernel::state::State;
use crate::topics::task::{TASK_DEPTH_MAX, Task};
use crate::topics::wait::{Node, Why};
use crate::words::id::{SessionId, TaskId};
use crate::words::label::Label;

/// All parts of a task and their parts, deepest first.
pub(super) fn all_below(state: &State, id: &TaskId) -> Vec<TaskId> {
    let mut found: Vec<TaskId> = Vec::new();
    // Files may say that tasks are parts of each other in a circle.
    let mut seen: BTreeSet<TaskId> = BTreeSet::from([id.clone()]);
    let mut level = vec![id.clone()];
    for _ in 0..TASK_DEPTH_MAX {
        let tasks = level.iter().filter_map(|id| state.work.tasks.get(id));
        level = tasks.flat_map(|t| t.children.iter().cloned()).collect();
        level.retain(|child| seen.insert(child.clone()));
        if level.is_empty() {
            break;
        }
        found.extend(level.iter().cloned());
    }
    found.reverse();
    found
}

/// How many tasks stand above a part of `task`.
pub(super) fn depth(state: &State, task: &TaskId) -> usize {
    1 + wholes_above(state, task).take_while(|id| state.work.tasks.contains_key(*id)).count()
}

/// Whether `task` is `whole` or a part of it, however deep.
pub(super) fn is_within(state: &State, task: &TaskId, whole: &TaskId) -> bool {
    task == whole || wholes_above(state, task).any(|above| above == whole)
}

/// Those of `tasks` that are no part of another one of them, however deep: a part ends with its whole.
pub(super) fn topmost(state: &State, tasks: &BTreeSet<TaskId>) -> Vec<TaskId> {
    let is_part =
        |task: &TaskId| wholes_above(state, task).any(|above| above != task && tasks.contains(above));
    tasks.iter().filter(|task| !is_part(task)).cloned().collect()
}

/// What `task` is a part of, the nearest first.
fn wholes_above<'a>(state: &'a State, task: &TaskId) -> impl Iterator<Item = &'a TaskId> {
    let above = |id: &TaskId| state.work.tasks.get(id).and_then(|task| task.spec.parent.as_ref());
    std::iter::successors(above(task), move |id| above(id)).take(TASK_DEPTH_MAX)
}

/// The origin of a task's result: that of the task, and of all that its worker has read.
pub(super) fn label_of_result(state: &State, task: &Task) -> Label {
    let worker = task.session().and_then(|id| state.sessions.get(id));
    worker.map_or_else(|| task.label.clone(), |session| task.label.clone().joined(&session.label))
}

/// Tasks that the calls of a session wait for.
pub(super) fn waited<'a>(
    state: &'a State,
    session: &SessionId,
) -> impl Iterator<Item = &'a TaskId> + use<'a> {
    state.waits.waited_for(&Node::from(session), Why::Delegation).filter_map(Node::task)
}

/// Whether `asker` hears of the end of a task with that of others: not if it is the result of one of its calls.
pub(super) fn is_part_for(state: &State, asker: &SessionId, id: &TaskId) -> bool {
    let delegated =
        state.delegations.of_task(id).filter(|d| d.callback).map(|delegation| &delegation.session);
    delegated.or_else(|| state.reviews.of_task(id).map(|review| &review.session)) != Some(asker)
}

/// The id of the next task.
pub(super) fn fresh_task(state: &State) -> TaskId {
    TaskId::new(format!("task-{:03}", state.work.next_task))
}
