//! Providers that do not answer: work waits for them and goes on, and nothing fails.

use domain::agent;
use domain::event::{Event, OutageEvent, SessionEvent, TaskEvent};
use domain::id::{AgentId, TaskId};
use domain::input::{Again, Failure, FileInput, Input, PersonInput};
use domain::lifecycle::Lifecycle;
use domain::settings::{Endpoint, ModelRef, Provider, Settings};
use domain::task::End;
use domain::waits::{Node, Why};

use crate::home::{Home, line, read};

const ONE: &str = "executor-001";
const TWO: &str = "executor-002";
const OUT: Failure = Failure::Outage { after_ms: 0 };
const LIMITED: Failure = Failure::Limited { after_ms: 0 };

fn model(provider: &str, model: &str) -> ModelRef {
    let (provider, model) = (provider.to_owned(), model.to_owned());
    ModelRef { provider, model, context_tokens: None, max_tokens: None }
}

/// Two providers; `big` and `small` are models of the first, `other` is one of the second.
fn settled(settings: &mut Settings) {
    for name in ["p", "q"] {
        let provider = Provider::OpenAi(Endpoint::new("http://127.0.0.1:1"));
        settings.providers.insert(name.to_owned(), provider);
    }
    for (alias, provider) in [("big", "p"), ("small", "p"), ("other", "q")] {
        settings.models.insert(alias.to_owned(), model(provider, alias));
    }
    settings.limits.model_attempts_max = 1;
}

fn home(agents: &[&str], fallback: Option<&str>) -> Home {
    Home::with(agents, settled, |spec| {
        spec.model.primary = "big".to_owned();
        spec.model.fallback = fallback.map(str::to_owned);
    })
}

fn retry(what: Again) -> Input {
    Input::Person(PersonInput::Retry { what, by: "dana".to_owned() })
}

fn asks(home: &Home, agents: &[&str]) -> usize {
    agents.iter().map(|agent| home.calls_to_model(agent).len()).sum()
}

#[test]
fn ten_minutes_without_a_provider_fail_nothing_and_everything_goes_on_after_them() {
    let team = [ONE, TWO, "executor-003"];
    let mut home = home(&team, None);
    let tasks = team.map(|agent| home.task("look", agent));
    let over = home.at.plus_ms(600_000);
    let mut tries = 0;
    while home.at < over {
        for agent in team {
            if asks(&home, &[agent]) > 0 {
                home.model_fails(agent, OUT);
                tries += 1;
            }
        }
        let due = home.state.next_deadline().expect("it is tried again");
        home.pass(due.ms_since(home.at));
        assert!(asks(&home, &team) <= 1, "one asks for all");
    }
    assert!((9..20).contains(&tries), "{tries} tries in ten minutes");
    assert!(tasks.iter().all(|task| home.end(task).is_none()));
    let asking = team.iter().find(|agent| asks(&home, &[**agent]) > 0).expect("one tries");
    home.says(asking, "done");
    assert!(home.state.outages.is_empty());
    assert_eq!(asks(&home, &team), 2, "the others go on at once");
    for agent in team.iter().filter(|agent| agent != &asking) {
        home.says(agent, "done");
    }
    assert!(tasks.iter().all(|task| home.end(task) == Some(End::Done)));
    assert!(home.state.is_idle());
}

#[test]
fn who_waits_for_a_provider_stands_in_the_index_of_waits_and_holds_no_slot() {
    let mut home = home(&[ONE], None);
    let task = home.task("look", ONE);
    home.model_fails(ONE, OUT);
    let (id, session) = home.session_of(ONE);
    assert_eq!(session.lifecycle, Lifecycle::Blocked);
    let provider = Node::Window("provider p".to_owned());
    assert!(home.state.waits.has(&Node::from(&id), &provider, Why::Window));
    let outage = &home.state.outages.by_name["provider p"];
    assert_eq!((outage.since, outage.error.as_str(), outage.failures), (home.at, "overloaded", 1));
    assert_eq!((home.state.schedule.busy, home.state.waiting_for_providers()), (0, 1));
    assert_eq!(home.state.mark_of(&home.state.work.tasks[&task]).as_str(), "running");
    // What is new waits with it, and asks nobody.
    home.task("look, too", ONE);
    assert_eq!((asks(&home, &[ONE]), home.state.waiting_for_providers()), (0, 2));
}

#[test]
fn a_moment_of_trouble_is_sat_out_before_anything_is_parked() {
    let settle = |settings: &mut Settings| {
        settled(settings);
        settings.limits.model_attempts_max = 3;
    };
    let mut home = Home::with(&[ONE], settle, |spec| spec.model.primary = "big".to_owned());
    home.task("look", ONE);
    for _ in 0..2 {
        assert_eq!(line(&home.model_fails(ONE, OUT)), "turn_failed");
        home.pass(10_000);
    }
    home.model_fails(ONE, OUT);
    assert_eq!(home.state.waiting_for_providers(), 1);
}

#[test]
fn the_time_of_an_outage_is_not_working_time() {
    let settle = |settings: &mut Settings| {
        settled(settings);
        settings.limits.count_model_time = true;
    };
    let mut home = Home::with(&[ONE], settle, |spec| {
        spec.model.primary = "big".to_owned();
        spec.permissions.concurrency.task_timeout_ms = 10_000;
    });
    let task = home.task("look", ONE);
    home.pass(4_000);
    home.model_fails(ONE, OUT);
    for _ in 0..12 {
        let due = home.state.next_deadline().unwrap();
        home.pass(due.ms_since(home.at));
        home.model_fails(ONE, OUT);
    }
    assert_eq!(home.end(&task), None);
    let due = home.state.next_deadline().unwrap();
    home.pass(due.ms_since(home.at));
    assert_eq!(home.pass(5_999), []);
    home.pass(1);
    assert_eq!(home.end(&task), Some(End::Failed), "what it worked counts");
}

#[test]
fn a_closed_window_is_waited_for_as_long_as_the_provider_wants() {
    let mut home = home(&[ONE], None);
    let task = home.task("look", ONE);
    home.model_fails(ONE, Failure::Limited { after_ms: 1_200_000 });
    assert!(home.state.outages.by_name.contains_key("model big of provider p"));
    assert_eq!(home.pass(1_199_999), []);
    home.pass(300_001);
    home.says(ONE, "done");
    assert_eq!(home.end(&task), Some(End::Done));
}

#[test]
fn a_fallback_on_the_same_provider_is_asked_only_when_the_model_is_limited() {
    let switched = |events: &[Event]| line(events).contains("turn_failed");
    let asked = |home: &mut Home, failure| {
        home.task("look", ONE);
        switched(&home.model_fails(ONE, failure))
    };
    for (failure, same, other) in [
        (LIMITED, true, true),
        (Failure::Down, true, true),
        (OUT, false, true),
        (Failure::Denied, false, true),
        (Failure::GiveUp, false, false),
    ] {
        assert_eq!(asked(&mut home(&[ONE], Some("small")), failure), same, "{failure:?}, same provider");
        assert_eq!(asked(&mut home(&[ONE], Some("other")), failure), other, "{failure:?}, another");
    }
}

#[test]
fn a_provider_that_is_known_to_be_out_is_passed_over_for_a_fallback_that_answers() {
    let mut home = home(&[ONE, TWO], Some("other"));
    home.task("look", ONE);
    home.model_fails(ONE, OUT);
    home.task("look, too", TWO);
    let (id, session) = home.session_of(TWO);
    assert!(session.pace.fallback_until.is_some(), "it does not ask the one that is out");
    let switch = Event::Outage(OutageEvent::Switched { session: id, fallback: Some("other".to_owned()) });
    assert!(home.events.contains(&switch));
    home.pass(1);
    home.model_fails(ONE, OUT);
    home.model_fails(TWO, OUT);
    assert_eq!((asks(&home, &[ONE, TWO]), home.state.waiting_for_providers()), (0, 2), "both are out");
}

#[test]
fn what_no_waiting_repairs_fails_at_once_and_a_refused_key_is_remembered() {
    let mut home = home(&[ONE], None);
    let task = home.task("look", ONE);
    home.model_fails(ONE, Failure::Denied);
    assert_eq!(home.end(&task), Some(End::Failed));
    assert_eq!(home.state.outages.denied[&task], "p");
    home.give(retry(Again::Task(task.clone())));
    assert!(home.state.outages.denied.is_empty());
}

#[test]
fn new_settings_are_tried_at_once_by_one_for_all() {
    let mut home = home(&[ONE, TWO], None);
    let tasks = [ONE, TWO].map(|agent| home.task("look", agent));
    home.model_fails(ONE, OUT);
    home.model_fails(TWO, OUT);
    let mut settings = home.state.config.settings.clone();
    settings.providers.insert("p".to_owned(), Provider::OpenAi(Endpoint::new("http://127.0.0.1:2")));
    home.give(Input::File(FileInput::SettingsRead(Box::new(settings))));
    assert_eq!(asks(&home, &[ONE, TWO]), 1);
    let first = if asks(&home, &[ONE]) > 0 { ONE } else { TWO };
    home.says(first, "done");
    home.says(if first == ONE { TWO } else { ONE }, "done");
    assert!(tasks.iter().all(|task| home.end(task) == Some(End::Done)));
}

#[test]
fn who_asks_for_all_may_be_stopped_and_another_takes_its_place() {
    let mut home = home(&[ONE, TWO], None);
    let tasks = [ONE, TWO].map(|agent| home.task("look", agent));
    home.model_fails(ONE, OUT);
    home.model_fails(TWO, OUT);
    home.pass(1_250);
    let first = usize::from(asks(&home, &[ONE]) == 0);
    let what = tasks[first].to_string();
    home.give(Input::Person(PersonInput::Cancel { what, by: "dana".to_owned() }));
    assert_eq!(asks(&home, &[ONE, TWO]), 0);
    home.pass(10_000);
    assert_eq!(asks(&home, &[[ONE, TWO][1 - first]]), 1);
}

#[test]
fn an_outage_that_nobody_waits_for_is_forgotten() {
    let mut home = home(&[ONE], None);
    let what = home.task("look", ONE).to_string();
    home.model_fails(ONE, OUT);
    home.give(Input::Person(PersonInput::Cancel { what, by: "dana".to_owned() }));
    home.pass(1_250);
    assert!(home.state.outages.is_empty() && home.state.is_idle());
}

#[test]
fn a_person_has_it_tried_now_and_so_does_a_restart() {
    for input in [
        retry(Again::All),
        retry(Again::Provider("p".to_owned())),
        retry(Again::Task(TaskId::new("task-001"))),
        Input::Started,
    ] {
        let mut home = home(&[ONE], None);
        home.task("look", ONE);
        home.model_fails(ONE, OUT);
        home.give(input);
        assert_eq!(asks(&home, &[ONE]), 1);
    }
    let mut home = home(&[ONE], None);
    home.task("look", ONE);
    let refused = |home: &mut Home, what| home.refusal(retry(what));
    assert_eq!(refused(&mut home, Again::Provider("p".to_owned())), "nothing waits for provider p");
    let task = Again::Task(TaskId::new("task-001"));
    assert_eq!(refused(&mut home, task), "task-001 has not failed and waits for no provider");
    assert_eq!(refused(&mut home, Again::Task(TaskId::new("task-9"))), "there is no task task-9");
}

#[test]
fn a_failed_task_goes_on_in_its_conversation() {
    let mut home = home(&[ONE], None);
    let task = home.task("look", ONE);
    home.wants(ONE, &[read("memory/a.md")]);
    home.tool_ends(ONE, true, "much");
    let (id, _) = home.session_of(ONE);
    home.model_fails(ONE, Failure::Down);
    assert_eq!(home.end(&task), Some(End::Failed));
    let events = home.give(retry(Again::All));
    let reopened =
        |event: &Event| matches!(event, Event::Task(TaskEvent::Reopened { task: t, .. }) if *t == task);
    let same =
        |event: &Event| matches!(event, Event::Session(SessionEvent::Reopened { session }) if *session == id);
    assert!(events.iter().any(reopened) && events.iter().any(same), "{}", line(&events));
    assert_eq!(home.thinking(ONE).0, id);
    assert!(home.heard(ONE).last().unwrap().contains("task-001 is open again. It had failed: "));
    home.says(ONE, "done");
    assert_eq!(home.end(&task), Some(End::Done));
    assert!(home.refusal(retry(Again::Task(task))).contains("has ended already"));
}

#[test]
fn a_changed_agent_is_tried_with_its_new_model_when_its_task_is_retried() {
    let mut home = home(&[ONE], None);
    let task = home.task("look", ONE);
    home.model_fails(ONE, Failure::Down);
    let spec = agent::Spec::new(AgentId::new(ONE), "executor", "other");
    home.give(Input::File(FileInput::AgentRead(Box::new(spec))));
    home.give(retry(Again::Task(task)));
    let (_, session) = home.session_of(ONE);
    assert_eq!(home.state.spec_of(session).unwrap().model.primary, "other");
}
