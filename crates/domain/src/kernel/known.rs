//! The ids that a closed question may be answered with.

use crate::kernel::state::State;
use crate::topics::closed::{Closed, IDS_MAX};
use crate::words::id::TaskId;
use crate::words::text::number_in;

impl Closed {
    /// The ids that may be answered now. There may be thousands of tasks, and each id is sent.
    pub fn known(&self, state: &State) -> Vec<String> {
        match self {
            Self::Bool | Self::Number | Self::Choice { .. } => Vec::new(),
            Self::Agent => {
                let employed = state.team.agents.iter().filter(|(_, agent)| !agent.retired);
                employed.map(|(id, _)| id.to_string()).take(IDS_MAX).collect()
            }
            Self::Task => {
                let open = state.work.tasks.iter().filter(|(_, task)| !task.is_ended());
                let mut ids: Vec<&TaskId> = open.map(|(id, _)| id).collect();
                ids.sort_by_key(|id| std::cmp::Reverse(number_in(id.as_str())));
                ids.into_iter().take(IDS_MAX).map(ToString::to_string).collect()
            }
        }
    }
}
