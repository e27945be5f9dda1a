//! Providers that do not answer, or that are set up wrong: work waits or says why, and goes on when that is put right.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use testkit::model::{Puppet, says};
use testkit::provider::{Fault, Provider};

use crate::team::{Team, until};

const TASKS: &str = "tasks/requests.task.md";

fn server() -> Provider {
    Provider::start(Arc::new(Puppet::answering(|_| Ok(says("it is done")))))
}

/// One agent that asks the server.
fn team(url: &str, limits: &str) -> Team {
    let team = Team::scripted("");
    let settings = format!(
        "providers: {{p: {{kind: openai, base_url: '{url}'}}}}\nmodels: {{m: {{provider: p, model: big}}}}\n\
         routing: {{fallback: worker-1}}\nlimits: {{model_attempts_max: 1{limits}}}\n"
    );
    team.write("synod.yaml", settings);
    team
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_provider_that_is_down_holds_work_up_and_fails_nothing() {
    let (server, is_down) = (server(), Arc::new(AtomicBool::new(true)));
    let down = is_down.clone();
    server.misbehave(move |_| down.load(Ordering::SeqCst).then(|| Fault::status(503)));
    let team = team(&server.url(), "");
    let up = team.up();
    for title in ["one", "two", "three"] {
        team.fine(&["task", "add", title, "--to", "worker-1"]);
    }
    let all_wait = || {
        let status = json(&team.fine(&["status", "--json"]));
        (status["providers"][0]["waiting"] == 3).then_some(status)
    };
    let status = until("all tasks wait for the provider", all_wait);
    assert_eq!(status["providers"][0]["provider"], "p");
    assert!(status["providers"][0]["error"].as_str().unwrap().contains("503"), "{status}");
    assert_eq!(status["tasks"]["counts"]["failed"], 0);
    for command in ["status", "inbox"] {
        let shown = team.fine(&[command]);
        assert!(shown.contains("provider p has not answered for ") && shown.contains(" wait; "), "{shown}");
    }
    assert!(team.fine(&["graph"]).contains("provider p"));
    // It is tried again by itself, by one for all.
    let before = server.count();
    until("the next try", || (server.count() > before).then_some(()));
    assert!(server.count() <= before + 2, "not all three ask at once");
    is_down.store(false, Ordering::SeqCst);
    let ran = team.synod(&["retry", "--provider", "p"]);
    // It may have been tried by itself in that moment.
    assert!(ran.stdout.contains("provider p is") || ran.stderr.contains("nothing waits"), "{}", ran.stderr);
    until("all are done", || {
        let status = json(&team.fine(&["status", "--json"]));
        (status["tasks"]["counts"]["done"] == 3).then_some(())
    });
    assert_eq!(json(&team.fine(&["status", "--json"]))["providers"], Value::Array(Vec::new()));
    up.stop();
}

#[test]
fn run_waits_for_a_while_says_what_waits_and_pump_goes_on() {
    let (server, is_down) = (server(), Arc::new(AtomicBool::new(true)));
    let down = is_down.clone();
    server.misbehave(move |_| down.load(Ordering::SeqCst).then_some(Fault::Reset));
    let team = team(&server.url(), ", outage_wait_ms_max: 100");
    let ran = team.synod(&["run", "look"]);
    assert_eq!(ran.code, 124, "{}", ran.stderr);
    assert!(ran.stderr.contains("provider p has not answered for "), "{}", ran.stderr);
    assert!(ran.stderr.contains("go on with `synod pump`"), "{}", ran.stderr);
    let shown = json(&team.fine(&["inbox", "--json"]));
    assert_eq!(shown["providers"][0]["waiting"], 1, "the home keeps it");
    is_down.store(false, Ordering::SeqCst);
    assert_eq!(team.pump(), 0);
    assert_eq!(team.mark(TASKS, "task-001"), Some(domain::task::Mark::Done));
}

#[test]
fn a_corrected_address_frees_work_that_waits() {
    let server = server();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let wrong = format!("http://{closed}/v1");
    let team = team(&wrong, "");
    let up = team.up();
    team.fine(&["task", "add", "look", "--to", "worker-1"]);
    until("it waits", || {
        let status = json(&team.fine(&["status", "--json"]));
        (status["providers"][0]["waiting"] == 1).then_some(())
    });
    team.edit("synod.yaml", &wrong, &server.url());
    until("it goes on", || {
        let status = json(&team.fine(&["status", "--json"]));
        (status["tasks"]["counts"]["done"] == 1).then_some(())
    });
    up.stop();
}

#[test]
fn a_wrong_model_fails_at_once_and_goes_on_when_it_is_put_right_and_retried() {
    let server = server();
    server.misbehave(|number| (number == 0).then(|| Fault::status(404)));
    let team = team(&server.url(), "");
    let up = team.up();
    team.fine(&["task", "add", "look", "--to", "worker-1"]);
    let counts = |word: &str| {
        let status = json(&team.fine(&["status", "--json"]));
        (status["tasks"]["counts"][word] == 1).then_some(())
    };
    until("it fails", || counts("failed"));
    let read = || team.read("log/audit.jsonl").matches("synod.yaml").count();
    let before = read();
    team.edit("synod.yaml", "model: big", "model: bigger");
    until("the daemon reads it", || (read() > before).then_some(()));
    let ran = team.synod(&["retry", "task-001"]);
    assert!(ran.stdout.contains("task-001 is open again and goes on in worker-1-"), "{}", ran.stdout);
    until("it is done", || counts("done"));
    let seen = server.seen();
    assert_eq!(seen.last().unwrap().body["model"], "bigger", "the alias is looked up at each call");
    assert_eq!(team.sessions("worker-1").len(), 1, "it is the same conversation");
    assert_eq!(team.synod(&["retry", "task-001"]).code, 1, "it has ended");
    up.stop();
}

#[test]
fn a_refused_key_ends_a_run_with_exit_code_4() {
    let server = server();
    server.misbehave(|_| Some(Fault::status(401)));
    let ran = team(&server.url(), "").synod(&["run", "look"]);
    assert_eq!(ran.code, 4, "{}", ran.stdout);
    assert!(ran.stdout.contains("the key is missing or wrong"), "{}", ran.stdout);
    let team = team(&server.url(), "");
    team.edit("synod.yaml", "kind: openai,", "kind: openai, key: {file: ../none},");
    let ran = team.synod(&["run", "look"]);
    assert_eq!(ran.code, 4, "{}", ran.stdout);
}
