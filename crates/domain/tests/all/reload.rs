//! Files of the owner change: what is under way goes on as it began, with no more rights than either file gives.

use domain::agent;
use domain::budget::Rate;
use domain::id::AgentId;
use domain::input::FileInput;
use domain::input::Input;
use domain::role::{Permission, Role};
use domain::settings::{Context, Endpoint, Limits, ModelRef, Provider, Settings};
use domain::usage::Price;

use crate::home::{Home, line, read, run};

fn change(home: &mut Home, change: impl FnOnce(&mut agent::Spec)) {
    let mut spec = home.state.team.agents[&AgentId::new("executor-001")].spec.clone();
    change(&mut spec);
    home.give(Input::File(FileInput::AgentRead(Box::new(spec))));
}

fn model_of(home: &Home) -> String {
    let (_, session) = home.session_of("executor-001");
    home.state.spec_of(session).unwrap().model.primary.clone()
}

#[test]
fn what_is_under_way_keeps_its_model_and_what_begins_has_the_new_one() {
    let mut home = Home::new(&["executor-001"]);
    home.task("look", "executor-001");
    change(&mut home, |spec| spec.model.primary = "n".to_owned());
    change(&mut home, |spec| spec.model.primary = "o".to_owned());
    assert_eq!(model_of(&home), "m");
    home.give(Input::Started);
    home.says("executor-001", "fine");
    home.task("look again", "executor-001");
    assert_eq!(model_of(&home), "o");
    let kept = serde_json::to_value(&home.state).unwrap();
    assert_eq!(kept["agents"]["executor-001"].get("past"), None, "nobody needs the old ones any more");
}

#[test]
fn a_conversation_that_rests_begins_anew_with_the_new_file() {
    let mut home = Home::new(&["executor-001"]);
    home.write("executor-001", "hello");
    home.says("executor-001", "hello");
    change(&mut home, |spec| spec.model.primary = "n".to_owned());
    assert_eq!(model_of(&home), "m");
    home.write("executor-001", "and now?");
    assert_eq!(model_of(&home), "n");
}

#[test]
fn what_is_taken_from_an_agent_is_taken_at_once_and_what_is_given_is_for_new_tasks() {
    let mut home = Home::new(&["executor-001"]);
    change(&mut home, |spec| spec.permissions.tools.deny = vec!["execute_command".to_owned()]);
    home.task("look", "executor-001");
    change(&mut home, |spec| spec.permissions.tools.deny = vec!["read_file".to_owned()]);
    for act in [read("a"), run("df -h")] {
        assert_eq!(line(&home.wants("executor-001", &[act])), "replied call_finished:refused turn_begun");
    }
    home.says("executor-001", "fine");
    home.task("look again", "executor-001");
    assert_eq!(line(&home.wants("executor-001", &[run("df -h")])), "replied call_cleared");
}

fn settle(home: &mut Home, change: impl FnOnce(&mut Settings)) {
    let mut settings = home.state.config.settings.clone();
    change(&mut settings);
    home.give(Input::File(FileInput::SettingsRead(Box::new(settings))));
}

fn terms(home: &Home) -> &Settings {
    home.state.terms(home.session_of("executor-001").1)
}

fn model(provider: &str, model: &str) -> ModelRef {
    ModelRef {
        provider: provider.to_owned(),
        model: model.to_owned(),
        context_tokens: None,
        max_tokens: None,
    }
}

fn endpoint(url: &str, requests_per_minute: u64) -> Provider {
    let limits = Rate { requests_per_minute: Some(requests_per_minute), ..Rate::default() };
    Provider::OpenAi(Endpoint { limits, ..Endpoint::new(url) })
}

/// Two providers, and an alias for a model of the first.
fn settled(settings: &mut Settings) {
    settings.providers.insert("p".to_owned(), endpoint("http://p", 100));
    settings.providers.insert("q".to_owned(), endpoint("http://q", 100));
    settings.models.insert("sonnet".to_owned(), model("p", "s-1"));
    settings.prices.insert("s-1".to_owned(), Price { input: 1_000_000, ..Price::default() });
    settings.prices.insert("s-2".to_owned(), Price { input: 2_000_000, ..Price::default() });
}

#[test]
fn what_work_keeps_of_the_settings_and_what_holds_at_once() {
    let old = |settings: &mut Settings| {
        settled(settings);
        settings.context = Context { summary_model: Some("a".to_owned()) };
        settings.roles.insert("own".to_owned(), Role { permissions: [].into(), tools: vec![] });
    };
    let new = |settings: &mut Settings| {
        settings.models.insert("sonnet".to_owned(), model("q", "s-2"));
        settings.models.insert("other".to_owned(), model("q", "s-2"));
        settings.context = Context { summary_model: Some("b".to_owned()) };
        settings.roles.clear();
        settings.limits = Limits {
            turns_max: 5,
            tool_ms_max: 1_000_000,
            parallel_max: 99,
            tasks_max: 77,
            ..settings.limits.clone()
        };
        settings.providers.insert("p".to_owned(), endpoint("http://elsewhere", 1));
        settings.prices.insert("s-1".to_owned(), Price { input: 9, ..Price::default() });
        settings.budgets.run.tokens = Some(1_000_000_000);
        settings.review.max_review_rounds = 9;
        settings.planning.hold = true;
        settings.approvals.expire_ms = Some(1);
        settings.trust.outside = vec!["x".to_owned()];
        settings.sandbox.read = vec!["/opt/x".to_owned()];
    };
    let mut home = Home::with(&["executor-001"], old, |_| {});
    let began = home.state.config.settings.clone();
    home.task("look", "executor-001");
    settle(&mut home, new);
    let now = home.state.config.settings.clone();
    let kept = terms(&home);
    assert_eq!(kept.models["sonnet"], now.models["sonnet"], "an alias is looked up at each call");
    assert_eq!(kept.models["other"], now.models["other"]);
    assert_eq!((&kept.roles, &kept.context), (&began.roles, &began.context));
    assert_eq!(kept.limits.turns_max, 5, "a bound that was lowered holds at once");
    assert_eq!(kept.limits.tool_ms_max, began.limits.tool_ms_max, "one that was raised does not");
    let shared = Settings {
        models: kept.models.clone(),
        roles: kept.roles.clone(),
        context: kept.context.clone(),
        limits: Limits { turns_max: 5, tool_ms_max: began.limits.tool_ms_max, ..now.limits.clone() },
        ..now.clone()
    };
    assert_eq!(*kept, shared, "all else holds for all at once");
    home.says("executor-001", "fine");
    home.task("look again", "executor-001");
    assert_eq!(*terms(&home), now, "what begins goes by what is there now");
}

#[test]
fn terms_last_as_long_as_somebody_goes_by_them_through_changes_and_restarts() {
    let mut home = Home::with(&["executor-001", "executor-002"], settled, |_| {});
    home.task("look", "executor-001");
    settle(&mut home, |settings| settings.limits.parallel_max = 99);
    let stored = |home: &Home| serde_json::to_value(&home.state).unwrap();
    assert_eq!(stored(&home).get("terms"), None, "what holds for all needs no second edition");
    let summary = |home: &mut Home, model: &str| {
        settle(home, |settings| settings.context.summary_model = Some(model.to_owned()));
    };
    summary(&mut home, "s-2");
    home.task("look", "executor-002");
    summary(&mut home, "s-3");
    settle(&mut home, |settings| settings.limits.turns_max = 7);
    home.give(Input::Started);
    let named = |home: &Home, agent: &str| {
        let terms = home.state.terms(home.session_of(agent).1);
        (terms.context.summary_model.clone(), terms.limits.turns_max)
    };
    assert_eq!(named(&home, "executor-001"), (None, 7));
    assert_eq!(named(&home, "executor-002"), (Some("s-2".to_owned()), 7));
    let kept: domain::state::State = serde_json::from_value(stored(&home)).unwrap();
    assert_eq!(kept, home.state);
    home.says("executor-001", "fine");
    home.says("executor-002", "fine");
    settle(&mut home, |settings| settings.limits.turns_max = 8);
    assert_eq!(stored(&home).get("terms"), None, "nobody goes by the old ones any more");
}

#[test]
fn an_alias_whose_provider_is_gone_is_what_it_is_now() {
    let mut home = Home::with(&["executor-001"], settled, |_| {});
    home.task("look", "executor-001");
    settle(&mut home, |settings| {
        settings.providers.remove("p");
        settings.models.insert("sonnet".to_owned(), model("q", "s-2"));
    });
    assert_eq!(terms(&home).models["sonnet"], model("q", "s-2"));
}

#[test]
fn work_goes_on_with_what_an_alias_means_now_and_pays_the_account_that_it_asked() {
    let metered = |settings: &mut Settings| {
        settled(settings);
        settings.budgets.day.tokens = Some(1_000_000_000);
    };
    let with_alias = |spec: &mut agent::Spec| spec.model.primary = "sonnet".to_owned();
    let mut home = Home::with(&["executor-001"], metered, with_alias);
    home.task("look", "executor-001");
    settle(&mut home, |settings| _ = settings.models.insert("sonnet".to_owned(), model("q", "s-2")));
    let cost = |home: &Home| home.state.team.spent[&AgentId::new("executor-001")]["sonnet"].cost;
    home.wants("executor-001", &[run("df -h")]);
    let provider = |home: &Home| home.charges.last().unwrap().payer.provider.clone();
    assert_eq!(provider(&home).as_deref(), Some("p"), "it was asked before the change");
    home.tool_ends("executor-001", true, "much");
    home.says("executor-001", "fine");
    assert_eq!((cost(&home), provider(&home).as_deref()), (40, Some("q")), "ten tokens of s-2 each");
    home.task("look again", "executor-001");
    home.says("executor-001", "fine");
    assert_eq!((cost(&home), provider(&home).as_deref()), (60, Some("q")));
}

#[test]
fn what_is_taken_from_a_role_is_taken_at_once_and_what_is_given_is_for_new_tasks() {
    let role = |tools: &[&str]| Role {
        permissions: [Permission::ReadFiles, Permission::ExecuteTools].into(),
        tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
    };
    let own = |settings: &mut Settings| _ = settings.roles.insert("own".to_owned(), role(&["read_file"]));
    let mut home = Home::with(&["executor-001"], own, |spec| spec.role = "own".to_owned());
    home.task("look", "executor-001");
    settle(&mut home, |settings| {
        _ = settings.roles.insert("own".to_owned(), role(&["execute_command"]));
    });
    for act in [read("a"), run("df -h")] {
        assert_eq!(line(&home.wants("executor-001", &[act])), "replied call_finished:refused turn_begun");
    }
    home.says("executor-001", "fine");
    home.task("look again", "executor-001");
    assert_eq!(line(&home.wants("executor-001", &[run("df -h")])), "replied call_cleared");
}

#[test]
fn what_is_there_before_any_settings_were_read_goes_by_the_first_that_are() {
    let mut home = Home::with(&["executor-001"], |settings| *settings = Settings::default(), |_| {});
    home.task("look", "executor-001");
    settle(&mut home, |settings| {
        settled(settings);
        settings.roles.insert("own".to_owned(), Role { permissions: [].into(), tools: vec![] });
        settings.limits.turns_max += 10;
    });
    assert_eq!(*terms(&home), home.state.config.settings);
}
