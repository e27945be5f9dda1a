//! Rights belong to agents, with the real binary: a coordinator that may not write has a coder do it.

use std::process::Command;

use domain::task::Mark;

use crate::team::Team;

const TASKS: &str = "tasks/requests.task.md";

const SETTINGS: &str = "\
providers: {script: {kind: scripted, script: models/s.yaml}}
models: {m: {provider: script, model: m}}
routing: {fallback: coordinator-1}
";

const COORDINATOR: &str = "\
id: coordinator-1
type: coordinator
model: m
workspace: {repo: ../service}
permissions:
  delegation: {can_delegate: true, allowed_targets: [coder-1]}
";

fn git(folder: &std::path::Path, args: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(folder).args(["-c", "user.name=dana", "-c", "user.email=dana@example.org"]).args(args);
    let ran = git.output().unwrap();
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// A coordinator and a coder, beside a repository with one commit.
fn team(rules: &str) -> Team {
    let team = Team::nothing();
    team.write("../service/main.txt", "begin\n");
    for args in [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-q", "-m", "begin"]] {
        git(&team.at("../service"), args);
    }
    team.write("synod.yaml", SETTINGS);
    team.write("memory/notes.md", "greet people by name\n");
    team.write("agents/coordinator-1.agent.yaml", COORDINATOR);
    let coder =
        "id: coder-1\ntype: coder\nmodel: m\nresponsibilities: ['code:*']\nworkspace: {repo: ../service}\n";
    team.write("agents/coder-1.agent.yaml", coder);
    team.write("models/s.yaml", rules);
    team
}

/// What the coder does: it writes a file and commits it.
const CODER: &str = "\
- {agent: 'coder-*', matches: '*Greet in *; now*', calls: [{tool: write_file, arguments: {path: 'workspaces/{match:2}/greet.txt', content: Hello}}]}
- {agent: 'coder-*', tool_result: write_file, calls: [{tool: git_commit, arguments: {message: greet people}}]}
- {agent: 'coder-*', tool_result: git_commit, text: '{last}'}
";

#[test]
fn a_coordinator_reads_and_has_a_coder_write_and_commit() {
    let team = team(&format!(
        "rules:\n\
         - {{agent: coordinator-1, tool_result: delegate, text: '{{last}}'}}\n\
         - {{agent: coordinator-1, tool_result: write_file, calls: [{{tool: delegate, arguments: {{to: coder-1, tag: 'code:change', task: 'Greet in coder-1; now', payload: {{who: [Ada]}}}}}}]}}\n\
         - {{agent: coordinator-1, tool_result: read_file, calls: [{{tool: write_file, arguments: {{path: workspaces/coordinator-1/a.txt, content: x}}}}]}}\n\
         - {{agent: coordinator-1, calls: [{{tool: read_file, arguments: {{path: memory/notes.md}}}}]}}\n{}",
        CODER.replace("; now*'", "; now*payload*'")
    ));
    team.fine(&["task", "add", "Greet people"]);
    assert_eq!(team.pump(), 0, "nobody is asked");
    assert_eq!(team.mark(TASKS, "task-001"), Some(Mark::Done));
    let talk = team.talk("coordinator-1");
    let heard = |words: &str| talk.iter().any(|message| message.content.contains(words));
    assert!(heard("greet people by name"), "it reads: {talk:?}");
    assert!(heard("role coordinator lacks write_files"), "it does not write: {talk:?}");
    assert!(heard("chain: coordinator-1 → coder-1"), "{talk:?}");
    let log = git(&team.at("../service"), &["log", "--format=%s", "agent/coder-1"]);
    assert!(log.starts_with("greet people"), "{log}");
    team.is_in_order();
}

#[test]
fn a_coordinator_spawns_a_coder_that_writes_and_commits() {
    let team = team(&format!(
        "rules:\n\
         - {{agent: coordinator-1, tool_result: delegate, text: '{{last}}'}}\n\
         - {{agent: coordinator-1, tool_result: spawn_agent, matches: '* is there, *', calls: [{{tool: delegate, arguments: {{to: '{{match:1}}', tag: 'any:thing', task: 'Greet in {{match:1}}; now'}}}}]}}\n\
         - {{agent: coordinator-1, calls: [{{tool: spawn_agent, arguments: {{role: coder}}}}]}}\n{CODER}"
    ));
    team.fine(&["task", "add", "Greet people"]);
    assert_eq!(team.pump(), 0, "nobody is asked");
    assert_eq!(team.mark(TASKS, "task-001"), Some(Mark::Done));
    let names = team.names("agents");
    let is_new = |name: &&String| name.starts_with("coder-") && !name.starts_with("coder-1.");
    let coder = names.iter().find(is_new).unwrap().strip_suffix(".agent.yaml").unwrap();
    assert_eq!(team.read(&format!("workspaces/{coder}/greet.txt")), "Hello");
    let log = git(&team.at("../service"), &["log", "--format=%s", &format!("agent/{coder}")]);
    assert!(log.starts_with("greet people"), "{log}");
}

#[test]
fn a_home_of_eve_works_without_synod_yaml() {
    let team = Team::nothing();
    let eve = r#"{"eve": {"fallback": true}, "agents": {"global_limits": {"max_total_tasks": 7}},
        "models": {"sonnet": {"provider": "anthropic", "model": "claude-sonnet-4-20250514"}}}"#;
    team.write("eve.json", eve);
    let agent = "// the first one\n{\"id\": \"eve\", \"model\": {\"primary\": \"sonnet\"}, \"icon\": \"hat\",\n \"permissions\": {\"tools\": {\"allow\": [\"jobs_*\"]}, \"can_delegate\": true}}\n";
    team.write("agents/eve/agent.json", agent);
    let check = team.fine(&["check"]);
    assert!(check.contains("agents/eve/agent.json:2:47") && check.contains("unknown key `icon`"), "{check}");
    let shown = team.fine(&["agent", "show", "eve", "--why"]);
    assert!(shown.contains("claude-sonnet-4-20250514 of anthropic"), "{shown}");
    let delegate = shown.lines().find(|line| line.contains("delegate")).unwrap_or_default();
    assert!(delegate.contains("allow"), "{shown}");
}
