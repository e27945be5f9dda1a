//! Done that is proven, by the real binary.

use domain::task::Mark;

use crate::team::Team;

const TASKS: &str = "tasks/a.task.md";

fn team(done_when: &str) -> Team {
    let rules = r#"rules:
  - tool_result: check
    answers:
      - {calls: [{tool: write_file, arguments: {path: workspaces/worker-1/report.json, content: '{"ok": true}'}}]}
  - tool_result: write_file
    text: Now it is there.
  - text: It is done.
"#;
    let team = Team::scripted(rules);
    team.write("schemas/report.json", r#"{"type":"object","required":["ok"]}"#);
    let demand: String = done_when.lines().map(|line| format!("    {line}\n")).collect();
    team.write(TASKS, format!("- [ ] @worker-1 \"Report\"\n  id: task-001\n  done_when: |\n{demand}"));
    team
}

#[test]
fn a_report_without_its_evidence_is_sent_back_and_one_with_it_counts() {
    let team = team(
        "file: workspaces/worker-1/report.json\nschema: schemas/report.json workspaces/worker-1/report.json\n\
         command: grep -q ok report.json",
    );
    assert_eq!(team.pump(), 0);
    let task = team.task(TASKS, "task-001").unwrap();
    assert_eq!(
        (task.mark, task.property("result")),
        (Mark::Done, Some("Now it is there.")),
        "{}",
        team.read(TASKS)
    );
    assert!(task.property("verified").is_some());
    let talk = team.talk("worker-1");
    let told = |words: &str| talk.iter().any(|m| m.content.contains(words));
    assert!(told("not done: report.json does not exist"), "{talk:?}");
    assert!(told("fits schemas/report.json"), "{talk:?}");
    assert!(told("exit code: 0"), "{talk:?}");
}

#[test]
fn a_command_that_fails_is_no_evidence() {
    let team = team("command: grep -q never report.json");
    assert_eq!(team.pump(), 0);
    let task = team.task(TASKS, "task-001").unwrap();
    assert_eq!(task.mark, Mark::Failed, "{}", team.read(TASKS));
    assert_eq!(task.property("verified"), None);
}

#[test]
fn a_person_who_must_say_so_is_asked() {
    let team = team("approval");
    assert_eq!(team.pump(), 3);
    let shown = team.fine(&["inbox"]);
    assert!(
        shown.contains("What the agent says came of task-001:") && shown.contains("It is done."),
        "{shown}"
    );
    team.fine(&["approve", "approval-0001"]);
    assert_eq!(team.pump(), 0);
    assert_eq!(team.mark(TASKS, "task-001"), Some(Mark::Done));
}

#[test]
fn a_demand_that_is_none_is_named_with_its_place() {
    let team = team("tests pass");
    let ran = team.synod(&["check"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("tasks/a.task.md:3:") && ran.stdout.contains("done_when"), "{}", ran.stdout);
}
