//! What the audit log tells of a team at work, and that no credential gets anywhere.

use std::path::Path;

use serde_json::Value;

use crate::team::Team;

const KEY: &str = "sk-ant-api03-Zz19Yy28Xx37Ww46Vv55Uu64";
const PASSWORD: &str = "hunter2hunter";

/// Reads a file, runs a command that prints, and repeats all it is told.
const REPEATS: &str = "\
rules:
  - matches: \"Task *\"
    text: \"I was told: {last}\"
    calls: [{tool: read_file, arguments: {path: memory/keys.md}}, {tool: read_file, arguments: {path: memory/none.md}}]
  - text: \"Heard: {last}\"
";

fn working() -> Team {
    let team = Team::scripted(REPEATS);
    team.write("memory/keys.md", format!("The key is {KEY}.\nDB_PASSWORD={PASSWORD}\n"));
    team.write(
        "tasks/work.task.md",
        format!("- [ ] @worker-1 \"Read\"\n  id: task-001\n  text: password={PASSWORD}\n"),
    );
    assert_eq!(team.pump(), 0);
    team
}

#[test]
fn every_decision_is_told_and_the_log_checks() {
    let team = working();
    let ran = team.synod(&["audit", "log", "--json", "--kind", "gate"]);
    let lines: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<(&str, &str)> =
        lines.iter().map(|l| (l["action"].as_str().unwrap(), l["outcome"].as_str().unwrap())).collect();
    assert_eq!(told, [("read_file", "allow"), ("read_file", "allow")]);
    let failed = team.synod(&["audit", "log", "--outcome", "failed", "--agent", "worker-1"]);
    assert!(failed.stdout.contains("read_file"), "{}", failed.stdout);
    assert_eq!(team.synod(&["audit", "log", "--since", "yesterday"]).code, 2);
    assert_eq!(team.synod(&["audit", "verify"]).code, 0);
    let key = team.synod(&["audit", "key"]).stdout;
    assert_eq!(team.synod(&["audit", "verify", "--key", &key]).code, 0);
    assert_eq!(team.synod(&["audit", "verify", "--against-git"]).code, 1, "there is no repository here");
}

#[test]
fn a_changed_line_is_named_with_exit_code_1() {
    let team = working();
    team.edit(
        "log/audit.jsonl",
        "memory/none.md\\\"}\",\"outcome\":\"allow",
        "memory/some.md\\\"}\",\"outcome\":\"allow",
    );
    let ran = team.synod(&["audit", "verify", "--json"]);
    let value: Value = serde_json::from_str(&ran.stdout).unwrap();
    let changed = team.read("log/audit.jsonl").lines().position(|line| line.contains("some.md")).unwrap() + 1;
    assert_eq!((ran.code, &value["ok"]), (1, &Value::Bool(false)));
    assert_eq!(
        (value["faults"][0]["line"].as_u64(), value["faults"][0]["what"].as_str()),
        (Some(changed as u64), Some("changed"))
    );
    assert!(
        team.synod(&["audit", "verify"]).stdout.starts_with(&format!("log/audit.jsonl:{changed}: changed: "))
    );
}

#[test]
fn after_a_power_cut_that_took_its_memory_everything_is_told_once() {
    let team = working();
    let memory = std::fs::read(team.at(".synod/audit.json")).unwrap();
    team.append("tasks/work.task.md", "- [ ] @worker-1 \"Read\"\n  id: task-002\n");
    assert_eq!(team.pump(), 0);
    let gate = || -> Vec<String> {
        let lines = team.fine(&["audit", "log", "--json", "--kind", "gate"]);
        let task = |line: &str| serde_json::from_str::<Value>(line).unwrap()["task"].to_string();
        lines.lines().map(task).collect()
    };
    let before = gate();
    assert_eq!(before.len(), 4, "{before:?}");
    // The log is on the disk, and what is remembered of it is older.
    std::fs::write(team.at(".synod/audit.json"), memory).unwrap();
    std::fs::remove_file(team.at("log/checkpoints")).unwrap();
    let ran = team.synod(&["pump"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("log/audit-aside-1.jsonl"), "{}", ran.stderr);
    assert_eq!(gate(), before);
    assert_eq!(team.synod(&["audit", "verify"]).code, 0);
}

/// Whether any file beneath the folder has these bytes, beside those that a person wrote.
fn found(folder: &Path, secret: &str, own: &[&str]) -> Vec<String> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(found(&path, secret, own));
        } else if !own.iter().any(|own| path.ends_with(own)) {
            let bytes = std::fs::read(&path).unwrap_or_default();
            if bytes.windows(secret.len()).any(|window| window == secret.as_bytes()) {
                all.push(path.display().to_string());
            }
        }
    }
    all
}

#[test]
fn a_credential_that_is_read_gets_nowhere() {
    let team = working();
    team.append(
        "inbox/slack-messages.jsonl",
        &format!("{{\"user\":\"dana\",\"text\":\"use {KEY} please\"}}\n"),
    );
    assert_eq!(team.pump(), 0);
    let said = team.synod(&["session", "send", "worker-1", &format!("and token={KEY}")]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(team.pump(), 0);
    let own = ["memory/keys.md", "inbox/slack-messages.jsonl"];
    assert_eq!(found(&team.path(), KEY, &own), Vec::<String>::new());
    let session = team.names("sessions");
    let text: String = session.iter().map(|name| team.read(&format!("sessions/{name}"))).collect();
    assert!(text.contains("The key is [redacted: Anthropic key]"), "{text}");
    assert!(text.contains("DB_PASSWORD=[redacted: password]") && !text.contains(PASSWORD), "{text}");
    let log = team.read("log/audit.jsonl");
    assert!(!log.contains(PASSWORD));
    for args in [["task", "list"], ["session", "list"]] {
        let printed = team.synod(&[args[0], args[1], "--json"]).stdout;
        assert!(!printed.contains(PASSWORD) && !printed.contains(KEY), "{printed}");
    }
}
