//! The files are enough: `.synod/` is deleted in the middle of the work, and the work goes on to the same end.

use std::collections::BTreeSet;

use domain::task::Mark;

use crate::team::{Team, until_so};

const TASKS: &str = "tasks/inbox.task.md";
const QUESTION: &str = "{\"channel\":\"#ops\",\"user\":\"@dana\",\"text\":\"Is there enough disk space for the nightly backup?\"}\n";

/// Works until `moment`, with approvals given as they come if `approve`; then the process is killed and its
/// memory deleted.
fn lose_memory(approve: usize, moment: impl Fn(&Team) -> bool) -> Team {
    let team = Team::fresh();
    team.append("inbox/slack-messages.jsonl", QUESTION);
    let up = team.up();
    for number in 1..=approve {
        let id = format!("approval-{number:04}");
        until_so("it asks", || team.at(&format!("approvals/pending/{id}.approval.md")).exists());
        team.fine(&["approve", &id]);
    }
    until_so("the moment has come", || moment(&team));
    up.kill();
    std::fs::remove_dir_all(team.at(".synod")).unwrap();
    team
}

/// Goes on from the files, and comes to the same end.
fn goes_on(team: &Team) -> String {
    let told = team.to_the_end();
    let tasks = team.tasks(TASKS);
    let ids: Vec<&str> = tasks.iter().map(|t| t.id.as_ref().unwrap().as_str()).collect();
    assert_eq!(ids, ["task-001", "task-002", "task-003", "task-004"], "{}\n{told}", team.read(TASKS));
    assert_eq!(tasks.iter().map(|t| t.mark).collect::<Vec<_>>(), [Mark::Done; 4], "{}", team.read(TASKS));
    assert!(team.sent().len() <= 1, "{:?}", team.sent());
    for session in team.names("sessions") {
        let said = team.messages(&format!("sessions/{session}"));
        let ids: BTreeSet<_> = said.iter().map(|m| m.id.clone()).collect();
        assert_eq!(ids.len(), said.len(), "{session}");
        let texts: BTreeSet<_> = said.iter().map(|m| (m.speaker as u8, &m.content, m.call.clone())).collect();
        assert_eq!(texts.len(), said.len(), "nothing is said twice in {session}: {said:?}");
    }
    let approvals: Vec<String> = ["pending", "approved", "rejected"]
        .iter()
        .flat_map(|f| team.names(&format!("approvals/{f}")))
        .collect();
    assert_eq!(approvals.iter().collect::<BTreeSet<_>>().len(), approvals.len(), "{approvals:?}");
    team.is_in_order();
    // And it is the end: nothing more happens.
    let before = team.read(TASKS);
    assert_eq!(team.pump(), 0);
    assert_eq!(team.read(TASKS), before);
    told
}

#[test]
fn deleted_while_the_planner_plans() {
    let team = lose_memory(0, |team| team.task(TASKS, "task-002").is_some());
    goes_on(&team);
    assert_eq!(team.sent().len(), 1);
}

#[test]
fn deleted_after_planning() {
    let team = lose_memory(0, |team| team.task(TASKS, "task-004").is_some());
    goes_on(&team);
    assert_eq!(team.sent().len(), 1);
}

#[test]
fn deleted_while_an_approval_waits() {
    let team = lose_memory(0, |team| team.at("approvals/pending/approval-0001.approval.md").exists());
    goes_on(&team);
    assert_eq!(team.sent().len(), 1);
    assert_eq!(team.names("approvals/approved").len(), 2, "what was asked before is not asked again");
}

#[test]
fn deleted_after_the_approval() {
    let team = lose_memory(1, |team| team.at("approvals/approved/approval-0001.approval.md").exists());
    goes_on(&team);
    assert_eq!(team.sent().len(), 1, "{}", team.read(TASKS));
}

#[test]
fn deleted_while_the_reply_waits() {
    let team = lose_memory(1, |team| team.at("approvals/pending/approval-0002.approval.md").exists());
    goes_on(&team);
    assert_eq!(team.sent().len(), 1);
}

#[test]
fn deleted_when_the_reply_may_have_gone_out() {
    let team = lose_memory(2, |team| team.at("approvals/approved/approval-0002.approval.md").exists());
    let told = goes_on(&team);
    // Either its outcome was printed before the kill, or it is said that nobody knows.
    let planner = team.talk("planner-001");
    let known = planner.iter().any(|m| m.content.starts_with("posted to #ops"));
    let unknown = planner.iter().any(|m| m.content.starts_with("outcome unknown: slack_send"));
    assert!(known != unknown, "{planner:?}");
    assert!(known || told.contains("does not know what became of a call of planner-001"), "{told}");
    let result = team.task(TASKS, "task-001").unwrap().property("result").unwrap().to_owned();
    let honest = if known { "I answered in Slack." } else { "I do not know whether the answer was sent." };
    assert!(result.starts_with(honest), "{result}");
}

#[test]
fn deleted_after_the_end() {
    let team = lose_memory(2, |team| team.mark(TASKS, "task-001") == Some(Mark::Done));
    let told = goes_on(&team);
    assert_eq!(team.sent().len(), 1);
    assert!(!told.contains("begins"), "{told}");
    // New work gets new numbers.
    let added = team.fine(&["task", "add", "Is there disk space?"]);
    assert_eq!(added, "task-005 is added\n");
    assert_eq!(team.pump(), 3);
    assert_eq!(team.names("approvals/pending"), ["approval-0003.approval.md"]);
}

#[test]
fn a_task_without_a_name_gets_one_that_no_other_file_has() {
    let team = Team::fresh();
    team.write("tasks/a.task.md", "- [ ] @planner-001 \"Say hello\"\n");
    team.write("tasks/b.task.md", "- [x] \"Old work\"\n  id: task-001\n- [-] \"Older\"\n  id: task-007\n");
    team.pump();
    assert_eq!(team.tasks("tasks/a.task.md")[0].id.as_ref().unwrap().as_str(), "task-008");
    let kept: Vec<_> = team.tasks("tasks/b.task.md").iter().map(|t| t.id.clone().unwrap()).collect();
    assert_eq!(kept.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["task-001", "task-007"]);
}

#[test]
fn a_task_with_a_name_beside_one_without_is_begun_too() {
    let team = Team::scripted("rules: [{text: done}]\n");
    team.write("tasks/work.task.md", "- [ ] One\n  id: task-001\n- [ ] Two\n");
    assert_eq!(team.pump(), 0);
    let tasks = team.tasks("tasks/work.task.md");
    assert!(tasks.iter().all(|task| task.mark == Mark::Done), "{}", team.read("tasks/work.task.md"));
}
