//! Each cell of the permission matrix with the real binary: a model of each role tries each thing, and either it is seen
//! to have happened or the refusal names the permission that is missing.

use std::process::Command;

use crate::team::Team;

const SETTINGS: &str = "\
providers: {script: {kind: scripted, script: models/s.yaml}}
models: {m: {provider: script, model: m}}
review: {checks: []}
";

/// What must come of a try.
enum Comes {
    /// It is done, and its result says this.
    Done(&'static str),
    /// It is asked for and done after a person's yes.
    Asked,
    /// It is refused by this rule.
    Refused(&'static str),
}

use Comes::{Asked, Done, Refused};

/// Who, which cell, what it calls with which arguments, and what comes of it.
type Cell = (&'static str, &'static str, &'static str, &'static str, Comes);

const WRITE: &str = "{path: workspaces/ME/a.txt, content: x}";

fn cells() -> Vec<Cell> {
    vec![
        ("coordinator-1", "read", "search_files", "{query: needle}", Done("a needle lies here")),
        ("coordinator-1", "read", "read_file", "{path: memory/notes.md}", Done("a needle lies here")),
        ("coordinator-1", "read", "list_directory", "{path: memory}", Done("notes.md")),
        ("coordinator-1", "write", "write_file", WRITE, Refused("role coordinator lacks write_files")),
        ("coordinator-1", "execute, limited", "slack_send", "{channel: '#ops', text: all is well}", Asked),
        (
            "coordinator-1",
            "execute, limited",
            "execute_command",
            "{command: ls}",
            Refused("the role's tools of coordinator-1 lacks execute_command"),
        ),
        (
            "coordinator-1",
            "execute, limited",
            "run_tests",
            "{}",
            Refused("the role's tools of coordinator-1 lacks run_tests"),
        ),
        (
            "coordinator-1",
            "spawn",
            "spawn_agent",
            "{role: planner}",
            Done(" is there, with the rights of the role planner"),
        ),
        ("planner-1", "read", "read_file", "{path: memory/notes.md}", Done("a needle lies here")),
        ("planner-1", "write", "write_file", WRITE, Refused("role planner lacks write_files")),
        ("planner-1", "execute", "run_tests", "{}", Refused("role planner lacks execute_tools")),
        (
            "planner-1",
            "execute",
            "execute_command",
            "{command: ls}",
            Refused("role planner lacks execute_tools"),
        ),
        ("planner-1", "spawn", "spawn_agent", "{role: planner}", Refused("role planner lacks spawn_agents")),
        (
            "planner-1",
            "approve",
            "approve_work",
            "{approved: true}",
            Refused("role planner lacks approve_work"),
        ),
        ("coder-1", "read", "read_file", "{path: memory/notes.md}", Done("a needle lies here")),
        ("coder-1", "write", "write_file", WRITE, Done("a.txt is made")),
        ("coder-1", "execute, code tools", "run_tests", "{}", Done("the tests ran")),
        ("coder-1", "execute, code tools", "git_commit", "{message: more}", Done("committed ")),
        (
            "coder-1",
            "execute, code tools",
            "execute_command",
            "{command: ls}",
            Refused("the role's tools of coder-1 lacks execute_command"),
        ),
        ("coder-1", "spawn", "spawn_agent", "{role: planner}", Refused("role coder lacks spawn_agents")),
        ("coder-1", "approve", "approve_work", "{approved: true}", Refused("role coder lacks approve_work")),
        ("reviewer-1", "read", "read_file", "{path: memory/notes.md}", Done("a needle lies here")),
        ("reviewer-1", "write", "write_file", WRITE, Refused("role reviewer lacks write_files")),
        ("reviewer-1", "execute, test tools", "run_tests", "{}", Done("the tests ran")),
        ("reviewer-1", "execute, test tools", "lint", "{}", Done("the checks ran")),
        (
            "reviewer-1",
            "execute, test tools",
            "git_commit",
            "{message: more}",
            Refused("the role's tools of reviewer-1 lacks git_commit"),
        ),
        (
            "reviewer-1",
            "spawn",
            "spawn_agent",
            "{role: planner}",
            Refused("role reviewer lacks spawn_agents"),
        ),
        // Approving is seen from the other side: work comes back with what they say.
        (
            "coder-1",
            "approve, by the reviewer",
            "request_review",
            "{summary: look, to: reviewer-1}",
            Done("says reviewer-1"),
        ),
        (
            "coder-1",
            "more for the next one",
            "write_file",
            "{path: workspaces/ME/b.txt, content: y}",
            Done("b.txt"),
        ),
        ("coder-1", "more for the next one", "git_commit", "{message: still more}", Done("committed ")),
        (
            "coder-1",
            "approve, by the coordinator",
            "request_review",
            "{summary: look, to: coordinator-1}",
            Done("says coordinator-1"),
        ),
    ]
}

fn git(folder: &std::path::Path, args: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(folder).args(["-c", "user.name=dana", "-c", "user.email=dana@example.org"]).args(args);
    let ran = git.output().unwrap();
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

fn team(cells: &[Cell]) -> Team {
    let team = Team::nothing();
    team.write("../service/main.txt", "begin\n");
    for args in [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-q", "-m", "begin"]] {
        git(&team.at("../service"), args);
    }
    team.write("synod.yaml", SETTINGS);
    team.write("memory/notes.md", "a needle lies here\n");
    for role in ["coordinator", "planner", "coder", "reviewer"] {
        let workspace = "{repo: ../service, test: echo the tests ran, lint: echo the checks ran}";
        let text = format!("id: {role}-1\ntype: {role}\nmodel: m\nworkspace: {workspace}\n");
        team.write(&format!("agents/{role}-1.agent.yaml"), text);
    }
    let mut rules = "rules:\n  - {tool_result: '*', text: '{last}'}\n".to_owned();
    for who in ["reviewer-1", "coordinator-1"] {
        rules.push_str(&format!(
            "  - {{agent: {who}, matches: '*Review of*', calls: [{{tool: approve_work, arguments: {{approved: false, issues: [says {who}]}}}}]}}\n"
        ));
    }
    for (number, (who, _, tool, arguments, _)) in cells.iter().enumerate() {
        let arguments = arguments.replace("ME", who);
        rules.push_str(&format!(
            "  - {{agent: {who}, matches: 'try {number}', calls: [{{tool: {tool}, arguments: {arguments}}}]}}\n"
        ));
    }
    team.write("models/s.yaml", rules);
    team
}

#[test]
fn each_role_can_do_what_its_row_says_and_nothing_else() {
    let cells = cells();
    let team = team(&cells);
    let written = cells.iter().position(|(who, cell, ..)| (*who, *cell) == ("coder-1", "write"));
    for (number, (who, cell, tool, _, comes)) in cells.iter().enumerate() {
        let about = format!("{who}, {cell}: {tool}");
        let before = team.names("agents").len();
        team.fine(&["message", "send", who, &format!("try {number}")]);
        match (comes, team.pump()) {
            (Asked, 3) => {
                team.fine(&["approve", "--all"]);
                assert_eq!(team.pump(), 0, "{about}");
                assert_eq!(team.sent().len(), 1, "{about}");
                continue;
            }
            (Asked, code) => panic!("{about}: nobody was asked ({code})"),
            (Done(_) | Refused(_), code) => assert_eq!(code, 0, "{about}"),
        }
        let talks = team.sessions(who);
        let talk = talks.iter().map(|path| team.messages(path));
        let said: Vec<String> = talk.filter_map(|talk| talk.last().map(|m| m.content.clone())).collect();
        let wanted = match comes {
            Done(words) => (*words).to_owned(),
            Refused(rule) => format!("denied by the rule: {rule}\n"),
            Asked => continue,
        };
        assert!(said.iter().any(|text| text.contains(&wanted)), "{about}: {said:?} has {wanted:?}");
        let is_there = team.at(&format!("workspaces/{who}/a.txt")).exists();
        assert_eq!(
            is_there,
            *who == "coder-1" && Some(number) >= written,
            "{about}: who may write has written"
        );
        let spawned = team.names("agents").len() - before;
        assert_eq!(spawned, usize::from(*tool == "spawn_agent" && matches!(comes, Done(_))), "{about}");
    }
    team.is_in_order();
}
