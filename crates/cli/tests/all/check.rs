//! `synod check` names everything that is wrong, in one run.

use serde_json::json;

use crate::home::Home;

#[test]
fn every_mistake_is_named_at_its_place_in_one_run() {
    let home = Home::fine()
        .write("synod.yaml", "providers:\n  script: {kind: scripted, script: scripts/team.yaml}\n  other: {kind: scripted, script: scripts/gone.yaml}\nmodels:\n  small: {provider: script, model: s}\n  large: {provider: scrip, model: l}\n")
        .write("scripts/team.yaml", "rules:\n  - answr: Done.\n")
        .write("run_mode.yaml", "mode: sol\n")
        .write("policy/commands.yaml", "commands:\n  df -h: maybe\n")
        .write("agents/executor-001.agent.yaml", "id: executor-001\ntype: executer\nmodel: smal\n")
        .write("agents/planner-001.agent.yaml", "id: planner-002\ntype: planner\nmodel: small\npermissions:\n  tools: {deny: [slack_sned]}\n")
        .write("agents/slack-001.agent.yaml", "id: slack-001\ntype: coordinator\nmodel: small\npriority: 11\n")
        .write("agents/reader/agent.json", "{\"id\": \"reader\",\n \"type\": \"retriever\" \"model\": \"small\"}\n")
        .write("tasks/disk.task.md", "- [y] A mark that is none\n- [ ] first\n  id: task-001\n  depends_on: task-002\n- [ ] second\n  id: task-002\n  depends_on: task-001\n")
        .write("tasks/more.task.md", "- [ ] third\n  id: task-002\n")
        .write("tasks/approvals.task.md", "- [_] `a`\n  id: approval-0001\n  approved_by: dana\n")
        .write("sessions/planner-001-aaaaaa.session.yaml", "session_id: planner-001-cccccc\nagent_id: planner-002\nmessages: []\n")
        .write("sessions/executor-001-bbbbbb.session.yaml", "session_id: executor-001-bbbbbb\nagent_id: executor-001\nstatus: awake\nmessages:\n  - role: usr\n    content: a\n")
        .write("approvals/pending/approval-0001.approval.md", "# Approval\n")
        .write("approvals/rejected/approval-0000.approval.md", b"# Approval \xc3\x28\n")
        .write("inbox/slack-messages.jsonl", "{\"text\": \"good\"}\n{\"user\": \"dana\"}\n")
        .write("inbox/slack-outbox.jsonl", "not read\n");
    let ran = home.run(&["check"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    let value = home.json(&["check"]);
    let found: Vec<String> = value["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| {
            let (line, column) = (&d["line"], &d["column"]);
            format!("{}:{line}:{column} {}", d["path"].as_str().unwrap(), d["message"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        found,
        [
            "agents/executor-001.agent.yaml:2:7 there is no role `executer`",
            "agents/executor-001.agent.yaml:3:8 synod.yaml has no model `smal`",
            "agents/planner-001.agent.yaml:1:5 the file is named `planner-001`, its agent `planner-002`",
            "agents/reader/agent.json:2:22 expected `,` or `}`",
            "agents/slack-001.agent.yaml:4:11 expected a whole number from 1 to 10, found `11`",
            "approvals/pending/approval-0001.approval.md:1:1 the record of the approval is missing",
            "approvals/rejected/approval-0000.approval.md:1:12 the file cannot be read: byte 12 is not UTF-8",
            "inbox/slack-messages.jsonl:2:1 the line has no text",
            "policy/commands.yaml:2:10 expected one of `allow`, `ask`, `deny`, `true`, `false`, found `maybe`",
            "run_mode.yaml:1:7 expected one of `solo`, `orchestrator`, `voting`, `role_locked`, `hybrid`, found `sol`",
            "scripts/team.yaml:2:5 unknown key `answr`",
            "sessions/executor-001-bbbbbb.session.yaml:3:9 expected one of `active`, `sleeping`, `completed`, `error`, found `awake`",
            "sessions/executor-001-bbbbbb.session.yaml:5:11 expected one of `system`, `user`, `assistant`, `tool_result`, `tool`, found `usr`",
            "sessions/planner-001-aaaaaa.session.yaml:1:13 the file is named `planner-001-aaaaaa`, its session `planner-001-cccccc`",
            "synod.yaml:3:35 there is no file `scripts/gone.yaml`",
            "synod.yaml:6:21 there is no provider `scrip`",
            "tasks/approvals.task.md:1:4 nothing is decided: `approved_by` is given, but the box is open: write `[x]`",
            "tasks/disk.task.md:1:3 `[y]` is not a mark",
            "tasks/disk.task.md:4:15 the tasks wait for each other: task-001 → task-002 → task-001",
            "tasks/more.task.md:2:7 the task id `task-002` is already used in tasks/disk.task.md",
        ]
    );
    // The text for people has the same findings, each with its place, and a summary at the end.
    let places = found.iter().map(|f| format!("--> {}\n", f.split(' ').next().unwrap()));
    let missing: Vec<String> = places.filter(|place| !ran.stdout.contains(place)).collect();
    assert_eq!(missing, Vec::<String>::new(), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("\n19 errors, 1 warning in 16 files\n"), "{}", ran.stdout);
}

#[test]
fn a_finding_shows_the_line_and_the_way_out() {
    let home = Home::empty().write("agents/a.agent.yaml", "id: a\ntype: executor\nmodle: m\nmodel: m\n");
    let ran = home.run(&["check"]);
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.stdout,
        "\
error: unknown key `modle`
 --> agents/a.agent.yaml:3:1
  |
3 | modle: m
  | ^^^^^
  = help: did you mean `model`?

1 error in 1 file
"
    );
    assert_eq!(
        home.json(&["check"]),
        json!({
            "diagnostics": [{
                "severity": "error",
                "path": "agents/a.agent.yaml",
                "line": 3,
                "column": 1,
                "message": "unknown key `modle`",
                "help": "did you mean `model`?",
            }],
            "files": 2,
            "schema_version": 1,
        })
    );
}

#[test]
fn warnings_alone_do_not_fail() {
    let home = Home::empty().write(".project/run_mode.yaml", "mode: voting\n");
    let ran = home.run(&["check"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(ran.stdout.ends_with("\n1 warning in 1 file\n"), "{}", ran.stdout);
}

#[test]
fn an_agent_whose_file_is_no_text_is_not_missed_by_others() {
    let home = Home::empty()
        .write("agents/a.agent.yaml", b"id: a\ntype: executor\nmodel: m\ndescription: \xff\n")
        .write("tasks/a.task.md", "- [ ] @a \"Something\"\n  id: task-001\n");
    let ran = home.run(&["check"]);
    assert_eq!(
        ran.stdout.lines().collect::<Vec<_>>()[..2],
        ["error: the file cannot be read: byte 44 is not UTF-8", " --> agents/a.agent.yaml:4:14"]
    );
    assert!(ran.stdout.ends_with("\n1 error in 1 file\n"), "{}", ran.stdout);
}

#[test]
fn a_place_with_the_home_in_it_is_named() {
    let home = Home::empty();
    let at = home.path().canonicalize().unwrap().display().to_string();
    let home =
        home.write("synod.yaml", format!("sandbox:\n  read:\n    - /opt/that-is-not-here\n    - {at}\n"));
    let found = home.json(&["check"])["diagnostics"].clone();
    let found = found.as_array().unwrap().iter().find(|d| d["line"] == 4).expect("it is named");
    assert_eq!((&found["path"], &found["column"]), (&json!("synod.yaml"), &json!(7)));
    assert_eq!(found["message"], format!("`{at}` has the home in it, or lies there"));
}
