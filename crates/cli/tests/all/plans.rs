//! Plans that wait for a yes, and tasks for `human`: a person is told what waits and how to answer, and is obeyed.

use domain::task::Mark;
use serde_json::Value;

use crate::code::begun;
use crate::team::{Team, until_so};

const PLAN: &str = "tasks/plan-task-002.task.md";
const REQUESTS: &str = "tasks/requests.task.md";

/// A request whose plan waits for a person.
fn held() -> Team {
    let team = begun();
    team.edit("synod.yaml", "hold: false", "hold: true");
    let ran = team.synod(&["run", "Greet people by name"]);
    assert_eq!(ran.code, 3, "{} {}", ran.stdout, ran.stderr);
    let last = ran.stderr.lines().last().unwrap_or_default();
    assert_eq!(
        last,
        "task-001 is not done: task-003 \"Say yes to the plan of task-002\" waits for you: `synod approve task-003` \
         lets the plan begin and `synod reject task-003` cancels it, as [x] and [-] do in \
         tasks/plan-task-002.task.md:3; then go on with `synod pump`"
    );
    team
}

fn json(team: &Team, args: &[&str]) -> Value {
    let ran = team.synod(&[args, &["--json"]].concat());
    serde_json::from_str(ran.stdout.lines().last().unwrap_or_default())
        .unwrap_or_else(|e| panic!("{e}: {}", ran.stdout))
}

#[test]
fn a_plan_on_hold_is_in_the_inbox_and_in_the_status_with_how_to_answer() {
    let team = held();
    let ran = team.synod(&["pump"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("task-003 \"Say yes to the plan of task-002\" waits for you"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        team.fine(&["inbox"]),
        "task-003  plan\n  Say yes to the plan of task-002\n    [ ] task-004 @coder-001  Greet people by name\n  \
         `synod approve task-003` lets the plan begin and `synod reject task-003` cancels it, as [x] and [-] do in \
         tasks/plan-task-002.task.md:3\n\n1 task waits for you.\n"
    );
    let inbox = json(&team, &["inbox"]);
    assert_eq!(
        (&inbox["tasks"][0]["id"], &inbox["tasks"][0]["kind"], &inbox["tasks"][0]["holds"]),
        (&"task-003".into(), &"plan".into(), &serde_json::json!(["task-004"]))
    );
    let status = team.fine(&["status"]);
    assert!(
        status.contains("Waits for you: 1 task (`synod inbox` shows all of it)\n  task-003  plan  Say yes"),
        "{status}"
    );
    assert!(status.contains("(waits for you to say yes)"), "{status}");
    assert_eq!(json(&team, &["status"])["tasks"]["for_people"][0]["id"], "task-003");
    let pump = json(&team, &["pump"]);
    assert_eq!((&pump["waiting"], &pump["tasks"][0]), (&1.into(), &"task-003".into()));
}

#[test]
fn a_plan_on_hold_is_told_of_by_a_daemon_too() {
    let team = begun();
    team.edit("synod.yaml", "hold: false", "hold: true");
    let up = team.up();
    let ran = team.synod(&["run", "Greet people by name"]);
    assert_eq!(ran.code, 3, "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("`synod approve task-003` lets the plan begin"), "{}", ran.stderr);
    assert_eq!(team.pump(), 3);
    up.stop();
}

#[test]
fn a_yes_lets_the_plan_begin_with_what_was_edited_before() {
    let team = held();
    team.edit(PLAN, "- [ ] @coder-001 \"Greet people by name\"", "- [ ] @coder-001 \"Greet everybody\"");
    assert_eq!(team.pump(), 3, "an edit is no yes");
    assert_eq!(team.sessions("coder-001"), Vec::<String>::new());
    team.edit(PLAN, "- [ ] @human", "- [x] @human");
    assert_eq!(team.pump(), 0);
    assert!(team.talk("coder-001")[0].content.contains("Greet everybody"));
    assert_eq!(team.mark(REQUESTS, "task-001"), Some(Mark::Done));
    assert_eq!(team.fine(&["inbox"]), "Nothing waits for you.\n");
}

#[test]
fn a_command_says_yes_to_a_plan_as_it_stands_in_its_file() {
    for with_daemon in [false, true] {
        let team = held();
        let up = with_daemon.then(|| team.up());
        // No moment between the two: whoever says yes has read what they wrote.
        team.edit(PLAN, "- [ ] @coder-001 \"Greet people by name\"", "- [ ] @coder-001 \"Greet everybody\"");
        let yes: &[&str] = if with_daemon { &["approve", "--all"] } else { &["approve", "task-003"] };
        assert_eq!(team.fine(yes), "task-003 is approved\n");
        assert_eq!(team.pump(), 0);
        assert!(team.talk("coder-001")[0].content.contains("Greet everybody"));
        assert_eq!(team.mark(PLAN, "task-003"), Some(Mark::Done));
        assert_eq!(team.mark(REQUESTS, "task-001"), Some(Mark::Done));
        let ran = team.synod(&["approve", "task-003"]);
        assert_eq!(ran.code, 1, "it has its answer: {}", ran.stdout);
        if let Some(up) = up {
            up.stop();
        }
    }
}

#[test]
fn a_command_says_no_to_a_plan_and_the_planner_hears_why() {
    let team = held();
    assert_eq!(team.fine(&["reject", "task-003", "--reason", "we greet nobody"]), "task-003 is rejected\n");
    team.pump();
    assert_eq!(team.mark(PLAN, "task-004"), Some(Mark::Cancelled));
    let talk = team.talk("planner-001");
    assert!(talk.iter().any(|message| message.content.contains("we greet nobody")), "{talk:?}");
}

#[test]
fn a_no_cancels_the_plan_and_the_planner_is_told_so_once() {
    let team = held();
    team.edit(PLAN, "- [ ] @human", "- [-] @human");
    team.pump();
    assert_eq!(team.mark(PLAN, "task-004"), Some(Mark::Cancelled));
    assert_eq!(team.sessions("coder-001"), Vec::<String>::new());
    let talk = team.talk("planner-001");
    let told: Vec<&str> =
        talk.iter().map(|m| m.content.as_str()).filter(|t| t.contains("cancelled")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("All parts of your task have ended.") && !told[0].contains("go on"),
        "{told:?}"
    );
}

#[test]
fn a_task_that_a_person_adds_to_a_plan_on_hold_waits_for_the_yes_too() {
    let team = held();
    team.append(PLAN, "\n- [ ] @reviewer-001 \"Look at the greeting\"\n");
    assert_eq!(team.pump(), 3);
    assert_eq!(team.sessions("reviewer-001"), Vec::<String>::new(), "nobody said yes");
    let added = team.tasks(PLAN).pop().unwrap();
    assert_eq!(added.property("depends_on"), Some("task-003"));
    assert_eq!(added.property("parent"), Some("task-002"));
    assert!(team.fine(&["inbox"]).contains("@reviewer-001  Look at the greeting"));
    team.edit(PLAN, "- [ ] @human", "- [-] @human");
    team.pump();
    assert_eq!(team.tasks(PLAN).pop().unwrap().mark, Mark::Cancelled, "a no is for all of the plan");
}

#[test]
fn a_task_for_a_person_keeps_the_request_waiting_and_not_failed() {
    let team = Team::scripted(
        "rules:\n  - matches: \"Task *\"\n    text: A person must do that.\n    calls:\n      - tool: create_task\n        \
         arguments: {title: Buy a disk, assignee: human}\n  - tool_result: create_task\n    text: I wait.\n  - text: It is there.\n",
    );
    team.write("agents/worker-1.agent.yaml", "id: worker-1\ntype: coordinator\nmodel: m\n");
    let ran = team.synod(&["run", "Make room"]);
    assert_eq!(ran.code, 3, "{} {}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr.contains("task-002 \"Buy a disk\" waits for you: `synod task mark task-002 done`"),
        "{}",
        ran.stderr
    );
    assert!(team.fine(&["inbox"]).starts_with("task-002  task\n  Buy a disk\n"));
    let ran = team.synod(&["approve", "task-002"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("task-002 is a task: `synod task mark task-002 done` when it is"),
        "{}",
        ran.stderr
    );
    let said = team.fine(&["approve", "--all"]);
    assert_eq!(said, "nothing waits for a decision; 1 task waits for you (`synod inbox`)\n");
    let file = team.names("tasks").into_iter().map(|name| format!("tasks/{name}"));
    let file = file.into_iter().find(|path| team.task(path, "task-002").is_some()).unwrap();
    let up = team.up();
    team.edit(&file, "- [ ] @human", "- [x] @human");
    until_so("it is done", || team.mark(REQUESTS, "task-001") == Some(Mark::Done));
    up.stop();
}

#[test]
fn a_command_marks_a_task_as_its_file_does() {
    let team = Team::scripted("rules:\n  - text: Done.\n");
    team.write("tasks/chores.task.md", "- [ ] @human \"Buy a disk\"\n");
    team.pump();
    assert_eq!(
        team.fine(&["task", "mark", "task-001", "done", "--why", "it is in the rack"]),
        "task-001 is done\n"
    );
    let chore = team.task("tasks/chores.task.md", "task-001").unwrap();
    assert_eq!(chore.mark, Mark::Done);
    let result = chore.property("result").unwrap_or_default();
    assert!(result.starts_with("marked done by ") && result.ends_with(": it is in the rack"), "{result}");
    assert_eq!(json(&team, &["task", "mark", "task-001", "open"])["mark"], "open");
    assert_eq!(team.mark("tasks/chores.task.md", "task-001"), Some(Mark::Open));
    let ran = team.synod(&["task", "mark", "task-001", "running"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("done, failed, cancelled, open"), "{}", ran.stderr);
    let ran = team.synod(&["task", "mark", "task-009", "done"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("task-009"), "{}", ran.stderr);
}
