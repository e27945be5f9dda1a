//! Queues have bounds, and nobody waits for ever.

use domain::PASSED_MAX;
use domain::agent;
use domain::id::{AgentId, TaskId};
use domain::input::FileInput;
use domain::input::Input;
use domain::task::{End, Mark, Priority};
use domain::tool::{Act, Delegate};
use proptest::prelude::{ProptestConfig, any, proptest};

use crate::home::{Home, create, line};

/// One slot and so many places to wait.
fn narrow(places: u32) -> Home {
    Home::with(
        &["planner-001", "executor-001"],
        |_| {},
        |agent| {
            agent.permissions.concurrency.max_parallel_tasks = 1;
            agent.permissions.concurrency.max_pending_queue = places;
            agent.responsibilities = vec!["*".to_owned()];
            agent.permissions.delegation.can_delegate = true;
        },
    )
}

fn executor(home: &Home) -> &domain::state::Agent {
    &home.state.team.agents[&AgentId::new("executor-001")]
}

fn change(home: &mut Home, change: impl FnOnce(&mut agent::Spec)) {
    let mut spec = executor(home).spec.clone();
    change(&mut spec);
    home.give(Input::File(FileInput::AgentRead(Box::new(spec))));
}

fn with_letter(home: &mut Home, agent: &str, letter: char) -> TaskId {
    home.task_with("work", agent, |spec| spec.priority = Priority::from_letter(letter))
}

fn delegate(task: &str) -> Act {
    let (to, tag) = (AgentId::new("executor-001"), "ops:look".to_owned());
    Act::Delegate(Delegate {
        to,
        tag,
        task: task.to_owned(),
        payload: None,
        callback: None,
        with_results: Vec::new(),
        deadline_ms: None,
        contexts: Vec::new(),
    })
}

#[test]
fn what_people_ask_for_beyond_the_queue_waits_and_is_taken_when_there_is_space() {
    let mut home = narrow(2);
    let tasks: Vec<TaskId> = (0..5).map(|_| home.task("look", "executor-001")).collect();
    assert_eq!((executor(&home).waiting(), executor(&home).backlog()), (2, 2));
    let admitted = |home: &Home, at: usize| home.get(&tasks[at]).place().map(|place| place.admitted);
    assert_eq!(
        [0, 1, 2, 3, 4].map(|at| admitted(&home, at)),
        [None, Some(true), Some(true), Some(false), Some(false)]
    );
    home.says("executor-001", "fine");
    assert_eq!((executor(&home).waiting(), executor(&home).backlog()), (2, 1));
    assert_eq!([2, 3, 4].map(|at| admitted(&home, at)), [Some(true), Some(true), Some(false)]);
    home.mark(&tasks[2], Mark::Cancelled);
    assert_eq!(admitted(&home, 4), Some(true), "a place that is given up is taken");
    for _ in 0..3 {
        home.says("executor-001", "fine");
    }
    assert_eq!(home.begun(), ["task-001", "task-002", "task-004", "task-005"]);
    assert_eq!((executor(&home).waiting(), executor(&home).backlog()), (0, 0));
}

#[test]
fn an_agent_that_asks_another_with_a_full_queue_is_refused() {
    let mut home = narrow(1);
    home.task("plan", "planner-001");
    for _ in 0..2 {
        home.task("look", "executor-001");
    }
    home.wants_each("planner-001", &[create("more", "executor-001", &[]), delegate("more")]);
    let full = "max_pending_queue: 1 tasks wait for executor-001 already, and that is the most; ask later, ask somebody else or do it yourself";
    let results = home.results("planner-001");
    assert_eq!(results[0], full);
    assert!(results[1].starts_with("Target agent has no capacity"), "{}", results[1]);
    home.wants("planner-001", &[create("later", "executor-001", &["task-003"])]);
    assert_eq!(
        home.results("planner-001")[2],
        "task-004 is created for executor-001",
        "it needs no place yet"
    );
    home.says("executor-001", "fine");
    home.wants("planner-001", &[create("now", "executor-001", &[])]);
    assert_eq!(home.results("planner-001")[3], "task-005 is created for executor-001");
}

#[test]
fn delegated_work_that_gets_no_slot_in_time_fails_and_who_asked_is_told() {
    let mut home = narrow(3);
    change(&mut home, |spec| spec.permissions.concurrency.task_timeout_ms = 600_000);
    home.task("plan", "planner-001");
    home.task("first", "executor-001");
    change(&mut home, |spec| spec.permissions.concurrency.task_timeout_ms = 60_000);
    home.wants("planner-001", &[delegate("look")]);
    assert_eq!(home.begun(), ["task-001", "task-002"]);
    home.pass(59_999);
    assert_eq!(home.end(&TaskId::new("task-003")), None);
    home.pass(1);
    assert_eq!(home.end(&TaskId::new("task-003")), Some(End::Failed));
    let results = home.results("planner-001");
    assert!(
        results[0].contains("could not do task-003: Timeout waiting for slot on agent executor-001"),
        "{results:?}"
    );
}

#[test]
fn a_persons_task_waits_as_long_as_it_takes_unless_the_agent_says_how_long() {
    let mut home = narrow(1);
    let patient = |spec: &mut agent::Spec| spec.permissions.concurrency.task_timeout_ms = 1_000_000_000;
    change(&mut home, patient);
    home.task("one", "executor-001");
    let two = home.task("two", "executor-001");
    home.pass(100_000_000);
    assert_eq!(home.end(&two), None);
    change(&mut home, |spec| spec.permissions.concurrency.queue_timeout_ms = Some(5_000));
    let three = home.task("three", "executor-001");
    home.pass(4_000);
    home.at = home.at.plus_ms(1_000_000);
    home.give(Input::Started);
    home.pass(4_999);
    assert_eq!(home.end(&three), None, "time in which nothing ran does not count");
    assert_eq!(line(&home.pass(1)), "task-003:failed");
    assert_eq!(
        home.get(&three).result,
        "Timeout waiting for slot on agent executor-001: queue_timeout_ms of executor-001 is 5000"
    );
    assert_eq!(home.end(&two), None, "it came before the setting");
    assert_eq!(executor(&home).backlog(), 0);
}

#[test]
fn a_burst_gets_all_slots_that_are_free_and_all_places_of_the_queue() {
    for (slots, places) in [(1, 1), (2, 3), (3, 1)] {
        for create_tasks in [false, true] {
            let mut home = narrow(places);
            change(&mut home, |spec| spec.permissions.concurrency.max_parallel_tasks = slots);
            home.task("plan", "planner-001");
            let act = |number: u32| match create_tasks {
                true => create(&format!("look {number}"), "executor-001", &[]),
                false => delegate(&format!("look {number}")),
            };
            let acts: Vec<Act> = (0..7).map(act).collect();
            home.wants("planner-001", &acts);
            assert_eq!(home.state.work.tasks.len() as u32 - 1, slots + places, "{slots} and {places}");
            assert_eq!((executor(&home).busy, executor(&home).waiting()), (slots, places));
            assert_eq!(executor(&home).backlog(), 0);
        }
    }
}

#[test]
fn a_changed_bound_holds_at_once() {
    let mut home = narrow(4);
    for letter in ['C', 'C', 'A', 'E', 'C', 'C'] {
        with_letter(&mut home, "executor-001", letter);
    }
    assert_eq!((executor(&home).waiting(), executor(&home).backlog()), (4, 1));
    change(&mut home, |spec| spec.permissions.concurrency.max_pending_queue = 2);
    assert_eq!((executor(&home).waiting(), executor(&home).backlog()), (2, 3));
    let waits = |home: &Home, id: &str| !home.get(&TaskId::new(id)).place().unwrap().admitted;
    assert!(!waits(&home, "task-003") && waits(&home, "task-004"), "the last in the order gives way");
    change(&mut home, |spec| spec.permissions.concurrency.max_pending_queue = 20);
    assert_eq!((executor(&home).waiting(), executor(&home).backlog()), (5, 0));
}

#[test]
fn what_waits_has_its_agents_priority_of_now() {
    let mut home = Home::with(
        &["executor-001", "executor-002", "executor-003"],
        |settings| settings.limits.parallel_max = 1,
        |_| {},
    );
    home.task("now", "executor-003");
    home.task("one", "executor-001");
    home.task("two", "executor-002");
    let mut spec = home.state.team.agents[&AgentId::new("executor-002")].spec.clone();
    spec.priority = 1;
    home.give(Input::File(FileInput::AgentRead(Box::new(spec))));
    home.says("executor-003", "fine");
    assert_eq!(home.begun(), ["task-001", "task-003"]);
    // A session that waits to go on, too.
    home.write("executor-003", "go on");
    let mut spec = home.state.team.agents[&AgentId::new("executor-003")].spec.clone();
    spec.priority = 1;
    home.give(Input::File(FileInput::AgentRead(Box::new(spec))));
    home.says("executor-002", "fine");
    assert_eq!(home.calls_to_model("executor-003").len(), 1);
}

/// How many tasks of an agent have begun.
fn starts(home: &Home, agent: &str) -> usize {
    let of =
        |id: &String| home.get(&TaskId::new(id.as_str())).spec.assignee.as_ref().unwrap().as_str() == agent;
    home.begun().iter().filter(|id| of(id)).count()
}

fn check_bounds(home: &Home) {
    for agent in home.state.team.agents.values() {
        let most = agent.spec.permissions.concurrency.max_pending_queue;
        assert!(agent.waiting() <= most, "{} wait for {}", agent.waiting(), agent.spec.id);
        assert!(agent.backlog() == 0 || agent.waiting() == most, "a place stays empty");
    }
}

const TURNS: usize = PASSED_MAX as usize + 1;

proptest! {
    // Each case is hundreds of decisions, each of them made twice and replayed.
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// However many urgent tasks come, the last in the order begins within the stated number of starts of its agent.
    #[test]
    fn continuous_urgent_load_starves_nobody_of_its_agent(
        before in proptest::collection::vec(any::<u8>(), 0..12),
        load in proptest::collection::vec(any::<u8>(), 300),
        slots in 1..3_u32,
        places in 1..6_u32,
    ) {
        let mut home = narrow(places);
        change(&mut home, |spec| spec.permissions.concurrency.max_parallel_tasks = slots);
        for _ in 0..slots {
            with_letter(&mut home, "executor-001", 'C');
        }
        for letter in before {
            with_letter(&mut home, "executor-001", char::from(b'A' + letter % 6));
        }
        let older = executor(&home).pending();
        let last = with_letter(&mut home, "executor-001", 'F');
        let begun = starts(&home, "executor-001");
        for many in load {
            for _ in 0..=many % 3 {
                with_letter(&mut home, "executor-001", 'A');
            }
            home.says("executor-001", "fine");
            check_bounds(&home);
            if home.get(&last).session().is_some() || home.get(&last).is_ended() {
                break;
            }
            let passed = starts(&home, "executor-001") - begun;
            // Once into the queue, and once out of it.
            assert!(passed < 2 * TURNS * (older + 1), "{passed} starts, {older} were there before");
        }
        assert!(home.get(&last).place().is_none());
    }

    /// The same for the slots that all agents share.
    #[test]
    fn continuous_urgent_load_of_others_starves_nobody(
        before in proptest::collection::vec(any::<u8>(), 0..10),
        load in proptest::collection::vec(any::<u8>(), 200),
    ) {
        const TEAM: [&str; 3] = ["executor-001", "executor-002", "planner-001"];
        let mut home = Home::with(&TEAM, |settings| settings.limits.parallel_max = 1, |agent| {
            agent.permissions.concurrency.max_pending_queue = 100;
        });
        home.task("now", "executor-001");
        for who in &before {
            with_letter(&mut home, TEAM[*who as usize % 3], char::from(b'A' + who / 3 % 6));
        }
        let last = with_letter(&mut home, "planner-001", 'F');
        let begun = home.begun().len();
        for who in load {
            with_letter(&mut home, TEAM[who as usize % 3], 'A');
            let working = TEAM.into_iter().find(|agent| !home.calls_to_model(agent).is_empty()).unwrap();
            home.says(working, "fine");
            if home.get(&last).place().is_none() {
                break;
            }
            let passed = home.begun().len() - begun;
            assert!(passed < TURNS * (before.len() + 1), "{passed} starts, {} before", before.len());
        }
        assert!(home.get(&last).place().is_none());
    }
}
