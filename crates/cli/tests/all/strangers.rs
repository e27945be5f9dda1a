//! Names that nobody has, and files that do not read: who waits because of them is told, and what still holds is shown.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::team::{Team, until_so};

const TASKS: &str = "tasks/plan.task.md";
const RULES: &str = "rules:\n  - {text: done}\n";
const WORKER_2: &str = "id: worker-2\ntype: executor\nmodel: m\n";

fn value(team: &Team, args: &[&str]) -> Value {
    let ran = team.synod(&[args, &["--json"]].concat());
    serde_json::from_str(ran.stdout.lines().last().unwrap_or_default())
        .unwrap_or_else(|e| panic!("{e}: {} {}", ran.stdout, ran.stderr))
}

#[test]
fn a_task_for_an_agent_that_does_not_exist_is_told_of_until_a_person_mends_it() {
    let team = Team::scripted(RULES);
    team.write("agents/worker-2.agent.yaml", WORKER_2);
    team.write(TASKS, "- [ ] @worker-1 \"First\"\n  id: t-1\n- [ ] @worker-22 \"Second\"\n  id: t-2\n");
    let ran = team.synod(&["pump"]);
    assert_eq!(ran.code, 3, "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("there is no agent `worker-22`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("tasks/plan.task.md:3:7"), "{}", ran.stderr);
    assert!(ran.stderr.contains("did you mean `worker-2`?"), "{}", ran.stderr);
    let last = "t-2 \"Second\" waits for you: agent worker-22 does not exist: mend that, or name another in \
                tasks/plan.task.md:7 (did you mean worker-2?); then go on with `synod pump`\n";
    assert!(ran.stderr.ends_with(last), "{}", ran.stderr);
    // A later start reads nothing new, and says it all the same.
    let ran = team.synod(&["pump"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (3, last));
    let pumped = value(&team, &["pump"]);
    assert_eq!((&pumped["waiting"], &pumped["tasks"]), (&json!(1), &json!(["t-2"])));
    let inbox = team.fine(&["inbox"]);
    assert!(inbox.contains("t-2  stranded\n  Second\n  agent worker-22 does not exist"), "{inbox}");
    assert_eq!(value(&team, &["inbox"])["tasks"][0]["kind"], "stranded");
    assert!(team.fine(&["status"]).contains("(agent worker-22 does not exist)"));

    team.edit(TASKS, "@worker-22", "@worker-2");
    assert_eq!(team.pump(), 0);
    assert_eq!(team.fine(&["inbox"]), "Nothing waits for you.\n");
}

#[test]
fn a_task_that_nobody_takes_is_told_of_until_somebody_does() {
    for mend in ["settings", "agent", "spawn", "file"] {
        let team = Team::scripted(RULES);
        let routing = "routing: {fallback: worker-1}\n";
        team.edit("synod.yaml", routing, "");
        team.write(TASKS, "- [ ] \"Do it\"\n  id: t-1\n");
        let ran = team.synod(&["pump"]);
        assert_eq!(ran.code, 3, "{} {}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("nobody takes this task"), "{}", ran.stderr);
        assert!(ran.stderr.contains("tasks/plan.task.md:1:7"), "{}", ran.stderr);
        let last = "t-1 \"Do it\" waits for you: nobody takes it: name somebody in tasks/plan.task.md:1, or set \
                    routing.fallback in synod.yaml; then go on with `synod pump`\n";
        assert!(ran.stderr.ends_with(last), "{}", ran.stderr);
        let ran = team.synod(&["pump"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (3, last), "as long as it is so");
        assert!(team.fine(&["inbox"]).contains("t-1  stranded\n  Do it\n  nobody takes it"));
        match mend {
            "settings" => team.append("synod.yaml", routing),
            "agent" => team.write("agents/planner-1.agent.yaml", "id: planner-1\ntype: planner\nmodel: m\n"),
            "spawn" => _ = team.fine(&["agent", "spawn", "planner", "--model", "m"]),
            _ => team.edit(TASKS, "\"Do it\"", "@worker-1 \"Do it\""),
        }
        let ran = team.synod(&["pump"]);
        assert_eq!(ran.code, 0, "{mend}: {} {}", ran.stdout, ran.stderr);
        assert_eq!(team.mark(TASKS, "t-1"), Some(domain::task::Mark::Done), "{mend}: {}", team.read(TASKS));
        assert_eq!(team.fine(&["inbox"]), "Nothing waits for you.\n");
    }
}

#[test]
fn a_task_from_which_its_agent_is_taken_goes_to_who_takes_it() {
    let team = Team::scripted(RULES);
    team.write(TASKS, "- [ ] @human \"First\"\n  id: t-1\n- [ ] @ghost-1 \"Second\"\n  id: t-2\n");
    assert_eq!(team.pump(), 3);
    team.edit(TASKS, "@ghost-1 ", "");
    assert_eq!(team.pump(), 3, "the first is still for a person");
    assert_eq!(team.mark(TASKS, "t-2"), Some(domain::task::Mark::Done), "{}", team.read(TASKS));
}

#[test]
fn tasks_that_wait_for_each_other_are_told_of_as_long_as_they_do() {
    let team = Team::scripted(RULES);
    let circle =
        "- [ ] @worker-1 \"A\"\n  id: a\n  depends_on: b\n- [ ] @worker-1 \"B\"\n  id: b\n  depends_on: a\n";
    team.write(TASKS, circle);
    for _ in 0..2 {
        let ran = team.synod(&["pump"]);
        assert_eq!(ran.code, 3, "{} {}", ran.stdout, ran.stderr);
        let last = "a \"A\" waits for you: waits for itself: a → b → a: take a depends_on or parent away in \
                    tasks/plan.task.md:1; then go on with `synod pump`\n";
        assert!(ran.stderr.ends_with(last), "{}", ran.stderr);
    }
    let tasks = &value(&team, &["inbox"])["tasks"];
    assert_eq!((tasks.as_array().unwrap().len(), &tasks[0]["kind"]), (1, &json!("stranded")), "{tasks}");
    team.edit(TASKS, "  depends_on: a\n", "");
    assert_eq!(team.pump(), 0);
    assert_eq!(team.fine(&["inbox"]), "Nothing waits for you.\n");
}

#[test]
fn a_daemon_tells_of_it_when_the_edit_is_read() {
    let team = Team::scripted(RULES);
    let up = team.up();
    team.write(TASKS, "- [ ] @ghost-9 \"Second\"\n  id: t-2\n");
    up.tells("there is no agent `ghost-9`");
    until_so("the pump says so too", || team.pump() == 3);
    up.stop();
}

#[test]
fn an_agent_whose_file_never_read_is_not_one_that_does_not_exist() {
    let team = Team::scripted(RULES);
    team.write("agents/worker-2.agent.yaml", "id: [\n");
    team.write(TASKS, "- [ ] @worker-2 \"Second\"\n  id: t-2\n");
    let ran = team.synod(&["pump"]);
    assert_eq!(ran.code, 3, "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("the file of agent `worker-2` does not read"), "{}", ran.stderr);
    assert!(team.fine(&["status"]).contains("(the file of agent worker-2 does not read)"));
    for args in [
        &["agent", "show", "worker-2"][..],
        &["message", "send", "worker-2", "hi"],
        &["run", "--to", "worker-2", "hi"],
        &["task", "add", "--to", "worker-2", "hi"],
    ] {
        let ran = team.synod(args);
        assert_eq!(ran.code, 1);
        let told = "error: the file of worker-2 does not read: agents/worker-2.agent.yaml:";
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
}

#[test]
fn an_agent_that_was_terminated_is_named_as_such() {
    let team = Team::scripted(RULES);
    let made = team.fine(&["agent", "spawn", "executor"]);
    let agent = made.split(' ').next().unwrap();
    team.fine(&["agent", "terminate", agent]);
    for args in [
        &["run", "--to", agent, "hi"][..],
        &["agent", "show", agent],
        &["message", "send", agent, "hi"],
        &["task", "add", "--to", agent, "hi"],
        &["route", "--to", agent, "hi"],
    ] {
        let ran = team.synod(args);
        let told = format!("error: {agent} was terminated by person:tess\n");
        assert_eq!(ran.code, 1, "{args:?}");
        assert!(ran.stderr.contains(&told), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn an_agent_whose_file_no_longer_reads_is_shown_as_it_works() {
    let team = Team::scripted(RULES);
    team.write("agents/worker-2.agent.yaml", WORKER_2);
    let up = team.up();
    until_so("the agent is there", || team.synod(&["run", "--to", "worker-2", "hi"]).code == 0);
    team.write("agents/worker-2.agent.yaml", "id: [\n");
    up.tells("agents/worker-2.agent.yaml");
    assert_eq!(team.synod(&["run", "--to", "worker-2", "again"]).code, 0);
    let told = "the file of worker-2 does not read: agents/worker-2.agent.yaml:";
    for args in [&["agent", "list"][..], &["status"]] {
        let ran = team.synod(args);
        assert!(ran.stdout.contains("worker-2  executor"), "{}", ran.stdout);
        assert!(
            ran.stderr.contains(told) && ran.stderr.contains("what it said last holds"),
            "{}",
            ran.stderr
        );
    }
    let ran = team.synod(&["agent", "show", "worker-2"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("its file does not read: agents/worker-2.agent.yaml:"), "{}", ran.stderr);
    let shown = value(&team, &["agent", "list"]);
    assert!(shown["agents"][1]["unread"].is_string(), "{shown}");
    up.stop();
}

#[test]
fn a_route_is_explained_by_the_settings_in_force() {
    let team = Team::scripted(RULES);
    assert_eq!(team.pump(), 0);
    team.edit("synod.yaml", "{fallback: worker-1}", "{fallback: worker-1, oops: 3}");
    let ran = team.synod(&["route", "hello"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.starts_with("worker-1: "), "{}", ran.stdout);
    assert!(ran.stderr.contains("synod.yaml does not read: synod.yaml:3:31: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("what it said last holds"), "{}", ran.stderr);
}

#[test]
fn a_role_that_does_not_exist_is_told_of_when_its_file_is_read() {
    let team = Team::scripted(RULES);
    team.edit("agents/worker-1.agent.yaml", "executor", "executr");
    let ran = team.synod(&["run", "hello"]);
    assert!(ran.stderr.contains("there is no role `executr`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("agents/worker-1.agent.yaml:2:7"), "{}", ran.stderr);
    assert!(ran.stderr.contains("did you mean `executor`?"), "{}", ran.stderr);
}

#[test]
fn slots_and_what_waits_for_them_are_counted_for_each_agent() {
    let team = Team::scripted("rules:\n  - {text: done, delay_ms: 600000}\n");
    team.write(
        "agents/worker-1.agent.yaml",
        "id: worker-1\ntype: executor\nmodel: m\npermissions: {concurrency: {max_parallel_tasks: 1}}\n",
    );
    let list: String = (1..5).map(|n| format!("- [ ] @worker-1 \"Task {n}\"\n  id: t-{n}\n")).collect();
    team.write(TASKS, list);
    let up = team.up();
    let slots = || value(&team, &["status"])["concurrency"].clone();
    until_so("one works and three wait", || slots()["totalPending"] == 3);
    let found = slots();
    assert_eq!(found["totalActive"], 1);
    let own = &found["byAgent"]["worker-1"];
    assert_eq!((&own["active"], &own["pending"], &own["maxParallel"]), (&json!(1), &json!(3), &json!(1)));
    assert!(own["maxPending"].is_u64(), "{own}");
    up.stop();
}

#[test]
fn a_home_is_in_order_after_an_ordinary_termination() {
    let team =
        Team::scripted("rules:\n  - {matches: wait, text: done, delay_ms: 600000}\n  - {text: done}\n");
    let up = team.up();
    let id = value(&team, &["agent", "spawn", "coder", "--model", "m"])["agent"].as_str().unwrap().to_owned();
    assert_eq!(team.synod(&["run", "--to", &id, "hello"]).code, 0);
    team.fine(&["task", "add", "--to", &id, "wait"]);
    team.fine(&["agent", "terminate", &id]);
    up.stop();
    team.is_in_order();
}

#[test]
fn a_repository_that_cannot_be_worked_in_is_found_with_its_place() {
    let team = crate::code::begun();
    team.is_in_order();
    let agent =
        team.names("agents").into_iter().find(|name| team.read(&format!("agents/{name}")).contains("repo:"));
    let agent = format!("agents/{}", agent.unwrap());
    let line = 1 + team.read(&agent).lines().position(|line| line.contains("repo:")).unwrap();
    let repo = team.at("repo");
    assert!(repo.is_dir());
    let says = |why: &str| {
        let ran = team.synod(&["check"]);
        assert_eq!(ran.code, 1, "{}", ran.stdout);
        assert!(
            ran.stdout.contains(why) && ran.stdout.contains(&format!("{agent}:{line}:")),
            "{}",
            ran.stdout
        );
        let ran = team.synod(&["doctor"]);
        assert!(ran.stdout.contains(why.split_once("` ").unwrap().1), "{}", ran.stdout);
    };
    std::fs::remove_dir_all(repo.join(".git")).unwrap();
    says("the repository `repo` is no git repository");
    crate::code::git(&team, &["init", "-q"]);
    says("the repository `repo` has no commit to begin from");
    std::fs::remove_dir_all(&repo).unwrap();
    says("the repository `repo` does not exist");
}

#[test]
fn a_redaction_means_what_context_get_calls_a_field_or_says_that_it_hides_nothing() {
    let team = Team::scripted(RULES);
    let content = r#"{"contacts": [{"email": "a@x"}, {"email": "b@x"}]}"#;
    team.write("contexts/customers.json", content);
    let grant = |field: &str| team.synod(&["context", "grant", "customers", "worker-1", "--redact", field]);
    let seen = || team.fine(&["context", "show", "customers", "--as", "worker-1"]);
    for (field, first, second) in [
        ("contacts.0.email", false, true),
        ("contacts[0].email", false, true),
        ("contacts.*.email", false, false),
        ("contacts.email", false, false),
    ] {
        let ran = grant(field);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{field}");
        assert_eq!((seen().contains("a@x"), seen().contains("b@x")), (first, second), "{field}");
        team.is_in_order();
    }
    let ran = grant("contacts.emial");
    let told = "contacts.emial fits nothing in contexts/customers.json as it is now, so it hides nothing";
    assert!(ran.code == 0 && ran.stderr.contains(told), "{}", ran.stderr);
    let ran = team.synod(&["check"]);
    assert!(ran.stdout.contains("`contacts.emial` fits nothing in the context"), "{}", ran.stdout);
    assert!(ran.stdout.contains("contexts/customers.acl.yaml:"), "{}", ran.stdout);
    for field in ["", "..", "card."] {
        let ran = grant(field);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("names no field"), "{}", ran.stderr);
    }
}

#[test]
fn a_request_to_a_name_that_is_nearly_right_is_answered_with_the_right_one() {
    let team = Team::scripted(RULES);
    let alone = team.synod(&["run", "--to", "worker-11", "hi"]);
    let up = team.up();
    let beside = team.synod(&["run", "--to", "worker-11", "hi"]);
    up.stop();
    for ran in [alone, beside] {
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains("did you mean worker-1?"), "{}", ran.stderr);
    }
}

#[test]
fn a_tail_of_no_messages_ends_at_once() {
    let team = Team::scripted(RULES);
    assert_eq!(team.fine(&["message", "tail", "--limit", "0"]), "");
}

#[test]
fn a_daemon_that_does_not_answer_is_waited_for_once_and_named() {
    let team = Team::scripted(RULES);
    assert_eq!(team.synod(&["run", "hi"]).code, 0);
    let up = team.up();
    up.send(Signal::STOP);
    let (graph, lock) = (team.start(&["graph"]), team.start(&["lock", "list"]));
    let cancel = team.start(&["cancel", "task-001"]);
    for ran in [graph.wait(), lock.wait(), cancel.wait()] {
        assert!(ran.stderr.contains("no answer within 10 s"), "{} {}", ran.stdout, ran.stderr);
    }
    up.send(Signal::CONT);
    up.stop();
}

#[test]
fn grants_that_are_given_at_once_are_all_given() {
    let team = Team::scripted(RULES);
    team.write("contexts/plan.json", "{}");
    let grants: Vec<_> = (0..20).map(|_| team.start(&["context", "grant", "plan", "worker-1"])).collect();
    for ran in grants.into_iter().map(crate::team::Process::wait) {
        assert!(!ran.stderr.contains("is a link"), "{}", ran.stderr);
    }
    std::fs::rename(team.at("contexts/plan.json"), team.at("contexts/real.json")).unwrap();
    std::os::unix::fs::symlink("real.json", team.at("contexts/plan.json")).unwrap();
    let ran = team.synod(&["context", "show", "plan"]);
    assert!(ran.code == 1 && ran.stderr.contains("is a link"), "{} {}", ran.stdout, ran.stderr);
}
