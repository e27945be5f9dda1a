//! The calls of one answer: in which order they take effect, and what holds them back.

use domain::approval::Answer;
use domain::tool::{Act, ExecuteCommand, GitCommit, GitDiff, WriteFile};

use crate::home::{Home, line};

fn write(path: &str) -> Act {
    Act::WriteFile(WriteFile { path: path.to_owned(), content: "x".to_owned() })
}

fn command(command: &str) -> Act {
    Act::ExecuteCommand(ExecuteCommand { command: command.to_owned() })
}

fn working() -> Home {
    let mut home = Home::new(&["coder-001"]);
    home.task("write", "coder-001");
    home
}

const OWN: &str = "workspaces/coder-001/a";

#[test]
fn a_call_that_changes_something_starts_when_all_before_it_have_ended() {
    let mut home = working();
    let diff = || Act::GitDiff(GitDiff { path: None, against: None });
    home.wants("coder-001", &[write(OWN), Act::read_file(OWN), diff(), commit()]);
    assert_eq!(running(&home), ["c-1"], "the write runs alone");
    home.tool_ends("coder-001", true, "written");
    assert_eq!(running(&home), ["c-2", "c-3"], "what only reads runs at once");
    home.tool_ends("coder-001", true, "x");
    assert_eq!(running(&home), ["c-3"]);
    home.tool_ends("coder-001", true, "+x");
    assert_eq!(running(&home), ["c-4"], "the commit comes last");
}

#[test]
fn after_a_failure_only_calls_that_read_are_run() {
    let mut home = working();

    home.wants("coder-001", &[write(OWN), Act::read_file(OWN), commit()]);
    home.tool_ends("coder-001", false, "the disk is full");
    assert_eq!(running(&home), ["c-2"]);
    home.tool_ends("coder-001", true, "old");
    let results = home.results("coder-001");
    assert_eq!(results.len(), 3);
    assert!(results[2].starts_with("not run: write_file before it in this answer"), "{}", results[2]);
}

#[test]
fn after_a_refusal_only_calls_that_read_are_run() {
    let mut home = working();
    home.wants("coder-001", &[write("synod.yaml"), write(OWN), Act::read_file(OWN)]);
    assert_eq!(running(&home), ["c-3"]);
    assert!(home.results("coder-001")[1].starts_with("not run: write_file"), "the second write");
}

#[test]
fn a_call_that_waits_for_a_person_holds_back_those_behind_it() {
    let mut home = working();
    let events = home.wants("coder-001", &[command("npm run x"), write(OWN), Act::read_file(OWN)]);
    assert!(line(&events).ends_with("call_asked blocked"), "{}", line(&events));
    assert_eq!(running(&home), Vec::<String>::new(), "nothing of the conversation runs meanwhile");
    home.answer("approval-0001", Answer::Approved);
    assert_eq!(running(&home), ["c-1"]);
    home.tool_ends("coder-001", true, "ok");
    assert_eq!(running(&home), ["c-2"]);
    home.tool_ends("coder-001", true, "written");
    assert_eq!(running(&home), ["c-3"]);
}

fn running(home: &Home) -> Vec<String> {
    home.calls_to_tools("coder-001").into_iter().map(|(_, call, _)| call.to_string()).collect()
}

fn commit() -> Act {
    Act::GitCommit(GitCommit { message: "a".to_owned(), paths: Vec::new() })
}
