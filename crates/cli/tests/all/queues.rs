//! Queues with bounds, as people see them.

use domain::task::Mark;

use crate::team::{Team, until_so};

const TASKS: &str = "tasks/work.task.md";

fn one_slot(places: u32) -> String {
    format!(
        "id: worker-1\ntype: executor\nmodel: m\npermissions:\n  concurrency: {{max_parallel_tasks: 1, max_pending_queue: {places}}}\n"
    )
}

#[test]
fn a_task_beyond_a_full_queue_stays_in_its_file_says_why_and_is_done_in_the_end() {
    let team = Team::scripted(
        "rules:\n  - matches: \"*hold*\"\n    delay_ms: 600000\n    text: never\n  - text: fine\n",
    );
    team.write("agents/worker-1.agent.yaml", one_slot(1));
    team.write(
        TASKS,
        "- [ ] @worker-1 \"hold\"\n  id: task-001\n- [ ] @worker-1 \"next\"\n  id: task-002\n- [ ] @worker-1 \"last\"\n  id: task-003\n",
    );
    let up = team.up();
    until_so("one works", || team.mark(TASKS, "task-001") == Some(Mark::Running));
    until_so("the next waits", || team.fine(&["status"]).contains("next (ready, waits for a free slot)"));
    let why = "the queue of worker-1 is full (1 wait, max_pending_queue); it is taken when there is a place";
    until_so("the last has no place", || team.fine(&["task", "show", "task-003"]).contains(why));
    assert!(team.fine(&["task", "list", "--json"]).contains(why));
    team.edit(TASKS, "- [/] @worker-1 \"hold\"", "- [-] @worker-1 \"hold\"");
    until_so("both are done", || {
        ["task-002", "task-003"].iter().all(|id| team.mark(TASKS, id) == Some(Mark::Done))
    });
    up.stop();
}
