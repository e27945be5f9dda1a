//! Waits as people meet them: tasks that wait for each other in files, while the team runs and while it does not.

use crate::team::{Team, until_so};

const SCRIPT: &str = "rules:\n  - text: Fine.\n";

fn task(id: &str, on: &str) -> String {
    format!("- [ ] \"Do {id}\" @worker-1\n  - id: {id}\n  - depends_on: {on}\n")
}

#[test]
fn an_edit_that_closes_a_cycle_is_told_with_its_place_and_named_in_status() {
    let team = Team::scripted(SCRIPT);
    let up = team.up();
    team.write("tasks/a.task.md", &task("task-a", "task-b"));
    until_so("it is taken", || team.fine(&["status"]).contains("task-a"));
    team.write("tasks/b.task.md", &task("task-b", "task-a"));
    let told = "the tasks wait for each other: task-b → task-a → task-b";
    until_so("it is told", || up.stderr().contains(told) && up.stderr().contains("tasks/b.task.md:3:17"));
    let status = team.fine(&["status", "--json"]);
    assert!(status.contains("waits for itself: task-a → task-b → task-a"), "{status}");
    team.write("tasks/b.task.md", "- [ ] \"Do task-b\" @worker-1\n  - id: task-b\n");
    until_so("both are done", || team.fine(&["status", "--json"]).contains("\"done\":2"));
    up.stop();
    team.is_in_order();
}
