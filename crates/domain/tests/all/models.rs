//! What comes of a model's answers and failures: who is asked next, when, and what it cost.

use domain::agent;
use domain::budget::Cap;
use domain::effect::Effect;
use domain::event::Event;
use domain::event::{CallEvent, TurnEvent};
use domain::id::AgentId;
use domain::input::{Failure, Input};
use domain::input::{FileInput, ModelInput};
use domain::pending;
use domain::settings::{Endpoint, ModelRef, Provider, Settings, TapeOrder};
use domain::usage::{Price, Spent, Usage};

use crate::home::{Home, line, read};

const ME: &str = "executor-001";
const BUSY: Failure = Failure::Retry { after_ms: 0 };

/// An agent with a fallback, at work.
fn with_fallback() -> Home {
    let mut home = Home::new(&[ME]);
    let mut spec = agent::Spec::new(AgentId::new(ME), "executor", "big");
    spec.model.fallback = Some("small".to_owned());
    home.give(Input::File(FileInput::AgentRead(Box::new(spec))));
    home.task("look", ME);
    home
}

fn switched_to(events: &[Event]) -> Option<(&str, &str)> {
    events.iter().find_map(|event| match event {
        Event::Turn(TurnEvent::Failed { reason, fallback: Some(fallback), .. }) => {
            Some((fallback.as_str(), reason.as_str()))
        }
        _ => None,
    })
}

#[test]
fn a_model_that_is_down_is_passed_over_at_once_and_tried_again_a_minute_later() {
    let mut home = with_fallback();
    home.says(ME, "done");
    home.write(ME, "hello");
    let events = home.model_fails(ME, Failure::Down);
    assert_eq!(switched_to(&events), Some(("small", "overloaded; small is asked")));
    assert_eq!(line(&home.pass(0)), "turn_retried", "without a wait");
    let falls_back = |home: &Home| home.state.sessions.values().any(|s| s.pace.fallback_until.is_some());
    assert!(falls_back(&home));
    home.says(ME, "done");
    home.pass(59_000);
    home.write(ME, "and now?");
    assert!(falls_back(&home), "the next turn keeps to it");
    home.says(ME, "nothing");
    home.pass(1_000);
    home.write(ME, "and now?");
    assert!(!falls_back(&home), "until the primary may be well again");
}

#[test]
fn a_primary_that_keeps_failing_is_passed_over_when_its_attempts_are_used_up() {
    let mut home = with_fallback();
    for _ in 0..2 {
        assert_eq!(switched_to(&home.model_fails(ME, BUSY)), None);
        home.pass(10_000);
    }
    let events = home.model_fails(ME, BUSY);
    assert_eq!(switched_to(&events), Some(("small", "overloaded; small is asked after 3 failures")));
    home.pass(0);
    for _ in 0..2 {
        assert_eq!(line(&home.model_fails(ME, BUSY)), "turn_failed", "the fallback has attempts of its own");
        home.pass(10_000);
    }
    assert_eq!(line(&home.model_fails(ME, BUSY)), "task-001:failed waiting failed", "and there is no third");
}

#[test]
fn a_wait_that_is_too_long_goes_to_the_fallback_and_without_one_is_waited_for() {
    let long = Failure::Retry { after_ms: 40_000 };
    let mut home = with_fallback();
    assert!(switched_to(&home.model_fails(ME, long)).is_some());
    let mut home = Home::new(&[ME]);
    home.task("look", ME);
    assert_eq!(line(&home.model_fails(ME, long)), "turn_failed");
    assert_eq!(home.pass(39_999), []);
    assert_eq!(line(&home.pass(501)), "turn_retried");
}

#[test]
fn what_no_model_would_answer_is_not_taken_to_the_fallback() {
    let mut home = with_fallback();
    assert_eq!(line(&home.model_fails(ME, Failure::GiveUp)), "task-001:failed waiting failed");
    let mut home = Home::new(&[ME]);
    home.task("look", ME);
    assert_eq!(line(&home.model_fails(ME, Failure::Down)), "task-001:failed waiting failed");
    let task = home.state.work.tasks.values().next().unwrap();
    assert_eq!(task.result, "the model cannot answer: overloaded");
}

#[test]
fn those_who_fail_together_do_not_come_back_together() {
    let names: Vec<String> = (0..20).map(|n| format!("executor-{n:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut home = Home::new(&names);
    let mut dues = std::collections::BTreeSet::new();
    for name in &names {
        home.task("look", name);
    }
    for name in names.iter().take(16) {
        for event in home.model_fails(name, BUSY) {
            if let Event::Turn(TurnEvent::Failed { due, .. }) = event {
                dues.insert(due);
            }
        }
    }
    assert!(dues.len() >= 12, "spread over half a second: {dues:?}");
}

#[test]
fn tokens_and_cost_are_added_up_by_agent_model_and_session() {
    let mut home = Home::new(&[ME]);
    let to = |model: &str| ModelRef {
        provider: "p".to_owned(),
        model: model.to_owned(),
        context_tokens: None,
        max_tokens: None,
    };
    let price = Price { input: 1_000_000, output: 2_000_000, cache_read: Some(0), cache_write: None };
    let provider = Provider::Replay { tape: "t".to_owned(), by: TapeOrder::Request };
    home.give(Input::File(FileInput::SettingsRead(Box::new(Settings {
        models: [
            ("sonnet".to_owned(), to("s-1")),
            ("taped".to_owned(), ModelRef { provider: "t".to_owned(), ..to("x") }),
        ]
        .into(),
        providers: [("t".to_owned(), provider)].into(),
        prices: [("s-1".to_owned(), price)].into(),
        ..Settings::default()
    }))));
    home.task("look", ME);
    for (model, usage) in [
        ("sonnet", Usage { cache_read: 4, ..Usage::of(10, 5) }),
        ("odd", Usage::of(1, 1)),
        ("taped", Usage::of(1, 1)),
    ] {
        let (session, ticket) = home.thinking(ME);
        let model = model.to_owned();
        home.give(Input::Model(ModelInput::Replied {
            read: Vec::new(),
            session: session.clone(),
            ticket,
            text: "fine".to_owned(),
            calls: vec![],
            model,
            usage,
        }));
        home.give(crate::home::written(Some(&session), ME, "and now?"));
    }
    let spent = &home.state.team.spent[&AgentId::new(ME)];
    let first =
        Spent { replies: 1, usage: Usage { cache_read: 4, ..Usage::of(10, 5) }, cost: 16, unpriced: 0 };
    assert_eq!(spent["sonnet"], first);
    assert_eq!(spent["odd"].money(), "?");
    assert_eq!(spent["taped"].money(), "0.00");
    let session = home.state.sessions.values().next().unwrap();
    assert_eq!(session.purse.spent, Spent::sum(spent.values()));
    assert_eq!(session.purse.spent.money(), "0.000016 + ?");
}

#[test]
fn a_result_says_whether_its_call_worked() {
    let mut home = Home::new(&[ME]);
    home.task("look", ME);
    home.wants(ME, &[read("memory/a.md"), read("memory/b.md"), read("memory/none/../../x")]);
    home.tool_ends(ME, true, "words");
    home.tool_ends(ME, false, "no such file");
    let results: Vec<(bool, String)> = home
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Call(CallEvent::Finished { message, finish, .. }) => {
                Some((message.is_error, format!("{finish:?}").chars().take(4).collect()))
            }
            _ => None,
        })
        .collect();
    let (done, bad): (Vec<_>, Vec<_>) = results.into_iter().partition(|(is_error, _)| !is_error);
    assert_eq!(done, [(false, "Done".to_owned())]);
    let words: Vec<&str> = bad.iter().map(|(_, word)| word.as_str()).collect();
    assert!(words.contains(&"Fail") && words.contains(&"Refu"), "{words:?}");
}

#[test]
fn an_answer_is_reserved_with_the_limit_of_its_model() {
    for (model, own, max_tokens, expected) in [
        ("claude-sonnet-4-5", None, None, 32_000),
        ("claude-3-5-haiku-latest", None, None, 8_192),
        ("claude-sonnet-4-5", Some(500), None, 500),
        ("claude-sonnet-4-5", None, Some(50_000), 50_000),
        ("claude-sonnet-4-5", Some(64_000), Some(50_000), 50_000),
    ] {
        let target = ModelRef {
            provider: "claude".to_owned(),
            model: model.to_owned(),
            context_tokens: None,
            max_tokens,
        };
        let mut home = Home::with(
            &[ME],
            |settings| {
                let provider = Provider::Anthropic(Endpoint::new("https://localhost"));
                settings.providers = [("claude".to_owned(), provider)].into();
                settings.models = [("big".to_owned(), target)].into();
                settings.budgets.day = Cap { tokens: Some(1_000_000), money: None };
            },
            |agent| {
                agent.model.primary = "big".to_owned();
                agent.model.max_tokens = own;
            },
        );
        home.task("look", ME);
        let [Effect::CallModel { reserved: Some((_, tokens_out)), .. }] = pending(&home.state)[..] else {
            panic!("{model} is asked")
        };
        assert_eq!(tokens_out, expected, "{model}, {own:?}, {max_tokens:?}");
    }
}
