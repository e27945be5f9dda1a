//! `synod budget` and `synod cost`: what may be spent and what was; a budget that is used up ends `run` with 5.

use serde_json::{Value, json};

use crate::home::Home;

fn json(home: &Home, args: &[&str]) -> Value {
    let ran = home.run(args);
    assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn team() -> Home {
    let home = Home::empty().write(
        "synod.yaml",
        "# ours\nproviders:\n  script: {kind: scripted, script: scripts/team.yaml}\nmodels:\n  small: {provider: script, model: s}\nrouting: {fallback: executor-001}   # who else\n",
    );
    home.write("scripts/team.yaml", "rules:\n  - answer: Done.\n").write(
        "agents/executor-001.agent.yaml",
        "id: executor-001\ntype: executor\nmodel: {primary: small, max_tokens: 500}\n",
    )
}

#[test]
fn a_used_up_budget_ends_a_run_with_5_and_a_raised_one_lets_it_go_on() {
    let home = team();
    let ran = home.run(&["budget", "set", "day", "--tokens", "400", "--money", "2.50"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = std::fs::read_to_string(home.path().join("synod.yaml")).unwrap();
    assert!(text.starts_with("# ours\n") && text.contains("# who else\n"), "{text}");
    let ran = home.run(&["run", "look"]);
    assert_eq!(ran.code, 5, "{}{}", ran.stdout, ran.stderr);
    let shown = json(&home, &["budget", "show", "--json"]);
    assert_eq!(shown["parked"][0]["limit"], "budgets.day");
    assert_eq!(shown["budgets"][0]["cap"], json!({"requests": null, "tokens": 400, "money": "2.50"}));
    assert_eq!(home.run(&["pump"]).code, 5);
    assert_eq!(home.run(&["budget", "set", "day", "--tokens", "400000"]).code, 0);
    assert_eq!(home.run(&["pump"]).code, 0);
    let shown = json(&home, &["budget", "show", "--json"]);
    assert_eq!(shown["parked"], json!([]));
    assert_eq!(shown["budgets"][0]["reserved"], json!({"requests": 0, "tokens": 0, "money": "0.00"}));
    assert_eq!(shown["budgets"][0]["spent"]["requests"], 1);
    for (by, key) in [("agent", "executor-001"), ("task", "task-001"), ("model", "small")] {
        let cost = json(&home, &["cost", "--by", by, "--since", "1d", "--json"]);
        assert_eq!((&cost["rows"][0][by], &cost["total"]["replies"]), (&json!(key), &json!(1)), "{cost}");
    }
    let cost = json(&home, &["cost", "--by", "day", "--since", "2999-01-01", "--json"]);
    assert_eq!((&cost["rows"], &cost["total"]["replies"]), (&json!([]), &json!(0)));
}

#[test]
fn a_budget_that_is_none_or_for_nobody_is_refused_and_changes_nothing() {
    let home = team();
    let before = std::fs::read_to_string(home.path().join("synod.yaml")).unwrap();
    for args in [
        &["budget", "set", "day", "--tokens", "many"][..],
        &["budget", "set", "day", "--money", "-1"],
        &["budget", "set", "day", "--money", "NaN"],
        &["budget", "set", "run", "--agent", "executor-001", "--money", "1"],
        &["budget", "set", "day", "--agent", "ghost-001", "--money", "1"],
        &["budget", "set", "day"],
        &["cost", "--since", "yesterday"],
    ] {
        assert_ne!(home.run(args).code, 0, "{args:?}");
    }
    assert_eq!(std::fs::read_to_string(home.path().join("synod.yaml")).unwrap(), before);
    assert_eq!(home.run(&["budget", "set", "month", "--agent", "executor-001", "--money", "1"]).code, 0);
    assert_eq!(home.run(&["check"]).code, 0);
    assert_eq!(home.run(&["budget", "set", "month", "--agent", "executor-001", "--money", "none"]).code, 0);
    assert!(home.run(&["budget", "show"]).stdout.starts_with("no budget is set"));
}
