//! The calls of one answer: in which order they take effect, and what holds them back.

use domain::approval::Answer;
use domain::event::CallEvent;
use domain::event::Event;
use domain::id::{AgentId, CallId};
use domain::input::Input;
use domain::input::ToolInput;
use domain::lifecycle::Lifecycle;
use domain::settings::Settings;
use domain::tool::{Act, GitCommit, GitDiff, Lock, ReadFile, RequestReview, Unlock, WriteFile};

use crate::home::{Home, line, run};

fn write(path: &str) -> Act {
    Act::WriteFile(WriteFile { path: path.to_owned(), content: "x".to_owned() })
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
    let events = home.wants("coder-001", &[write("artifacts/a"), write(OWN), Act::read_file(OWN)]);
    assert!(line(&events).ends_with("call_asked blocked"), "{}", line(&events));
    assert_eq!(running(&home), Vec::<String>::new(), "nothing of the conversation runs meanwhile");
    home.answer("approval-0001", Answer::Approved);
    assert_eq!(running(&home), ["c-1"]);
    home.tool_ends("coder-001", true, "ok");
    assert_eq!(running(&home), ["c-2"]);
    home.tool_ends("coder-001", true, "written");
    assert_eq!(running(&home), ["c-3"]);
}

#[test]
fn after_a_failure_no_review_is_asked_for() {
    let mut home = working();
    let ask = Act::RequestReview(RequestReview { summary: "greets".to_owned(), to: None });
    home.wants("coder-001", &[write(OWN), ask]);
    home.tool_ends("coder-001", false, "the disk is full");
    assert_eq!(running(&home), [""; 0]);
    let results = home.results("coder-001");
    assert!(results[1].starts_with("not run: write_file before it in this answer"), "{results:?}");
}

#[test]
fn delegations_beside_each_other_are_handed_on_together() {
    let able = crate::delegation::able;
    let mut home = Home::with(&["executor-001", "executor-002", "executor-003"], |_| {}, able);
    home.task("look", "executor-001");
    let parts = ["executor-002", "executor-003"].map(|to| crate::delegation::delegate(to, "look"));
    let [first, second] = parts;
    home.wants("executor-001", &[first, second, run("touch counter")]);
    assert_eq!(home.session_of("executor-001").1.lifecycle, Lifecycle::Blocked);
    home.says("executor-003", "fine");
    assert!(home.calls_to_tools("executor-001").is_empty(), "the command waits for both");
    home.says("executor-002", "fine, too");
    assert_eq!(home.calls_to_tools("executor-001").len(), 1);
}

/// One answer: in which order its calls are given, which of those under way ends first each time, and which call fails.
struct Answered {
    acts: [Act; 4],
    ends_first: [usize; 4],
    fails: Option<usize>,
}

/// A hundred answers that differ in all three.
fn hundred() -> impl Iterator<Item = Answered> {
    (0..100).map(|n| {
        let path = format!("workspaces/coder-001/{n}");
        let (read, write) = (Act::read_file(&path), write(&path));
        let acts = match n % 4 {
            0 => [write, read, diff(), commit()],
            1 => [write, diff(), read, commit()],
            2 => [read, diff(), write, commit()],
            _ => [read, write, commit(), diff()],
        };
        let ends_first = [n, n / 2, n / 3, n / 5];
        Answered { acts, ends_first, fails: (n % 5 == 4).then_some(n / 5 % 4) }
    })
}

#[test]
fn in_a_hundred_answers_reads_follow_their_write_and_commits_follow_the_reads() {
    let patient = |settings: &mut Settings| settings.limits.turns_max = 1_000;
    let mut home = Home::with(&["coder-001"], patient, |_| {});
    home.task("write", "coder-001");
    for Answered { acts, ends_first, fails } in hundred() {
        let mut events = home.wants("coder-001", &acts);
        for first in ends_first {
            let under_way = home.calls_to_tools("coder-001");
            let Some((session, call, ticket)) = under_way.get(first % under_way.len().max(1)).cloned() else {
                break;
            };
            let ok = fails.is_none_or(|fails| call.as_str() != format!("c-{}", fails + 1));
            let (text, read, wrote) = (String::new(), Vec::new(), Vec::new());
            let finding = None;
            let ended =
                Input::Tool(ToolInput::Finished { session, call, ticket, ok, text, read, wrote, finding });
            events.extend(home.give(ended));
        }
        assert_in_order(&acts, &events, fails);
        home.thinking("coder-001");
    }
}

/// Whatever changes something begins when all before it have ended, and what reads when all before it that change
/// something have; nothing changes behind a call that failed, and all else is carried out.
fn assert_in_order(acts: &[Act], events: &[Event], fails: Option<usize>) {
    let at = |is: &dyn Fn(&Event) -> bool| events.iter().position(is);
    let id = |n: usize| CallId::new(format!("c-{}", n + 1));
    let begun = |n: usize| {
        at(&|event| matches!(event, Event::Call(CallEvent::Cleared { call, .. }) if *call == id(n)))
    };
    let ended = |n: usize| {
        let of = |event: &Event| matches!(event, Event::Call(CallEvent::Finished { message, .. }) if message.call == Some(id(n)));
        at(&of).expect("each call has a result")
    };
    let reads = |n: usize| matches!(acts[n], Act::ReadFile(ReadFile { .. }) | Act::GitDiff(GitDiff { .. }));
    for n in 0..acts.len() {
        let is_spoiled = !reads(n) && fails.is_some_and(|fails| fails < n);
        assert_eq!(begun(n).is_none(), is_spoiled, "{n} of {acts:?}");
        for before in (0..n).filter(|before| !(reads(n) && reads(*before))) {
            assert!(ended(before) < begun(n).unwrap_or(usize::MAX), "{n} after {before} of {acts:?}");
        }
    }
}

#[test]
fn a_lock_a_command_and_its_unlock_in_one_answer_keep_others_out() {
    let team = ["executor-001", "executor-002"];
    let mut home = Home::new(&team);
    let name = || "deploy".to_owned();
    let alone = [
        Act::Lock(Lock { name: name(), wait_ms: None }),
        run("touch counter"),
        Act::Unlock(Unlock { name: name() }),
    ];
    for agent in team {
        home.task("count", agent);
        home.wants(agent, &alone);
    }
    assert_eq!(home.calls_to_tools("executor-001").len(), 1);
    assert_eq!(home.calls_to_tools("executor-002"), [], "the other command waits with its lock");
    assert_eq!(home.session_of("executor-002").1.lifecycle, Lifecycle::Blocked);
    home.tool_ends("executor-001", true, "1");
    assert_eq!(home.results("executor-001").last().unwrap(), "deploy is given back");
    assert_eq!(home.calls_to_tools("executor-002").len(), 1);
    let holder = home.state.locks.get(&domain::id::LockName::new("deploy")).unwrap().holder.as_ref().unwrap();
    assert_eq!(home.state.sessions[&holder.session].agent, AgentId::new("executor-002"));
    home.tool_ends("executor-002", true, "2");
    assert_eq!(home.results("executor-002").last().unwrap(), "deploy is given back");
}

fn running(home: &Home) -> Vec<String> {
    home.calls_to_tools("coder-001").into_iter().map(|(_, call, _)| call.to_string()).collect()
}

fn diff() -> Act {
    Act::GitDiff(GitDiff { path: None, against: None })
}

fn commit() -> Act {
    Act::GitCommit(GitCommit { message: "a".to_owned(), paths: Vec::new() })
}
