//! Done is reported by agents and verified by Synod.

use domain::approval::Answer;
use domain::event::CallEvent;
use domain::event::Event;
use domain::evidence::ROUNDS_MAX;
use domain::id::TaskId;
use domain::input::Input;
use domain::task::{End, Mark};
use domain::tool::Permit;

use crate::home::{Home, create, line, no, update};

fn demanding(evidence: &str) -> (Home, TaskId) {
    let mut home = Home::new(&["coder-001", "executor-001"]);
    let task = home.task_with("build it", "coder-001", |spec| {
        spec.properties.insert("done_when".to_owned(), evidence.to_owned());
    });
    (home, task)
}

#[test]
fn a_task_ends_when_synod_has_seen_what_it_demands() {
    let (mut home, task) = demanding("command: make test\nfile: artifacts/report.md");
    assert_eq!(line(&home.says("coder-001", "all done")), "replied evidence_demanded call_cleared");
    assert_eq!(line(&home.tool_ends("coder-001", true, "exit code: 0")), "call_finished:done call_cleared");
    // What the owner demands runs although the agent itself could not run it.
    let permits: Vec<Permit> = home
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Call(CallEvent::Cleared { permit, .. }) => Some(*permit),
            _ => None,
        })
        .collect();
    assert_eq!(permits, [Permit { writes: true, network: false }, Permit::NONE]);
    assert_eq!(home.end(&task), None);
    let events = home.tool_ends("coder-001", true, "it is there");
    assert_eq!(line(&events), "call_finished:done task_verified task-001:done waiting complete");
    assert_eq!(home.get(&task).result, "all done");
}

#[test]
fn what_is_missing_is_told_and_three_empty_reports_are_enough() {
    let (mut home, task) = demanding("file: artifacts/report.md");
    for round in 1..=ROUNDS_MAX {
        home.says("coder-001", "all done");
        let events = home.tool_ends("coder-001", false, "not done: artifacts/report.md does not exist");
        let expected = match round {
            ROUNDS_MAX => "call_finished:failed task-001:failed failed",
            _ => "call_finished:failed turn_begun",
        };
        assert_eq!(line(&events).replace("waiting ", ""), expected);
    }
    assert_eq!(home.end(&task), Some(End::Failed));
    assert!(home.get(&task).result.starts_with("done_when:"));
}

#[test]
fn a_dependent_waits_for_the_evidence() {
    let (mut home, first) = demanding("file: a");
    let second = home.task_with("then", "executor-001", |spec| spec.depends_on = vec![first.clone()]);
    home.says("coder-001", "all done");
    assert!(!home.begun().contains(&second.to_string()));
    home.tool_ends("coder-001", true, "it is there");
    assert!(home.begun().contains(&second.to_string()));
}

#[test]
fn a_person_who_must_say_so_is_asked_and_may_say_no() {
    let (mut home, task) = demanding("approval");
    let events = home.says("coder-001", "all done");
    assert_eq!(line(&events), "replied evidence_demanded call_asked blocked");
    let events = home.answer("approval-0001", no());
    assert_eq!(line(&events), "approval_ended:rejected call_finished:refused working turn_begun");
    assert_eq!(home.results("coder-001"), ["rejected by dana: too risky"]);
    home.says("coder-001", "now really");
    home.answer("approval-0002", Answer::Approved);
    assert_eq!(home.end(&task), Some(End::Done));
}

#[test]
fn a_restart_looks_again() {
    let (mut home, task) = demanding("command: make test");
    home.says("coder-001", "all done");
    let events = home.give(Input::Started);
    assert_eq!(line(&events), "started call_retried");
    home.tool_ends("coder-001", true, "exit code: 0");
    assert_eq!(home.end(&task), Some(End::Done));
}

#[test]
fn an_agent_cannot_mark_done_what_demands_evidence() {
    let (mut home, task) = demanding("file: a");
    home.wants("coder-001", &[update(&task, Mark::Done, "trust me")]);
    assert!(home.results("coder-001")[0].contains("done_when"));
    assert_eq!(home.end(&task), None);
    // A person can: it is their word.
    home.mark(&task, Mark::Done);
    assert_eq!(home.end(&task), Some(End::Done));
}

#[test]
fn a_demand_that_cannot_be_read_is_met_by_nothing() {
    let (mut home, task) = demanding("tests pass");
    home.says("coder-001", "all done");
    assert_eq!(home.end(&task), Some(End::Failed));
    assert!(home.get(&task).result.contains("cannot be read"));
}

#[test]
fn a_command_that_an_agent_made_a_condition_is_a_command_like_any_other() {
    let mut home = Home::new(&["coordinator-001", "coder-001"]);
    home.task("plan", "coordinator-001");
    let mut act = create("build it", "coder-001", &[]);
    if let domain::tool::Act::CreateTask(domain::tool::CreateTask { done_when, .. }) = &mut act {
        *done_when = Some("command: make deploy".to_owned());
    }
    home.wants("coordinator-001", &[act]);
    let events = home.says("coder-001", "all done");
    assert!(line(&events).contains("call_asked"), "{}", line(&events));
}
