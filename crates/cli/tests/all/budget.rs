//! `synod budget` and `synod cost`: what may be spent and what was; a budget that is used up ends `run` with 5 and asks.

use std::sync::Arc;

use serde_json::{Value, json};
use testkit::model::{Puppet, says};
use testkit::provider::{Fault, Provider};

use domain::task::Mark;

use crate::home::Home;
use crate::team::{Team, until_so};

fn json(home: &Home, args: &[&str]) -> Value {
    let ran = home.run(args);
    assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

const SETTINGS: &str = "\
# ours
providers:
  script: {kind: scripted, script: scripts/team.yaml}
models:
  small: {provider: script, model: s}
routing: {fallback: executor-001}   # who else
";
const SCRIPT: &str = "rules:\n  - answer: Done.\n";
const EXECUTOR: &str = "id: executor-001\ntype: executor\nmodel: {primary: small, max_tokens: 500}\n";

fn team() -> Home {
    let home = Home::empty().write("synod.yaml", SETTINGS).write("scripts/team.yaml", SCRIPT);
    home.write("agents/executor-001.agent.yaml", EXECUTOR)
}

/// The tokens for which the first call of this team needs room: as many as its prompts and tools have now.
fn one_call() -> u64 {
    let home = team();
    assert_eq!(home.run(&["budget", "set", "day", "--tokens", "1"]).code, 0);
    assert_eq!(home.run(&["run", "look"]).code, 5);
    needed(&json(&home, &["budget", "show", "--json"]))
}

/// What the first call that waits may take, as `budget show` says it.
pub fn needed(shown: &Value) -> u64 {
    let reason = shown["parked"][0]["reason"].as_str().unwrap();
    let rest = reason.split("may take ").nth(1).unwrap();
    rest.split(';').next().unwrap().parse().unwrap()
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
fn a_request_larger_than_its_models_window_is_asked_under_a_budget_too() {
    let home = team();
    let settings = std::fs::read_to_string(home.path().join("synod.yaml")).unwrap();
    let small = settings.replace("model: s}", "model: s, context_tokens: 2000}");
    let prompt = "Take care of what is long. ".repeat(500);
    let home = home.write("synod.yaml", format!("{small}budgets: {{day: {{tokens: 1000000}}}}\n")).write(
        "agents/executor-001.agent.yaml",
        format!("id: executor-001\ntype: executor\nmodel: small\nsystem_prompt: {prompt}\n"),
    );
    let ran = home.run(&["run", "look", "--timeout", "60"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_yes_is_for_as_much_as_the_call_that_waits_may_take() {
    // Nobody knows what goes along before it is read.
    let home = team().write("workspaces/executor-001/AGENTS.md", "Take care of what is long. ".repeat(500));
    assert_eq!(home.run(&["budget", "set", "run", "--tokens", "100"]).code, 0);
    assert_eq!(home.run(&["run", "look"]).code, 5);
    // Once for what the call was thought to take, once for what it takes when it is built.
    for code in [5, 0] {
        assert_eq!(home.run(&["approve", "--all"]).code, 0);
        let ran = home.run(&["pump"]);
        assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
    }
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

#[test]
fn budgets_that_are_set_at_the_same_time_are_all_kept_also_behind_a_link() {
    let team = Team::scripted("rules:\n  - text: Done.\n");
    let agents: Vec<String> = (1..9).map(|number| format!("worker-{number}")).collect();
    for id in &agents {
        team.write(&format!("agents/{id}.agent.yaml"), format!("id: {id}\ntype: executor\nmodel: m\n"));
    }
    std::fs::rename(team.at("synod.yaml"), team.at("settings.yaml")).unwrap();
    std::os::unix::fs::symlink("settings.yaml", team.at("synod.yaml")).unwrap();
    let set = |id: &String| team.start(&["budget", "set", "day", "--agent", id, "--tokens", "1000"]);
    let all: Vec<_> = agents.iter().map(set).collect();
    for set in all {
        let ran = set.wait();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let text = team.read("settings.yaml");
    assert!(agents.iter().all(|id| text.contains(id.as_str())), "{text}");
    assert!(team.at("synod.yaml").is_symlink());
    let aside: Vec<String> = team.names(".").into_iter().filter(|name| name.contains("yaml.")).collect();
    assert_eq!(aside, Vec::<String>::new());
}

#[test]
fn what_each_run_may_take_is_shown_also_when_no_run_is_open() {
    let home = team();
    let ran = home.run(&["budget", "set", "run", "--tokens", "6000"]);
    let row = ran.stdout.lines().nth(1).unwrap_or_default();
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>(),
        ["budgets.run", "(each)", "tokens", "6000", "-", "-", "-"]
    );
    let shown = json(&home, &["budget", "show", "--json"]);
    assert_eq!(
        (&shown["budgets"][0]["name"], &shown["budgets"][0]["spent"]),
        (&json!("budgets.run"), &Value::Null)
    );
    assert_eq!(home.run(&["run", "look"]).code, 0);
    assert_eq!(home.run(&["budget", "show"]).stdout, ran.stdout, "a run that is over is not shown");
}

#[test]
fn the_budgets_in_force_are_shown_while_the_file_does_not_read() {
    let home = team();
    assert_eq!(home.run(&["budget", "set", "day", "--tokens", "7000"]).code, 0);
    assert_eq!(home.run(&["run", "look"]).code, 0);
    let text = std::fs::read_to_string(home.path().join("synod.yaml")).unwrap();
    home.put("synod.yaml", format!("{text}routnig: {{}}\n"));
    let ran = home.run(&["budget", "show"]);
    assert!(ran.stdout.contains("budgets.day") && ran.stdout.contains("7000"), "{}", ran.stdout);
    assert!(ran.stderr.contains("synod.yaml does not read"), "{}", ran.stderr);
    assert_eq!(json(&home, &["budget", "show", "--json"])["settings_read"], false);
}

#[test]
fn a_cap_of_nothing_stops_all_and_asks_nobody() {
    for (unit, cap) in [
        ("tokens", json!({"requests": null, "tokens": 0, "money": null})),
        ("money", json!({"requests": null, "tokens": null, "money": "0.00"})),
    ] {
        let home = team();
        assert_eq!(home.run(&["budget", "set", "day", &format!("--{unit}"), "0"]).code, 0);
        assert_eq!(json(&home, &["budget", "show", "--json"])["budgets"][0]["cap"], cap);
        assert_eq!(home.run(&["check"]).code, 0);
        if unit == "tokens" {
            assert_eq!(home.run(&["run", "look"]).code, 5);
            assert_eq!(home.run(&["inbox"]).stdout, "Nothing waits for you.\n");
        }
    }
    let ran = team().run(&["budget", "set", "day"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("<--tokens <NUMBER>|--money <AMOUNT>>"), "{}", ran.stderr);
}

const QUEUE: &str = "tasks/approvals.task.md";
const FIRST: &str = "approvals/pending/approval-0001.approval.md";

/// A team whose two tasks wait for a budget that has no room for either; once more the same has room for both.
pub fn waiting() -> Team {
    let team = Team::nothing();
    team.write("synod.yaml", SETTINGS);
    team.write("scripts/team.yaml", SCRIPT);
    team.write("agents/executor-001.agent.yaml", EXECUTOR);
    team.fine(&["budget", "set", "day", "--tokens", &(one_call() / 4 * 3).to_string()]);
    for text in ["look", "look again"] {
        assert_eq!(team.synod(&["run", text]).code, 5);
    }
    assert_eq!(team.names("approvals/pending").len(), 1, "one question for all that waits");
    team
}

/// The tokens of the day that the settings of a team allow.
pub fn cap(team: &Team) -> u64 {
    day(team)["cap"]["tokens"].as_u64().unwrap()
}

fn raised(team: &Team) -> Value {
    day(team)["raised"].clone()
}

fn still_open(team: &Team) -> usize {
    let shown: Value = serde_json::from_str(&team.fine(&["budget", "show", "--json"])).unwrap();
    shown["parked"].as_array().unwrap().len()
}

#[test]
fn a_used_up_budget_asks_and_a_yes_lets_it_be_passed_once_also_after_kills() {
    let team = waiting();
    let (inbox, cap) = (team.fine(&["inbox"]), cap(&team));
    for words in [
        format!("budgets.day may be passed once, by {cap} tokens, until its window ends"),
        format!("\n    of {cap} tokens, 0 are spent and 0 reserved. 2 wait: task-001, task-002\n"),
    ] {
        assert!(inbox.contains(&words), "{words}: {inbox}");
    }
    let asked = team.read(FIRST);
    team.up().kill();
    assert_eq!((team.read(FIRST), raised(&team)), (asked, Value::Null));
    let up = team.up();
    team.fine(&["approve", "approval-0001"]);
    up.kill();
    assert_eq!(raised(&team), json!({"tokens": cap, "money": null}));
    assert_eq!(team.pump(), 0);
    assert_eq!((still_open(&team), team.names("approvals/pending").len()), (0, 0));
    assert!(team.read("approvals/approved/approval-0001.approval.md").contains("status: approved"));
    assert_eq!(team.mark(QUEUE, "approval-0001"), Some(Mark::Done));
    let log = team.read("log/audit.jsonl");
    let of =
        |word: &str| log.lines().filter(|line| line.contains("approval-0001") && line.contains(word)).count();
    assert_eq!(
        of("\"outcome\":\"ask\"") + of("\"outcome\":\"approved\"") + of(&format!("by {cap} tokens")),
        3,
        "{log}"
    );
    team.is_in_order();
}

#[test]
fn a_no_in_the_file_leaves_the_work_parked_and_a_raised_budget_takes_the_question_back() {
    let team = waiting();
    team.edit(QUEUE, "- [_]", "- [-]");
    assert_eq!(team.pump(), 5);
    assert_eq!((still_open(&team), team.names("approvals/pending").len()), (2, 0));
    assert_eq!(team.pump(), 5, "nobody is asked again today");
    assert_eq!(team.names("approvals/pending").len(), 0);
    let team = waiting();
    team.fine(&["budget", "set", "day", "--tokens", "400000"]);
    assert_eq!(team.pump(), 0);
    assert!(team.read("approvals/rejected/approval-0001.approval.md").contains("status: withdrawn"));
    assert_eq!(team.fine(&["inbox"]), "Nothing waits for you.\n");
}

#[test]
fn what_is_cancelled_takes_its_question_along_also_without_a_daemon() {
    let team = waiting();
    team.fine(&["cancel", "task-001"]);
    assert_eq!(team.names("approvals/pending").len(), 1, "another waits");
    team.fine(&["cancel", "task-002"]);
    assert_eq!(team.fine(&["inbox"]), "Nothing waits for you.\n");
    assert_eq!(team.names("approvals/pending").len(), 0);
    assert_eq!(team.pump(), 0);
}

#[test]
fn what_was_asked_is_asked_anew_when_the_journal_is_gone() {
    let team = waiting();
    std::fs::remove_dir_all(team.at(".synod")).unwrap();
    let up = team.up();
    until_so("it asks anew", || team.at("approvals/pending/approval-0002.approval.md").exists());
    until_so("the old question is taken back", || !team.at(FIRST).exists());
    up.kill();
    assert!(team.read("approvals/rejected/approval-0001.approval.md").contains("status: withdrawn"));
    team.fine(&["approve", "approval-0002"]);
    assert_eq!((team.pump(), still_open(&team)), (0, 0));
    team.is_in_order();
}

/// What `synod cost` says, in every way.
fn costs(team: &Team) -> Vec<String> {
    ["agent", "task", "model", "day"].map(|by| team.fine(&["cost", "--by", by, "--json"])).into()
}

fn day(team: &Team) -> Value {
    let shown: Value = serde_json::from_str(&team.fine(&["budget", "show", "--json"])).unwrap();
    shown["budgets"][0].clone()
}

#[test]
fn what_was_spent_and_allowed_outlives_the_journal() {
    let team = waiting();
    team.fine(&["approve", "approval-0001"]);
    assert_eq!(team.pump(), 0);
    let (before, spent) = (costs(&team), day(&team));
    assert!(
        spent["spent"]["tokens"].as_u64() > Some(0) && spent["raised"]["tokens"] == cap(&team),
        "{spent}"
    );
    let sessions = team.sessions("executor-001");
    let session = sessions[0].trim_start_matches("sessions/").trim_end_matches(".session.yaml");
    let said = team.fine(&["session", "show", session, "--json"]);
    let list = team.read("log/usage.jsonl");
    assert_eq!(list.lines().count(), 3, "two answers and a yes: {list}");
    std::fs::remove_dir_all(team.at(".synod")).unwrap();
    assert_eq!(costs(&team), before, "before anything is started");
    assert_eq!(team.fine(&["session", "show", session, "--json"]), said);
    assert_eq!(team.pump(), 0);
    assert_eq!((costs(&team), day(&team)), (before, spent));
    assert_eq!(team.read("log/audit.jsonl").matches("log/usage.jsonl: 2 answers, ").count(), 1);
    assert_eq!(team.fine(&["session", "show", session, "--json"]), said);
    team.is_in_order();
}

#[test]
fn a_used_up_budget_stays_used_up_when_the_journal_is_gone() {
    let home = team();
    assert_eq!(home.run(&["run", "look"]).code, 0);
    let shown = || json(&home, &["budget", "show", "--json"]);
    let set =
        |most: u64| assert_eq!(home.run(&["budget", "set", "day", "--tokens", &most.to_string()]).code, 0);
    set(one_call() - 1);
    assert_eq!(home.run(&["run", "look"]).code, 5);
    let used = shown()["budgets"][0]["spent"]["tokens"].as_u64().unwrap();
    let need = needed(&shown());
    // There is room for the call, but not after what was spent.
    set(need + used - 1);
    let list = std::fs::read_to_string(home.path().join("log/usage.jsonl")).unwrap();
    for _ in 0..2 {
        assert_eq!(home.run(&["pump"]).code, 5);
        std::fs::remove_dir_all(home.path().join(".synod")).unwrap();
    }
    assert_eq!(home.run(&["pump"]).code, 5);
    assert_eq!(shown()["budgets"][0]["spent"]["tokens"].as_u64(), Some(used));
    assert_eq!(std::fs::read_to_string(home.path().join("log/usage.jsonl")).unwrap(), list);
    // It is the list that knows: without it, there is room.
    std::fs::remove_dir_all(home.path().join(".synod")).unwrap();
    std::fs::remove_file(home.path().join("log/usage.jsonl")).unwrap();
    assert_eq!(home.run(&["pump"]).code, 0);
}

#[test]
fn each_answer_is_told_once_in_the_list_whenever_the_process_is_killed() {
    let team = waiting();
    team.fine(&["budget", "set", "day", "--tokens", "400000"]);
    let told = || team.read("log/usage.jsonl").lines().count();
    for round in 0..4 {
        for text in ["one", "two", "three"] {
            team.fine(&["task", "add", text]);
        }
        let up = team.up();
        until_so("something is told", || told() > round * 3);
        up.kill();
    }
    assert_eq!(team.pump(), 0);
    let before = costs(&team);
    let total: Value = serde_json::from_str(&before[0]).unwrap();
    assert_eq!(
        (total["total"]["replies"].as_u64(), told()),
        (Some(14), 14),
        "{}",
        team.read("log/usage.jsonl")
    );
    std::fs::remove_dir_all(team.at(".synod")).unwrap();
    assert_eq!(costs(&team), before);
}

#[test]
fn a_question_about_a_budget_says_nothing_that_gets_old_and_the_inbox_what_waits_now() {
    let team = waiting();
    let (asked, cap) = (team.read(FIRST), cap(&team));
    let words = format!("budgets.day: {cap} tokens leave no room for what waits.");
    assert!(asked.contains(&words), "{words}: {asked}");
    assert_eq!(team.synod(&["run", "look once more"]).code, 5);
    let inbox: Value = serde_json::from_str(&team.fine(&["inbox", "--json"])).unwrap();
    let now = format!("of {cap} tokens, 0 are spent and 0 reserved. 3 wait: task-001, task-002, task-003");
    assert_eq!(inbox["approvals"][0]["now"], now);
    team.fine(&["cancel", "task-002"]);
    assert!(team.fine(&["inbox"]).contains("2 wait: task-001, task-003\n"));
    assert_eq!(team.read(FIRST), asked);
}

/// One agent with a model behind a provider that misbehaves.
fn behind(provider: &Provider, kind: &str, fault: Fault) -> Team {
    provider.misbehave(move |_| Some(fault.clone()));
    let (team, url) = (Team::nothing(), provider.url());
    team.write(
        "synod.yaml",
        format!(
            "providers: {{p: {{kind: {kind}, base_url: \"{url}\", stream: true}}}}\n\
             models: {{m: {{provider: p, model: m}}}}\nrouting: {{fallback: worker-1}}\n"
        ),
    );
    let model = "model: {primary: m, max_tokens: 50}";
    team.write("agents/worker-1.agent.yaml", format!("id: worker-1\ntype: executor\n{model}\n"));
    team
}

fn spent(team: &Team) -> u64 {
    let cost: Value = serde_json::from_str(&team.fine(&["cost", "--by", "agent", "--json"])).unwrap();
    let tokens = |key: &str| cost["total"][key].as_u64().unwrap_or_else(|| panic!("{cost}"));
    tokens("tokens_in") + tokens("tokens_out")
}

#[test]
fn a_cap_holds_also_if_a_provider_counts_nothing() {
    for kind in ["openai", "anthropic"] {
        let provider = Provider::start(Arc::new(Puppet::answering(|_| Ok(says("Done.")))));
        let team = behind(&provider, kind, Fault::Miscounted("null"));
        team.fine(&["task", "add", "Say it"]);
        assert_eq!(team.pump(), 0);
        let once = spent(&team);
        assert!(once > 0, "{kind}");
        let cap = once * 4;
        team.fine(&["budget", "set", "day", "--tokens", &cap.to_string()]);
        for number in 0..8 {
            team.fine(&["task", "add", &format!("Say it {number}")]);
        }
        assert_eq!(team.pump(), 5, "{kind}: the cap is reached");
        assert!((2..=4).contains(&provider.count()), "{kind}: {} calls", provider.count());
        assert!(spent(&team) <= cap, "{kind}: {} of {cap}", spent(&team));
    }
}

#[test]
fn an_answer_that_is_cancelled_half_way_is_paid_for() {
    let provider = Provider::start(Arc::new(Puppet::answering(|_| Ok(says("It takes a while.")))));
    let team = behind(&provider, "openai", Fault::Idle);
    let up = team.up();
    team.fine(&["task", "add", "Say it"]);
    until_so("half of it came", || provider.count() == 1);
    team.fine(&["cancel", "task-001"]);
    until_so("it is counted", || spent(&team) > 0);
    up.stop();
}
