//! `synod demo`: the whole way from a message that comes in to the answer that goes out, told from the files.

use std::process::Stdio;

use domain::session::Speaker;
use domain::task::Mark;
use formats::session::MessageItem;
use serde_json::Value;

use crate::team::{Process, Team, synod, until, until_so};
use crate::terminal::Terminal;

const TASKS: &str = "tasks/inbox.task.md";
const QUEUE: &str = "tasks/approvals.task.md";
const FIRST: &str = "approvals/pending/approval-0001.approval.md";
const SECOND: &str = "approvals/pending/approval-0002.approval.md";

#[test]
fn every_step_of_the_workflow_stands_in_the_files() {
    let team = Team::nothing();
    let told = team.fine(&["demo", "--yes", "--home", "."]);
    all_ten_steps(&team);
    for words in [
        "@dana asks: \"Is there enough disk space for the nightly backup?\"  → task-001 for planner-001",
        "planner-001    makes task-002 for retriever-001",
        "retriever-001  read memory/backup.md",
        "executor-001   asks a person: run `df -h --output=avail .` (approval-0001, risk LOW)",
        "tess           approves approval-0001",
        "executor-001   ran `df -h --output=avail .`",
        "evaluator-001  says: VALID",
        "planner-001    asks a person: post in #ops",
        "tess           approves approval-0002",
        "planner-001    finishes task-001",
    ] {
        assert!(told.contains(words), "{words:?} in {told}");
    }
    assert!(!told.contains("goes on in"), "a new home goes on from nothing: {told}");
    team.is_in_order();
}

/// The ten steps of the first design's example, each as a person finds it in the folder.
fn all_ten_steps(team: &Team) {
    // 1. A message came in, and the planner was told.
    let inbox = team.read("inbox/slack-messages.jsonl");
    let line: Value = serde_json::from_str(inbox.trim_end()).unwrap();
    assert_eq!(line["user"], "@dana");
    let planner = team.talk("planner-001");
    assert_eq!(
        (planner[0].speaker, planner[0].from.as_ref().unwrap().to_string().as_str()),
        (Speaker::User, "inbox/slack-messages.jsonl:1")
    );
    assert!(planner[0].content.contains("Is there enough disk space for the nightly backup?"));

    // 2. The planner split it into tasks.
    let tasks = team.tasks(TASKS);
    let who: Vec<&str> = tasks.iter().map(|t| t.assignee.as_ref().unwrap().as_str()).collect();
    assert_eq!(who, ["planner-001", "retriever-001", "executor-001", "evaluator-001"]);
    let parents: Vec<Option<usize>> = tasks.iter().map(|t| t.parent).collect();
    assert_eq!(parents, [None, Some(0), Some(0), Some(0)]);
    let after: Vec<Option<&str>> = tasks.iter().map(|t| t.property("depends_on")).collect();
    assert_eq!(after, [None, None, Some("task-002"), Some("task-002, task-003")]);

    // 3. The retriever read what the team knows.
    let retriever = team.talk("retriever-001");
    let read = retriever.iter().find(|m| m.content.contains("needs about 900 MB; last month")).unwrap();
    assert_eq!(read.speaker, Speaker::ToolResult);
    assert_eq!(tasks[1].property("result"), Some("memory/backup.md: the nightly backup needs about 900 MB."));

    // 4 and 5. The executor asked for a command, and a person decided.
    assert_eq!(team.names("approvals/pending"), [""; 0]);
    let approved = team.read("approvals/approved/approval-0001.approval.md");
    assert!(approved.contains("**Decision:** APPROVED") && approved.contains("df -h --output=avail ."));

    // 6. The command ran, and what it printed is in the executor's session.
    let executor = team.talk("executor-001");
    let ran = executor.iter().find(|m| m.speaker == Speaker::ToolResult).unwrap();
    assert!(ran.content.starts_with("exit code: 0\n") && ran.content.contains("Avail\n"), "{}", ran.content);

    // 7. The evaluator looked at it.
    assert!(last_words(&team.talk("evaluator-001")).starts_with("VALID: "));

    // 8 and 9. The planner asked to answer, and a person decided.
    assert!(team.read("approvals/approved/approval-0002.approval.md").contains("**Decision:** APPROVED"));
    let queue = team.tasks(QUEUE);
    assert_eq!(queue.iter().map(|t| t.mark).collect::<Vec<_>>(), [Mark::Done, Mark::Done]);

    // 10. The answer went out once, and the tree is closed.
    let sent = team.sent();
    assert_eq!(sent.len(), 1, "{sent:?}");
    let sent: Value = serde_json::from_str(&sent[0]).unwrap();
    assert_eq!(sent["channel"], "#ops");
    assert!(
        sent["text"].as_str().unwrap().starts_with("the nightly backup needs about 900 MB, and df shows")
    );
    assert_eq!(tasks.iter().map(|t| t.mark).collect::<Vec<_>>(), [Mark::Done; 4]);
    assert!(last_words(&planner).contains("I answered in Slack."));
}

/// What the agent said last.
fn last_words(talk: &[MessageItem]) -> &str {
    let said = talk.iter().rfind(|message| message.speaker == Speaker::Assistant);
    said.map_or("", |message| message.content.as_str())
}

#[test]
fn a_second_run_in_the_same_home_does_nothing_twice() {
    let team = Team::nothing();
    team.fine(&["demo", "--yes", "--home", "."]);
    let before = everything(&team);
    let told = team.fine(&["demo", "--yes", "--home", "."]);
    assert_eq!(everything(&team), before);
    assert!(told.contains("reply in inbox/slack-outbox.jsonl"), "{told}");
    all_ten_steps(&team);
}

/// Every file that people see, with its text.
fn everything(team: &Team) -> Vec<(String, String)> {
    let folders =
        ["tasks", "sessions", "inbox", "approvals/pending", "approvals/approved", "approvals/rejected"];
    let paths = folders.iter().flat_map(|f| team.names(f).into_iter().map(move |n| format!("{f}/{n}")));
    paths.map(|path| (path.clone(), team.read(&path))).collect()
}

#[test]
fn programs_get_one_object_a_line_and_the_ending_last() {
    let team = Team::nothing();
    let told = team.fine(&["demo", "--yes", "--json", "--home", "."]);
    let lines: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (ending, events) = lines.split_last().unwrap();
    assert_eq!(ending["schema_version"], 1);
    assert_eq!(ending["approvals"], 2);
    assert_eq!(ending["tasks"].as_array().unwrap().len(), 4);
    assert!(ending["tasks"].as_array().unwrap().iter().all(|t| t["mark"] == "done"), "{ending}");
    assert!(ending["reply"].as_str().unwrap().contains("There is enough space."));
    let seqs: Vec<u64> = events.iter().map(|e| e["seq"].as_u64().unwrap()).collect();
    assert!(seqs.is_sorted_by(|a, b| a + 1 == *b), "{seqs:?}");
    assert_eq!(ending["events"].as_u64(), seqs.last().copied());
}

/// A demo that nobody at a terminal can answer.
fn waiting_demo() -> (Team, Process) {
    let team = Team::nothing();
    let demo = team.start(&["demo", "--home", "."]);
    demo.says("or: synod approve approval-0001");
    (team, demo)
}

#[test]
fn decisions_in_files_let_it_go_on() {
    let (team, demo) = waiting_demo();
    until_so("the approval is there", || !team.read(FIRST).is_empty());
    team.edit(FIRST, "**Decision:** ", "**Decision:** APPROVED");
    demo.says("or: synod approve approval-0002");
    until_so("the second one is there", || team.read(QUEUE).contains("- [_]"));
    team.edit(QUEUE, "- [_]", "- [x]");
    let ran = demo.wait();
    assert_eq!(ran.code, 0, "{} {}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.contains(&format!("approves approval-0001: run `df -h --output=avail .` (in {FIRST})"))
    );
    assert!(ran.stdout.contains(&format!("(in {QUEUE})")), "{}", ran.stdout);
    all_ten_steps(&team);
    team.is_in_order();
}

#[test]
fn decisions_of_another_process_let_it_go_on() {
    let (team, demo) = waiting_demo();
    assert_eq!(team.fine(&["approve", "approval-0001"]), "approval-0001 is approved\n");
    demo.says("or: synod approve approval-0002");
    until("the second one is there", || team.read(SECOND).contains("Decision").then_some(()));
    assert_eq!(team.fine(&["approve", "--all"]), "approval-0002 is approved\n");
    let ran = demo.wait();
    assert_eq!(ran.code, 0, "{} {}", ran.stdout, ran.stderr);
    all_ten_steps(&team);
}

#[test]
fn a_rejected_command_ends_honestly() {
    let (team, demo) = waiting_demo();
    team.fine(&["reject", "approval-0001", "--reason", "not on this machine"]);
    let ran = demo.wait();
    assert_eq!(ran.code, 0, "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("no reply was sent"), "{}", ran.stdout);
    assert_eq!(team.sent(), [""; 0]);
    let executor = team.talk("executor-001");
    let refused = executor.iter().find(|m| m.speaker == Speaker::ToolResult).unwrap();
    assert_eq!(refused.content, "rejected by tess: not on this machine");
    let end = |id| team.task(TASKS, id).unwrap().property("result").unwrap().to_owned();
    assert!(end("task-003").contains("not on this machine"), "{}", end("task-003"));
    assert!(end("task-001").starts_with("I could not find out: "), "{}", end("task-001"));
    assert_eq!(team.names("approvals/rejected"), ["approval-0001.approval.md"]);
    assert_eq!(team.mark(QUEUE, "approval-0001"), Some(Mark::Cancelled));
    team.is_in_order();
}

#[test]
fn a_rejected_reply_is_not_sent_and_said_so() {
    let (team, demo) = waiting_demo();
    team.fine(&["approve", "approval-0001"]);
    demo.says("or: synod approve approval-0002");
    until_so("the second one is there", || team.read(SECOND).contains("**Notes:** "));
    team.edit(SECOND, "**Decision:** ", "**Decision:** REJECTED");
    let ran = demo.wait();
    assert_eq!(ran.code, 0, "{} {}", ran.stdout, ran.stderr);
    assert_eq!(team.sent(), [""; 0]);
    let result = team.task(TASKS, "task-001").unwrap().property("result").unwrap().to_owned();
    assert!(result.starts_with("The answer was not sent: rejected by "), "{result}");
    assert!(ran.stdout.contains("no reply was sent"), "{}", ran.stdout);
    team.is_in_order();
}

#[test]
fn a_demo_that_was_killed_goes_on() {
    let (team, demo) = waiting_demo();
    demo.kill();
    let told = team.fine(&["demo", "--yes", "--home", "."]);
    assert!(told.contains("goes on in"), "{told}");
    all_ten_steps(&team);
}

/// Runs the demo on a terminal and types one line for each question.
fn at_a_terminal(team: &Team, answers: &[&str]) -> String {
    let mut terminal = Terminal::open(team, 80, &["demo", "--home", "."]);
    for (number, answer) in answers.iter().enumerate() {
        let prompt = format!("approval-000{}: y(es)", number + 1);
        terminal.shows_so(&prompt, |text| text.contains(&prompt) && text.trim_end().ends_with('?'));
        terminal.types(&format!("{answer}\n"));
    }
    terminal.ends(0)
}

#[test]
fn a_person_at_a_terminal_is_asked_and_says_yes() {
    let team = Team::nothing();
    at_a_terminal(&team, &["y", "YES"]);
    all_ten_steps(&team);
}

#[test]
fn a_person_at_a_terminal_is_asked_and_says_no() {
    let team = Team::nothing();
    let shown = at_a_terminal(&team, &["n"]);
    assert!(shown.contains("no reply was sent"), "{shown}");
    assert_eq!(team.sent(), [""; 0]);
    assert_eq!(team.names("approvals/rejected"), ["approval-0001.approval.md"]);
}

#[test]
fn without_a_home_it_makes_one_and_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let output = synod()
        .args(["demo", "--yes", "--json"])
        .env("TMPDIR", folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let ending: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
    let home = std::path::Path::new(ending["home"].as_str().unwrap());
    assert!(home.starts_with(folder.path().canonicalize().unwrap()), "{ending}");
    assert!(home.join("inbox/slack-outbox.jsonl").is_file());
}
