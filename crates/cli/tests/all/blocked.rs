//! Agents that cannot go on, and those that have nothing to do, as lists show them.

use serde_json::Value;

use crate::team::{Team, until, until_so};

const WORKERS: [&str; 5] = ["worker-1", "worker-2", "worker-3", "worker-4", "worker-5"];

/// Worker 1 has a lock and thinks; worker 2 waits for the lock, 3 hands on to 1, 4 asks 1, and 5 has
/// nothing to do.
const SCRIPT: &str = r#"rules:
  - {agent: worker-1, tool_result: lock, delay_ms: 600000, text: never}
  - {agent: worker-1, matches: "*Deploy*", calls: [{tool: lock, arguments: {name: deploy}}]}
  - {agent: worker-1, delay_ms: 600000, text: never}
  - {agent: worker-2, calls: [{tool: lock, arguments: {name: deploy, wait_ms: 600000}}]}
  - {agent: worker-3, calls: [{tool: delegate, arguments: {to: worker-1, tag: "ops:look", task: Look}}]}
  - {agent: worker-4, calls: [{tool: send_message, arguments: {to: worker-1, content: "how full?", wait_ms: 600000}}]}
  - {agent: worker-5, text: "Heard: {last}"}
"#;

fn team() -> Team {
    let team = Team::scripted(SCRIPT);
    for agent in WORKERS {
        let may = "permissions: {delegation: {can_delegate: true}, concurrency: {max_parallel_tasks: 5}}";
        team.write(
            &format!("agents/{agent}.agent.yaml"),
            format!(
                "id: {agent}\ntype: executor\nmodel: m\nresponsibilities: ['ops:*']\nchannels: [ops]\n{may}\n"
            ),
        );
    }
    team
}

/// State and reason of each agent.
fn states(team: &Team) -> Vec<(String, String)> {
    let status: Value = serde_json::from_str(&team.fine(&["status", "--json"])).unwrap();
    let word = |agent: &Value, key: &str| agent[key].as_str().unwrap_or_default().to_owned();
    let agents = status["agents"].as_array().unwrap().iter();
    agents.map(|agent| (word(agent, "state"), word(agent, "why"))).collect()
}

fn is(state: &str, why: &str) -> (String, String) {
    (state.to_owned(), why.to_owned())
}

#[test]
fn who_waits_for_a_lock_for_work_or_for_an_answer_is_blocked_and_why() {
    let team = team();
    let up = team.up();
    team.fine(&["task", "add", "Deploy", "--to", "worker-1"]);
    until_so("it has the lock", || team.fine(&["lock", "list"]).contains("worker-1 (task-001)"));
    team.fine(&["task", "add", "Deploy too", "--to", "worker-2"]);
    until_so("the second waits", || team.fine(&["lock", "list"]).contains("worker-2"));
    team.fine(&["task", "add", "Have it looked at", "--to", "worker-3"]);
    until_so("work is handed on", || team.fine(&["graph"]).contains("which it handed on"));
    team.fine(&["message", "send", "worker-4", "How full is it?"]);
    until_so("the other is asked", || team.fine(&["graph"]).contains("waits for an answer of"));
    let asked = until("its file says so", || {
        team.sessions("worker-1").into_iter().find(|path| team.read(path).contains("how full?"))
    });
    let asked = asked["sessions/".len()..].replace(".session.yaml", "");
    let lock = "waits for lock deploy, which task-001 has";
    let blocked = [
        is("blocked", lock),
        is("blocked", "waits for task-004, which it handed on"),
        is("blocked", &format!("waits for an answer of {asked}")),
    ];
    let all = [vec![is("working", "")], blocked.to_vec(), vec![is("idle", "")]].concat();
    until_so("the files tell of all conversations", || {
        WORKERS[..4].iter().all(|w| !team.sessions(w).is_empty())
    });
    assert_eq!(states(&team), all);
    let shown = team.fine(&["status"]);
    assert!(shown.contains(&format!("blocked  task-002 ({lock})\n")), "{shown}");
    assert!(shown.contains(&format!("Deploy too ({lock})\n")), "{shown}");
    let listed = team.fine(&["agent", "list"]);
    assert_eq!((listed.matches("working").count(), listed.matches("blocked").count()), (1, 3), "{listed}");
    up.kill();
    let off = "was interrupted, goes on with the next start";
    assert_eq!(states(&team)[0], is("blocked", off), "nobody works");
    assert_eq!(states(&team)[1..4], blocked);
    let graph = team.fine(&["graph"]);
    assert!(graph.contains(off) && !graph.contains("is being worked on"), "{graph}");
}

#[test]
fn who_has_said_what_it_had_to_say_is_idle() {
    let team = team();
    team.edit("agents/worker-1.agent.yaml", "[ops]", "[other]");
    team.write("models/s.yaml", "rules:\n  - text: \"Heard: {last}\"\n");
    team.fine(&["message", "send", "#ops", "hi"]);
    team.to_the_end();
    assert_eq!(team.talk("worker-2").len(), 2);
    assert_eq!(states(&team), WORKERS.map(|_| is("idle", "")));
}
