//! The calls of one answer, with the real binary: each sees what those before it did.

use std::process::Command;

use domain::session::Speaker;
use domain::task::Mark;

use crate::team::Team;

const TASKS: &str = "tasks/requests.task.md";

const SETTINGS: &str = "\
providers: {script: {kind: scripted, script: models/s.yaml}}
models: {m: {provider: script, model: m}}
routing: {fallback: coder-1}
";

const CODER: &str = "id: coder-1\ntype: coder\nmodel: m\nworkspace: {repo: ../service}\n";

/// One answer writes, reads and commits; the next says what came of it.
const SCRIPT: &str = "\
rules:
- {agent: coder-1, tool_result: git_commit, text: '{last}'}
- agent: coder-1
  calls:
  - {tool: write_file, arguments: {path: TARGET, content: Hello}}
  - {tool: read_file, arguments: {path: workspaces/coder-1/main.txt}}
  - {tool: git_commit, arguments: {message: greet people}}
";

fn git(team: &Team, args: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(team.at("../service"));
    git.args(["-c", "user.name=dana", "-c", "user.email=dana@example.org"]).args(args);
    let ran = git.output().unwrap();
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// A coder at work on a repository with one file, which has one line; its answer writes to `target`.
fn team(target: &str) -> Team {
    let team = Team::nothing();
    team.write("../service/main.txt", "begin\n");
    for args in [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-q", "-m", "begin"]] {
        git(&team, args);
    }
    team.write("synod.yaml", SETTINGS);
    team.write("agents/coder-1.agent.yaml", CODER);
    team.write("models/s.yaml", SCRIPT.replace("TARGET", target));
    team.fine(&["task", "add", "Greet people"]);
    team
}

fn results(team: &Team) -> Vec<String> {
    let talk = team.talk("coder-1").into_iter();
    talk.filter(|message| message.speaker == Speaker::ToolResult).map(|message| message.content).collect()
}

#[test]
fn what_one_answer_writes_it_reads_and_commits() {
    let team = team("workspaces/coder-1/main.txt");
    assert_eq!(team.pump(), 0, "nobody is asked");
    assert_eq!(team.mark(TASKS, "task-001"), Some(Mark::Done));
    let results = results(&team);
    assert_eq!(results.len(), 4, "three and the end of the task: {results:?}");
    assert!(results[1].contains("Hello") && !results[1].contains("begin"), "{results:?}");
    assert_eq!(git(&team, &["show", "agent/coder-1:main.txt"]), "Hello");
    assert!(git(&team, &["log", "--format=%s", "agent/coder-1"]).starts_with("greet people\n"));
}

#[test]
fn what_one_answer_could_not_write_it_does_not_commit() {
    let team = team("synod.yaml");
    assert_eq!(team.pump(), 0, "nobody is asked");
    let results = results(&team);
    assert!(results[0].starts_with("denied by the rule: "), "{results:?}");
    assert!(results[1].contains("begin"), "what only reads is run: {results:?}");
    assert!(results[2].starts_with("not run: write_file before it in this answer"), "{results:?}");
    assert_eq!(git(&team, &["log", "--format=%s", "agent/coder-1"]), "begin\n");
}
