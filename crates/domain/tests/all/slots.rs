//! Who gets a slot, and when.

use domain::approval::Answer;
use domain::id::AgentId;
use domain::input::FileInput;
use domain::input::Input;
use domain::task::Priority;

use crate::home::{Home, create, line, no, run};

fn one_slot() -> Home {
    Home::with(
        &["executor-001", "executor-002"],
        |_| {},
        |agent| agent.permissions.concurrency.max_parallel_tasks = 1,
    )
}

#[test]
fn an_agent_works_on_max_parallel_tasks_at_once() {
    let mut home = one_slot();
    home.task("one", "executor-001");
    home.task("two", "executor-001");
    home.task("three", "executor-002");
    assert_eq!(home.begun(), ["task-001", "task-003"]);
    home.says("executor-001", "fine");
    assert_eq!(home.begun(), ["task-001", "task-003", "task-002"]);
}

#[test]
fn all_agents_together_work_on_parallel_max_at_once() {
    let mut home =
        Home::with(&["executor-001", "executor-002"], |settings| settings.limits.parallel_max = 1, |_| {});
    home.task("one", "executor-001");
    home.task("two", "executor-002");
    assert_eq!((home.begun(), home.state.schedule.busy), (vec!["task-001".to_owned()], 1));
    home.wants("executor-001", &[run("make")]);
    assert_eq!(home.begun(), ["task-001", "task-002"], "who waits for a person leaves the slot to others");
}

#[test]
fn an_approved_call_waits_for_a_slot_like_everything_else() {
    let full = |home: &Home| {
        let most = home.state.config.settings.limits.parallel_max;
        (home.state.schedule.busy, home.state.schedule.busy == most)
    };
    for answer in [Answer::Approved, no()] {
        let mut home = Home::with(
            &["executor-001", "executor-002"],
            |settings| settings.limits.parallel_max = 1,
            |_| {},
        );
        home.task("one", "executor-001");
        home.wants("executor-001", &[run("make")]);
        home.task("two", "executor-002");
        let events = home.answer("approval-0001", answer);
        assert!(!line(&events).contains("working"), "{}", line(&events));
        assert_eq!(full(&home), (1, true));
        let events = home.says("executor-002", "fine");
        assert!(line(&events).contains("complete working"), "{}", line(&events));
        assert_eq!(full(&home), (1, true));
    }
}

#[test]
fn an_agent_goes_on_after_an_approval_only_within_its_own_slots() {
    let mut home = one_slot();
    home.task("one", "executor-001");
    home.wants("executor-001", &[run("make")]);
    home.task("two", "executor-001");
    home.answer("approval-0001", Answer::Approved);
    assert_eq!(home.calls_to_tools("executor-001"), []);
    home.says("executor-001", "two is fine");
    assert_eq!(home.calls_to_tools("executor-001").len(), 1);
}

#[test]
fn the_higher_priority_is_first_then_who_came_first() {
    let mut home = one_slot();
    home.task("now", "executor-001");
    for (title, letter) in [("d", 'D'), ("none", ' '), ("a", 'A'), ("c", 'C'), ("second a", 'A')] {
        home.task_with(title, "executor-001", |spec| spec.priority = Priority::from_letter(letter));
    }
    for _ in 0..6 {
        home.says("executor-001", "fine");
    }
    assert_eq!(home.begun(), ["task-001", "task-004", "task-006", "task-003", "task-005", "task-002"]);
}

#[test]
fn a_changed_priority_changes_the_order_of_what_waits() {
    let mut home = one_slot();
    home.task("now", "executor-001");
    home.task("one", "executor-001");
    let two = home.task("two", "executor-001");
    let mut spec = home.get(&two).spec.clone();
    spec.priority = Some(Priority::A);
    home.give(Input::File(FileInput::TaskRead {
        spec: Box::new(spec),
        mark: domain::task::Mark::Open,
        result: String::new(),
    }));
    home.says("executor-001", "fine");
    assert_eq!(home.begun(), ["task-001", "task-003"]);
}

#[test]
fn more_slots_in_the_agents_file_are_used_at_once() {
    let mut home = one_slot();
    home.task("one", "executor-001");
    home.task("two", "executor-001");
    let mut spec = home.state.team.agents[&AgentId::new("executor-001")].spec.clone();
    spec.permissions.concurrency.max_parallel_tasks = 2;
    home.give(Input::File(FileInput::AgentRead(Box::new(spec))));
    assert_eq!(home.begun(), ["task-001", "task-002"]);
}

#[test]
fn who_waits_for_parts_leaves_the_slot_to_them() {
    let mut home =
        Home::with(&["planner-001", "executor-001"], |settings| settings.limits.parallel_max = 1, |_| {});
    home.task("plan", "planner-001");
    home.wants("planner-001", &[create("look", "executor-001", &[])]);
    assert_eq!(home.begun(), ["task-001"]);
    home.says("planner-001", "I wait");
    assert_eq!(home.begun(), ["task-001", "task-002"]);
    home.says("executor-001", "fine");
    home.says("planner-001", "all is fine");
    assert!(home.state.is_idle() && home.state.work.open_tasks == 0);
}

#[test]
fn work_for_an_agent_that_comes_later_waits_for_it() {
    let mut home = Home::new(&["executor-001"]);
    let mut spec = domain::task::Spec::new(domain::id::TaskId::new("task-001"), "tasks/x.task.md", "look");
    spec.assignee = Some(AgentId::new("coder-001"));
    home.give(Input::File(FileInput::TaskRead {
        spec: Box::new(spec),
        mark: domain::task::Mark::Open,
        result: String::new(),
    }));
    assert_eq!(home.begun(), [""; 0]);
    home.give(Input::File(FileInput::AgentRead(Box::new(domain::agent::Spec::new(
        AgentId::new("coder-001"),
        "coder",
        "m",
    )))));
    assert_eq!(home.begun(), ["task-001"]);
}
