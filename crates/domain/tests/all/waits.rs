//! The wait-for graph: every kind of wait is an edge, and the edge that closes a cycle is found when it comes.

use std::collections::BTreeSet;

use domain::Refused;
use domain::id::TaskId;
use domain::input::{Failure, Input};
use domain::input::{FileInput, PersonInput};
use domain::task::{Change, Mark, Spec};
use domain::tool::{Act, UpdateTask};
use domain::waits::{Node, Why, edges, would_close};
use proptest::prelude::*;

use crate::home::{Home, create, run};

const TEAM: [&str; 3] = ["planner-001", "executor-001", "executor-002"];

/// Edges as `from why to`.
fn shown(home: &Home) -> Vec<String> {
    let name = |node: &Node| match node {
        Node::Session(id) => home.state.sessions[id].agent.to_string(),
        Node::Moment(_) => "a moment".to_owned(),
        node => node.to_string(),
    };
    let word = |why: Why| serde_json::to_value(why).unwrap().as_str().unwrap().to_owned();
    edges(&home.state).iter().map(|w| format!("{} {} {}", name(&w.from), word(w.why), name(&w.to))).collect()
}

fn one_slot() -> Home {
    Home::with(&TEAM, |_| {}, |agent| agent.permissions.concurrency.max_parallel_tasks = 1)
}

fn depends(task: &TaskId, on: &[&str]) -> Act {
    let depends_on = Some(on.iter().map(|id| TaskId::new(*id)).collect());
    Act::UpdateTask(UpdateTask {
        id: task.clone(),
        status: None,
        result: None,
        title: None,
        assignee: None,
        priority: None,
        depends_on,
    })
}

#[test]
fn every_wait_is_an_edge_and_goes_when_it_is_over() {
    let mut home = one_slot();
    assert_eq!(shown(&home), Vec::<String>::new());
    home.task("plan", "planner-001");
    assert_eq!(shown(&home), Vec::<String>::new(), "a model that is asked is no wait of this kind");
    home.wants(
        "planner-001",
        &[create("look", "executor-001", &[]), create("tell", "executor-002", &["task-002"])],
    );
    home.says("planner-001", "I wait");
    home.task("beside", "executor-001");
    home.wants("executor-001", &[run("make")]);
    assert_eq!(
        shown(&home),
        [
            "task-001 part task-002",
            "task-001 part task-003",
            "task-003 dependency task-002",
            "executor-001 approval approval-0001",
        ],
        "who waits for a person has left its slot, and the next task has it"
    );
    home.model_fails("executor-001", Failure::Retry { after_ms: 0 });
    assert!(shown(&home).contains(&"executor-001 retry a moment".to_owned()), "{:?}", shown(&home));
    home.task("later", "executor-001");
    assert!(shown(&home).contains(&"task-005 slot slot of executor-001".to_owned()), "{:?}", shown(&home));
    for task in ["task-001", "task-004", "task-005"] {
        home.mark(&TaskId::new(task), Mark::Cancelled);
    }
    assert_eq!(shown(&home), Vec::<String>::new());
}

#[test]
fn an_agent_whose_change_closes_a_cycle_is_told_which() {
    let mut home = Home::new(&TEAM);
    home.task("plan", "planner-001");
    home.wants(
        "planner-001",
        &[
            create("one", "human", &[]),
            create("two", "human", &["task-002"]),
            create("three", "human", &["task-003"]),
        ],
    );
    home.wants("planner-001", &[depends(&TaskId::new("task-002"), &["task-004"])]);
    let told = home.results("planner-001").pop().unwrap();
    assert_eq!(
        told,
        "the tasks would wait for each other: task-002 → task-004 → task-003 → task-002; take one of them out of depends_on"
    );
    assert_eq!(home.get(&TaskId::new("task-002")).spec.depends_on, [], "nothing has changed");
    home.wants("planner-001", &[depends(&TaskId::new("task-004"), &["task-002"])]);
    assert_eq!(home.get(&TaskId::new("task-004")).spec.depends_on, [TaskId::new("task-002")]);
    // Who has ended waits for nothing, so this closes nothing.
    home.mark(&TaskId::new("task-003"), Mark::Done);
    home.wants("planner-001", &[depends(&TaskId::new("task-002"), &["task-003"])]);
    assert_eq!(home.results("planner-001").pop().unwrap(), "task-002 is changed");
}

#[test]
fn a_command_of_a_person_that_closes_a_cycle_is_refused() {
    let mut home = Home::new(&TEAM);
    let whole = home.task("plan", "human");
    let mut part = Spec::new(TaskId::new(""), "tasks/x.task.md", "part");
    (part.parent, part.depends_on) = (Some(whole.clone()), vec![whole.clone()]);
    let refused =
        home.try_give(Input::Person(PersonInput::AddTask { spec: Box::new(part), by: "dana".to_owned() }));
    let Err(Refused::Cycle(cycle)) = refused else { panic!("{refused:?}") };
    assert_eq!(cycle.to_string(), "task-002 → task-001 → task-002");
}

#[test]
fn a_file_that_closes_a_cycle_is_taken_and_the_tasks_stay_where_they_are() {
    let mut home = Home::new(&TEAM);
    let read = |home: &mut Home, id: &str, on: &str| {
        let mut spec = Spec::new(TaskId::new(id), "tasks/x.task.md", id);
        spec.assignee = Some(domain::id::AgentId::new("executor-001"));
        spec.depends_on = vec![TaskId::new(on)];
        home.give(Input::File(FileInput::TaskRead {
            spec: Box::new(spec),
            mark: Mark::Open,
            result: String::new(),
        }));
    };
    read(&mut home, "a", "b");
    assert_eq!(would_close(&home.state, &home.get(&TaskId::new("a")).spec), None, "b may yet be written");
    read(&mut home, "b", "a");
    let cycle = would_close(&home.state, &home.get(&TaskId::new("b")).spec).unwrap();
    assert_eq!(cycle.to_string(), "b → a → b");
    assert_eq!(home.state.schedule.busy, 0);
    read(&mut home, "b", "b");
    assert_eq!(would_close(&home.state, &home.get(&TaskId::new("b")).spec).unwrap().to_string(), "b → b");
}

/// Whether following dependencies and parts from `from` leads back to it, by trying every way.
fn leads_back(home: &Home, from: &TaskId) -> bool {
    let next = |id: &TaskId| -> Vec<TaskId> {
        let waits = edges(&home.state);
        let own = waits.iter().filter(|w| w.from == Node::Task(id.clone()));
        own.filter_map(|w| match &w.to {
            Node::Task(to) => Some(to.clone()),
            _ => None,
        })
        .collect()
    };
    let mut reached = BTreeSet::new();
    let mut ahead = next(from);
    while let Some(id) = ahead.pop() {
        if reached.insert(id.clone()) {
            ahead.extend(next(&id));
        }
    }
    reached.contains(from)
}

proptest! {
    #[test]
    fn a_cycle_is_found_exactly_when_the_changed_graph_has_one(
        changes in proptest::collection::vec((0..6_usize, 0..6_usize, any::<bool>()), 1..14),
        ended in 0..6_usize,
    ) {
        let mut home = Home::new(&[]);
        let id = |n: usize| TaskId::new(format!("t{n}"));
        for n in 0..6 {
            let spec = Box::new(Spec::new(id(n), "tasks/x.task.md", "x"));
            let mark = if n == ended { Mark::Done } else { Mark::Open };
            home.give(Input::File(FileInput::TaskRead { spec, mark, result: String::new() }));
        }
        for (from, to, as_part) in changes {
            let mut spec = home.get(&id(from)).spec.clone();
            if as_part { spec.parent = Some(id(to)) } else { spec.depends_on.push(id(to)) }
            let foretold = would_close(&home.state, &spec);
            let before = home.get(&id(from)).spec.clone();
            home.give(Input::File(FileInput::TaskRead { spec: Box::new(spec.clone()), mark: Mark::Open, result: String::new() }));
            prop_assert_eq!(foretold.is_some(), leads_back(&home, &id(from)), "{:?}", Change::between(&before, &spec));
            if let Some(cycle) = foretold {
                let waits = edges(&home.state);
                for (n, task) in cycle.0.iter().enumerate() {
                    let next = &cycle.0[(n + 1) % cycle.0.len()];
                    prop_assert!(
                        waits.iter().any(|w| w.from == *task && w.to == *next),
                        "{} does not wait for {}", task, next
                    );
                }
                home.give(Input::File(FileInput::TaskRead { spec: Box::new(before), mark: Mark::Open, result: String::new() }));
            }
        }
    }
}
