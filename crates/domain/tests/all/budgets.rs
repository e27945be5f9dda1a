//! No call is made that would pass a budget: the work parks and goes on when there is room.

use std::collections::BTreeMap;

use domain::approval::Answer;
use domain::budget::charge::sums as sums_of;
use domain::budget::{Budgets, Cap, Hold, Node, Payer, Rate, Share, Window, nodes};
use domain::effect::Effect;
use domain::event::{BudgetEvent, SessionEvent};
use domain::event::{Event, Tail};
use domain::id::{AgentId, SessionId};
use domain::input::{Failure, Input};
use domain::input::{FileInput, ModelInput};
use domain::lifecycle::Lifecycle;
use domain::pending;
use domain::settings::{Endpoint, ModelRef, Provider, Settings};
use domain::state::{Parked, State};
use domain::task::{End, Mark};
use domain::usage::{Price, Usage};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

use crate::home::{Home, answered, ending, line, marked, no, read, reply, tell, written};

const DAY_MS: u64 = 86_400_000;

pub fn tokens(most: u64) -> Cap {
    Cap { tokens: Some(most), money: None }
}

pub fn home(budgets: Budgets) -> Home {
    Home::with(
        &["executor-001", "planner-001"],
        |settings| settings.budgets = budgets,
        |agent| {
            agent.model.max_tokens = Some(1_000);
            agent.permissions.concurrency.task_timeout_ms = 10 * DAY_MS;
        },
    )
}

pub fn used(home: &mut Home, agent: &str, text: &str, usage: Usage) -> Vec<Event> {
    let (session, ticket) = home.thinking(agent);
    let calls = ending(&home.state, &session, text);
    let (text, model, read) = (text.to_owned(), "m".to_owned(), Vec::new());
    home.give(Input::Model(ModelInput::Replied { session, ticket, text, calls, model, usage, read }))
}

/// Why an agent's only piece of work does not go on, or does not begin.
fn parked(home: &Home, agent: &str) -> Parked {
    let halts: Vec<_> = home.state.parked().filter(|halt| halt.agent.as_str() == agent).collect();
    assert_eq!(halts.len(), 1, "{halts:?}");
    if let Some(session) = halts[0].session {
        assert_eq!(home.state.sessions[session].lifecycle, Lifecycle::Blocked);
    }
    halts[0].parked.clone()
}

pub fn settings(home: &Home, change: impl FnOnce(&mut Settings)) -> Input {
    let mut settings = home.state.config.settings.clone();
    change(&mut settings);
    Input::File(FileInput::SettingsRead(Box::new(settings)))
}

/// What is spent and reserved in each node of the tree.
pub fn sums(state: &State, at: domain::id::Time) -> BTreeMap<String, (u64, u64)> {
    let mut sums = BTreeMap::new();
    for (id, session) in &state.sessions {
        let run =
            session.task.as_ref().map_or_else(|| id.to_string(), |task| state.root_of(task).to_string());
        let payer =
            Payer { agent: session.agent.clone(), makers: Vec::new(), run, provider: Some("p".to_owned()) };
        for node in nodes(&state.config.settings, &payer) {
            let meter = state.ledger.meter(&node, at);
            let tokens = meter.spent.tokens + meter.reserved.tokens;
            sums.insert(node.name.clone(), (tokens, meter.spent.requests + meter.reserved.requests));
        }
    }
    sums
}

#[test]
fn what_a_call_may_take_is_reserved_and_put_right_by_what_it_took() {
    let mut home = home(Budgets { day: tokens(10_000), ..Budgets::default() });
    home.task("look", "executor-001");
    let (session, _) = home.thinking("executor-001");
    let Event::Budget(BudgetEvent::Reserved {
        hold: Hold { tokens_in, tokens_out: 1_000, money: None, .. },
        ..
    }) = home
        .events
        .iter()
        .find(|event| matches!(event, Event::Budget(BudgetEvent::Reserved { .. })))
        .unwrap()
    else {
        panic!("the answer has the agent's max_tokens, and an unknown price is unknown")
    };
    let tokens_in = *tokens_in;
    assert!((1_500..2_500).contains(&tokens_in), "{tokens_in}");
    let [Effect::CallModel { reserved, .. }] = pending(&home.state)[..] else { panic!() };
    assert_eq!(reserved, Some((tokens_in, 1_000)), "hands know how much they may send");
    assert_eq!(sums(&home.state, home.at)["budgets.day"], (tokens_in + 1_000, 1));
    used(&mut home, "executor-001", "done", Usage::of(700, 80));
    assert_eq!(home.state.ledger.held(&session, ""), None);
    assert_eq!(sums(&home.state, home.at)["budgets.day"], (780, 1));
}

#[test]
fn work_parks_at_the_days_limit_and_goes_on_by_itself_the_next_day() {
    let mut home = home(Budgets { day: tokens(4_000), ..Budgets::default() });
    home.task("look", "executor-001");
    used(&mut home, "executor-001", "done", Usage::of(2_900, 100));
    let task = home.task("look again", "executor-001");
    let why = parked(&home, "executor-001");
    assert_eq!((why.limit.as_str(), why.until.map(|until| until.0)), ("budgets.day", Some(86_400_000)));
    assert!(
        why.reason.starts_with(
            "budgets.day: of 4000 tokens, 3000 are spent and 0 reserved, and this call may take "
        ) && why.reason.ends_with("; it goes on at 1970-01-02T00:00Z"),
        "{}",
        why.reason
    );
    assert_eq!(home.state.next_deadline(), why.until);
    assert!(home.state.is_idle(), "it has left its slot");
    home.pass(DAY_MS - 2_000_000);
    assert_eq!(home.calls_to_model("executor-001"), [], "a moment before");
    home.pass(1_500_000);
    used(&mut home, "executor-001", "done", Usage::of(10, 10));
    assert_eq!(home.end(&task), Some(End::Done));
}

#[test]
fn a_raised_budget_lets_parked_work_go_on() {
    let mut home = home(Budgets { run: tokens(3_000), ..Budgets::default() });
    let task = home.task("look", "executor-001");
    used(&mut home, "executor-001", "", Usage::of(2_500, 0));
    home.pass(60_000);
    let why = parked(&home, "executor-001");
    assert_eq!((why.limit, why.until), (format!("budgets.run of {task}"), None));
    assert!(why.reason.ends_with("it goes on when a person raises the budget"), "{}", why.reason);
    home.pass(40 * DAY_MS);
    assert_eq!(home.calls_to_model("executor-001"), [], "no window opens by itself");
    home.give(settings(&home, |settings| settings.budgets.run = tokens(30_000)));
    used(&mut home, "executor-001", "done", Usage::of(10, 10));
    assert_eq!(home.end(&task), Some(End::Done));
}

#[test]
fn a_call_that_no_window_has_room_for_waits_for_a_person() {
    let mut home = home(Budgets { day: tokens(500), ..Budgets::default() });
    home.task("look", "executor-001");
    assert_eq!(parked(&home, "executor-001").until, None);
}

#[test]
fn who_is_short_only_because_others_reserved_goes_on_when_they_give_back() {
    let mut home = home(Budgets { month: tokens(5_000), ..Budgets::default() });
    home.task("look", "executor-001");
    home.task("plan", "planner-001");
    assert!(parked(&home, "planner-001").held);
    used(&mut home, "executor-001", "done", Usage::of(100, 10));
    assert_eq!(home.calls_to_model("planner-001").len(), 1);
}

#[test]
fn a_failed_or_cancelled_call_gives_back_what_it_reserved() {
    let mut home = home(Budgets { day: tokens(9_000), ..Budgets::default() });
    let task = home.task("look", "executor-001");
    home.model_fails("executor-001", Failure::Retry { after_ms: 1 });
    assert_eq!(sums(&home.state, home.at)["budgets.day"], (0, 0), "while it waits to ask again");
    home.pass(10_000);
    assert!(sums(&home.state, home.at)["budgets.day"].0 > 2_000);
    home.give(Input::Started);
    assert!(sums(&home.state, home.at)["budgets.day"].0 > 2_000, "once, also after a crash");
    home.mark(&task, Mark::Cancelled);
    assert_eq!(sums(&home.state, home.at)["budgets.day"], (0, 0));
    assert!(!home.state.ledger.is_holding());
}

#[test]
fn a_parked_task_can_be_cancelled_and_leaves_nothing_behind() {
    let mut home = home(Budgets { day: tokens(3_000), ..Budgets::default() });
    let share = Share { day: tokens(10), month: Cap::default() };
    home.give(settings(&home, |settings| {
        settings.budgets.agents.insert(AgentId::new("planner-001"), share);
    }));
    let task = home.task("plan", "planner-001");
    assert_eq!(parked(&home, "planner-001").limit, "budgets.agents.planner-001.day");
    home.task("look", "executor-001");
    assert_eq!(home.calls_to_model("executor-001").len(), 1, "another agent has its own share");
    home.mark(&task, Mark::Cancelled);
    assert_eq!(home.end(&task), Some(End::Cancelled));
    home.mark(&domain::id::TaskId::new("task-002"), Mark::Cancelled);
    assert_eq!(home.state.next_deadline(), None);
}

#[test]
fn money_is_reserved_at_the_dearest_price_that_the_call_may_have() {
    let mut home = home(Budgets::default());
    let price = Price { input: 1_000_000, output: 2_000_000, cache_read: None, cache_write: Some(1_250_000) };
    home.give(settings(&home, |settings| {
        settings.prices.insert("m".to_owned(), price);
        settings.budgets.day = Cap { tokens: None, money: Some(1_000_000) };
    }));
    home.task("look", "executor-001");
    let (session, _) = home.thinking("executor-001");
    let hold = &home.state.ledger.held(&session, "").unwrap().hold;
    assert_eq!(hold.money, Some((hold.tokens_in * 5).div_ceil(4) + 2 * hold.tokens_out));
    let node = nodes(&home.state.config.settings, &hold.payer).remove(0);
    used(&mut home, "executor-001", "done", Usage { cache_write: 100, ..Usage::of(1_000, 10) });
    assert_eq!(home.state.ledger.meter(&node, home.at).spent.money, 900 + 125 + 20);
}

#[test]
fn a_request_that_outgrows_what_is_reserved_is_reserved_anew_or_parks() {
    let mut home = home(Budgets { day: tokens(9_000), ..Budgets::default() });
    home.task("look", "executor-001");
    let (session, ticket) = home.thinking("executor-001");
    home.give(Input::Model(ModelInput::Outgrown { session: session.clone(), ticket, tokens_in: 6_000 }));
    let (_, ticket) = home.thinking("executor-001");
    assert_eq!(sums(&home.state, home.at)["budgets.day"].0, 7_000);
    home.give(Input::Model(ModelInput::Outgrown { session: session.clone(), ticket, tokens_in: 8_001 }));
    assert_eq!(parked(&home, "executor-001").until, None);
    assert!(!home.state.ledger.is_holding());
    assert_eq!(home.state.sessions[&session].pace.turns_total, 0, "as if the turn had not begun");
}

#[test]
fn a_request_beyond_the_window_of_its_model_is_reserved_once_and_waits_for_room_once() {
    let mut home = home(Budgets { day: tokens(9_000), ..Budgets::default() });
    home.give(settings(&home, |settings| {
        let target = ModelRef {
            provider: "p".to_owned(),
            model: "x".to_owned(),
            context_tokens: Some(2_000),
            max_tokens: None,
        };
        settings.models.insert("m".to_owned(), target);
    }));
    home.task("look", "executor-001");
    let (session, ticket) = home.thinking("executor-001");
    let events =
        home.give(Input::Model(ModelInput::Outgrown { session: session.clone(), ticket, tokens_in: 5_000 }));
    assert_eq!(line(&events), "outgrown reserved turn_retried");
    assert_eq!(home.state.ledger.held(&session, "").unwrap().tokens(), (5_000, 1_000));
    // What is parked with it needs as much when it goes on.
    let (_, ticket) = home.thinking("executor-001");
    home.give(Input::Model(ModelInput::Outgrown { session: session.clone(), ticket, tokens_in: 9_500 }));
    assert_eq!(parked(&home, "executor-001").until, None);
    home.give(settings(&home, |settings| settings.budgets.day = tokens(20_000)));
    assert_eq!(home.state.ledger.held(&session, "").unwrap().tokens(), (9_500, 1_000));
}

#[test]
fn a_summary_that_was_of_no_use_leaves_no_more_room_than_there_is() {
    let mut home = home(Budgets { day: tokens(9_000), ..Budgets::default() });
    home.task("look", "executor-001");
    let (session, ticket) = home.thinking("executor-001");
    home.give(Input::Model(ModelInput::Outgrown { session: session.clone(), ticket, tokens_in: 4_000 }));
    let spent = |tokens_in| {
        Input::Model(ModelInput::Spent {
            session: session.clone(),
            call: None,
            model: "m".to_owned(),
            usage: Usage::of(tokens_in, 0),
        })
    };
    home.give(spent(3_000));
    let (_, ticket) = home.thinking("executor-001");
    let events = home.give(Input::Model(ModelInput::Unsummarised { session: session.clone(), ticket }));
    assert_eq!(line(&events), "unsummarised reserved turn_retried");
    assert_eq!(home.state.ledger.held(&session, "").unwrap().tokens(), (4_000, 1_000));
    assert_eq!(home.state.sessions[&session].pace.summaries, u32::MAX, "not in this turn");
    // The next one leaves too little.
    home.give(spent(1_500));
    let (_, ticket) = home.thinking("executor-001");
    home.give(Input::Model(ModelInput::Unsummarised { session: session.clone(), ticket }));
    assert_eq!(parked(&home, "executor-001").limit, "budgets.day");
    assert_eq!(sums(&home.state, home.at)["budgets.day"], (4_500, 2), "and no more is reserved");
}

#[test]
fn a_yes_is_for_as_much_as_the_call_that_waits_may_take() {
    let mut home = home(Budgets { run: tokens(100), ..Budgets::default() });
    let task = home.task("look", "executor-001");
    home.answer("approval-0001", Answer::Approved);
    home.says("executor-001", "done");
    assert_eq!(home.end(&task), Some(End::Done), "one yes is enough");
}

/// A home whose provider allows so much in a minute.
fn limited(limits: Rate) -> Home {
    Home::with(
        &["executor-001", "planner-001"],
        |settings| {
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
    )
}

pub fn requests_per_minute(most: u64) -> Home {
    limited(Rate { requests_per_minute: Some(most), tokens_per_minute: None })
}

#[test]
fn a_request_that_was_not_sent_is_not_counted() {
    let mut home = requests_per_minute(1);
    home.task("look", "executor-001");
    let (session, ticket) = home.thinking("executor-001");
    home.give(Input::Model(ModelInput::Outgrown { session, ticket, tokens_in: 9_000 }));
    assert_eq!(home.calls_to_model("executor-001").len(), 1, "it is built again");
    assert_eq!(sums(&home.state, home.at)["providers.p.limits"].1, 1);
}

#[test]
fn who_asked_somebody_that_is_parked_and_cut_off_still_gets_an_answer() {
    let mut home = requests_per_minute(3);
    home.task("plan", "planner-001");
    home.wants("planner-001", &[tell("executor-001", "how full is the disk?")]);
    let (asked, _) = home.session_of("executor-001");
    home.wants("executor-001", &[read("memory/disk.md")]);
    home.tool_ends("executor-001", true, "full");
    assert_eq!(parked(&home, "executor-001").limit, "providers.p.limits");
    home.give(Input::File(FileInput::SessionCut { session: asked, next_message: 3, tail: Tail::Unanswered }));
    home.pass(25_000);
    home.says("executor-001", "93 %");
    assert_eq!(home.heard("planner-001")[1..], ["agent:executor-001: 93 %"]);
}

#[test]
fn a_summary_is_a_request_of_its_own() {
    for (most, asks) in [(1, 0), (2, 1)] {
        let mut home = requests_per_minute(most);
        home.task("look", "executor-001");
        let (session, ticket) = home.thinking("executor-001");
        let (through, model) = (domain::id::MessageId::new("m-0001"), "m".to_owned());
        let (text, usage) = ("in short".to_owned(), Usage::of(10, 10));
        home.give(Input::Model(ModelInput::Summarised { session, ticket, through, text, model, usage }));
        assert_eq!(home.calls_to_model("executor-001").len(), asks, "{most} a minute");
    }
}

#[test]
fn a_wait_for_a_providers_minute_does_not_look_like_a_question() {
    let mut home = requests_per_minute(1);
    let task = home.task("look", "executor-001");
    home.wants("executor-001", &[read("notes.md")]);
    home.tool_ends("executor-001", true, "nothing");
    assert_eq!(parked(&home, "executor-001").limit, "providers.p.limits");
    assert_eq!(home.state.mark_of(home.get(&task)), Mark::Running);
}

#[test]
fn a_provider_is_asked_as_often_as_its_account_allows_by_all_agents_together() {
    let limits = Rate { requests_per_minute: Some(2), tokens_per_minute: None };
    let mut home = limited(limits);
    home.task("one", "executor-001");
    home.task("two", "planner-001");
    home.model_fails("planner-001", Failure::Retry { after_ms: 1 });
    home.task("three", "executor-001");
    let waits = home.state.parked().next().unwrap().parked.clone();
    assert_eq!(waits.limit, "providers.p.limits");
    assert_eq!(waits.until.map(|until| until.0), Some(1_020_000), "the next minute of the clock");
    home.pass(5_000);
    assert_eq!(home.calls_to_model("planner-001"), [], "a failed request counts, so its retry waits too");
    home.pass(20_000);
    assert_eq!(home.calls_to_model("executor-001").len() + home.calls_to_model("planner-001").len(), 3);
}

#[test]
fn tasks_at_an_exhausted_budget_open_no_sessions_and_begin_in_their_order_when_it_opens() {
    let mut home = home(Budgets { day: tokens(4_000), ..Budgets::default() });
    home.task("look", "executor-001");
    used(&mut home, "executor-001", "done", Usage::of(2_900, 100));
    let opened = home.state.sessions.len();
    let tasks: Vec<_> = (0..30).map(|_| home.task("look again", "executor-001")).collect();
    assert_eq!(home.state.sessions.len(), opened, "nothing is opened for nothing");
    assert_eq!(home.state.parked().count(), 20, "as many as the queue has places for");
    assert_eq!(home.state.team.agents[&AgentId::new("executor-001")].backlog(), 10);
    assert!(home.state.is_idle() && home.state.work.tasks[&tasks[0]].session().is_none());
    home.give(Input::Started);
    home.mark(&tasks[1], Mark::Cancelled);
    assert_eq!(home.state.parked().count(), 20, "the place that is given up is taken");
    home.pass(DAY_MS);
    used(&mut home, "executor-001", "done", Usage::of(10, 10));
    used(&mut home, "executor-001", "done", Usage::of(10, 10));
    assert_eq!(home.begun()[1..3], [tasks[0].to_string(), tasks[2].to_string()]);
}

#[test]
fn a_tasks_wait_for_a_budget_is_no_wait_for_a_slot() {
    let mut home = home(Budgets { day: tokens(4_000), ..Budgets::default() });
    let mut spec = home.state.team.agents[&AgentId::new("executor-001")].spec.clone();
    spec.permissions.concurrency.queue_timeout_ms = Some(5_000);
    home.give(Input::File(FileInput::AgentRead(Box::new(spec))));
    home.task("look", "executor-001");
    used(&mut home, "executor-001", "done", Usage::of(2_900, 100));
    let task = home.task("look again", "executor-001");
    home.pass(10_000);
    assert_eq!((home.end(&task), home.state.parked().count()), (None, 1));
}

#[test]
fn delegated_work_backs_off_at_a_limit_and_goes_on_by_itself() {
    let limits = Rate { requests_per_minute: Some(1), tokens_per_minute: None };
    let mut home = Home::with(
        &["executor-001", "planner-001"],
        |settings| {
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
        |agent| {
            agent.permissions.delegation.can_delegate = true;
            agent.responsibilities = vec!["*".to_owned()];
        },
    );
    home.task("plan", "planner-001");
    let (to, tag, task) = (AgentId::new("executor-001"), "ops:look".to_owned(), "look".to_owned());
    let events = home.wants(
        "planner-001",
        &[domain::tool::Act::Delegate(domain::tool::Delegate {
            to,
            tag,
            task,
            payload: None,
            callback: None,
            with_results: Vec::new(),
            deadline_ms: None,
            contexts: Vec::new(),
        })],
    );
    let blocked = events.iter().find_map(|event| match event {
        Event::Session(SessionEvent::Moved { to: Lifecycle::Blocked, reason, .. }) => Some(reason.clone()),
        _ => None,
    });
    let blocked = blocked.expect("who asks waits");
    assert!(
        blocked
            .starts_with("waits for delegation-0001; Backoff and retry: providers.p.limits: of 1 requests"),
        "{blocked}"
    );
    assert_eq!(home.begun(), ["task-001"], "nothing is opened");
    home.pass(60_000);
    assert_eq!(home.begun(), ["task-001", "task-002"]);
    home.says("executor-001", "seen");
    assert!(home.results("planner-001")[0].contains("has done task-002: seen"));
}

#[test]
fn a_quarantined_call_parks_at_a_budget_and_is_made_when_there_is_room() {
    let mut home = home(Budgets { day: tokens(36_000), ..Budgets::default() });
    home.task("ask", "executor-001");
    let extract = domain::tool::Act::Extract(domain::tool::Extract {
        path: "memory/mail.md".to_owned(),
        question: "is it urgent?".to_owned(),
        answer: domain::closed::Closed::Bool,
    });
    home.wants("executor-001", &[extract]);
    assert_eq!(parked(&home, "executor-001").limit, "budgets.day");
    assert!(home.calls_to_tools("executor-001").is_empty() && !home.state.ledger.is_holding());
    home.give(Input::Started);
    home.give(settings(&home, |settings| settings.budgets.day = tokens(60_000)));
    let (session, call, _) = home.calls_to_tools("executor-001").remove(0);
    let held = home.state.ledger.held(&session, call.as_str()).expect("it is reserved").tokens();
    let usage = Usage::of(700, 3);
    home.give(Input::Model(ModelInput::Spent {
        session: session.clone(),
        call: Some(call),
        model: "m".to_owned(),
        usage,
    }));
    assert!(sums(&home.state, home.at)["budgets.day"].0 >= held.0, "the rest is held until it ends");
    home.tool_ends("executor-001", true, "true");
    let (session, _) = home.thinking("executor-001");
    let turn: u64 =
        home.state.ledger.held(&session, "").map(|held| held.tokens().0 + held.tokens().1).unwrap();
    assert_eq!(sums(&home.state, home.at)["budgets.day"].0, 15 + 703 + turn, "it is put right");
}

#[derive(Debug, Clone)]
enum Deed {
    Want,
    Reply(u64, bool),
    Fail(bool),
    Outgrow(u64),
    Unsummarised(u64),
    Cancel,
    Tool,
    Write,
    Time(u64),
    Restart,
    Answer(bool),
}

fn deed() -> impl Strategy<Value = (Deed, usize)> {
    let deed = prop_oneof![
        4 => Just(Deed::Want),
        8 => (0..=100_u64, any::<bool>()).prop_map(|(share, more)| Deed::Reply(share, more)),
        2 => any::<bool>().prop_map(Deed::Fail),
        2 => (1..6_000_u64).prop_map(Deed::Outgrow),
        1 => (0..=100_u64).prop_map(Deed::Unsummarised),
        2 => Just(Deed::Cancel),
        4 => Just(Deed::Tool),
        1 => Just(Deed::Write),
        2 => prop_oneof![0..90_000_u64, Just(DAY_MS / 2), Just(20 * DAY_MS)].prop_map(Deed::Time),
        1 => Just(Deed::Restart),
        2 => any::<bool>().prop_map(Deed::Answer),
    ];
    (deed, any::<usize>())
}

pub const TEAM: [&str; 2] = ["executor-001", "planner-001"];

fn follow(home: &mut Home, deed: &Deed, number: usize) {
    let agent = TEAM[number % TEAM.len()];
    let calls = home.calls_to_model(agent);
    let asked = (!calls.is_empty()).then(|| calls[number % calls.len()].clone());
    let input = match (deed, asked) {
        (Deed::Want, _) => {
            let open = home.state.work.tasks.iter().find(|(_, task)| !task.is_ended());
            let parent = open.map(|(id, _)| id.clone()).filter(|_| number.is_multiple_of(3));
            home.task_with("look", agent, |spec| spec.parent = parent);
            return;
        }
        (Deed::Reply(share, more), Some((session, ticket))) => {
            let (most_in, most_out) = home.state.ledger.held(&session, "").expect("it is reserved").tokens();
            let usage = Usage::of(most_in * share / 100, most_out * share / 100);
            let acts = if *more { vec![read("a")] } else { Vec::new() };
            match reply(session, ticket, "words", &acts) {
                Input::Model(ModelInput::Replied { session, ticket, text, calls, read, .. }) => {
                    Input::Model(ModelInput::Replied {
                        session,
                        ticket,
                        text,
                        calls,
                        model: "m".to_owned(),
                        usage,
                        read,
                    })
                }
                other => other,
            }
        }
        (Deed::Fail(again), Some((session, ticket))) => {
            let failure = if *again { Failure::Retry { after_ms: 10 } } else { Failure::GiveUp };
            Input::Model(ModelInput::Failed { session, ticket, reason: "busy".to_owned(), failure })
        }
        (Deed::Outgrow(tokens_in), Some((session, ticket))) => {
            Input::Model(ModelInput::Outgrown { session, ticket, tokens_in: *tokens_in })
        }
        (Deed::Unsummarised(share), Some((session, ticket))) => {
            let (most_in, most_out) = home.state.ledger.held(&session, "").expect("it is reserved").tokens();
            let usage = Usage::of(most_in * share / 100, most_out * share / 100);
            home.give(Input::Model(ModelInput::Spent {
                session: session.clone(),
                call: None,
                model: "m".to_owned(),
                usage,
            }));
            Input::Model(ModelInput::Unsummarised { session, ticket })
        }
        (Deed::Cancel, _) => {
            let open: Vec<_> = home.state.work.tasks.iter().filter(|(_, task)| !task.is_ended()).collect();
            if open.is_empty() {
                return;
            }
            marked(&open[number % open.len()].0.clone(), Mark::Cancelled)
        }
        (Deed::Tool, _) if !home.calls_to_tools(agent).is_empty() => {
            home.tool_ends(agent, true, "x");
            return;
        }
        (Deed::Write, _) => written(None, agent, "hello"),
        (Deed::Time(ms), _) => {
            home.pass(*ms);
            return;
        }
        (Deed::Restart, _) => {
            // It stopped without a word; the next process has the events (see `Home::try_give`) and a snapshot.
            let kept = serde_json::to_string(&home.state).unwrap();
            let found: State = serde_json::from_str(&kept).unwrap();
            assert_eq!(found, home.state);
            home.state = found;
            Input::Started
        }
        (Deed::Answer(yes), _) => {
            let asked: Vec<_> = home.state.people.approvals.keys().cloned().collect();
            if asked.is_empty() {
                return;
            }
            let answer = if *yes { Answer::Approved } else { no() };
            answered(asked[number % asked.len()].as_str(), answer)
        }
        (Deed::Reply(..) | Deed::Fail(_) | Deed::Outgrow(_) | Deed::Unsummarised(_) | Deed::Tool, _) => {
            return;
        }
    };
    home.give(input);
}

/// A node with room for all that wait there for others, though they could go on at once: somebody has to find none.
fn left_behind(home: &Home) -> Option<String> {
    let provider = Some("p".to_owned());
    let payer = Payer { agent: AgentId::new("a"), makers: Vec::new(), run: String::new(), provider };
    let limits = nodes(&home.state.config.settings, &payer).pop().unwrap();
    let has_slot = |agent: &AgentId| home.state.team.agents[agent].busy < 3;
    let mut has_room: BTreeMap<&str, bool> = BTreeMap::new();
    for halt in home.state.parked().filter(|halt| halt.parked.held && has_slot(halt.agent)) {
        let Parked { limit, reason, .. } = halt.parked;
        let node = domain::budget::question::named(&home.state.config.settings, limit);
        let meter = home.state.ledger.meter(node.as_ref().unwrap_or(&limits), home.at);
        // `… of 5000 tokens, 0 are spent and 2516 reserved, and this call may take 2523; …`
        let numbers = reason.split_once(": of ").unwrap().1.split([' ', ';']);
        let numbers: Vec<u64> = numbers.filter_map(|word| word.parse().ok()).collect();
        let used = match reason.contains(" requests, ") {
            true => meter.spent.requests + meter.reserved.requests,
            false => meter.spent.tokens + meter.reserved.tokens,
        };
        *has_room.entry(limit).or_insert(true) &= used + numbers[3] <= numbers[0];
    }
    let is_full = home.state.schedule.busy >= home.state.config.settings.limits.parallel_max;
    has_room.into_iter().find(|(_, has_room)| *has_room && !is_full).map(|(limit, _)| limit.to_owned())
}

proptest! {
    #[test]
    fn spent_and_reserved_never_pass_a_cap_and_nothing_stays_reserved(
        deeds in proptest::collection::vec(deed(), 1..80),
        caps in (3_000..20_000_u64, 10_000..60_000_u64, 3_000..12_000_u64, 3_000..9_000_u64),
        limits in (1..6_u64, 4_000..12_000_u64),
        places in 1..4_u32,
    ) {
        let share = Share { day: tokens(caps.3), month: Cap::default() };
        let budgets = Budgets {
            day: tokens(caps.0),
            month: tokens(caps.1),
            run: tokens(caps.2),
            agents: [(AgentId::new("planner-001"), share)].into(),
        };
        let rate = Rate { requests_per_minute: Some(limits.0), tokens_per_minute: Some(limits.1) };
        let endpoint = Endpoint { limits: rate, ..Endpoint::new("http://localhost") };
        let mut home = Home::with(&TEAM, |settings| {
            settings.budgets = budgets;
            settings.providers.insert("p".to_owned(), Provider::OpenAi(endpoint));
            let target = ModelRef { provider: "p".to_owned(), model: "x".to_owned(), context_tokens: None, max_tokens: None };
            settings.models.insert("m".to_owned(), target);
        }, |agent| {
            agent.model.max_tokens = Some(1_000);
            agent.permissions.concurrency.max_parallel_tasks = 3;
            agent.permissions.concurrency.max_pending_queue = places;
            agent.permissions.concurrency.task_timeout_ms = 10 * DAY_MS;
        });
        for (deed, number) in &deeds {
            follow(&mut home, deed, *number);
            assert!(home.state.team.agents.values().all(|agent| agent.waiting() <= places), "after {deed:?}");
            assert_eq!(left_behind(&home), None, "after {deed:?}");
            for (name, (tokens, requests)) in sums(&home.state, home.at) {
                if name == "providers.p.limits" {
                    assert!(requests <= limits.0, "{requests} requests of {} after {deed:?}", limits.0);
                }
                let cap = match name.as_str() {
                    "budgets.day" => caps.0,
                    "budgets.month" => caps.1,
                    "budgets.agents.planner-001.day" => caps.3,
                    name if name.starts_with("budgets.run") => caps.2,
                    "providers.p.limits" => limits.1,
                    _ => u64::MAX,
                };
                // Only a yes of a person raises it, and only for its window.
                let node = domain::budget::question::named(&home.state.config.settings, &name);
                let raised = node.and_then(|node| home.state.ledger.raised(&node, home.at).tokens);
                let yeses = home.raises.iter().filter(|raise| raise.budget == name);
                let said: u64 = yeses.filter_map(|raise| raise.cap.tokens).sum();
                assert!(raised.unwrap_or_default() <= said, "{name}");
                let cap = cap.saturating_add(raised.unwrap_or_default());
                assert!(tokens <= cap, "{name}: {tokens} of {cap} after {deed:?}");
            }
        }
        let open: Vec<_> = home.state.work.tasks.keys().cloned().collect();
        for task in open {
            if !home.get(&task).is_ended() {
                home.mark(&task, Mark::Cancelled);
            }
        }
        // What one gives back lets another go on.
        let next = |home: &Home| TEAM.iter().find_map(|agent| home.calls_to_model(agent).pop());
        while let Some((session, ticket)) = next(&home) {
            let (reason, failure) = ("over".to_owned(), Failure::GiveUp);
            home.give(Input::Model(ModelInput::Failed { session, ticket, reason, failure }));
        }
        assert!(!home.state.ledger.is_holding());
        assert!(home.state.ledger.meters().all(|(_, meter)| meter.reserved == Default::default()));
        let found = from_the_list(&home);
        assert_eq!((&found.ledger.days, &found.team.spent), (&home.state.ledger.days, &home.state.team.spent));
        // The list does not say where a request of a person begins in a conversation: too much is better than too little.
        let is_talk = |row: &Counted| {
            let run = row.0.strip_prefix("budgets.run of ");
            run.is_some_and(|run| home.state.sessions.contains_key(&SessionId::new(run)))
        };
        let (found_talks, found_rest): (Vec<_>, Vec<_>) = counted(&found, &home).into_iter().partition(is_talk);
        let (talks, live): (Vec<_>, Vec<_>) = counted(&home.state, &home).into_iter().partition(is_talk);
        assert_eq!(found_rest, live);
        assert!(found_talks.iter().zip(&talks).all(|(found, live)| found.0 == live.0 && found.1 >= live.1));
        let sessions = home.state.sessions.iter().filter(|(_, session)| !session.purse.spent.is_nothing());
        let by_session: BTreeMap<_, _> = sessions.map(|(id, session)| (id.clone(), session.purse.spent)).collect();
        assert_eq!(found.ledger.unclaimed(), &by_session);
    }
}

/// What is known when there are settings, the list of what was spent, and nothing else.
fn from_the_list(home: &Home) -> State {
    let mut state = State::new();
    let settings = Input::File(FileInput::SettingsRead(Box::new(home.state.config.settings.clone())));
    let list =
        Input::File(FileInput::UsageFound { sums: sums_of(&home.charges), raised: home.raises.clone() });
    // The list may be read once more, if nobody knows whether it was.
    for input in [settings, list.clone(), list] {
        let events = crate::home::decide(&state, home.at, &input).unwrap();
        events.iter().for_each(|event| state.apply(home.at, event));
    }
    state
}

/// What each node of the tree counts now, and by how much people let it be passed.
/// A node, its tokens and money that are spent, and by how much it was raised.
type Counted = (String, u64, u64, Cap);

fn counted(state: &State, home: &Home) -> Vec<Counted> {
    let payers = home.charges.iter().map(|charge| &charge.payer);
    let all: BTreeMap<String, Node> = payers
        .flat_map(|payer| nodes(&home.state.config.settings, payer))
        .map(|node| (node.name.clone(), node))
        .collect();
    let counted = |node: &Node| {
        let spent = state.ledger.meter(node, home.at).spent;
        (node.name.clone(), spent.tokens, spent.money, state.ledger.raised(node, home.at))
    };
    all.values().map(counted).collect()
}

#[test]
fn what_was_spent_is_known_from_its_list_and_a_used_up_budget_stays_used_up() {
    let mut before = home(Budgets { day: tokens(3_000), ..Budgets::default() });
    before.task("look", "executor-001");
    used(&mut before, "executor-001", "found", Usage::of(1_500, 1_000));
    let mut after = home(Budgets { day: tokens(3_000), ..Budgets::default() });
    let list = Input::File(FileInput::UsageFound { sums: sums_of(&before.charges), raised: Vec::new() });
    assert_eq!(after.give(list.clone()).len(), 1);
    assert_eq!(after.give(list.clone()), [], "once");
    let task = after.task("look again", "executor-001");
    assert_eq!(parked(&after, "executor-001").limit, "budgets.day");
    assert!(parked(&after, "executor-001").reason.contains("of 3000 tokens, 2500 are spent"));
    after.pass(DAY_MS);
    assert_eq!(after.calls_to_model("executor-001").len(), 1, "the next day has room");
    assert_eq!(after.state.work.tasks.get(&task).map(|task| task.is_ended()), Some(false));
    // A journal that counted something knows better than a list.
    let mut other = home(Budgets::default());
    other.task("look", "executor-001");
    used(&mut other, "executor-001", "found", Usage::of(1, 1));
    assert_eq!(other.give(list), []);
}

#[test]
fn a_list_from_a_clock_that_was_wrong_closes_no_window() {
    let mut before = home(Budgets { day: tokens(3_000), ..Budgets::default() });
    before.pass(40 * DAY_MS);
    before.task("look", "executor-001");
    used(&mut before, "executor-001", "found", Usage::of(1_500, 1_000));
    let mut after = home(Budgets { day: tokens(3_000), ..Budgets::default() });
    after.give(Input::File(FileInput::UsageFound { sums: sums_of(&before.charges), raised: Vec::new() }));
    after.task("look again", "executor-001");
    assert_eq!(parked(&after, "executor-001").limit, "budgets.day", "it counts, now");
    after.pass(DAY_MS);
    assert_eq!(after.calls_to_model("executor-001").len(), 1);
}

#[test]
fn a_node_says_its_name_and_how_long_it_counts() {
    let home = home(Budgets::default());
    let payer = Payer {
        agent: AgentId::new("a"),
        makers: Vec::new(),
        run: "task-001".to_owned(),
        provider: Some("p".to_owned()),
    };
    let named: Vec<(String, Window)> = nodes(&home.state.config.settings, &payer)
        .into_iter()
        .map(|Node { name, window, .. }| (name, window))
        .collect();
    let expected = [
        ("budgets.day", Window::Day),
        ("budgets.month", Window::Month),
        ("budgets.agents.a.day", Window::Day),
        ("budgets.agents.a.month", Window::Month),
        ("budgets.run of task-001", Window::Ever),
        ("providers.p.limits", Window::Minute),
    ];
    assert_eq!(named, expected.map(|(name, window)| (name.to_owned(), window)));
}

#[test]
fn a_call_that_was_under_way_is_not_made_again_after_a_start_if_its_budget_is_gone() {
    let mut home = requests_per_minute(9);
    home.task("look", "executor-001");
    home.thinking("executor-001");
    let mut settings = home.state.config.settings.clone();
    settings.budgets.day.tokens = Some(0);
    home.give(Input::File(FileInput::SettingsRead(Box::new(settings))));
    home.effects.clear();
    home.give(Input::Started);
    assert_eq!(home.calls_to_model("executor-001"), []);
    assert_eq!(parked(&home, "executor-001").limit, "budgets.day");
    assert!(!home.state.ledger.is_holding());
}
