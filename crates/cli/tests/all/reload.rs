//! Files of the owner that change while the team works: new work follows them, what is under way goes on as it began.

use domain::task::Mark;

use crate::team::{Team, until_so};

const TASKS: &str = "tasks/work.task.md";
const AGENT: &str = "agents/worker-1.agent.yaml";

const SETTINGS: &str = "\
providers: {first: {kind: scripted, script: models/s.yaml}, second: {kind: scripted, script: models/t.yaml}}
models: {m: {provider: first, model: m}, n: {provider: second, model: n}}
routing: {fallback: worker-1}
";

/// Asks a person first if the task says so, and then says whose words these are.
fn script(words: &str) -> String {
    format!(
        "rules:\n  - matches: \"*hold*\"\n    delay_ms: 600000\n    text: never\n  - matches: \"Task *question*\"\n    calls: [{{tool: execute_command, arguments: {{command: make it}}}}]\n  - text: {words}\n"
    )
}

fn team() -> Team {
    let team = Team::scripted(&script("first words"));
    team.write("models/t.yaml", script("second words"));
    team.write("synod.yaml", SETTINGS);
    team
}

fn agent(model: &str, slots: u32) -> String {
    format!(
        "id: worker-1\ntype: executor\nmodel: {model}\npermissions:\n  concurrency: {{max_parallel_tasks: {slots}}}\n"
    )
}

fn add(team: &Team, id: &str, title: &str) {
    team.append(TASKS, &format!("- [ ] @worker-1 \"{title}\"\n  id: {id}\n"));
}

fn result(team: &Team, id: &str) -> String {
    until_so(id, || team.mark(TASKS, id).is_some_and(Mark::is_ended));
    team.task(TASKS, id).unwrap().property("result").unwrap_or_default().to_owned()
}

#[test]
fn a_changed_agent_is_for_new_tasks_and_what_is_under_way_goes_on_as_it_began() {
    let team = team();
    team.write(AGENT, agent("m", 5));
    let up = team.up();
    add(&team, "task-001", "question first");
    until_so("it asks", || team.mark(TASKS, "task-001") == Some(Mark::Asking));
    team.edit(AGENT, "model: m\n", "model: n\n");
    add(&team, "task-002", "look");
    let mut number = 2;
    // The file may be noticed after the task; the next one is asked of the new model at the latest.
    while result(&team, &format!("task-00{number}")) != "second words" {
        number += 1;
        assert!(number < 9, "the new file is never taken: {}", up.stderr());
        add(&team, &format!("task-00{number}"), "look");
    }
    team.fine(&["reject", "approval-0001", "--reason", "no"]);
    assert_eq!(result(&team, "task-001"), "first words");
    up.stop();
}

#[test]
fn a_broken_change_is_told_with_its_place_and_the_old_stays_until_it_is_mended() {
    let team = team();
    team.write(AGENT, agent("m", 5));
    let up = team.up();
    team.edit(AGENT, "model: m\n", "model: [m\n");
    up.tells("agents/worker-1.agent.yaml:");
    let told = up.stderr();
    let place = told.lines().find(|line| line.contains("worker-1.agent.yaml:")).unwrap().to_owned();
    let numbers: Vec<&str> = place.split(':').skip(1).take(2).collect();
    assert!(numbers.iter().all(|n| n.trim().parse::<usize>().is_ok()), "file:line:col in {place}");
    add(&team, "task-001", "look");
    assert_eq!(result(&team, "task-001"), "first words");
    team.edit("synod.yaml", "models: {m:", "modles: {m:");
    up.tells("synod.yaml:");
    add(&team, "task-002", "look");
    assert_eq!(result(&team, "task-002"), "first words");
    team.edit("synod.yaml", "modles: {m:", "models: {m:");
    team.edit(AGENT, "model: [m\n", "model: n\n");
    let mut number = 3;
    add(&team, "task-003", "look");
    while result(&team, &format!("task-00{number}")) != "second words" {
        number += 1;
        assert!(number < 9, "the mended file is never taken: {}", up.stderr());
        add(&team, &format!("task-00{number}"), "look");
    }
    up.stop();
}

#[test]
fn changed_slots_hold_at_once() {
    let team = team();
    team.write(AGENT, agent("m", 1));
    team.write("agents/other-1.agent.yaml", "id: other-1\ntype: executor\nmodel: m\n");
    let up = team.up();
    for id in ["task-001", "task-002", "task-003"] {
        add(&team, id, "hold");
    }
    let running = || team.tasks(TASKS).iter().filter(|task| task.mark == Mark::Running).count();
    until_so("one runs", || running() == 1);
    team.edit(AGENT, "max_parallel_tasks: 1", "max_parallel_tasks: 2");
    until_so("two run", || running() == 2);
    team.edit(AGENT, "max_parallel_tasks: 2", "max_parallel_tasks: 1");
    // What comes after a change is seen after it: the other agent's work says how far things are.
    let other = |id: &str| {
        team.append(TASKS, &format!("- [ ] @other-1 \"look\"\n  id: {id}\n"));
        assert_eq!(result(&team, id), "first words");
    };
    other("task-004");
    team.fine(&["cancel", "task-001"]);
    other("task-005");
    assert_eq!((running(), team.mark(TASKS, "task-003")), (1, Some(Mark::Open)));
    up.stop();
}

#[test]
fn changed_slots_of_the_home_hold_at_once() {
    let team = team();
    team.write(AGENT, agent("m", 5));
    team.edit("synod.yaml", "routing:", "limits: {parallel_max: 1}\nrouting:");
    let up = team.up();
    for id in ["task-001", "task-002", "task-003"] {
        add(&team, id, "hold");
    }
    let running = || team.tasks(TASKS).iter().filter(|task| task.mark == Mark::Running).count();
    until_so("one runs", || running() == 1);
    team.edit("synod.yaml", "parallel_max: 1", "parallel_max: 2");
    until_so("two run", || running() == 2);
    up.stop();
    assert_eq!(team.mark(TASKS, "task-003"), Some(Mark::Open));
}
