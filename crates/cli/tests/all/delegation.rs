//! Work that agents hand on, from outside: what the files say of it, and that it stops when it is told to.

use domain::task::Mark;

use std::time::Instant;

use crate::team::{Team, until_so};

const TASKS: &str = "tasks/requests.task.md";

const SETTINGS: &str = "\
providers: {script: {kind: scripted, script: models/s.yaml}}
models: {m: {provider: script, model: m}}
routing: {fallback: worker-1}
";

/// Workers that each hand on to the next one; what the last one does is the test's.
fn chain(length: usize, last: &str) -> Team {
    let team = Team::nothing();
    team.write("synod.yaml", SETTINGS);
    let mut rules = "rules:\n".to_owned();
    for number in 1..=length {
        let agent = format!("worker-{number}");
        team.write(
            &format!("agents/{agent}.agent.yaml"),
            format!(
                "id: {agent}\ntype: executor\nmodel: m\nresponsibilities: [\"ops:*\"]\npermissions:\n  delegation: {{can_delegate: true, max_delegation_depth: 10}}\n  concurrency: {{task_timeout_ms: 600000}}\n"
            ),
        );
        if number < length {
            let next = number + 1;
            rules.push_str(&format!(
                "  - agent: {agent}\n    tool_result: delegate\n    text: \"{agent} heard: {{last}}\"\n  - agent: {agent}\n    calls: [{{tool: delegate, arguments: {{to: worker-{next}, tag: \"ops:look\", task: Look closely}}}}]\n"
            ));
        }
    }
    rules.push_str(&format!("  - agent: worker-{length}\n{last}"));
    team.write("models/s.yaml", rules);
    team
}

#[test]
fn work_goes_down_a_chain_and_its_result_comes_back() {
    let team = chain(3, "    text: 92 % full\n");
    assert_eq!(team.fine(&["task", "add", "Is the disk fine?"]), "task-001 is added\n");
    assert_eq!(team.pump(), 0);
    let task = team.task(TASKS, "task-003").unwrap();
    assert_eq!(task.mark, Mark::Done);
    let file = team.read(TASKS);
    assert!(file.contains("chain: worker-1 → worker-2 → worker-3"), "{file}");
    let said = team.last_words("worker-1");
    assert!(said.contains("worker-1 heard: worker-2 has done task-002: worker-2 heard: worker-3 has done task-003: 92 % full"), "{said}");
    team.is_in_order();
    let log = team.read("log/audit.jsonl");
    assert!(log.contains("delegation-0002: worker-1 → worker-2 → worker-3"), "{log}");
}

#[test]
fn delegated_work_goes_on_without_a_journal() {
    let team = chain(3, "    calls: [{tool: execute_command, arguments: {command: touch done}}]\n");
    team.fine(&["task", "add", "Is the disk fine?"]);
    assert_eq!(team.pump(), 3, "the last one waits for a person");
    std::fs::remove_dir_all(team.at(".synod")).unwrap();
    team.write("models/s.yaml", team.read("models/s.yaml").replace("  - agent: worker-3\n", "  - agent: worker-3\n    tool_result: execute_command\n    text: it is done\n  - agent: worker-3\n"));
    team.to_the_end();
    for id in ["task-001", "task-002", "task-003"] {
        assert_eq!(team.mark(TASKS, id), Some(Mark::Done), "{}", team.read(TASKS));
    }
    assert_eq!(team.tasks(TASKS).len(), 3, "nothing was handed on twice");
}

#[test]
fn an_id_that_was_given_is_not_given_again_when_the_journal_is_lost() {
    let team = chain(2, "    text: 92 % full\n");
    let given = |id: &str| team.read("log/audit.jsonl").matches(&format!("\"note\":\"{id}: ")).count();
    for _ in 0..2 {
        team.fine(&["task", "add", "Is the disk fine?"]);
        assert_eq!(team.pump(), 0);
    }
    assert_eq!((given("delegation-0001"), given("delegation-0002")), (1, 1));
    std::fs::remove_dir_all(team.at(".synod")).unwrap();
    for _ in 0..2 {
        team.fine(&["task", "add", "Is the disk fine?"]);
        assert_eq!(team.pump(), 0);
    }
    let log = team.read("log/audit.jsonl");
    for id in ["delegation-0001", "delegation-0002", "delegation-0003", "delegation-0004"] {
        assert_eq!(given(id), 1, "{id}: {log}");
    }
    let list = team.fine(&["delegation", "list"]);
    assert!(list.contains("delegation-0004") && !list.contains("delegation-0002"), "{list}");
}

#[test]
fn a_delegation_is_shown_below_whose_hands_it_went_through() {
    let team = chain(5, "    text: done\n");
    let hands = |tool: &str, arguments: &str| format!("{{tool: {tool}, arguments: {{{arguments}}}}}");
    let delegate = |to: u32| hands("delegate", &format!("to: worker-{to}, tag: \"ops:look\", task: Look"));
    let make = |to: u32| hands("create_task", &format!("title: Look, assignee: worker-{to}"));
    let mut rules = "rules:\n  - tool_result: \"*\"\n    text: done\n".to_owned();
    for (agent, calls) in
        [(1, format!("{}, {}", make(3), delegate(2))), (2, make(5)), (3, delegate(4)), (5, delegate(4))]
    {
        rules.push_str(&format!("  - agent: worker-{agent}\n    matches: \"Task*\"\n    calls: [{calls}]\n"));
    }
    team.write("models/s.yaml", format!("{rules}  - text: done\n"));
    for number in 1..=5 {
        let agent = format!("agents/worker-{number}.agent.yaml");
        team.edit(&agent, "type: executor", "type: boss");
    }
    team.append(
        "synod.yaml",
        "roles: {boss: {permissions: [read_files, write_files, execute_tools], tools: [\"*\"]}}\n",
    );
    team.fine(&["run", "Is the disk fine?"]);
    let value: serde_json::Value =
        serde_json::from_str(&team.fine(&["delegation", "list", "--json"])).unwrap();
    let rows = value["delegations"].as_array().unwrap();
    let find = |source: &str| rows.iter().find(|row| row["source_agent"] == source).unwrap();
    let word = |source: &str, key: &str| find(source)[key].as_str().unwrap().to_owned();
    let shown = team.fine(&["delegation", "show", &word("worker-5", "id")]);
    assert!(shown.contains("\n  chain:      worker-1 → worker-2 → worker-5 → worker-4\n"), "{shown}");
    let row = |source: &str| format!("{}  success  {}", word(source, "task"), word(source, "id"));
    let below_1 = format!(
        "worker-1\n  └ worker-2  {}\n    └ worker-5 ({})\n      └ worker-4  {}  ←\n",
        row("worker-1"),
        word("worker-5", "parent"),
        row("worker-5")
    );
    let below_3 = format!("worker-3\n  └ worker-4  {}\n", row("worker-3"));
    let tree = shown.split_once("\n\n").unwrap().1;
    assert!(tree == format!("{below_1}{below_3}") || tree == format!("{below_3}{below_1}"), "{tree}");
}

/// Processes of the machine that run this command line.
fn processes(words: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let line = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("cmdline")).ok();
    let lines = all.filter_map(line).map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.trim() == words).count()
}

#[test]
fn cancelling_the_root_of_a_chain_leaves_no_model_call_and_no_process() {
    // A number that no other sleep of the machine has.
    let sleep = format!("sleep {}", 100_000 + std::process::id());
    let team = chain(6, "    delay_ms: 600000\n    text: never\n");
    team.write("policy/commands.yaml", format!("commands:\n  {sleep}: {{verdict: allow, effect: read}}\n"));
    // Everybody has the runner run a command and hands on at the same time; the last one waits for its model.
    team.write(
        "agents/runner.agent.yaml",
        team.read("agents/worker-1.agent.yaml").replace("worker-1", "runner"),
    );
    let rules = team.read("models/s.yaml");
    let beside = "calls: [{tool: create_task, arguments: {title: Sleep, assignee: runner}}, {tool: delegate";
    let runner = format!(
        "  - {{agent: runner, calls: [{{tool: execute_command, arguments: {{command: {sleep}}}}}]}}\n"
    );
    team.write("models/s.yaml", rules.replace("calls: [{tool: delegate", beside) + &runner);
    let up = team.up();
    team.fine(&["task", "add", "Is the disk fine?"]);
    until_so("the commands of all five run", || processes(&sleep) >= 5);
    until_so("the last one thinks", || {
        let status: serde_json::Value = serde_json::from_str(&team.fine(&["status", "--json"])).unwrap();
        status["delegations"]["byAgent"]["worker-6"]["active"] == 1
            && status["delegations"]["totalActive"] == 5
    });
    let shown = team.fine(&["delegation", "show", "delegation-0003"]);
    assert!(shown.ends_with(
        "worker-1\n  └ worker-2  task-003  running  delegation-0001\n    └ worker-3  task-005  running  delegation-0002\n      \
         └ worker-4  task-007  running  delegation-0003  ←\n        └ worker-5  task-009  running  delegation-0004\n          \
         └ worker-6  task-011  running  delegation-0005\n"
    ), "{shown}");
    let began = Instant::now();
    assert_eq!(team.fine(&["cancel", "task-001"]), "task-001 is cancelled, with all that was below it\n");
    let answered = began.elapsed();
    until_so("no process is left", || processes(&sleep) == 0);
    println!("answered after {answered:?}, all gone after {:?}", began.elapsed());
    let status: serde_json::Value = serde_json::from_str(&team.fine(&["status", "--json"])).unwrap();
    assert_eq!(status["daemon"]["working"], serde_json::json!([]));
    assert_eq!(status["daemon"]["idle"], true);
    until_so("the log has it", || {
        let status: serde_json::Value = serde_json::from_str(&team.fine(&["status", "--json"])).unwrap();
        status["delegations"]["totalActive"] == 0
    });
    until_so("all is marked", || team.tasks(TASKS).iter().all(|task| task.mark == Mark::Cancelled));
    let again = team.synod(&["cancel", "task-001"]);
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("task-001 has ended already"), "{}", again.stderr);
    up.stop();
    let list: serde_json::Value =
        serde_json::from_str(&team.fine(&["delegation", "list", "--json"])).unwrap();
    let list = list["delegations"].as_array().unwrap();
    assert_eq!(list.len(), 5);
    assert!(
        list.iter().all(|row| row["status"] == "cancelled" && row["completed_at"].is_string()),
        "{list:?}"
    );
}

#[test]
fn cancelling_a_task_ends_what_went_on_by_message() {
    let sleep = format!("sleep {}", 300_000 + std::process::id());
    for wait in ["", ", wait_ms: 60000"] {
        let team = Team::scripted(&format!(
            "rules:\n  - agent: asker-1\n    once: true\n    calls: [{{tool: send_message, arguments: {{to: worker-1, content: Count{wait}}}}}]\n  \
             - agent: asker-1\n    text: I wait for the answer\n  \
             - agent: worker-1\n    calls: [{{tool: execute_command, arguments: {{command: {sleep}}}}}]\n"
        ));
        for agent in ["asker-1", "worker-1"] {
            team.write(
                &format!("agents/{agent}.agent.yaml"),
                format!("id: {agent}\ntype: executor\nmodel: m\n"),
            );
        }
        team.write(
            "policy/commands.yaml",
            format!("commands:\n  {sleep}: {{verdict: allow, effect: read}}\n"),
        );
        let up = team.up();
        team.fine(&["task", "add", "Is the disk fine?", "--to", "asker-1"]);
        until_so("it counts", || processes(&sleep) == 1);
        until_so("who asked waits", || {
            let status: serde_json::Value = serde_json::from_str(&team.fine(&["status", "--json"])).unwrap();
            status["daemon"]["working"].as_array().is_some_and(|working| working.len() == 1)
        });
        until_so("not done before the answer is there", || {
            team.mark(TASKS, "task-001") == Some(Mark::Running)
        });
        team.fine(&["cancel", "task-001"]);
        until_so("no process is left", || processes(&sleep) == 0);
        let status: serde_json::Value = serde_json::from_str(&team.fine(&["status", "--json"])).unwrap();
        assert_eq!(status["daemon"]["working"], serde_json::json!([]));
        up.stop();
    }
}

#[test]
fn cancelling_a_run_ends_the_tasks_of_a_conversation_too() {
    let sleep = format!("sleep {}", 200_000 + std::process::id());
    let team = chain(3, "    calls: [{tool: execute_command, arguments: {command: touch done}}]\n");
    team.write("policy/commands.yaml", format!("commands:\n  {sleep}: {{verdict: allow, effect: read}}\n"));
    // The first one makes a task, which is a part of nothing since nobody gave it one, and goes on to hand work on.
    let rules = team.read("models/s.yaml").replacen(
        "calls: [",
        "calls: [{tool: create_task, arguments: {title: Count, assignee: worker-4}}, ",
        1,
    );
    let counts = format!(
        "  - agent: worker-4\n    calls: [{{tool: execute_command, arguments: {{command: {sleep}}}}}]\n"
    );
    team.write("models/s.yaml", rules + &counts);
    team.write("agents/worker-4.agent.yaml", "id: worker-4\ntype: executor\nmodel: m\n");
    let up = team.up();
    team.fine(&["message", "send", "worker-1", "Is the disk fine?"]);
    until_so("it counts", || processes(&sleep) == 1);
    until_so("a person is asked", || !team.names("approvals/pending").is_empty());
    let file = team.sessions("worker-1").remove(0);
    let session = file.trim_start_matches("sessions/").trim_end_matches(".session.yaml").to_owned();
    let part = team.synod(&["cancel", "run", "delegation-0002"]);
    assert_eq!(part.code, 1);
    let words = format!("delegation-0002 is not a run: it belongs to run {session}");
    assert!(part.stderr.contains(&words), "{}", part.stderr);
    let cancelled: serde_json::Value =
        serde_json::from_str(&team.fine(&["cancel", "run", &session, "--json"])).unwrap();
    assert_eq!(cancelled, serde_json::json!({"schema_version": 1, "cancelled": session, "run": true}));
    until_so("no process is left", || processes(&sleep) == 0);
    until_so("nobody is asked any more", || team.names("approvals/pending").is_empty());
    until_so("all is marked", || {
        let status: serde_json::Value = serde_json::from_str(&team.fine(&["status", "--json"])).unwrap();
        status["daemon"]["idle"] == true && status["tasks"]["counts"]["cancelled"] == 3
    });
    up.stop();
    for (args, code, told) in [
        (vec!["cancel", "run", &session], 1, "has ended already"),
        (vec!["cancel", "run", "task-999"], 1, "there is no run task-999"),
        (vec!["cancel", "run"], 2, "<RUN>"),
        (vec!["cancel", "task-001", "task-002"], 2, "one thing is cancelled at a time"),
    ] {
        let refused = team.synod(&args);
        assert_eq!(refused.code, code, "{args:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(told), "{args:?}: {}", refused.stderr);
    }
    team.is_in_order();
}

#[test]
fn without_a_daemon_work_is_cancelled_before_it_goes_on_and_the_log_is_made_anew() {
    let team = chain(2, "    calls: [{tool: execute_command, arguments: {command: touch done}}]\n");
    assert_eq!(team.fine(&["delegation", "list"]), "No agent has delegated anything.\n");
    team.fine(&["task", "add", "Is the disk fine?"]);
    assert_eq!(team.pump(), 3);
    let before = team.fine(&["delegation", "list"]);
    assert!(before.contains("delegation-0001  running  task-002  worker-1 → worker-2  ops:look"), "{before}");
    std::fs::remove_file(team.at(".synod/delegations.db")).unwrap();
    team.fine(&["cancel", "delegation-0001"]);
    assert_eq!(team.names("approvals/pending"), Vec::<String>::new(), "nobody is asked any more");
    let after = team.fine(&["delegation", "list"]);
    assert!(after.contains("delegation-0001  cancelled  task-002"), "{after}");
    assert_eq!(team.pump(), 0);
    let said = team.last_words("worker-1");
    assert!(
        said.contains("worker-2 no longer does, because it was cancelled, task-002: cancelled by tess"),
        "{said}"
    );
}

#[test]
fn a_log_that_cannot_be_written_is_told_of_once_and_has_everything_when_it_can() {
    let team = chain(2, "    text: 92 % full\n");
    team.fine(&["task", "add", "Is the disk fine?"]);
    assert_eq!(team.pump(), 0);
    let file = team.at(".synod/delegations.db");
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    let up = team.up();
    for (asked, given) in [("task-003", "task-004"), ("task-005", "task-006")] {
        team.fine(&["task", "add", "Is the disk fine?"]);
        until_so("both are done", || {
            [asked, given].iter().all(|id| team.mark(TASKS, id) == Some(Mark::Done))
        });
    }
    std::fs::remove_dir(&file).unwrap();
    until_so("the log has them", || {
        let list = team.fine(&["delegation", "list"]);
        ["delegation-0001", "delegation-0002", "delegation-0003"]
            .iter()
            .all(|id| list.contains(&format!("{id}  success")))
    });
    let told = up.stderr();
    assert_eq!(
        told.matches(".synod/delegations.db cannot be written, and is tried again").count(),
        1,
        "{told}"
    );
    up.stop();
}

#[test]
fn a_chain_is_shown_whole_when_its_numbers_get_longer() {
    let team = chain(3, "    text: 92 % full\n");
    let given = "{\"seq\":0,\"at\":\"2026-01-01T00:00:00Z\",\"event\":1,\"kind\":\"gate\",\"outcome\":\"allow\",\
                 \"note\":\"delegation-9998: a → b\",\"prev\":\"\"}\n";
    team.write("log/audit.jsonl", given);
    team.fine(&["task", "add", "Is the disk fine?"]);
    assert_eq!(team.pump(), 0);
    let shown = team.fine(&["delegation", "show", "delegation-9999"]);
    assert!(
        shown.ends_with(
            "worker-1\n  └ worker-2  task-002  success  delegation-9999  ←\n    └ worker-3  task-003  success  delegation-10000\n"
        ),
        "{shown}"
    );
}

#[test]
fn who_did_it_is_named_when_a_person_gave_it_to_somebody_else() {
    let team = chain(2, "    calls: [{tool: execute_command, arguments: {command: touch done}}]\n");
    let worker = team.read("agents/worker-2.agent.yaml").replace("id: worker-2", "id: worker-3");
    team.write("agents/worker-3.agent.yaml", worker);
    team.write("models/s.yaml", team.read("models/s.yaml") + "  - agent: worker-3\n    text: 92 % full\n");
    team.fine(&["task", "add", "Is the disk fine?"]);
    assert_eq!(team.pump(), 3, "worker-2 waits for a person");
    team.write(TASKS, team.read(TASKS).replace("@worker-2", "@worker-3"));
    assert_eq!(team.pump(), 0);
    let said = team.last_words("worker-1");
    assert_eq!(said, "worker-1 heard: worker-3 has done task-002: 92 % full\nchain: worker-1 → worker-2");
    let shown = team.fine(&["delegation", "show", "delegation-0001"]);
    assert!(shown.contains("  to:         worker-2\n  given to:   worker-3\n"), "{shown}");
    let shown = team.fine(&["delegation", "show", "delegation-0001", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["delegation"]["given_to"], "worker-3");
}

#[test]
fn a_message_carries_the_chain_along_and_not_the_rights() {
    let team = chain(4, "    text: nothing\n");
    team.write(
        "agents/worker-1.agent.yaml",
        "id: worker-1\ntype: retriever\nmodel: m\npermissions:\n  delegation: {can_delegate: true}\n  \
         tools: {allow: [delegate, send_message, create_task, read_file], deny: [execute_command]}\n",
    );
    team.write(
        "models/s.yaml",
        "rules:\n\
         - {agent: worker-1, tool_result: delegate, text: \"it is fine\"}\n\
         - {agent: worker-1, calls: [{tool: delegate, arguments: {to: worker-2, tag: \"ops:look\", task: Look}}]}\n\
         - {agent: worker-2, tool_result: send_message, text: \"{last}\"}\n\
         - {agent: worker-2, calls: [{tool: send_message, arguments: {to: worker-3, content: please run it, wait_ms: 20000}}]}\n\
         - {agent: worker-3, tool_result: delegate, text: \"it ran\"}\n\
         - {agent: worker-3, tool_result: execute_command, calls: [{tool: delegate, arguments: {to: worker-4, tag: \"ops:look\", task: Run it}}]}\n\
         - {agent: worker-3, calls: [{tool: execute_command, arguments: {command: ls}}]}\n\
         - {agent: worker-4, tool_result: execute_command, text: \"it ran\"}\n\
         - {agent: worker-4, calls: [{tool: execute_command, arguments: {command: ls}}]}\n",
    );
    team.fine(&["task", "add", "Is the disk fine?"]);
    assert_eq!(team.pump(), 0);
    for agent in ["worker-3", "worker-4"] {
        let talk = team.talk(agent);
        assert!(talk.iter().all(|message| !message.content.contains("denied")), "{agent}: {talk:?}");
    }
    let shown = team.fine(&["delegation", "show", "delegation-0002"]);
    let tree = "worker-1\n  └ worker-2  task-002  success  delegation-0001\n    └ worker-3\n      └ worker-4  task-003  success  delegation-0002  ←\n";
    assert!(shown.contains("request:    task-001\n") && shown.ends_with(tree), "{shown}");
}
