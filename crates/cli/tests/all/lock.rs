//! Locks from outside: who waits, who is told what, and that nothing is lost when the daemon is killed.

use domain::task::Mark;
use serde_json::Value;

use crate::team::{Team, until_so};

const TASKS: &str = "tasks/requests.task.md";

/// Whatever the workers do, they ask a person before `make`: a test can stop them there.
fn team(rules: &str) -> Team {
    let team = Team::scripted(rules);
    team.write("agents/worker-2.agent.yaml", "id: worker-2\ntype: executor\nmodel: m\n");
    team
}

fn locks(team: &Team) -> Vec<Value> {
    let value: Value = serde_json::from_str(&team.fine(&["lock", "list", "--json"])).unwrap();
    assert_eq!(value["schema_version"], 1);
    value["locks"].as_array().unwrap().clone()
}

/// Edges of the graph, as `from why to`.
fn waits(team: &Team) -> Vec<String> {
    let value: Value = serde_json::from_str(&team.fine(&["graph", "--json"])).unwrap();
    let word = |wait: &Value, key: &str| wait[key].as_str().unwrap().to_owned();
    let all = value["waits"].as_array().unwrap().iter();
    all.map(|w| format!("{} {} {}", word(w, "from"), word(w, "why"), word(w, "to"))).collect()
}

fn asks(team: &Team, count: usize) -> bool {
    let value: Value = serde_json::from_str(&team.fine(&["inbox", "--json"])).unwrap();
    value["approvals"].as_array().is_some_and(|approvals| approvals.len() == count)
}

const DEPLOY: &str = r#"rules:
  - {agent: worker-1, tool_result: execute_command, text: deployed}
  - {agent: worker-1, tool_result: lock, calls: [{tool: execute_command, arguments: {command: make}}]}
  - {agent: worker-1, calls: [{tool: lock, arguments: {name: deploy}}]}
  - {agent: worker-2, tool_result: lock, text: "then I: {last}"}
  - {agent: worker-2, calls: [{tool: lock, arguments: {name: " deploy", wait_ms: 600000}}]}
"#;

#[test]
fn a_lock_goes_to_who_waits_for_it_also_through_a_kill() {
    let team = team(DEPLOY);
    let up = team.up();
    assert_eq!(team.fine(&["lock", "list"]), "Nobody has a lock.\n");
    team.fine(&["task", "add", "Deploy", "--to", "worker-1"]);
    until_so("the first asks a person", || asks(&team, 1));
    team.fine(&["task", "add", "Deploy too", "--to", "worker-2"]);
    until_so("the second waits", || locks(&team)[0]["queue"].as_array().is_some_and(|q| q.len() == 1));
    until_so("no person is asked for it", || team.mark(TASKS, "task-002") == Some(Mark::Running));
    let before = locks(&team);
    assert_eq!(before.len(), 1);
    assert_eq!(
        (&before[0]["agent"], &before[0]["task"]),
        (&Value::from("worker-1"), &Value::from("task-001"))
    );
    assert_eq!(
        (&before[0]["queue"][0]["agent"], &before[0]["kept"]),
        (&Value::from("worker-2"), &Value::from(1))
    );
    let shown = team.fine(&["lock", "list"]);
    assert!(
        shown.contains("deploy") && shown.contains("worker-1 (task-001)") && shown.contains("worker-2"),
        "{shown}"
    );
    let graph = waits(&team);
    for wait in ["task-001 approval approval-0001", "task-002 lock lock deploy", "lock deploy held task-001"]
    {
        assert!(graph.contains(&wait.to_owned()), "{wait}: {graph:?}");
    }
    let (svg, dot) = (team.fine(&["graph", "--format", "svg"]), team.fine(&["graph", "--format", "dot"]));
    assert!(svg.contains(">lock deploy</text>") && svg.contains(">held</text>"), "{svg}");
    assert!(dot.contains("\"lock deploy\" -> \"task-001\" [label=\"held\"]"), "{dot}");
    assert!(
        team.fine(&["graph"]).contains("waits for lock deploy, which task-001 has"),
        "{}",
        team.fine(&["graph"])
    );
    up.kill();
    assert_eq!(locks(&team)[0]["fence"], before[0]["fence"], "also without a daemon");
    let up = team.up();
    until_so("it goes on", || locks(&team).len() == 1 && asks(&team, 1));
    let after = locks(&team);
    assert_eq!(
        (&after[0]["fence"], &after[0]["queue"][0]["agent"]),
        (&before[0]["fence"], &Value::from("worker-2"))
    );
    team.fine(&["reject", "approval-0001"]);
    until_so("both are done", || team.mark(TASKS, "task-002") == Some(Mark::Done));
    assert_eq!(team.mark(TASKS, "task-001"), Some(Mark::Done));
    until_so("the second says so", || {
        team.last_words("worker-2").starts_with("then I: deploy is yours, with the fencing number ")
    });
    assert_eq!(team.fine(&["lock", "list"]), "Nobody has a lock.\n");
    up.stop();
    team.is_in_order();
}

const NOTES: &str = r#"rules:
  - {agent: worker-1, tool_result: execute_command, text: noted}
  - {agent: worker-1, tool_result: lock, calls: [{tool: execute_command, arguments: {command: make}}]}
  - {agent: worker-1, calls: [{tool: lock, arguments: {name: "file:memory/x/../notes.md"}}]}
  - {agent: worker-2, tool_result: write_file, text: "{last}"}
  - {agent: worker-2, calls: [{tool: write_file, arguments: {path: memory/notes.md, content: by the second}}]}
"#;

#[test]
fn a_write_waits_for_who_has_the_file_until_a_person_takes_the_lock_away() {
    let team = team(NOTES);
    let up = team.up();
    team.fine(&["task", "add", "Keep notes", "--to", "worker-1"]);
    until_so("the first asks a person", || asks(&team, 1));
    team.fine(&["task", "add", "Write notes", "--to", "worker-2"]);
    until_so("the second asks a person", || asks(&team, 2));
    team.fine(&["approve", "approval-0002"]);
    until_so("the second waits", || locks(&team)[0]["queue"].as_array().is_some_and(|q| q.len() == 1));
    assert_eq!(team.read("memory/notes.md"), "");
    let unknown = team.synod(&["lock", "free", "nothing"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.stderr.contains("nobody holds the lock nothing"), "{}", unknown.stderr);
    assert_eq!(team.fine(&["lock", "free", "file:memory/notes.md"]), "file:memory/notes.md is free\n");
    until_so("it is written", || team.mark(TASKS, "task-002") == Some(Mark::Done));
    assert_eq!(team.read("memory/notes.md"), "by the second");
    team.fine(&["reject", "approval-0001"]);
    until_so("the first ends", || team.mark(TASKS, "task-001") == Some(Mark::Done));
    let told = team.talk("worker-1");
    assert!(told.iter().any(|m| m.content.contains("took the lock file:memory/notes.md away")), "{told:?}");
    let listed = team.fine(&["message", "list", "--channel", "control"]);
    assert!(
        listed.contains(" notification ") && listed.contains("took the lock file:memory/notes.md away"),
        "{listed}"
    );
    up.stop();
    team.is_in_order();
    let log = team.read("log/audit.jsonl");
    let freed = log.lines().find(|line| line.contains("\"freed\"")).unwrap_or_default();
    assert!(freed.contains("file:memory/notes.md") && freed.contains("worker-1"), "{log}");
}

const CIRCLE: &str = r#"rules:
  - {agent: worker-1, matches: "waiting would never end*", text: "told: {last}"}
  - {agent: worker-1, tool_result: execute_command, calls: [{tool: lock, arguments: {name: y, wait_ms: 600000}}]}
  - {agent: worker-1, tool_result: lock, calls: [{tool: execute_command, arguments: {command: make}}]}
  - {agent: worker-1, calls: [{tool: lock, arguments: {name: x}}]}
  - {agent: worker-2, matches: "x is yours*", text: "I have both"}
  - {agent: worker-2, tool_result: lock, calls: [{tool: lock, arguments: {name: x, wait_ms: 600000}}]}
  - {agent: worker-2, calls: [{tool: lock, arguments: {name: y}}]}
"#;

#[test]
fn who_closes_a_circle_is_told_all_of_it_at_once() {
    let team = team(CIRCLE);
    let up = team.up();
    team.fine(&["task", "add", "First", "--to", "worker-1"]);
    until_so("the first has x", || asks(&team, 1));
    team.fine(&["task", "add", "Second", "--to", "worker-2"]);
    until_so("the second has y and waits for x", || {
        locks(&team).iter().any(|lock| lock["name"] == "x" && lock["queue"][0]["agent"] == "worker-2")
    });
    team.fine(&["reject", "approval-0001"]);
    until_so("both are done", || team.mark(TASKS, "task-002") == Some(Mark::Done));
    // All that was said stands in the files when it has stopped.
    up.stop();
    let told = team.last_words("worker-1");
    let (first, second) = (&team.sessions("worker-1")[0], &team.sessions("worker-2")[0]);
    let id = |path: &str| path.trim_start_matches("sessions/").trim_end_matches(".session.yaml").to_owned();
    let (first, second) = (id(first), id(second));
    assert!(
        told.starts_with(&format!(
            "told: waiting would never end: {first} → lock y → {second} → lock x → {first}"
        )),
        "{told}"
    );
    assert_eq!(team.last_words("worker-2"), "I have both");
    team.is_in_order();
}
