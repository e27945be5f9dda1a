//! Runs from outside: listed, shown and cancelled, with a daemon and without.

use serde_json::{Value, json};

use crate::team::{Team, until_so};

const RULES: &str = r#"rules:
  - {agent: worker-1, calls: [{tool: create_task, arguments: {title: Build it, assignee: worker-2}}, {tool: execute_command, arguments: {command: make}}]}
  - {agent: worker-2, calls: [{tool: execute_command, arguments: {command: make}}]}
"#;

/// Two agents that both ask a person, one of them for the other.
fn team() -> Team {
    let team = Team::scripted(RULES);
    team.write("agents/worker-2.agent.yaml", "id: worker-2\ntype: executor\nmodel: m\n");
    team
}

fn list(team: &Team) -> Vec<Value> {
    let value: Value = serde_json::from_str(&team.fine(&["runs", "list", "--json"])).unwrap();
    assert_eq!(value["schema_version"], 1);
    value["runs"].as_array().unwrap().clone()
}

fn show(team: &Team, id: &str) -> Value {
    let value: Value = serde_json::from_str(&team.fine(&["runs", "show", id, "--json"])).unwrap();
    value["run"].clone()
}

fn is_waiting(team: &Team) -> bool {
    let runs = list(team);
    runs.len() == 1 && runs[0]["state"] == "waiting" && runs[0]["counts"]["open"] == 2
}

#[test]
fn a_run_is_listed_shown_and_cancelled_with_and_without_a_daemon() {
    for with_daemon in [true, false] {
        let team = team();
        assert_eq!(team.fine(&["runs", "list"]), "There are no runs yet.\n");
        let up = with_daemon.then(|| team.up());
        team.fine(&["task", "add", "Make it", "--to", "worker-1"]);
        if up.is_none() {
            assert_eq!(team.pump(), 3);
        }
        until_so("both ask a person", || is_waiting(&team));
        let run = list(&team).remove(0);
        assert_eq!(
            (&run["id"], &run["title"], &run["mode"]),
            (&json!("task-001"), &json!("Make it"), &json!("solo"))
        );
        assert_eq!(
            (&run["agents"], &run["counts"]["at_work"]),
            (&json!(["worker-1", "worker-2"]), &json!(2))
        );
        assert_eq!((&run["ended"], &run["deadline"]), (&Value::Null, &Value::Null));
        let table = team.fine(&["runs", "list", "--open"]);
        for words in ["RUN", "task-001", "waiting", "2 open, 0 ended", "Make it"] {
            assert!(table.contains(words), "{words}: {table}");
        }
        let shown = show(&team, "task-001");
        assert_eq!(shown["budget"]["name"], "budgets.run of task-001");
        let ids: Vec<&str> =
            shown["members"].as_array().unwrap().iter().filter_map(|member| member["id"].as_str()).collect();
        assert_eq!(ids.len(), 4, "two tasks and two sessions: {ids:?}");
        assert_eq!(ids[0], "task-001");
        let text = team.fine(&["runs", "show", "task-001"]);
        for words in
            ["waits for you to decide approval-000", "no limit", "└ task-002", "deadline:  none", "2 turns"]
        {
            assert!(text.contains(words), "{words}: {text}");
        }
        nonsense(&team);
        assert_eq!(
            team.fine(&["runs", "cancel", "task-001"]),
            "run task-001 is cancelled: all that was made for it has ended\n"
        );
        until_so("nobody is asked any more", || team.names("approvals/pending").is_empty());
        let over = show(&team, "task-001");
        assert_eq!((&over["state"], &over["counts"]["cancelled"]), (&json!("cancelled"), &json!(2)));
        assert_eq!((&over["waits"], over["ended"].is_string()), (&json!([]), true));
        assert_eq!(team.fine(&["runs", "list", "--open"]), "No run is open.\n");
        let again = team.synod(&["runs", "cancel", "task-001"]);
        assert_eq!(again.code, 1);
        assert!(again.stderr.contains("task-001 has ended already"), "{}", again.stderr);
        let cost = team.fine(&["cost", "--by", "run"]);
        assert!(cost.contains("task-001") && !cost.contains("task-002"), "{cost}");
        up.into_iter().for_each(|up| _ = up.stop());
        team.is_in_order();
    }
}

/// Ids that are no runs.
fn nonsense(team: &Team) {
    for (args, code, told) in [
        (["runs", "show", "task-002"], 1, "task-002 is not a run: it belongs to run task-001"),
        (["runs", "cancel", "task-002"], 1, "task-002 is not a run: it belongs to run task-001"),
        (["runs", "show", "task-00"], 1, "did you mean task-001? `synod runs list` shows what there is"),
        (["runs", "show", "../x y"], 1, "there is no run ../x y"),
        (["runs", "show", ""], 1, "`synod runs list` shows what there is"),
        (["runs", "cancel", "\u{202e}zzz"], 1, "`synod runs list` shows what there is"),
        (["runs", "cancel", "approval-0001"], 1, "there is no run approval-0001"),
    ] {
        let refused = team.synod(&args);
        assert_eq!(refused.code, code, "{args:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(told), "{args:?}: {}", refused.stderr);
        assert!(!refused.stderr.contains('\u{202e}'), "{args:?}: {}", refused.stderr);
    }
    assert_eq!(team.synod(&["runs", "cancel"]).code, 2);
}
