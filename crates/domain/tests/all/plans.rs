//! Plans: tasks that wait for each other, made at once or not at all, and held if the owner wants it so.

use domain::event::Event;
use domain::event::TaskEvent;
use domain::id::{AgentId, TaskId};
use domain::input::Input;
use domain::input::{FileInput, PersonInput};
use domain::plan::Step;
use domain::task::{End, Mark};
use domain::tool::{Act, CreatePlan, UpdateTask};
use proptest::prelude::*;

use crate::home::{Home, marked, update};

const TEAM: [&str; 3] = ["planner-001", "coder-001", "reviewer-001"];

fn step(id: &str, tag: &str, after: &[&str]) -> Step {
    Step {
        id: id.to_owned(),
        title: format!("do {id}"),
        description: String::new(),
        tag: tag.to_owned(),
        assignee: None,
        after: after.iter().map(|on| (*on).to_owned()).collect(),
        priority: None,
        done_when: None,
    }
}

fn planning(hold: bool) -> Home {
    let mut home = Home::with(
        &TEAM,
        |settings| settings.planning.hold = hold,
        |spec| {
            spec.responsibilities = match spec.role.as_str() {
                "coder" => vec!["code:*".to_owned()],
                "reviewer" => vec!["check:*".to_owned()],
                _ => Vec::new(),
            };
        },
    );
    home.task("make it greet", "planner-001");
    home
}

fn plan(home: &mut Home, steps: &[Step]) -> String {
    home.wants("planner-001", &[Act::CreatePlan(CreatePlan { tasks: steps.to_vec() })]);
    home.results("planner-001").pop().unwrap()
}

fn id(text: &str) -> TaskId {
    TaskId::new(text)
}

#[test]
fn a_held_step_that_is_made_a_part_of_something_else_does_not_begin_without_a_yes() {
    for mark in [Mark::Cancelled, Mark::Done] {
        let mut home = planning(true);
        plan(&mut home, &[step("a", "code:a", &[]), step("b", "code:b", &[])]);
        home.says("planner-001", "I wait");
        let mut spec = home.get(&id("task-003")).spec.clone();
        spec.parent = None;
        home.give(Input::File(FileInput::TaskRead {
            spec: Box::new(spec),
            mark: Mark::Open,
            result: String::new(),
        }));
        home.mark(&id("task-001"), mark);
        let ends = ["task-002", "task-003", "task-004"].map(|task| home.end(&id(task)));
        assert_eq!(ends, [Some(End::Cancelled); 3], "{mark:?}");
        assert_eq!(home.begun(), ["task-001"]);
    }
}

#[test]
fn each_step_becomes_a_task_in_the_plans_own_file_and_waits_for_what_it_comes_after() {
    let mut home = planning(false);
    let said = plan(
        &mut home,
        &[step("check", "check:all", &["a", "b"]), step("a", "code:a", &[]), step("b", "code:b", &["a"])],
    );
    assert_eq!(
        said,
        "the plan stands in tasks/plan-task-001.task.md:\ncheck is task-002 for reviewer-001\na is task-003 for coder-001\nb is task-004 for coder-001"
    );
    assert_eq!(home.get(&id("task-002")).spec.depends_on, [id("task-003"), id("task-004")]);
    assert_eq!(home.get(&id("task-002")).spec.file, "tasks/plan-task-001.task.md");
    assert_eq!(home.get(&id("task-004")).spec.parent, Some(id("task-001")));
    home.says("planner-001", "I wait");
    home.says("coder-001", "a is done");
    home.says("coder-001", "b is done");
    home.says("reviewer-001", "fine");
    assert!(
        home.heard("planner-001").pop().unwrap().starts_with("synod: All parts of your task have ended.")
    );
    home.says("planner-001", "done");
    assert_eq!(home.end(&id("task-001")), Some(End::Done));
}

#[test]
fn all_that_is_wrong_is_named_at_once_and_nothing_is_made() {
    let mut home = planning(false);
    let mut lost = step("c", "code:c", &["nowhere"]);
    lost.assignee = Some(AgentId::new("ghost-001"));
    let steps = [step("a", "code:a", &["b"]), step("b", "code:b", &["a"]), lost, step("a", "law:x", &[])];
    assert_eq!(
        plan(&mut home, &steps),
        "no task was made, because the plan is wrong:\n\
         - two tasks have the id a; give each its own\n\
         - c: it comes after nowhere, which is no id of this plan\n\
         - c: there is no agent ghost-001\n\
         - a: nobody answers for the tag law:x; there are: code:* (coder-001), check:* (reviewer-001)"
    );
    let said = plan(
        &mut home,
        &[step("a", "code:a", &["c"]), step("b", "code:b", &["a"]), step("c", "code:c", &["b"])],
    );
    assert!(said.ends_with("- tasks wait for each other: a → c → b → a; take one `after` out"), "{said}");
    assert_eq!(home.state.work.tasks.len(), 1);
}

#[test]
fn a_held_plan_can_be_edited_and_begins_with_a_persons_yes() {
    let mut home = planning(true);
    let said = plan(&mut home, &[step("a", "code:a", &[]), step("b", "code:b", &["a"])]);
    assert!(said.starts_with(
        "the plan stands in tasks/plan-task-001.task.md; it waits for a person to mark task-002:"
    ));
    home.says("planner-001", "I wait");
    assert_eq!(home.begun(), ["task-001"], "nothing begins by itself");
    let mut spec = home.get(&id("task-003")).spec.clone();
    spec.text = "and say please".to_owned();
    home.give(Input::File(FileInput::TaskRead {
        spec: Box::new(spec),
        mark: Mark::Open,
        result: String::new(),
    }));
    home.mark(&id("task-002"), Mark::Done);
    assert!(home.heard("coder-001")[0].contains("and say please"));
    assert_eq!(home.begun(), ["task-001", "task-003"]);
}

#[test]
fn a_plan_that_is_turned_down_never_begins() {
    let (task, by) = (id("task-002"), "dana".to_owned());
    let cancel = Input::Person(PersonInput::Cancel { what: task.to_string(), by });
    let no = [
        marked(&task, Mark::Cancelled),
        marked(&task, Mark::Failed),
        cancel,
        Input::File(FileInput::TaskGone { task }),
    ];
    for no in no {
        let mut home = planning(true);
        plan(&mut home, &[step("a", "code:a", &[]), step("b", "code:b", &["a"])]);
        home.says("planner-001", "I wait");
        home.give(no);
        assert_eq!(home.begun(), ["task-001"]);
        assert_eq!(home.end(&id("task-003")), Some(End::Cancelled));
        assert_eq!(home.end(&id("task-004")), Some(End::Cancelled));
        let told = home.heard("planner-001");
        let told: Vec<&String> = told.iter().filter(|text| text.contains("turned down")).collect();
        assert_eq!(told.len(), 1, "once for all of it: {told:?}");
        assert!(told[0].starts_with("synod: All parts of your task have ended.\n"), "{told:?}");
        assert!(told[0].contains("the plan was turned down (task-002)") && !told[0].contains("go on"));
    }
}

#[test]
fn who_planned_hears_of_a_yes_that_becomes_a_no() {
    let mut home = planning(true);
    plan(&mut home, &[step("a", "code:a", &[]), step("b", "code:b", &["a"]), step("c", "code:c", &["b"])]);
    home.says("planner-001", "I wait");
    home.mark(&id("task-002"), Mark::Done);
    home.mark(&id("task-002"), Mark::Cancelled);
    let told = home.heard("planner-001").pop().unwrap();
    assert!(told.starts_with("synod: All parts of your task have ended.\n"), "{told}");
    assert_eq!(told.matches("the plan was turned down (task-002)").count(), 3, "{told}");
}

#[test]
fn a_step_that_is_taken_out_of_a_held_plan_lets_no_other_begin() {
    let mut home = planning(true);
    plan(&mut home, &[step("a", "code:a", &[]), step("b", "code:b", &["a"])]);
    home.says("planner-001", "I wait");
    home.mark(&id("task-003"), Mark::Cancelled);
    assert_eq!(home.begun(), ["task-001"], "nobody said yes yet");
    home.mark(&id("task-002"), Mark::Done);
    assert_eq!(home.begun(), ["task-001", "task-004"]);
}

#[test]
fn what_a_person_adds_to_a_plan_that_runs_is_of_the_request() {
    let mut home = planning(false);
    plan(&mut home, &[step("a", "code:a", &[])]);
    home.says("planner-001", "I wait");
    let mut spec = domain::task::Spec::new(id(""), "tasks/plan-task-001.task.md", "look at it");
    spec.assignee = Some(AgentId::new("reviewer-001"));
    home.give(Input::File(FileInput::TaskRead {
        spec: Box::new(spec.clone()),
        mark: Mark::Open,
        result: String::new(),
    }));
    assert_eq!(home.get(&id("task-003")).spec.parent, Some(id("task-001")));
    assert_eq!(home.begun(), ["task-001", "task-002", "task-003"], "it waits for nobody");
    home.says("coder-001", "Coded.");
    assert_eq!(home.end(&id("task-001")), None, "one part is open");
    home.give(Input::Person(PersonInput::CancelRun { run: "task-001".to_owned(), by: "dana".to_owned() }));
    assert_eq!(home.end(&id("task-003")), Some(End::Cancelled));
    // The request is over: whoever adds to its file asks for something new.
    home.give(Input::File(FileInput::TaskRead {
        spec: Box::new(spec),
        mark: Mark::Open,
        result: String::new(),
    }));
    assert_eq!(home.get(&id("task-004")).spec.parent, None);
}

#[test]
fn what_a_person_adds_to_a_held_plan_is_of_the_plan() {
    for (mark, begun) in
        [(Mark::Done, vec!["task-001", "task-003", "task-004"]), (Mark::Cancelled, vec!["task-001"])]
    {
        let mut home = planning(true);
        plan(&mut home, &[step("a", "code:a", &[])]);
        home.says("planner-001", "I wait");
        let mut spec = domain::task::Spec::new(id(""), "tasks/plan-task-001.task.md", "look at it");
        spec.assignee = Some(AgentId::new("reviewer-001"));
        home.give(Input::File(FileInput::TaskRead {
            spec: Box::new(spec),
            mark: Mark::Open,
            result: String::new(),
        }));
        assert_eq!(home.begun(), ["task-001"], "nobody said yes yet");
        assert_eq!(home.get(&id("task-004")).spec.parent, Some(id("task-001")));
        home.mark(&id("task-002"), mark);
        assert_eq!(home.begun(), begun);
        assert_eq!(home.get(&id("task-004")).end(), (mark == Mark::Cancelled).then_some(End::Cancelled));
    }
}

#[test]
fn no_agent_says_yes_to_a_plan_in_a_persons_place() {
    let mut home = planning(true);
    plan(&mut home, &[step("a", "code:a", &[]), step("b", "code:b", &["a"])]);
    let change = |which: &str, assignee: Option<&str>, on: Option<&[&str]>| {
        Act::UpdateTask(UpdateTask {
            id: id(which),
            status: None,
            result: None,
            title: None,
            assignee: assignee.map(AgentId::new),
            priority: None,
            depends_on: on.map(|on| on.iter().map(|on| id(on)).collect()),
        })
    };
    home.wants_each(
        "planner-001",
        &[
            update(&id("task-002"), Mark::Done, "yes"),
            change("task-002", Some("coder-001"), None),
            change("task-003", None, Some(&[])),
            change("task-004", None, Some(&[])),
        ],
    );
    let said = home.results("planner-001");
    for said in &said[1..3] {
        assert!(said.contains("task-002 is for a person to answer"), "{said}");
    }
    home.says("planner-001", "I wait");
    assert_eq!(home.begun(), ["task-001"]);
    assert_eq!(home.end(&id("task-002")), None);
    home.mark(&id("task-002"), Mark::Done);
    assert_eq!(home.begun(), ["task-001", "task-003", "task-004"]);
}

#[test]
fn who_made_a_held_plan_may_give_it_up() {
    let mut home = planning(true);
    plan(&mut home, &[step("a", "code:a", &[])]);
    home.wants("planner-001", &[update(&id("task-002"), Mark::Cancelled, "not needed")]);
    assert_eq!(home.end(&id("task-002")), Some(End::Cancelled));
    assert_eq!(home.end(&id("task-003")), Some(End::Cancelled));
}

proptest! {
    /// Whatever graph a model writes: either a cycle is named, or every task of the plan gets its turn.
    #[test]
    fn a_plan_that_is_made_comes_to_its_end(edges in prop::collection::vec((0usize..6, 0usize..6), 0..12)) {
        let mut home = planning(false);
        let names = ["a", "b", "c", "d", "e", "f"];
        let steps: Vec<Step> = names
            .iter()
            .enumerate()
            .map(|(n, name)| {
                let after: Vec<&str> = edges.iter().filter(|(from, _)| *from == n).map(|(_, to)| names[*to]).collect();
                step(name, "code:x", &after)
            })
            .collect();
        let said = plan(&mut home, &steps);
        if said.contains("tasks wait for each other") {
            prop_assert_eq!(home.state.work.tasks.len(), 1);
            return Ok(());
        }
        home.says("planner-001", "I wait");
        for _ in 0..names.len() {
            home.says("coder-001", "done");
        }
        home.says("planner-001", "all done");
        prop_assert_eq!(home.end(&id("task-001")), Some(End::Done));
        let begun = home.events.iter().filter(|e| matches!(e, Event::Task(TaskEvent::Started { .. }))).count();
        prop_assert_eq!(begun, 1 + names.len());
    }
}
