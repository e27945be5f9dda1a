//! A budget that is used up asks a person, once for all that waits, and takes the question back when it is idle.

use domain::approval::{Answer, Outcome, Request};
use domain::budget::{Budgets, Cap, Hold, Rate, question};
use domain::event::BudgetEvent;
use domain::event::Event;
use domain::id::{ApprovalId, TaskId};
use domain::input::Input;
use domain::input::{FileInput, ModelInput};
use domain::settings::{Endpoint, ModelRef, Provider};
use domain::task::{End, Mark};
use domain::tool::{Act, RaiseBudget};
use domain::usage::Usage;

use crate::home::{Home, ending, no};

const DAY_MS: u64 = 86_400_000;

fn tokens(most: u64) -> Cap {
    Cap { tokens: Some(most), money: None }
}

fn home(budgets: Budgets) -> Home {
    Home::with(
        &["executor-001", "planner-001"],
        |settings| settings.budgets = budgets,
        |agent| {
            agent.model.max_tokens = Some(1_000);
            agent.permissions.concurrency.task_timeout_ms = 10 * DAY_MS;
        },
    )
}

fn used(home: &mut Home, agent: &str, usage: Usage) -> Vec<Event> {
    let (session, ticket) = home.thinking(agent);
    let calls = ending(&home.state, &session, "done");
    let (text, model, read) = ("done".to_owned(), "m".to_owned(), Vec::new());
    home.give(Input::Model(ModelInput::Replied { session, ticket, text, calls, model, usage, read }))
}

/// A home whose day has 4000 tokens, of which 3000 are spent, and so many tasks that wait for it.
fn exhausted(waiting: usize) -> (Home, Vec<TaskId>) {
    let mut home = home(Budgets { day: tokens(4_000), ..Budgets::default() });
    home.task("look", "executor-001");
    used(&mut home, "executor-001", Usage::of(2_900, 100));
    let tasks = (0..waiting).map(|_| home.task("look again", "executor-001")).collect();
    (home, tasks)
}

fn asked(home: &Home) -> Vec<&Request> {
    home.state.people.approvals.values().collect()
}

fn raised(home: &Home) -> Cap {
    let node = question::named(&home.state.config.settings, "budgets.day").unwrap();
    home.state.ledger.raised(&node, home.at)
}

fn change(home: &mut Home, most: u64) -> Vec<Event> {
    let mut settings = home.state.config.settings.clone();
    settings.budgets.day = tokens(most);
    home.give(Input::File(FileInput::SettingsRead(Box::new(settings))))
}

fn outcome(home: &Home, id: &str) -> Outcome {
    home.state.people.decided[&ApprovalId::new(id)].clone()
}

/// How a budget stands.
fn now(home: &Home, budget: &str) -> String {
    home.state.told_of_budget(home.at, budget).expect("there is such a budget")
}

fn withdrawn(reason: &str) -> Outcome {
    Outcome::Withdrawn { reason: reason.to_owned() }
}

#[test]
fn one_question_for_all_that_waits_says_what_stays_so_and_what_a_yes_means() {
    let (home, _) = exhausted(3);
    let [request] = asked(&home)[..] else { panic!("{:?}", asked(&home)) };
    let act =
        Act::RaiseBudget(RaiseBudget { budget: "budgets.day".to_owned(), tokens: Some(4_000), money: None });
    assert_eq!((&request.act, request.agent.as_str()), (&act, "synod"));
    assert_eq!(request.digest, act.digest(None, request.permit));
    let why = "budgets.day: 4000 tokens leave no room for what waits. ";
    assert!(request.why.starts_with(why), "{}", request.why);
    assert_eq!(
        now(&home, "budgets.day"),
        "of 4000 tokens, 3000 are spent and 0 reserved. 3 wait: task-002, task-003, task-004"
    );
    assert!(home.state.is_idle());
}

#[test]
fn tasks_that_are_parked_at_once_are_told_of_together() {
    let (mut home, tasks) = exhausted(8);
    home.give(Input::Started);
    change(&mut home, 4_001);
    let [request] = asked(&home)[..] else { panic!("{:?}", asked(&home)) };
    assert!(request.why.starts_with("budgets.day: 4001 tokens leave "), "{}", request.why);
    let told = now(&home, "budgets.day");
    assert!(told.ends_with(". 8 wait: task-002, task-003, task-004, task-005, task-006, …"), "{told}");
    assert_eq!(tasks.len(), 8);
}

#[test]
fn what_waits_for_a_budget_waits_for_the_answer_about_it_and_for_no_slot() {
    let (mut home, _) = exhausted(2);
    let name = |node: &domain::waits::Node| node.to_string();
    let waits = |home: &Home| -> Vec<(String, String)> {
        domain::waits::edges(&home.state).iter().map(|wait| (name(&wait.from), name(&wait.to))).collect()
    };
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let (one, two) = (pair("task-002", "budgets.day"), pair("task-003", "budgets.day"));
    assert_eq!(waits(&home), [one.clone(), two.clone(), pair("budgets.day", "approval-0001")]);
    home.answer("approval-0001", no());
    assert_eq!(waits(&home), [one, two], "an answer is no longer waited for");
}

#[test]
fn a_yes_lets_what_waits_go_on_once_and_until_the_window_ends() {
    let (mut home, tasks) = exhausted(2);
    let events = home.answer("approval-0001", Answer::Approved);
    assert!(events.contains(&Event::Budget(BudgetEvent::Raised {
        budget: "budgets.day".to_owned(),
        cap: tokens(4_000),
        approval: ApprovalId::new("approval-0001"),
    })));
    assert_eq!(raised(&home), tokens(4_000));
    used(&mut home, "executor-001", Usage::of(2_900, 100));
    assert_eq!((home.end(&tasks[0]), asked(&home).len()), (Some(End::Done), 1), "the next asks anew");
    assert_eq!(home.calls_to_model("executor-001"), [], "the raised cap is a cap too");
    home.pass(DAY_MS);
    assert_eq!(raised(&home), Cap::default());
    used(&mut home, "executor-001", Usage::of(10, 10));
    assert_eq!((home.end(&tasks[1]), asked(&home).len()), (Some(End::Done), 0));
}

#[test]
fn a_no_leaves_the_work_parked_and_is_not_asked_again_before_the_window_is_over() {
    let (mut home, tasks) = exhausted(1);
    home.answer("approval-0001", no());
    home.task("and again", "executor-001");
    home.give(Input::Started);
    assert_eq!((asked(&home).len(), home.state.parked().count()), (0, 2));
    home.pass(DAY_MS);
    used(&mut home, "executor-001", Usage::of(3_900, 10));
    assert_eq!(
        (home.end(&tasks[0]), asked(&home).len()),
        (Some(End::Done), 1),
        "another day, another question"
    );
}

#[test]
fn the_question_is_taken_back_when_the_window_opens() {
    let (mut home, _) = exhausted(1);
    home.pass(DAY_MS);
    assert_eq!(home.calls_to_model("executor-001").len(), 1);
    assert_eq!(outcome(&home, "approval-0001"), withdrawn("nothing waits for this budget any more"));
    assert!(home.state.people.approvals.is_empty());
    assert_eq!(
        home.refusal(crate::home::answered("approval-0001", Answer::Approved)).split(':').next(),
        Some("approval approval-0001 is closed")
    );
}

#[test]
fn the_question_is_taken_back_when_the_budget_is_changed_and_asked_anew_if_that_is_not_enough() {
    let (mut home, _) = exhausted(1);
    change(&mut home, 4_500);
    assert_eq!(outcome(&home, "approval-0001"), withdrawn("the budgets were changed"));
    let [request] = asked(&home)[..] else { panic!() };
    assert!(request.why.starts_with("budgets.day: 4500 tokens"), "{}", request.why);
    change(&mut home, 40_000);
    assert_eq!(asked(&home).len(), 0);
    assert_eq!(home.calls_to_model("executor-001").len(), 1);
}

#[test]
fn the_question_is_taken_back_when_nothing_waits_any_more() {
    let (mut home, tasks) = exhausted(2);
    home.mark(&tasks[0], Mark::Cancelled);
    assert_eq!(asked(&home).len(), 1, "another waits");
    home.mark(&tasks[1], Mark::Cancelled);
    assert_eq!(outcome(&home, "approval-0001"), withdrawn("nothing waits for this budget any more"));
}

#[test]
fn a_session_that_has_begun_is_asked_for_like_a_task_that_has_not() {
    let mut home = home(Budgets { run: tokens(3_000), ..Budgets::default() });
    let task = home.task("look", "executor-001");
    home.wants("executor-001", &[crate::home::read("a")]);
    let (session, _) = home.session_of("executor-001");
    home.tool_ends("executor-001", true, &"x".repeat(9_000));
    let [request] = asked(&home)[..] else { panic!("{:?}", home.state.parked().collect::<Vec<_>>()) };
    assert!(request.why.starts_with(&format!("budgets.run of {task}: ")), "{}", request.why);
    let told = now(&home, &format!("budgets.run of {task}"));
    assert!(told.ends_with(&format!(". 1 waits: {task}")), "{told}");
    assert_eq!(home.state.mark_of(home.get(&task)), Mark::Asking);
    home.answer("approval-0001", Answer::Approved);
    let hold: &Hold = &home.state.ledger.held(&session, "").expect("it goes on").hold;
    assert!(hold.tokens_in + hold.tokens_out > 3_000);
}

#[test]
fn nobody_is_asked_for_what_opens_by_itself_in_a_minute_or_when_others_are_done() {
    let mut minute = Home::with(
        &["executor-001"],
        |settings| {
            let limits = Rate { requests_per_minute: Some(1), tokens_per_minute: None };
            let endpoint = Endpoint { limits, ..Endpoint::new("http://localhost") };
            settings.providers.insert("p".to_owned(), Provider::OpenAi(endpoint));
            let target = ModelRef {
                provider: "p".to_owned(),
                model: "x".to_owned(),
                context_tokens: None,
                max_tokens: None,
            };
            settings.models.insert("m".to_owned(), target);
        },
        |_| {},
    );
    minute.task("one", "executor-001");
    minute.says("executor-001", "done");
    minute.task("two", "executor-001");
    assert_eq!((minute.state.parked().count(), asked(&minute).len()), (1, 0));
    let mut others = home(Budgets { month: tokens(5_000), ..Budgets::default() });
    others.task("look", "executor-001");
    others.task("plan", "planner-001");
    assert_eq!((others.state.parked().count(), asked(&others).len()), (1, 0));
    let mut none = home(Budgets { day: tokens(0), ..Budgets::default() });
    none.task("look", "executor-001");
    assert_eq!((none.state.parked().count(), asked(&none).len()), (1, 0), "again nothing is nothing");
}

#[test]
fn an_agent_cannot_raise_a_budget() {
    let mut home = home(Budgets { day: tokens(40_000), ..Budgets::default() });
    home.task("look", "executor-001");
    let act = Act::RaiseBudget(RaiseBudget {
        budget: "budgets.day".to_owned(),
        tokens: Some(1_000_000),
        money: None,
    });
    home.wants("executor-001", &[act]);
    let result = &home.results("executor-001")[0];
    assert!(result.contains("does not have the tool raise_budget"), "{result}");
    assert_eq!(raised(&home), Cap::default());
}

#[test]
fn a_question_without_a_journal_is_taken_back() {
    let mut home = home(Budgets::default());
    let approval = ApprovalId::new("approval-0004");
    home.give(Input::File(FileInput::QuestionFound { approval: approval.clone() }));
    assert!(matches!(outcome(&home, "approval-0004"), Outcome::Withdrawn { .. }));
    assert_eq!(home.give(Input::File(FileInput::QuestionFound { approval })), []);
}

#[test]
fn a_snapshot_of_before_there_were_questions_asks_them_after_the_start() {
    let (home, _) = exhausted(1);
    let mut kept = serde_json::to_value(&home.state).unwrap();
    kept["ledger"].as_object_mut().unwrap().remove("questions").expect("there is one");
    kept["people"]["approvals"] = serde_json::json!({});
    let mut state: domain::state::State = serde_json::from_value(kept).unwrap();
    domain::play(&mut state, home.at, &Input::Started, true, &mut |_, _| {}).unwrap();
    assert_eq!(state.people.approvals.len(), 1);
}

#[test]
fn a_no_on_the_budget_of_a_run_leaves_that_run_parked_and_no_other() {
    let mut home = home(Budgets { run: tokens(3_000), ..Budgets::default() });
    let task = home.task("look", "executor-001");
    home.wants("executor-001", &[crate::home::read("a")]);
    home.tool_ends("executor-001", true, &"x".repeat(9_000));
    home.answer("approval-0001", no());
    home.give(Input::Started);
    home.pass(DAY_MS);
    let stands = |home: &Home| (asked(home).len(), home.state.parked().count());
    assert_eq!(stands(&home), (0, 1), "a run has no window that opens, and is not asked about again");
    home.task("another", "planner-001");
    assert_eq!(home.calls_to_model("planner-001").len(), 1, "another run has its own");
    home.mark(&task, Mark::Cancelled);
    assert_eq!(stands(&home), (0, 0));
}
