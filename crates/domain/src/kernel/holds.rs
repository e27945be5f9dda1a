//! Plans that wait for a person's yes.

use crate::kernel::state::State;
use crate::topics::plan::HELD_BY;
use crate::topics::task::Task;
use crate::words::id::TaskId;

/// The task whose yes a task of a plan waits for.
pub fn hold_of(task: &Task) -> Option<TaskId> {
    task.spec.properties.get(HELD_BY).map(|id| TaskId::new(id.as_str()))
}

/// Whether a plan waits for a person's yes to this task.
pub fn is_hold(state: &State, task: &Task) -> bool {
    let waits = |id: &TaskId| state.work.tasks.get(id).and_then(hold_of).as_ref() == Some(&task.spec.id);
    task.dependents.iter().any(waits)
}
