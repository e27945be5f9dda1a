//! Work that waits at budgets goes on when there is room, and quarantined calls stay within what is reserved for them.

use domain::budget::{Budgets, Cap, Share};
use domain::closed::{Closed, IDS_MAX};
use domain::id::AgentId;
use domain::input::Input;
use domain::input::{FileInput, ModelInput};
use domain::task::{End, Mark, Priority};
use domain::tool::{Act, Extract};
use domain::usage::Usage;

use crate::budgets::{TEAM, home, requests_per_minute, settings, sums, tokens, used};
use crate::home::Home;

const DAY_MS: u64 = 86_400_000;

/// Agents that may do several things at a time.
fn wide(budgets: Budgets) -> Home {
    Home::with(
        &TEAM,
        |settings| settings.budgets = budgets,
        |agent| {
            agent.model.max_tokens = Some(1_000);
            agent.permissions.concurrency.max_parallel_tasks = 3;
            agent.permissions.concurrency.task_timeout_ms = 10 * DAY_MS;
        },
    )
}

#[test]
fn who_waits_behind_many_that_stop_elsewhere_is_not_forgotten() {
    let share = Share { day: tokens(4_000), month: Cap::default() };
    let agents = [(AgentId::new("executor-001"), share)].into();
    let mut home = wide(Budgets { run: tokens(5_000), agents, ..Budgets::default() });
    home.task("look", "executor-001");
    used(&mut home, "executor-001", "done", Usage::of(2_900, 100));
    let all = home.task("all of it", "planner-001");
    for _ in 0..12 {
        home.task_with("look", "executor-001", |spec| spec.parent = Some(all.clone()));
    }
    let last = home.task_with("plan", "planner-001", |spec| spec.parent = Some(all.clone()));
    let at_run = home.state.parked().filter(|halt| halt.parked.held && halt.parked.until.is_none());
    assert_eq!(at_run.count(), 13, "all wait for what the first has reserved");
    used(&mut home, "planner-001", "done", Usage::of(100, 10));
    assert!(home.get(&last).session().is_some(), "there is room for it");
    let at_day = home.state.parked().filter(|halt| halt.parked.limit == "budgets.agents.executor-001.day");
    assert_eq!((at_day.count(), home.state.parked().count()), (12, 12));
}

#[test]
fn who_stays_behind_a_larger_one_goes_on_when_that_one_is_cancelled() {
    let mut home = wide(Budgets { month: tokens(7_000), ..Budgets::default() });
    home.task("one", "executor-001");
    home.task("two", "executor-001");
    let larger = home.task(&"three ".repeat(600), "executor-001");
    let last = home.task("four", "planner-001");
    let held = |home: &Home| home.state.parked().filter(|halt| halt.parked.held).count();
    assert_eq!(held(&home), 2);
    used(&mut home, "executor-001", "done", Usage::of(1_800, 100));
    assert_eq!(held(&home), 2, "nobody overtakes who waits longer");
    home.mark(&larger, Mark::Cancelled);
    assert!(home.get(&last).session().is_some(), "there was room for it all the time");
}

#[test]
fn an_edit_leaves_a_parked_task_its_limit_in_the_queue() {
    let mut home = home(Budgets { run: tokens(3_000), ..Budgets::default() });
    let mut spec = home.state.team.agents[&AgentId::new("executor-001")].spec.clone();
    spec.permissions.concurrency.queue_timeout_ms = Some(5_000);
    spec.permissions.concurrency.max_parallel_tasks = 1;
    home.give(Input::File(FileInput::AgentRead(Box::new(spec))));
    let parked = home.task(&"look ".repeat(600), "executor-001");
    assert!(home.get(&parked).place().is_some_and(|place| place.parked.is_some() && place.due.is_none()));
    home.task("look", "executor-001");
    let mut spec = home.get(&parked).spec.clone();
    spec.priority = Priority::from_letter('A');
    home.give(Input::File(FileInput::TaskRead {
        spec: Box::new(spec),
        mark: Mark::Open,
        result: String::new(),
    }));
    assert!(home.get(&parked).place().is_some_and(|place| place.parked.is_none()), "it waits for the slot");
    home.pass(5_000);
    assert_eq!(home.end(&parked), Some(End::Failed));
}

#[test]
fn a_quarantined_call_reserves_for_all_that_it_says_and_only_open_tasks_may_be_answered() {
    let reserved = |open: usize, answer: Closed| {
        let mut home = home(Budgets { day: tokens(10_000_000), ..Budgets::default() });
        home.give(settings(&home, |settings| settings.limits.parallel_max = 1));
        home.task("ask", "executor-001");
        for _ in 0..open {
            home.task("later", "human");
        }
        let known = answer.known(&home.state);
        let (path, question) = ("memory/mail.md".to_owned(), "which is it about?".to_owned());
        home.wants("executor-001", &[Act::Extract(Extract { path, question, answer })]);
        let (session, call, _) = home.calls_to_tools("executor-001").remove(0);
        let held = home.state.ledger.held(&session, call.as_str()).expect("it is reserved").tokens();
        (known.len(), held.0)
    };
    let (none, plain) = reserved(0, Closed::Bool);
    let (some, more) = reserved(100, Closed::Task);
    let (most, bounded) = reserved(300, Closed::Task);
    assert_eq!((none, some, most), (0, 101, IDS_MAX));
    // Each id takes `"task-001",`, is said three times in each of three tries, and three bytes are a token.
    assert!(more - plain >= 100 * 11 * 3 && bounded - plain <= 3_000 * 3, "{plain} {more} {bounded}");
    let mut home = home(Budgets::default());
    let task = home.task("look", "executor-001");
    home.says("executor-001", "done");
    assert!(home.get(&task).is_ended() && Closed::Task.known(&home.state).is_empty());
    assert_eq!(Closed::Agent.known(&home.state), TEAM);
}

#[test]
fn a_quarantined_call_counts_each_request_that_it_made_and_no_other() {
    let mut home = requests_per_minute(20);
    home.task("ask", "executor-001");
    let (path, question) = ("memory/mail.md".to_owned(), "is it urgent?".to_owned());
    let answer = Closed::Bool;
    home.wants("executor-001", &[Act::Extract(Extract { path, question, answer })]);
    let counted = |home: &Home| sums(&home.state, home.at)["providers.p.limits"].1;
    assert_eq!(counted(&home), 1 + 3, "the turn, and the most that the call may make");
    let (session, call, _) = home.calls_to_tools("executor-001").remove(0);
    for _ in 0..2 {
        let (session, call, usage) = (session.clone(), Some(call.clone()), Usage::of(700, 3));
        home.give(Input::Model(ModelInput::Spent { session, call, model: "m".to_owned(), usage }));
    }
    home.tool_ends("executor-001", true, "true");
    assert_eq!(counted(&home), 1 + 2 + 1, "two, and the next turn");
}

#[test]
fn a_clock_that_was_ahead_closes_no_minute_until_then() {
    let mut home = requests_per_minute(1);
    let right = home.at;
    home.pass(DAY_MS);
    home.task("look", "executor-001");
    home.says("executor-001", "done");
    home.at = right;
    home.give(Input::Started);
    home.task("look again", "executor-001");
    home.pass(60_000);
    assert_eq!(home.calls_to_model("executor-001").len(), 1);
}

#[test]
fn what_was_spent_by_a_clock_that_was_ahead_counts_today_and_not_until_then() {
    let mut home = home(Budgets { day: tokens(6_600), month: tokens(100_000), ..Budgets::default() });
    let right = home.at;
    home.task("look", "executor-001");
    used(&mut home, "executor-001", "done", Usage::of(2_400, 100));
    home.pass(400 * DAY_MS);
    home.task("look", "executor-001");
    home.task("look", "planner-001");
    used(&mut home, "executor-001", "done", Usage::of(1_400, 100));
    home.at = right;
    home.give(Input::Started);
    let reserved = sums(&home.state, home.at)["budgets.day"].0 - 4_000;
    assert!((2_000..3_000).contains(&reserved), "what goes on stays reserved: {reserved}");
    used(&mut home, "planner-001", "done", Usage::of(100, 100));
    assert_eq!(sums(&home.state, home.at)["budgets.day"], (4_200, 3), "all of it counts today");
    let task = home.task("look again", "executor-001");
    assert!(home.get(&task).session().is_none(), "no day has more than its budget");
    home.pass(DAY_MS);
    assert!(home.get(&task).session().is_some(), "the next day is not next year");
}
