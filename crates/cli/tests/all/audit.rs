//! What the audit log tells of a team at work, and that no credential gets anywhere.

use std::path::Path;

use adapters::audit::line::{Line, NO_PREV};
use adapters::audit::tree::hash;
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
    assert!(lines.iter().all(|line| line["schema_version"] == 1), "{}", ran.stdout);
    let last = team.fine(&["audit", "log", "--json", "--limit", "1"]);
    assert_eq!(serde_json::from_str::<Value>(&last).unwrap()["schema_version"], 1);
    let told: Vec<(&str, &str)> =
        lines.iter().map(|l| (l["action"].as_str().unwrap(), l["outcome"].as_str().unwrap())).collect();
    assert_eq!(told, [("read_file", "allow"), ("read_file", "allow"), ("finish_task", "allow")]);
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
    assert_eq!(before.len(), 6, "two files and an end for each task: {before:?}");
    // The log is on the disk, and what is remembered of it is older.
    std::fs::write(team.at(".synod/audit.json"), memory).unwrap();
    std::fs::remove_file(team.at("log/checkpoints")).unwrap();
    let ran = team.synod(&["pump"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("log/audit-aside-1.jsonl"), "{}", ran.stderr);
    assert_eq!(gate(), before);
    assert_eq!(team.synod(&["audit", "verify"]).code, 0);
}

/// The log with one outcome turned round and every hash made anew, as one who knows the format would do it.
fn rewritten(log: &str) -> String {
    let (mut head, mut text) = (NO_PREV, String::new());
    for (number, old) in log.lines().enumerate() {
        let mut line = Line::parse(old.as_bytes()).unwrap();
        if line.outcome == "failed" {
            line.outcome = "done".to_owned();
        }
        let bytes = line.encode(number as u64, &head);
        head = hash(&bytes);
        text.push_str(std::str::from_utf8(&bytes).unwrap());
        text.push('\n');
    }
    text
}

fn git(team: &Team, args: &[&str]) {
    let mut git = std::process::Command::new("git");
    git.arg("-C").arg(team.path()).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git.args(["-c", "user.name=m", "-c", "user.email=m@example.org"]).args(args);
    let output = git.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A team whose home has a git history, with its checkpoints in it.
fn kept() -> Team {
    let team = Team::scripted(REPEATS);
    git(&team, &["init", "-q", "-b", "main"]);
    team.write(".gitignore", ".synod/\nworkspaces/\n");
    team.write("tasks/work.task.md", "- [ ] @worker-1 \"Read\"\n  id: task-001\n");
    git(&team, &["add", "."]);
    git(&team, &["commit", "-q", "-m", "begin"]);
    assert_eq!(team.pump(), 0);
    // Each stop is signed.
    team.append("tasks/work.task.md", "- [ ] @worker-1 \"Read\"\n  id: task-002\n");
    assert_eq!(team.pump(), 0);
    assert_eq!(team.synod(&["audit", "verify", "--against-git"]).code, 0);
    team
}

/// The faults that `audit verify --against-git` finds: file and what became of it.
fn faults(team: &Team) -> Vec<(String, String)> {
    let ran = team.synod(&["audit", "verify", "--against-git", "--json"]);
    let value: Value = serde_json::from_str(&ran.stdout).unwrap();
    let faults = value["faults"].as_array().unwrap();
    assert_eq!(ran.code, i32::from(!faults.is_empty()), "{} {}", ran.stdout, ran.stderr);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    faults.iter().map(|fault| (text(&fault["file"]), text(&fault["what"]))).collect()
}

#[test]
fn a_log_that_was_rewritten_with_fresh_hashes_is_named_by_the_history() {
    let team = kept();
    let forged = rewritten(&team.read("log/audit.jsonl"));
    assert_ne!(forged, team.read("log/audit.jsonl"));
    team.write("log/audit.jsonl", forged);
    // Everything beside it that remembers is gone; the chain itself is good.
    for path in ["log/checkpoints", ".synod/audit.json"] {
        std::fs::remove_file(team.at(path)).unwrap();
    }
    let found = faults(&team);
    assert_eq!(found[0], ("log/audit.jsonl".to_owned(), "rewritten".to_owned()), "{found:?}");
    std::fs::remove_dir_all(team.at(".git")).unwrap();
    assert_eq!(team.synod(&["audit", "verify"]).code, 0, "without a history nobody can tell");
    assert_eq!(team.synod(&["audit", "verify", "--against-git"]).code, 1, "which is no good answer");
}

#[test]
fn a_history_that_was_tampered_with_is_named_by_its_commit() {
    let team = kept();
    let good = team.read("log/checkpoints");
    // A checkpoint of the history says something else, with the old signature below it.
    let root = good.lines().nth(2).unwrap();
    let other = format!("{}Bwc=", "BwcH".repeat(10));
    team.write("log/checkpoints", good.replacen(root, &other, 1));
    git(&team, &["add", "log/checkpoints"]);
    git(&team, &["commit", "-q", "--amend", "-m", "signed the audit log"]);
    team.write("log/checkpoints", &good);
    let found = faults(&team);
    assert!(found.iter().any(|(file, _)| file.starts_with("log/checkpoints in commit ")), "{found:?}");
    // What is no checkpoint at all is named, too.
    let team = kept();
    let good = team.read("log/checkpoints");
    team.write("log/checkpoints", "nothing to see here\n");
    git(&team, &["add", "log/checkpoints"]);
    git(&team, &["commit", "-q", "-m", "tidy"]);
    team.write("log/checkpoints", good);
    let found = faults(&team);
    assert!(found.iter().any(|(file, what)| file.contains("in commit") && what == "unsigned"), "{found:?}");
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
