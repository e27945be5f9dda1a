//! Runs: what joins which request, what a run counts, where it stands, and that nothing of a cancelled run is left. After
//! each step, `Home` compares all runs with a walk to what each member began with.

use domain::id::{RunId, SessionId, TaskId};
use domain::input::Input;
use domain::input::{FileInput, PersonInput};
use domain::run::{Member, Run, RunState};
use domain::task::Mark;
use proptest::prelude::*;

use crate::delegation::{able, delegate};
use crate::home::{Home, create, run, tell, update};

const TEAM: [&str; 4] = ["executor-001", "executor-002", "executor-003", "retriever-001"];

fn team() -> Home {
    Home::with(&TEAM, |_| {}, able)
}

fn of<'a>(home: &'a Home, id: &str) -> &'a Run {
    &home.state.runs.by_id[&RunId::new(id)]
}

fn state(home: &Home, id: &str) -> RunState {
    home.state.state_of_run(of(home, id))
}

/// The tasks of a run, by depth.
fn tasks(home: &Home, id: &str) -> Vec<(usize, String)> {
    let tree = home.state.runs.tree(&RunId::new(id)).into_iter();
    tree.filter(|(_, member)| matches!(member, Member::Task(_)))
        .map(|(depth, member)| (depth, member.as_str().to_owned()))
        .collect()
}

fn cancel(run: &str) -> Input {
    Input::Person(PersonInput::CancelRun { run: run.to_owned(), by: "dana".to_owned() })
}

/// A person edits what a task is a part of.
fn part_of(home: &mut Home, task: &TaskId, parent: Option<&TaskId>) {
    let mut spec = home.get(task).spec.clone();
    spec.parent = parent.cloned();
    home.give(Input::File(FileInput::TaskRead {
        spec: Box::new(spec),
        mark: Mark::Open,
        result: String::new(),
    }));
}

#[test]
fn what_is_made_for_a_request_joins_its_run() {
    let mut home = team();
    home.task("is the disk fine?", "executor-001");
    home.wants("executor-001", &[create("count", "executor-003", &[]), delegate("executor-002", "look")]);
    home.wants("executor-002", &[tell("retriever-001", "where is the log?"), run("make")]);
    assert_eq!(home.state.runs.by_id.len(), 1, "{:?}", home.state.runs.by_id.keys());
    let one = of(&home, "task-001");
    assert_eq!((one.counts.open, one.counts.at_work), (3, 4));
    assert_eq!(
        (one.counts.delegations, one.counts.messages, one.by.clone()),
        (1, 1, Some(domain::Actor::person("dana")))
    );
    assert_eq!(one.counts.turns, 4, "each agent was asked once");
    // A task is made by a conversation, which is about a task.
    let depths: Vec<usize> = tasks(&home, "task-001").into_iter().map(|(depth, _)| depth).collect();
    assert_eq!(depths, [0, 1, 1]);
    assert_eq!(state(&home, "task-001"), RunState::Running);
}

#[test]
fn a_conversation_works_for_whom_it_answers_and_what_was_asked_in_it_before_stays() {
    let mut home = team();
    home.write("executor-001", "look after the disk");
    let (talk, _) = home.session_of("executor-001");
    home.wants("executor-001", &[create("older", "executor-003", &[])]);
    home.says("executor-001", "I do");
    assert_eq!(tasks(&home, talk.as_str()), [(1, "task-001".to_owned())]);
    home.task("plan", "executor-002");
    home.wants("executor-002", &[tell("executor-001", "how full is the disk?")]);
    assert_eq!(home.state.run_of_session(&talk).as_str(), "task-002");
    home.wants("executor-001", &[create("newer", "retriever-001", &[])]);
    assert_eq!(home.state.run_of_task(&TaskId::new("task-003")).as_str(), "task-002");
    assert_eq!(home.state.run_of_task(&TaskId::new("task-001")).as_str(), talk.as_str());
    assert_eq!(tasks(&home, talk.as_str()), [(0, "task-001".to_owned())], "the conversation is elsewhere");
    home.give(cancel("task-002"));
    assert_eq!(state(&home, "task-002"), RunState::Cancelled);
    assert_eq!(of(&home, talk.as_str()).counts.open, 1, "another request goes on");
}

#[test]
fn a_run_ends_with_what_it_began_with_and_goes_on_when_that_is_opened_again() {
    for (mark, end) in [
        (Mark::Done, RunState::Done),
        (Mark::Failed, RunState::Failed),
        (Mark::Cancelled, RunState::Cancelled),
    ] {
        let mut home = team();
        let task = home.task("look", "executor-001");
        home.mark(&task, mark);
        let one = of(&home, "task-001");
        assert!(one.ended.is_some() && one.open.is_empty() && one.sessions.is_empty(), "{one:?}");
        assert_eq!(state(&home, "task-001"), end);
        home.pass(1_000);
        home.mark(&task, Mark::Open);
        assert_eq!((state(&home, "task-001"), of(&home, "task-001").ended), (RunState::Running, None));
        assert_eq!(of(&home, "task-001").counts.open, 1);
    }
}

#[test]
fn a_run_waits_when_only_a_person_can_help() {
    let mut home = team();
    home.task("look", "executor-001");
    home.wants("executor-001", &[run("make")]);
    assert_eq!(state(&home, "task-001"), RunState::Waiting);
    let other = home.task_with("part", "executor-002", |spec| spec.parent = Some(TaskId::new("task-001")));
    assert_eq!(state(&home, "task-001"), RunState::Running, "something else of it is under way");
    home.mark(&other, Mark::Done);
    assert_eq!(state(&home, "task-001"), RunState::Waiting);
    let chore = home.task("sign it", "human");
    assert_eq!(state(&home, chore.as_str()), RunState::Waiting);
}

#[test]
fn a_person_begins_a_new_request_in_a_conversation_when_the_last_one_is_over() {
    let mut home = team();
    home.write("executor-001", "hello");
    let (talk, _) = home.session_of("executor-001");
    home.says("executor-001", "hello");
    let first = of(&home, talk.as_str()).clone();
    assert_eq!((first.counts.turns, first.spent.replies), (1, 1));
    assert_eq!(state(&home, talk.as_str()), RunState::Done);
    home.pass(5_000);
    home.write("executor-001", "and now?");
    let second = of(&home, talk.as_str());
    assert!(second.began > first.began);
    assert_eq!(
        (second.counts.turns, second.spent.replies, second.ended),
        (1, 0, None),
        "its first turn began"
    );
}

#[test]
fn an_edit_of_what_a_task_is_a_part_of_moves_all_below_it() {
    let mut home = team();
    let one = home.task("one", "executor-001");
    let two = home.task("two", "executor-002");
    home.wants("executor-002", &[delegate("executor-003", "look")]);
    part_of(&mut home, &two, Some(&one));
    assert_eq!(home.state.runs.by_id.len(), 1);
    assert_eq!((of(&home, "task-001").counts.open, of(&home, "task-001").counts.at_work), (3, 3));
    // What asked for it is below it now: what a task is a part of counts.
    part_of(&mut home, &one, Some(&TaskId::new("task-003")));
    part_of(&mut home, &two, None);
    part_of(&mut home, &one, None);
    assert_eq!(of(&home, "task-001").counts.open, 1);
    assert_eq!(of(&home, "task-002").counts.open, 2);
}

#[test]
fn a_conversation_that_is_its_own_servant_and_task_is_found_again() {
    let mut home = team();
    let one = home.task("one", "executor-001");
    home.wants("executor-001", &[create("two", "executor-002", &[])]);
    let two = TaskId::new("task-002");
    part_of(&mut home, &two, None);
    assert_eq!(home.state.run_of_task(&two).as_str(), "task-001", "it was asked for there");
    part_of(&mut home, &one, Some(&two));
    assert_eq!(home.state.run_of_task(&one).as_str(), "task-002", "no circle");
    part_of(&mut home, &one, None);
    assert_eq!(home.state.run_of_task(&two).as_str(), "task-001");
}

#[test]
fn files_alone_give_the_runs_back_in_any_order() {
    let mut home = team();
    let mut part = domain::task::Spec::new(TaskId::new("task-008"), "tasks/x.task.md", "part");
    part.parent = Some(TaskId::new("task-007"));
    let whole = domain::task::Spec::new(TaskId::new("task-007"), "tasks/x.task.md", "whole");
    let mut asked = domain::task::Spec::new(TaskId::new("task-009"), "tasks/x.task.md", "asked for");
    asked.properties.insert("requested_by".to_owned(), "executor-001-0a1b2c".to_owned());
    for spec in [part, asked, whole] {
        home.give(Input::File(FileInput::TaskRead {
            spec: Box::new(spec),
            mark: Mark::Open,
            result: String::new(),
        }));
    }
    assert_eq!(tasks(&home, "task-007").len(), 2);
    assert_eq!(tasks(&home, "task-009").len(), 1, "nobody knows yet who asked");
    let head = domain::session::Head {
        session: SessionId::new("executor-001-0a1b2c"),
        agent: domain::id::AgentId::new("executor-001"),
        role: "executor".to_owned(),
        model: "sonnet".to_owned(),
        system_prompt: String::new(),
        task: Some(TaskId::new("task-008")),
        created: home.at,
    };
    home.give(Input::File(FileInput::SessionRead {
        head: Box::new(head),
        status: domain::session::Status::Active,
        next_message: 2,
        tail: domain::event::Tail::Unanswered,
        label: Default::default(),
        approvals: Vec::new(),
    }));
    assert_eq!(tasks(&home, "task-007").len(), 3, "what it asked for is a part of its request");
    assert!(!home.state.runs.by_id.contains_key(&RunId::new("task-009")));
}

#[test]
fn nothing_of_a_cancelled_run_is_left() {
    let mut home = team();
    let other = home.task("something else", "retriever-001");
    home.write("executor-001", "is the disk fine?");
    let (talk, _) = home.session_of("executor-001");
    home.wants("executor-001", &[create("count", "executor-003", &[]), delegate("executor-002", "look")]);
    home.wants("executor-002", &[run("make")]);
    home.give(cancel(talk.as_str()));
    let one = of(&home, talk.as_str());
    assert!(one.open.is_empty() && one.sessions.is_empty() && one.ended.is_some(), "{one:?}");
    assert_eq!((one.counts.cancelled, state(&home, talk.as_str())), (2, RunState::Cancelled));
    assert_eq!(home.end(&other), None);
    assert_eq!(home.refusal(cancel(talk.as_str())), format!("{talk} has ended already"));
}

#[derive(Debug, Clone)]
enum Step {
    Task,
    Part(usize, usize),
    Loose(usize),
    Write(usize),
    Ask(usize, usize),
    Make(usize, usize),
    Delegate(usize, usize),
    Say(usize),
    Mark(usize, usize),
    Cancel(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let n = || 0..12usize;
    let two = move || (n(), n());
    prop_oneof![
        Just(Step::Task),
        two().prop_map(|(task, parent)| Step::Part(task, parent)),
        n().prop_map(Step::Loose),
        n().prop_map(Step::Write),
        two().prop_map(|(from, to)| Step::Ask(from, to)),
        two().prop_map(|(from, to)| Step::Make(from, to)),
        two().prop_map(|(from, to)| Step::Delegate(from, to)),
        n().prop_map(Step::Say),
        two().prop_map(|(task, mark)| Step::Mark(task, mark)),
        n().prop_map(Step::Cancel),
    ]
}

fn agent(n: usize) -> &'static str {
    TEAM[n % TEAM.len()]
}

fn take(home: &mut Home, step: &Step) {
    let nth = |home: &Home, n: usize| home.state.work.tasks.keys().cycle().nth(n).cloned();
    let wants = |home: &mut Home, who: usize, act| {
        if !home.calls_to_model(agent(who)).is_empty() {
            home.wants(agent(who), &[act]);
        }
    };
    match *step {
        Step::Task => _ = home.task("look", agent(home.state.work.tasks.len())),
        Step::Part(task, parent) => {
            if let Some((task, parent)) = nth(home, task).zip(nth(home, parent)) {
                part_of(home, &task, Some(&parent));
            }
        }
        Step::Loose(task) => nth(home, task).iter().for_each(|task| part_of(home, task, None)),
        Step::Write(who) => _ = home.write(agent(who), "hello"),
        Step::Ask(from, to) => wants(home, from, tell(agent(to), "how?")),
        Step::Make(from, to) => wants(home, from, create("part", agent(to), &[])),
        Step::Delegate(from, to) => wants(home, from, delegate(agent(to), "look")),
        Step::Say(who) => {
            if !home.calls_to_model(agent(who)).is_empty() {
                home.says(agent(who), "done");
            }
        }
        Step::Mark(task, mark) => {
            let marks = [Mark::Done, Mark::Failed, Mark::Cancelled, Mark::Open];
            if let Some(task) = nth(home, task) {
                home.try_give(crate::home::marked(&task, marks[mark % marks.len()])).ok();
            }
        }
        Step::Cancel(n) => {
            let run = home.state.runs.by_id.keys().cycle().nth(n).map(ToString::to_string);
            home.try_give(cancel(&run.unwrap_or_default())).ok();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_made_edited_and_cancelled_the_runs_follow(steps in prop::collection::vec(step(), 1..30)) {
        let mut home = team();
        steps.iter().for_each(|step| take(&mut home, step));
    }
}

#[test]
fn an_agent_that_ends_the_task_of_another_ends_nothing_of_another_run() {
    let mut home = team();
    let other = home.task("other", "retriever-001");
    home.task("look", "executor-001");
    home.wants("executor-001", &[create("part", "executor-002", &[])]);
    home.wants("executor-001", &[update(&TaskId::new("task-003"), Mark::Cancelled, "not needed")]);
    assert_eq!(of(&home, "task-002").counts.cancelled, 1);
    assert_eq!(of(&home, other.as_str()).counts.open, 1);
}
