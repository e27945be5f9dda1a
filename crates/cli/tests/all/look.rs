//! What the commands say of a home in which everything is in order.

use domain::tool::{Act, WriteFile};
use serde_json::json;

use crate::home::{Home, command, synod};

#[test]
fn status_says_what_waits_what_runs_and_why_the_rest_does_not() {
    let home = Home::fine();
    let ran = home.run(&["status"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(
        ran.stdout,
        "\
No daemon runs; `synod up` starts one.

Waits for you: 1 approval and 2 tasks (`synod inbox` shows all of it)
  approval-0001  MEDIUM  executor-001 for task-002: run `df -h /backup && echo done`
  task-005  stranded  This one has somebody who is not there
  task-006  task  Buy a disk

8 tasks: 5 open, 1 running, 1 asking, 1 done
       TASK      AGENT          TITLE
  [/]  task-001  planner-001    Is there enough space for the backup? (waits for task-002, task-003)
  [?]  task-002  executor-001   Look at the disk (waits for you: approval-0001)
  [ ]  task-003  retriever-001  Read the notes about the backup (waits for task-002)
  [ ]  task-004  -              Nobody has this one (nobody is assigned)
  [ ]  task-005  ghost-001      This one has somebody who is not there (agent ghost-001 does not exist)
  [ ]  task-006  human          Buy a disk (is for a person to do)
  [ ]  task-007  slack-001      Tell the channel (ready)

  AGENT          ROLE         MODEL  STATE    TASK
  executor-001   executor     small  blocked  task-002 (waits for you: approval-0001)
  planner-001    planner      small  waiting  task-001 (waits for task-002, task-003)
  retriever-001  retriever    small  idle
  slack-001      coordinator  small  idle

1 error in the files; `synod check` shows where
"
    );
}

#[test]
fn status_for_programs_has_the_same() {
    let value = Home::fine().json(&["status"]);
    assert_eq!(value["daemon"], json!({ "running": false }));
    assert_eq!(
        value["approvals"][0]["act"],
        json!({"tool": "execute_command", "arguments": {"command": "df -h /backup && echo done"}})
    );
    assert_eq!(
        value["tasks"]["counts"],
        json!({"open": 5, "running": 1, "asking": 1, "failed": 0, "done": 1, "cancelled": 0})
    );
    assert_eq!(value["tasks"]["total"], 8);
    let why = |i: usize| value["tasks"]["open"][i]["why"].as_str().unwrap().to_owned();
    assert_eq!(why(2), "waits for task-002");
    assert_eq!(why(3), "nobody is assigned");
    assert_eq!(why(4), "agent ghost-001 does not exist");
    assert_eq!(value["agents"][0]["state"], "blocked");
    assert_eq!(value["agents"][0]["task"], "task-002");
    assert_eq!(value["agents"][1]["state"], "waiting");
    assert_eq!(value["problems"], json!({ "errors": 1, "warnings": 0, "settings": [], "whole": true }));
}

#[test]
fn a_daemon_is_asked_what_it_does() {
    let home = Home::fine();
    std::fs::create_dir_all(home.path().join(".synod")).unwrap();
    let listener = std::os::unix::net::UnixListener::bind(home.path().join(".synod/socket")).unwrap();
    let daemon = std::thread::spawn(move || {
        use std::io::{BufRead, Write};
        let (mut stream, _) = listener.accept().unwrap();
        let mut line = String::new();
        std::io::BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
        let answer = json!({"answer": "live", "pid": 4711, "seq": 9, "idle": false, "working": [
            {"session": "slack-001-cccccc", "agent": "slack-001", "task": "task-007", "doing": ["model"]}]});
        writeln!(stream, "{answer}").unwrap();
        line
    });
    let ran = home.run(&["status"]);
    assert_eq!(daemon.join().unwrap().trim(), r#"{"do":"live"}"#);
    assert!(
        ran.stdout.starts_with(
            "The daemon runs (process 4711): 1 session at work.\n  slack-001 on task-007: model\n"
        ),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("  slack-001      coordinator  small  working  task-007 (model)\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn what_cannot_be_printed_is_an_error_that_is_told_once() {
    let home = Home::fine();
    for args in [&["status", "--json"][..], &["status"], &["agent", "show", "nobody", "--json"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut status = crate::team::synod();
        let ran = status.args(args).current_dir(home.path()).stdout(full).output().unwrap();
        let told = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{args:?}: {told}");
        assert_eq!(told.matches("stdout cannot be written").count(), 1, "{args:?}: {told}");
    }
}

#[test]
fn status_of_a_large_home_shows_what_runs_first_and_does_not_check_tasks() {
    let waiting: String =
        (0..9000).map(|n| format!("- [ ] @slack-001 \"Task {n}\"\n  id: t-{n}\n")).collect();
    let home = Home::fine().write("tasks/a.task.md", waiting);
    let problems = json!({ "errors": 0, "warnings": 0, "settings": [], "whole": false });
    assert_eq!(home.json(&["status"])["problems"], problems);
    let shown = home.run(&["status"]).stdout;
    let at = |words: &str| shown.find(words).unwrap_or_else(|| panic!("{words}: {shown}"));
    assert!(at("task-001  planner-001") < at("t-0 "), "{shown}");
    at("  … and 8987 more; `synod task list --open` shows them\n");
    at("The home is large, so its other files were not checked");
}

#[test]
fn the_inbox_shows_the_exact_act_and_how_to_answer() {
    let home = Home::fine();
    let ran = home.run(&["inbox"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let waits = ran.stdout.lines().nth(1).unwrap();
    assert!(
        waits.starts_with("  executor-001 asks for task-002, waits ") && waits.ends_with(" d"),
        "{waits}"
    );
    let rest: Vec<&str> = ran.stdout.lines().filter(|line| *line != waits).collect();
    assert_eq!(
        rest.join("\n"),
        "\
approval-0001  MEDIUM
  Command:
    df -h /backup && echo done
  why:
    I look how much is free.
  risk:
    runs a command that policy/commands.yaml does not list

task-005  stranded
  This one has somebody who is not there
  agent ghost-001 does not exist: mend that, or name another in tasks/disk.task.md:20

task-006  task
  Buy a disk
  `synod task mark task-006 done` when it is, or mark it [x] in tasks/disk.task.md:22; [-] if it will not be

1 approval and 2 tasks wait for you. To answer the approval:
  synod approve approval-0001
  synod reject approval-0001 --reason \"…\"
or in tasks/approvals.task.md: [x] approves, [-] rejects;
or in approvals/pending/approval-0001.approval.md, behind **Decision:**"
    );
    let value = home.json(&["inbox"]);
    let approval = &value["approvals"][0];
    assert_eq!(approval["id"], "approval-0001");
    assert_eq!(approval["risk"], "MEDIUM");
    assert_eq!(approval["session"], "executor-001-bbbbbb");
    assert_eq!(
        approval["digest"],
        command("df -h /backup && echo done").digest(None, domain::tool::Permit::NONE)
    );
    assert_eq!(approval["file"], "approvals/pending/approval-0001.approval.md");
}

#[test]
fn characters_that_hide_are_shown_by_their_number() {
    let home = Home::fine();
    let text = "a\u{202e}b\u{1b}[2Jc".to_owned();
    home.ask("approval-0002", Act::WriteFile(WriteFile { path: "memory/a.md".to_owned(), content: text }));
    let shown = home.run(&["inbox"]).stdout;
    assert!(shown.contains("  New text of memory/a.md:\n    a\\u{202e}b\\u{1b}[2Jc\n"), "{shown}");
}

#[test]
fn what_is_decided_in_either_file_does_not_wait() {
    let home = Home::fine();
    for id in ["approval-0002", "approval-0003", "approval-0004"] {
        home.ask(id, command("uptime"));
    }
    let path = "approvals/pending/approval-0002.approval.md";
    let text = std::fs::read_to_string(home.path().join(path)).unwrap();
    home.put(path, text.replace("**Decision:**", "**Decision:** APPROVED"));
    home.put(
        "tasks/approvals.task.md",
        "- [-] `no`\n  id: approval-0003\n- [_] `open`\n  id: approval-0004\n  approved_by: dana\n",
    );
    let value = home.json(&["inbox"]);
    let ids: Vec<&str> =
        value["approvals"].as_array().unwrap().iter().map(|a| a["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["approval-0001", "approval-0004"]);
    assert_eq!(value["decided"], json!(["approval-0002", "approval-0003"]));
    assert!(value["approvals"][1]["unclear"].as_str().unwrap().contains("the box is open"), "{value}");
}

#[test]
fn tasks_are_listed_as_a_tree() {
    let home = Home::fine();
    let ran = home.run(&["task", "list"]);
    let lines: Vec<&str> = ran.stdout.lines().take(6).collect();
    assert_eq!(
        lines,
        [
            "     TASK        AGENT          TITLE",
            "tasks/disk.task.md",
            "[/]  task-001    planner-001    Is there enough space for the backup? (waits for task-002, task-003)",
            "[?]    task-002  executor-001   Look at the disk (waits for you: approval-0001)",
            "[ ]    task-003  retriever-001  Read the notes about the backup (waits for task-002)",
            "[ ]  task-004    -              Nobody has this one (nobody is assigned)",
        ]
    );
    assert!(ran.stdout.contains("task-008"));
    assert!(!home.run(&["task", "list", "--open"]).stdout.contains("task-008"));
    let value = home.json(&["task", "list"]);
    assert_eq!(value["tasks"].as_array().unwrap().len(), 8);
    assert_eq!(value["tasks"][2]["blocked_by"], json!(["task-002"]));
}

#[test]
fn a_part_is_shown_below_its_whole_in_whatever_file_it_stands() {
    let home = Home::empty()
        .write("tasks/a.task.md", "- [ ] a\n  id: a\n  parent: b\n- [ ] c\n  id: c\n  parent: d\n")
        .write("tasks/b.task.md", "- [x] b\n  id: b\n- [ ] d\n  id: d\n  parent: c\n- [ ] without an id\n");
    assert_eq!(
        home.run(&["task", "list"]).stdout,
        "     TASK  AGENT  TITLE
tasks/b.task.md
[x]  b     -      b
[ ]    a   -      a (nobody takes it)
[ ]  -     -      without an id (nobody takes it)
tasks/a.task.md
[ ]  c     -      c (waits for itself: c → d → c)
[ ]    d   -      d (waits for itself: d → c → d)
"
    );
}

#[test]
fn a_task_is_shown_with_everything_its_file_says() {
    let home = Home::fine();
    assert_eq!(
        home.run(&["task", "show", "task-002"]).stdout,
        "\
[?] task-002  Look at the disk
  mark:              asking
  stands:            waits for you: approval-0001
  file:              tasks/disk.task.md:7
  assignee:          executor-001
  parent:            task-001
  tag:               executor:look
  session:           sessions/executor-001-bbbbbb.session.yaml
  waited for by:
    [ ] task-003  Read the notes about the backup
"
    );
    let value = home.json(&["task", "show", "task-001"]);
    assert_eq!(value["task"]["children"], json!(["task-002", "task-003"]));
    assert_eq!(value["task"]["session"], "sessions/planner-001-aaaaaa.session.yaml");
    assert_eq!(
        home.json(&["task", "show", "task-003"])["task"]["text"],
        "The notes are in memory/.\nThey may be old."
    );
}

#[test]
fn tasks_answer_sql() {
    let home = Home::fine();
    let sql = "SELECT id, mark FROM tasks WHERE mark IN ('asking', 'done') ORDER BY id";
    assert_eq!(
        home.run(&["task", "query", sql]).stdout,
        "id        mark\ntask-002  asking\ntask-008  done\n"
    );
    assert_eq!(home.json(&["task", "query", sql])["rows"][1], json!({"id": "task-008", "mark": "done"}));
    for (sql, words) in [
        ("SELECT colour FROM tasks", "error: the SQL does not work: no such column: colour"),
        ("DELETE FROM tasks", "error: only one SELECT is allowed"),
        ("SELEC", "error: the SQL does not work: near \"SELEC\": syntax error"),
    ] {
        let ran = home.run(&["task", "query", sql]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{sql}");
        assert!(ran.stderr.starts_with(words) && ran.stderr.contains("\nhelp: "), "{}", ran.stderr);
    }
}

#[test]
fn agents_are_listed_with_what_they_do() {
    let home = Home::fine();
    assert_eq!(
        home.run(&["agent", "list"]).stdout,
        "\
AGENT          ROLE         MODEL  STATE    OPEN  DESCRIPTION
executor-001   executor     small  blocked  1
planner-001    planner      small  waiting  1
retriever-001  retriever    small  idle     1
slack-001      coordinator  small  idle     1     Speaks to people in Slack
"
    );
    assert_eq!(home.json(&["agent", "list"])["agents"][0]["open_tasks"], json!(["task-002"]));
}

#[test]
fn an_agent_is_shown_with_what_the_gate_says_to_each_tool_and_why() {
    let home = Home::fine();
    let shown = home.run(&["agent", "show", "executor-001"]).stdout;
    let tools = &shown[shown.find("  TOOL").unwrap()..];
    assert_eq!(
        tools,
        "  TOOL              SAYS   WHEN
  read_file         allow
  list_directory    allow
  search_files      deny
  grep              deny
  write_file        allow  in workspaces/executor-001/
                    ask    elsewhere in the home
                    deny   what people control by, as agents/
  edit_file         allow  in workspaces/executor-001/
                    ask    elsewhere in the home
                    deny   what people control by, as agents/
  delete_file       allow  in workspaces/executor-001/
                    ask    elsewhere in the home
                    deny   what people control by, as agents/
  move_file         allow  in workspaces/executor-001/
                    ask    elsewhere in the home
                    deny   what people control by, as agents/
  create_directory  deny
  execute_command   allow  df -h
                    ask    docker ps
                    deny   rm -rf /
                    allow  those that only read, as ls
                    ask    any other command
  git_commit        deny
  git_diff          deny
  git_update        deny
  run_tests         deny
  lint              deny
  request_review    deny
  approve_work      deny
  merge_branch      deny
  create_plan       deny
  finish_task       allow
  create_task       allow
  update_task       allow
  get_task          allow
  query_tasks       allow
  list_agents       allow
  ask_agent         allow
  send_message      allow
  lock              allow
  unlock            allow
  delegate          deny
  spawn_agent       deny
  terminate_agent   deny
  memory_search     allow
  extract           allow
  summarize         allow
  context_get       allow
  context_put       allow
  list_sessions     deny
  read_session      deny
  slack_read        deny
  slack_send        deny
  email_send        deny
"
    );
    let why = home.run(&["agent", "show", "executor-001", "--why"]).stdout;
    assert!(
        why.contains(
            "  execute_command   allow  df -h\n      by: command policy: policy/commands.yaml has \"df -h\": allow\n"
        ),
        "{why}"
    );
    assert!(
        why.contains(
            "  slack_send        deny\n      by: tools: the role's tools of executor-001 lacks slack_send\n"
        ),
        "{why}"
    );
    let value = home.json(&["agent", "show", "retriever-001"]);
    assert_eq!(value["permissions"], json!(["read_files"]));
    let command = value["tools"].as_array().unwrap().iter().find(|t| t["tool"] == "execute_command").unwrap();
    assert_eq!(command["rule"], "role retriever lacks execute_tools");
    assert_eq!(command["inspector"], "permission");
}

#[test]
fn an_agent_with_a_role_that_does_not_exist_may_do_nothing() {
    let home = Home::empty().write("agents/a.agent.yaml", "id: a\ntype: nobody\nmodel: m\n");
    let ran = home.run(&["agent", "show", "a"]);
    assert!(ran.stdout.contains("nobody, which does not exist"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("allow"), "{}", ran.stdout);
}

#[test]
fn sessions_are_listed_newest_first() {
    let home = Home::fine();
    assert_eq!(
        home.run(&["session", "list"]).stdout,
        "\
SESSION              AGENT         TASK      STATUS    SAID  UPDATED (UTC)
executor-001-bbbbbb  executor-001  task-002  active    3     2025-10-04 10:00:05
planner-001-aaaaaa   planner-001   task-001  sleeping  2     2025-10-04 10:00:02
"
    );
    assert_eq!(home.json(&["session", "list"])["sessions"][0]["messages"], 3);
}

#[test]
fn a_conversation_is_readable_and_long_results_are_cut() {
    let home = Home::fine();
    assert_eq!(
        home.run(&["session", "show", "executor-001-bbbbbb"]).stdout,
        "\
executor-001-bbbbbb, about task-002: active, 3 messages

── agent:planner-001  2025-10-04 10:00:03
Task task-002: Look at the disk
Say how much is free.

── executor-001  2025-10-04 10:00:04
First the list.
→ list_directory {\"path\":\"memory\"}

── result of list_directory  2025-10-04 10:00:05
    1.md
    2.md
    3.md
    4.md
    5.md
    6.md
    7.md
    8.md
    9.md
    10.md
    11.md
    12.md
    … 2 lines more (--json shows all)
"
    );
    let value = home.json(&["session", "show", "executor-001-bbbbbb"]);
    assert!(value["messages"][2]["content"].as_str().unwrap().ends_with("14.md\n"));
    assert_eq!(value["messages"][1]["calls"][0]["name"], "list_directory");
}

#[test]
fn of_a_long_conversation_only_the_head_is_read_but_all_messages_are_counted() {
    let home = Home::fine();
    let path = "sessions/planner-001-aaaaaa.session.yaml";
    let mut text = std::fs::read_to_string(home.path().join(path)).unwrap();
    for n in 3..=900 {
        text.push_str(&format!(
            "  - id: m-{n:04}\n    role: user\n    content: |\n      - not a message\n        - nor this\n"
        ));
    }
    // Nothing behind the head is parsed: this would be an error.
    text.push_str("  - role: {\n");
    home.put(path, text);
    let value = home.json(&["session", "list"]);
    assert_eq!(value["sessions"][1]["messages"], 901);
    assert_eq!(value["sessions"][1]["status"], "sleeping");
    assert_eq!(value["unreadable"], json!([]));
    assert_eq!(home.json(&["status"])["agents"][1]["state"], "waiting");
}

#[test]
fn a_long_system_prompt_does_not_hide_the_head() {
    let home = Home::fine();
    let path = "sessions/planner-001-aaaaaa.session.yaml";
    let text = std::fs::read_to_string(home.path().join(path)).unwrap();
    home.put(path, text.replace("  You plan.\n", &"  You plan.\n".repeat(3000)));
    let value = home.json(&["session", "list"]);
    assert_eq!(
        (&value["sessions"][1]["messages"], &value["sessions"][1]["status"]),
        (&json!(2), &json!("sleeping"))
    );
}

#[test]
fn schemas_are_printed_by_kind() {
    let home = Home::empty();
    assert!(home.run(&["schema"]).stdout.lines().any(|line| line == "agent"));
    let schema: serde_json::Value = serde_json::from_str(&home.run(&["schema", "agent"]).stdout).unwrap();
    assert_eq!(schema["title"], "Synod: agent");
    assert_eq!(home.json(&["schema", "agent"])["schema"], schema);
    assert!(home.json(&["schema"])["kinds"].as_array().unwrap().contains(&json!("task")));
    let ran = home.run(&["schema", "agnet"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert_eq!(ran.stderr, "error: there is no kind of file agnet\nhelp: did you mean agent?\n");
}

#[test]
fn an_id_that_nobody_has_gets_the_nearest() {
    let home = Home::fine();
    for (args, stderr) in [
        (["task", "show", "task-02"], "error: there is no task task-02\nhelp: did you mean task-002?\n"),
        (
            ["agent", "show", "planer-001"],
            "error: there is no agent planer-001\nhelp: did you mean planner-001?\n",
        ),
        (
            ["session", "show", "planner-001-aaaaab"],
            "error: there is no session planner-001-aaaaab\nhelp: did you mean planner-001-aaaaaa?\n",
        ),
        (
            ["session", "show", "../synod.yaml"],
            "error: there is no session ../synod.yaml\nhelp: `synod session list` shows what there is\n",
        ),
        (
            ["session", "show", "planner-001"],
            "error: planner-001 is an agent, not a session\nhelp: its sessions: planner-001-aaaaaa\n",
        ),
    ] {
        let ran = home.run(&args);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (1, "", stderr));
    }
}

#[test]
fn an_error_for_programs_is_an_object() {
    let value = Home::fine().json(&["task", "show", "task-02"]);
    assert_eq!(
        value["error"],
        json!({"message": "there is no task task-02", "help": "did you mean task-002?"})
    );
}

/// What a command shows on a terminal that is so wide.
fn on_a_terminal(home: &Home, wide: u16, command: &str) -> String {
    let line = format!("stty cols {wide}; {command}").replace("synod", env!("CARGO_BIN_EXE_synod"));
    let mut script = std::process::Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).current_dir(home.path()).env_remove("COLUMNS");
    script.env("NO_COLOR", "1").stdin(std::process::Stdio::null());
    let shown = script.output().expect("the program `script` (Debian: bsdutils) makes a terminal").stdout;
    String::from_utf8(shown).unwrap()
}

#[test]
fn lists_fit_the_terminal_and_are_whole_without_one() {
    const WHOLE: &str = "This one has somebody who is not there (agent ghost-001 does not exist)";
    const CUT: &str = "This one has s… (agent ghost-001 does not exist)";
    let home = Home::fine();
    for args in [&["status"][..], &["task", "list"], &["agent", "list"], &["session", "list"]] {
        let eighty = synod().current_dir(home.path()).env("COLUMNS", "80").args(args).output().unwrap();
        let shown = String::from_utf8(eighty.stdout).unwrap();
        let wide: Vec<&str> = shown.lines().filter(|line| line.chars().count() > 80).collect();
        assert_eq!(wide, Vec::<&str>::new(), "{args:?}");
        let whole = home.run(args).stdout;
        assert!(!whole.contains('…'), "{whole}");
    }
    for (wide, command, expected) in [
        (160, "synod status", WHOLE),
        (80, "synod status", CUT),
        (160, "COLUMNS=80 synod status", CUT),
        (80, "synod status | cat", WHOLE),
        (0, "synod status", CUT),
    ] {
        let shown = on_a_terminal(&home, wide, command);
        assert!(shown.contains(expected), "{wide} {command}: {shown}");
    }
}

#[test]
fn nothing_is_coloured_off_a_terminal() {
    let home = Home::fine();
    for args in [
        &["status"][..],
        &["inbox"],
        &["task", "list"],
        &["check"],
        &["session", "show", "executor-001-bbbbbb"],
    ] {
        let plain = synod().current_dir(home.path()).env("NO_COLOR", "1").args(args).output().unwrap().stdout;
        assert!(!plain.contains(&0x1b), "{args:?}");
        if args != ["inbox"] {
            assert_eq!(plain, home.run(args).stdout.into_bytes(), "{args:?}");
        }
    }
}
