//! The limits of a provider's account, held by the real binary against a real server for all agents together.

use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant, SystemTime};

use adapters::model::Scripted;
use domain::task::Mark;
use serde_json::Value;
use testkit::model::{Puppet, says};
use testkit::provider::{Fault, Provider};

use crate::budget;
use crate::team::{Team, until, until_so};

const TASKS: &str = "tasks/work.task.md";
const AGENTS: [&str; 3] = ["worker-1", "worker-2", "worker-3"];

fn server() -> Provider {
    let script = formats::script::read("s.yaml", "rules:\n  - text: Done.\n").value.unwrap();
    Provider::start(Arc::new(Scripted::new("s.yaml", script)))
}

/// Three agents with one account.
fn team(url: &str, limits: &str, more: &str) -> Team {
    let team = Team::nothing();
    team.write(
        "synod.yaml",
        format!(
            "providers:\n  p: {{kind: openai, base_url: '{url}', limits: {limits}}}\nmodels: {{m: {{provider: p, model: m}}}}\n{more}"
        ),
    );
    for agent in AGENTS {
        let text = format!("id: {agent}\ntype: executor\nmodel: {{primary: m, max_tokens: 200}}\n");
        team.write(&format!("agents/{agent}.agent.yaml"), text);
    }
    team
}

fn add(team: &Team, number: usize) {
    let agent = AGENTS[number % AGENTS.len()];
    team.append(TASKS, &format!("- [ ] @{agent} \"look {number}\"\n  id: task-{number:03}\n"));
}

fn done(team: &Team) -> usize {
    team.tasks(TASKS).iter().filter(|task| task.mark == Mark::Done).count()
}

fn shown(team: &Team) -> Value {
    serde_json::from_str(&team.fine(&["budget", "show", "--json"])).unwrap()
}

/// The tokens for which the first call of an agent needs room: as many as its prompts and tools have now.
fn one_call() -> u64 {
    let team = team("http://127.0.0.1:9", "{requests_per_minute: 1}", "budgets: {day: {tokens: 1}}\n");
    add(&team, 1);
    assert_eq!(team.pump(), 5);
    budget::needed(&shown(&team))
}

fn minute() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() / 60
}

#[test]
fn an_account_is_asked_as_often_as_it_allows_and_the_rest_waits_and_goes_on() {
    let server = server();
    let team = team(&server.url(), "{requests_per_minute: 2}", "budgets: {day: {tokens: 1000000}}\n");
    let began = minute();
    (1..=9).for_each(|number| add(&team, number));
    let up = team.up();
    let waits = until("some wait for the account", || {
        let shown = shown(&team);
        shown["parked"].as_array().filter(|all| all.len() >= 3).cloned()
    });
    let (asked, windows) = (server.count() as u64, minute() - began + 1);
    assert!(asked <= 2 * windows, "{asked} requests in {windows} windows of 2, by three agents");
    for halt in &waits {
        assert_eq!(halt["limit"], "providers.p.limits", "{halt}");
        assert_eq!(halt["session"], Value::Null, "nothing is opened for it: {halt}");
    }
    assert!(team.fine(&["status", "--json"]).contains("providers.p.limits: of 2 requests, "));
    team.edit("synod.yaml", "requests_per_minute: 2", "requests_per_minute: 100");
    until_so("all are done", || done(&team) == 9);
    up.stop();
    assert_eq!(server.count(), 9, "each was asked once");
    // What was reserved is put right by what the provider counted, and nothing stays reserved.
    let (day, shown) = (shown(&team)["budgets"][0].clone(), team.fine(&["cost", "--json"]));
    let cost: Value = serde_json::from_str(&shown).unwrap();
    let total = &cost["total"];
    let counted = total["tokens_in"].as_u64().unwrap() + total["tokens_out"].as_u64().unwrap();
    assert_eq!((day["name"].as_str(), day["spent"]["tokens"].as_u64()), (Some("budgets.day"), Some(counted)));
    assert_eq!(day["reserved"]["tokens"], 0, "{day}");
}

#[test]
fn tokens_of_a_minute_are_reserved_before_they_are_sent() {
    let (sender, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let server = Provider::start(Arc::new(Puppet::answering(move |_| {
        // Until who would let it go has gone.
        _ = gate.lock().unwrap().recv();
        Ok(says("Done."))
    })));
    // Dropped before the server, which waits for its answers: a test that fails comes to an end.
    let go = sender;
    // Room for one call as it is estimated, and for many as they are counted.
    let room = one_call() / 2 * 3;
    let team = team(&server.url(), &format!("{{tokens_per_minute: {room}}}"), "");
    (1..=3).for_each(|number| add(&team, number));
    let up = team.up();
    until_so("two wait while one is asked", || {
        shown(&team)["parked"].as_array().is_some_and(|all| all.len() == 2)
    });
    drop(go);
    until_so("what was not used is given back, and all are done in the same minute or the next", || {
        done(&team) == 3
    });
    up.stop();
}

#[test]
fn who_is_told_to_wait_makes_all_wait_who_have_the_same_account() {
    let server = server();
    let team = team(&server.url(), "{requests_per_minute: 1000}", "");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let times = asked.clone();
    server.misbehave(move |number| {
        times.lock().unwrap().push(Instant::now());
        (number == 0).then(|| Fault::wait(429, "retry-after", "2"))
    });
    let up = team.up();
    add(&team, 1);
    until_so("it was asked once", || server.count() == 1);
    add(&team, 2);
    until_so("somebody asks again", || asked.lock().unwrap().len() >= 2);
    let times = asked.lock().unwrap().clone();
    let waited = times[1] - times[0];
    assert!(waited >= Duration::from_secs(2), "{waited:?} after a Retry-After of 2 s");
    until_so("both go on by themselves", || done(&team) == 2);
    up.stop();
    assert_eq!(server.count(), 3);
}

#[test]
fn a_wait_for_the_next_minute_is_told_and_asks_nobody() {
    let rules = "rules:\n  - tool_result: list_directory\n    text: Done.\n  - text: I look.\n    calls:\n      - tool: list_directory\n        arguments: {path: memory}\n";
    let script = formats::script::read("s.yaml", rules).value.unwrap();
    let server = Provider::start(Arc::new(Scripted::new("s.yaml", script)));
    let team = team(&server.url(), "{requests_per_minute: 1}", "");
    team.write("memory/notes.md", "nothing\n");
    add(&team, 1);
    let up = team.up();
    until_so("it waits for its second turn", || {
        shown(&team)["parked"]
            .as_array()
            .is_some_and(|all| all.iter().any(|halt| halt["session"].is_string()))
    });
    // A good stop leaves nothing that is not in the files.
    up.stop();
    assert_eq!(team.mark(TASKS, "task-001"), Some(Mark::Running));
    let status: Value = serde_json::from_str(&team.fine(&["status", "--json"])).unwrap();
    assert_eq!(status["tasks"]["counts"]["asking"], 0, "{status}");
    let why = status["tasks"]["open"][0]["why"].as_str().unwrap_or_default();
    assert!(why.starts_with("providers.p.limits: of 1 requests, "), "{status}");
    assert!(team.fine(&["task", "show", "task-001"]).contains("providers.p.limits: of 1 requests, "));
    assert_eq!(team.fine(&["inbox"]), "Nothing waits for you.\n");
    team.edit("synod.yaml", "requests_per_minute: 1", "requests_per_minute: 100");
    assert_eq!((team.pump(), done(&team)), (0, 1));
}
