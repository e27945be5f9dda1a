//! Agents that are made and ended while the team works, with the real binary: files, rights, kills.

use domain::task::Mark;
use serde_json::Value;

use crate::team::{Team, until, until_so};

const TASKS: &str = "tasks/requests.task.md";

const SETTINGS: &str = "\
providers: {script: {kind: scripted, script: models/s.yaml}}
models: {m: {provider: script, model: m}}
routing: {fallback: boss-1}
roles:
  boss:
    permissions: [read_files, write_files, execute_tools, spawn_agents, approve_work]
    tools: ['*']
";

const BOSS: &str = "\
id: boss-1
type: boss
model: m
permissions:
  delegation: {can_delegate: true}
  spawn: {roles: [boss, executor]}
  concurrency: {task_timeout_ms: 600000}
";

/// A boss who may do everything, and whom it spawns, playing this script.
fn team(rules: &str) -> Team {
    let team = Team::nothing();
    team.write("synod.yaml", SETTINGS);
    team.write("agents/boss-1.agent.yaml", BOSS);
    team.write("models/s.yaml", rules);
    team
}

/// The agents beside the boss that have a file.
fn children(team: &Team) -> Vec<String> {
    let names =
        team.names("agents").into_iter().filter_map(|n| Some(n.strip_suffix(".agent.yaml")?.to_owned()));
    names.filter(|name| name != "boss-1").collect()
}

fn audit(team: &Team, outcome: &str) -> Vec<Value> {
    let log = team.read("log/audit.jsonl");
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["outcome"] == outcome).collect()
}

#[test]
fn an_agent_spawns_another_gives_it_work_and_its_file_says_who_made_it() {
    let team = team(
        r#"rules:
  - {agent: boss-1, turn: 1, calls: [{tool: spawn_agent, arguments: {role: executor, name: Disk watcher, goal: "Look after the disk", responsibilities: ["ops:*"]}}]}
  - {agent: boss-1, matches: "*HEARD*", text: "{last}"}
  - {agent: boss-1, text: "I have it"}
  - {agent: "executor-*", text: "HEARD"}
"#,
    );
    team.fine(&["task", "add", "Mind the disk"]);
    team.to_the_end();
    let [child] = &children(&team)[..] else { panic!("{:?}", children(&team)) };
    let file = team.read(&format!("agents/{child}.agent.yaml"));
    assert!(file.contains("\ntype: executor\nspawned_by: boss-1\n"), "{file}");
    assert!(file.contains("name: Disk watcher\n") && file.contains("  Look after the disk\n"), "{file}");
    let list = team.fine(&["agent", "list"]);
    assert!(list.contains("SPAWNED BY") && list.contains(child.as_str()), "{list}");
    assert!(team.fine(&["status"]).contains("SPAWNED BY"));
    let shown: Value = serde_json::from_str(&team.fine(&["agent", "list", "--json"])).unwrap();
    let row = shown["agents"].as_array().unwrap().iter().find(|a| a["id"] == child.as_str()).unwrap();
    assert_eq!((row["spawned_by"].as_str(), row["state"].as_str()), (Some("boss-1"), Some("idle")));
    team.fine(&["message", "send", child, "Are you there?"]);
    team.to_the_end();
    assert_eq!(team.talk(child).last().unwrap().content, "HEARD");
    assert_eq!(audit(&team, "spawned").len(), 1);
    team.is_in_order();
}

#[test]
fn a_spawned_agent_has_the_rights_of_its_role_and_not_those_of_its_maker() {
    let team = team(
        r#"rules:
  - {agent: boss-1, turn: 1, calls: [{tool: spawn_agent, arguments: {role: executor}}]}
  - {agent: boss-1, text: "I have it"}
  - {agent: "executor-*", tool_result: write_file, text: "{last}"}
  - {agent: "executor-*", matches: "write *", calls: [{tool: write_file, arguments: {path: "workspaces/{match:1}/a.txt", content: x}}]}
"#,
    );
    team.fine(&["task", "add", "Mind the disk"]);
    team.to_the_end();
    let child = children(&team).remove(0);
    team.fine(&["message", "send", &child, &format!("write {child}")]);
    team.to_the_end();
    assert_eq!(team.read(&format!("workspaces/{child}/a.txt")), "x");
    std::fs::remove_file(team.at(&format!("workspaces/{child}/a.txt"))).unwrap();
    team.edit("agents/boss-1.agent.yaml", "permissions:\n", "permissions:\n  tools: {deny: [write_file]}\n");
    team.fine(&["message", "send", &child, &format!("write {child}")]);
    team.to_the_end();
    assert_eq!(team.read(&format!("workspaces/{child}/a.txt")), "x", "its maker may not write any more");
    std::fs::remove_file(team.at(&format!("workspaces/{child}/a.txt"))).unwrap();
    let file = format!("agents/{child}.agent.yaml");
    let denied = team.read(&file).replace("permissions:\n", "permissions:\n  tools: {deny: [write_file]}\n");
    team.write(&file, denied);
    team.fine(&["message", "send", &child, &format!("write {child}")]);
    team.to_the_end();
    let said = team.talk(&child).last().unwrap().content.clone();
    assert!(said.contains(&format!("permissions.tools.deny of {child} has write_file")), "{said}");
    assert_eq!(team.read(&format!("workspaces/{child}/a.txt")), "");
}

#[test]
fn terminating_ends_work_under_way_tells_who_waits_and_takes_the_file_away() {
    let team = team(
        r#"rules:
  - {agent: boss-1, turn: 1, calls: [{tool: spawn_agent, arguments: {role: executor, responsibilities: ["ops:*"]}}]}
  - {agent: boss-1, tool_result: delegate, text: "It says: {last}"}
  - {agent: boss-1, tool_result: spawn_agent, matches: "* is there, *", calls: [{tool: delegate, arguments: {to: "{match:1}", tag: "ops:look", task: Look}}]}
  - {agent: "executor-*", delay_ms: 600000, text: never}
"#,
    );
    let up = team.up();
    team.fine(&["task", "add", "Mind the disk"]);
    let child = until("it is spawned", || children(&team).pop());
    until_so("it thinks", || team.fine(&["status", "--json"]).contains(&format!("\"agent\":\"{child}\"")));
    let told = team.fine(&["agent", "terminate", &child, "--reason", "enough"]);
    assert_eq!(told, format!("{child} is terminated, with all that it did and all that it spawned\n"));
    let status: Value = serde_json::from_str(&team.fine(&["status", "--json"])).unwrap();
    let working = status["daemon"]["working"].as_array().unwrap();
    assert!(working.iter().all(|w| w["agent"] == "boss-1"), "{status}");
    until_so("its file is gone", || children(&team).is_empty());
    until_so("who asked says what it heard", || team.mark(TASKS, "task-001") == Some(Mark::Done));
    let expected = format!(
        "It says: {child} no longer does, because it was cancelled, task-002: {child} was terminated by person:tess: enough\nchain: boss-1 → {child}"
    );
    until_so("its last words stand there", || team.last_words("boss-1") == expected);
    let task = team.task(TASKS, "task-002").unwrap();
    assert_eq!(task.mark, Mark::Cancelled);
    let ran = team.synod(&["message", "send", &child, "hello"]);
    assert_eq!((ran.code, ran.stderr.contains("was terminated by person:tess")), (1, true), "{}", ran.stderr);
    let ran = team.synod(&["agent", "terminate", &child]);
    assert_eq!((ran.code, ran.stderr.contains("was terminated")), (1, true), "{}", ran.stderr);
    let ran = team.synod(&["agent", "terminate", "boss-1"]);
    assert_eq!((ran.code, ran.stderr.contains("a person wrote its file")), (1, true), "{}", ran.stderr);
    up.stop();
    let [line] = &audit(&team, "terminated")[..] else { panic!("{}", team.read("log/audit.jsonl")) };
    assert_eq!((line["by"].as_str(), line["note"].as_str()), (Some("person:tess"), Some("enough")));
    // Who brings the file back is told, and the agent stays away.
    team.write(&format!("agents/{child}.agent.yaml"), format!("id: {child}\ntype: executor\nmodel: m\n"));
    let ran = team.synod(&["message", "send", &child, "hello"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
}

#[test]
fn the_workspace_of_a_terminated_agent_goes_and_what_is_nowhere_else_stays() {
    let team = team(
        r#"rules:
  - {agent: boss-1, tool_result: terminate_agent, text: "{last}"}
  - {agent: boss-1, matches: "end *", calls: [{tool: terminate_agent, arguments: {agent: "{match:1}"}}]}
  - {agent: boss-1, matches: "MAKE one", calls: [{tool: spawn_agent, arguments: {role: executor}}]}
  - {agent: boss-1, text: "I have it"}
  - {agent: "executor-*", tool_result: write_file, text: "{last}"}
  - {agent: "executor-*", matches: "write *", calls: [{tool: write_file, arguments: {path: "workspaces/{match:1}/a.txt", content: x}}]}
"#,
    );
    team.fine(&["message", "send", "boss-1", "MAKE one"]);
    team.to_the_end();
    let child = children(&team).remove(0);
    team.fine(&["message", "send", &child, &format!("write {child}")]);
    team.to_the_end();
    team.fine(&["message", "send", "boss-1", &format!("end {child}")]);
    team.to_the_end();
    let talk: Vec<String> = team.talk("boss-1").into_iter().map(|m| m.content).collect();
    let kept = format!("something is kept: workspaces/{child} is kept: it has files that are nowhere else");
    assert!(talk.iter().any(|text| text.ends_with(&kept)), "{talk:?}");
    assert_eq!(team.read(&format!("workspaces/{child}/a.txt")), "x", "it is kept");
    let [line] = &audit(&team, "cleaned up")[..] else { panic!("{}", team.read("log/audit.jsonl")) };
    assert!(line["note"].as_str().unwrap().contains("nowhere else"), "{line}");
    // One that has done nothing leaves nothing, also if Synod is started only later.
    let made = team.fine(&["agent", "spawn", "executor", "--model", "m"]);
    let second = made.split(' ').next().unwrap().to_owned();
    std::fs::create_dir_all(team.at(&format!("workspaces/{second}"))).unwrap();
    team.fine(&["agent", "terminate", &second]);
    assert!(team.at(&format!("workspaces/{second}")).exists(), "a command only leaves a mark");
    team.to_the_end();
    assert!(!team.at(&format!("workspaces/{second}")).exists());
}

#[test]
fn a_person_spawns_by_a_command_with_and_without_a_daemon() {
    let team = team("rules:\n  - {text: \"Heard: {last}\"}\n");
    let made =
        team.fine(&["agent", "spawn", "coder", "--goal", "Fix the login", "--responsibility", "code:*"]);
    let [first] = &children(&team)[..] else { panic!("{made}") };
    assert_eq!(made, format!("{first} is there; see agents/{first}.agent.yaml\n"));
    assert!(team.read(&format!("agents/{first}.agent.yaml")).contains("spawned_by: person:tess\n"));
    let ran = team.synod(&["agent", "spawn", "wizard"]);
    assert_eq!((ran.code, ran.stderr.contains("there is no role wizard")), (1, true), "{}", ran.stderr);
    let up = team.up();
    let made: Value = serde_json::from_str(&team.fine(&["agent", "spawn", "planner", "--json"])).unwrap();
    let second = made["agent"].as_str().unwrap();
    assert_eq!(made["schema_version"], 1);
    assert!(second.starts_with("planner-") && children(&team).iter().any(|id| id == second), "{made}");
    team.fine(&["message", "send", second, "hello"]);
    until_so("it answers", || team.sessions(second).len() == 1 && team.talk(second).len() == 2);
    up.stop();
}

#[test]
fn a_kill_around_a_spawn_or_an_end_leaves_no_half_agent() {
    let team = team(
        r#"rules:
  - {agent: boss-1, tool_result: terminate_agent, text: "all gone"}
  - {agent: boss-1, turn: 1, calls: [{tool: spawn_agent, arguments: {role: boss, name: one}}, {tool: spawn_agent, arguments: {role: boss, name: two}}]}
  - {agent: boss-1, text: "there they are"}
  - {text: "Heard: {last}"}
"#,
    );
    team.fine(&["task", "add", "Mind the disk"]);
    for round in 0..6 {
        let up = team.up();
        // At another moment each time: at once, when there is one, when there are two.
        match round % 3 {
            0 => {}
            1 => until_so("one is there", || !children(&team).is_empty()),
            _ => until_so("both are there", || children(&team).len() >= 2),
        }
        up.kill();
        for child in children(&team) {
            let path = format!("agents/{child}.agent.yaml");
            let text = team.read(&path);
            assert!(formats::agent::read(&path, &text).value.is_some(), "a whole file: {text}");
        }
    }
    team.to_the_end();
    assert_eq!(children(&team).len(), 2, "each was made once");
    for child in children(&team) {
        let up = team.up();
        team.fine(&["agent", "terminate", &child]);
        up.kill();
    }
    team.to_the_end();
    assert_eq!(children(&team), Vec::<String>::new());
    let status: Value = serde_json::from_str(&team.fine(&["status", "--json"])).unwrap();
    assert_eq!(status["agents"].as_array().unwrap().len(), 1, "{status}");
    assert_eq!((audit(&team, "spawned").len(), audit(&team, "terminated").len()), (2, 2));
    team.is_in_order();
}

#[test]
fn an_agent_with_an_unknown_model_or_an_empty_responsibility_is_not_made() {
    let team = Team::scripted("rules:\n  - text: Fine.\n");
    team.edit("synod.yaml", "models: {m:", "models: {small: {provider: script, model: m}, m:");
    for (args, why) in [
        (["--model", "smal"], "there is no model smal; there are: m, small\nhelp: did you mean small?\n"),
        (
            ["--responsibility", ""],
            "a responsibility is a tag or a pattern of tags on one line, such as code:*, and not ``",
        ),
    ] {
        let ran = team.synod(&[&["agent", "spawn", "executor"][..], &args[..]].concat());
        assert_eq!(ran.code, 1, "{}", ran.stdout);
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
    assert_eq!(team.names("agents"), ["worker-1.agent.yaml"]);
    team.fine(&["agent", "spawn", "executor", "--model", "small"]);
    team.is_in_order();
}

#[test]
fn a_conversation_is_named_by_its_file_too() {
    let team = Team::scripted("rules:\n  - matches: \"*later*\"\n    text: Yes.\n  - text: Fine.\n");
    team.fine(&["message", "send", "worker-1", "hello"]);
    assert_eq!(team.pump(), 0);
    let path = &team.sessions("worker-1")[0];
    assert!(team.fine(&["session", "show", path]).contains("Fine."));
    team.fine(&["session", "send", path, "and later?"]);
    assert_eq!(team.pump(), 0);
    assert_eq!(team.talk("worker-1").last().unwrap().content, "Yes.");
    team.fine(&["cancel", path]);
    assert!(team.read(path).contains("status: completed"), "{}", team.read(path));
}
