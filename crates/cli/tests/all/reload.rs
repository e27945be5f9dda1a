//! Files of the owner that change while the team works: new work follows them, what is under way goes on as it began.

use domain::task::Mark;

use crate::team::{Process, Team, until_so};

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

/// A file may be noticed after a task; the next one is asked of the new model at the latest.
fn until_new_tasks_say_second_words(team: &Team, up: &Process, first: u32) {
    let says = |number: u32| {
        let id = format!("task-00{number}");
        add(team, &id, "look");
        result(team, &id) == "second words"
    };
    assert!((first..9).any(says), "the new file is never taken: {}", up.stderr());
}

#[test]
fn a_changed_agent_is_for_new_tasks_and_what_is_under_way_goes_on_as_it_began() {
    let team = team();
    team.write(AGENT, agent("m", 5));
    let up = team.up();
    add(&team, "task-001", "question first");
    until_so("it asks", || team.mark(TASKS, "task-001") == Some(Mark::Asking));
    team.edit(AGENT, "model: m\n", "model: n\n");
    until_new_tasks_say_second_words(&team, &up, 2);
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
    until_new_tasks_say_second_words(&team, &up, 3);
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

/// A team in which a task is under way and asks a person for a command.
fn asking() -> (Team, Process) {
    let team = team();
    team.write(AGENT, agent("m", 5));
    let up = team.up();
    add(&team, "task-001", "question first");
    until_so("it asks", || team.mark(TASKS, "task-001") == Some(Mark::Asking));
    (team, up)
}

/// How often a file's content was taken since the home began.
fn taken(team: &Team, file: &str) -> usize {
    team.read("log/audit.jsonl").lines().filter(|line| line.contains("config") && line.contains(file)).count()
}

#[test]
fn an_alias_that_is_changed_holds_at_the_next_call_also_of_what_is_under_way() {
    let (team, up) = asking();
    team.edit("synod.yaml", "{m: {provider: first", "{m: {provider: second");
    until_new_tasks_say_second_words(&team, &up, 2);
    up.stop();
    // Also for whoever goes on with it after a restart.
    let up = team.up();
    team.fine(&["reject", "approval-0001", "--reason", "no"]);
    assert_eq!(result(&team, "task-001"), "second words");
    up.stop();
}

#[test]
fn a_budget_that_is_lowered_holds_at_once_for_what_is_under_way() {
    let (team, up) = asking();
    let before = taken(&team, "synod.yaml");
    team.fine(&["budget", "set", "run", "--tokens", "1"]);
    until_so("the change is taken", || taken(&team, "synod.yaml") > before);
    team.fine(&["reject", "approval-0001", "--reason", "no"]);
    until_so("the budget asks", || team.at("approvals/pending/approval-0002.approval.md").exists());
    up.stop();
    assert!(team.fine(&["inbox"]).contains("budgets.run of task-001"), "{}", team.fine(&["inbox"]));
    assert_ne!(team.mark(TASKS, "task-001"), Some(Mark::Done));
}

#[test]
fn a_policy_that_is_tightened_holds_at_once_for_what_is_under_way() {
    let (team, up) = asking();
    let before = taken(&team, "policy/commands.yaml");
    team.write("policy/commands.yaml", "commands:\n  make it: deny\n");
    until_so("the change is taken", || taken(&team, "policy/commands.yaml") > before);
    team.fine(&["approve", "approval-0001"]);
    assert_eq!(result(&team, "task-001"), "first words");
    up.stop();
    let said: Vec<String> = team.talk("worker-1").into_iter().map(|m| m.content).collect();
    assert!(said.iter().any(|text| text.contains("denied by the rule")), "{said:?}");
}

/// A home whose settings do not read, without a journal that knows better.
fn broken() -> Team {
    let team = team();
    team.write(AGENT, agent("m", 5));
    // Who takes the first stands only in the settings; the second has no name yet either.
    team.append(TASKS, "- [ ] look\n  id: task-001\n- [ ] look again\n");
    team.append("synod.yaml", "nonsense: 1\n");
    team
}

/// Where it does not read.
fn place(team: &Team) -> String {
    format!("synod.yaml:{}:1", team.read("synod.yaml").lines().count())
}

fn marks(team: &Team) -> Vec<Mark> {
    team.tasks(TASKS).iter().map(|task| task.mark).collect()
}

#[test]
fn settings_that_never_read_hold_all_work_back_and_fail_nothing() {
    let team = broken();
    for args in [&["pump"][..], &["run", "three"], &["pump", "--json"]] {
        let ran = team.synod(args);
        assert_eq!(ran.code, 1, "{args:?}: {} {}", ran.stdout, ran.stderr);
        let told = ran.stdout + &ran.stderr;
        assert!(told.contains(&place(&team)) && told.contains("all work waits for it"), "{told}");
        assert_eq!(marks(&team), [Mark::Open, Mark::Open], "{}", team.read(TASKS));
    }
    assert!(!team.at("tasks/requests.task.md").exists(), "the request was not taken");
    assert!(team.sessions("worker-1").is_empty());
    // Nor is anything else taken: its name might be that of a task that nobody read.
    let add = team.synod(&["task", "add", "three", "--to", "worker-1"]);
    assert_eq!((add.code, add.stderr.contains(&place(&team))), (1, true), "{}", add.stderr);
    team.edit("synod.yaml", "nonsense: 1\n", "");
    assert_eq!(team.pump(), 0);
    assert_eq!(marks(&team), [Mark::Done, Mark::Done], "{}", team.read(TASKS));
}

#[test]
fn a_daemon_without_settings_that_read_goes_on_when_they_are_mended() {
    let team = broken();
    let up = team.start(&["up"]);
    up.tells("goes on by itself when it is mended");
    assert!(up.stderr().contains(&place(&team)), "{}", up.stderr());
    let pump = team.synod(&["pump"]);
    assert_eq!(pump.code, 1, "{} {}", pump.stdout, pump.stderr);
    assert!(pump.stderr.contains(&place(&team)), "{}", pump.stderr);
    for args in [&["run", "three"][..], &["task", "add", "three"]] {
        let ran = team.synod(args);
        assert_eq!((ran.code, ran.stderr.contains(&place(&team))), (1, true), "{}", ran.stderr);
    }
    assert!(team.fine(&["status"]).contains("The daemon runs"));
    assert_eq!(marks(&team), [Mark::Open, Mark::Open]);
    // Another mistake is told too.
    team.edit("synod.yaml", "nonsense: 1\n", "nonsens: 1\n");
    up.tells("nonsens`");
    team.edit("synod.yaml", "nonsens: 1\n", "");
    up.tells("synod works in");
    until_so("all is done", || marks(&team) == [Mark::Done, Mark::Done]);
    team.fine(&["run", "three"]);
    up.stop();
    // From now on there is a last good version.
    team.append("synod.yaml", "nonsense: 1\n");
    add(&team, "task-004", "look");
    assert_eq!(team.pump(), 0);
    assert_eq!(team.mark(TASKS, "task-004"), Some(Mark::Done));
}

#[test]
fn a_daemon_that_waits_for_settings_ends_well() {
    let team = broken();
    let up = team.start(&["up"]);
    up.tells("goes on by itself when it is mended");
    up.stop();
    assert_eq!(marks(&team), [Mark::Open, Mark::Open]);
}

#[test]
fn a_copy_of_an_agents_file_does_not_speak_for_the_agent() {
    let team = Team::scripted(
        "rules:\n  - matches: \"Task *\"\n    calls: [{tool: write_file, arguments: {path: memory/x.md, content: x}}]\n  - text: \"{last}\"\n",
    );
    let reader = "id: worker-1\ntype: reviewer\nmodel: m\n";
    team.write(AGENT, reader);
    let up = team.up();
    let copy = "agents/backup.agent.yaml";
    team.write(copy, reader.replace("reviewer", "coder"));
    up.tells("agents/backup.agent.yaml:1:5");
    add(&team, "task-001", "write");
    assert!(result(&team, "task-001").contains("reviewer"), "{}", result(&team, "task-001"));
    // Renamed and saved: an agent of its own.
    team.edit(copy, "id: worker-1", "id: backup");
    until_so("it is there", || team.synod(&["agent", "show", "backup"]).code == 0);
    add(&team, "task-002", "write");
    assert!(result(&team, "task-002").contains("reviewer"));
    // The agent that a file was about stays who it was until its file says it well.
    team.edit(AGENT, "id: worker-1", "id: worker-9");
    up.tells("agents/worker-1.agent.yaml:1:5");
    add(&team, "task-003", "write");
    assert!(result(&team, "task-003").contains("reviewer"));
    up.stop();
}

#[test]
fn of_two_files_for_one_agent_the_first_counts_whichever_was_saved_last() {
    let team = Team::scripted("rules:\n  - text: Done.\n");
    let json = |model: &str| format!("{{\"id\": \"worker-1\", \"type\": \"coder\", \"model\": \"{model}\"}}");
    team.write(AGENT, "id: worker-1\ntype: reviewer\nmodel: m\n");
    let up = team.up();
    team.write("agents/worker-1/agent.json", json("m"));
    up.tells("the agent id `worker-1` is already used in agents/worker-1.agent.yaml");
    std::fs::remove_file(team.at(AGENT)).unwrap();
    add(&team, "task-001", "look");
    assert_eq!(result(&team, "task-001"), "Done.", "the other one is there");
    up.stop();
}

#[test]
fn a_folder_that_is_taken_away_and_brought_back_is_watched_again() {
    let team = team();
    team.write(AGENT, agent("m", 5));
    let up = team.up();
    add(&team, "task-001", "look");
    assert_eq!(result(&team, "task-001"), "first words");
    std::fs::rename(team.at("tasks"), team.at("tasks-before")).unwrap();
    std::fs::create_dir(team.at("tasks")).unwrap();
    std::fs::rename(team.at("tasks-before/work.task.md"), team.at(TASKS)).unwrap();
    add(&team, "task-002", "look");
    assert_eq!(result(&team, "task-002"), "first words");
    add(&team, "task-003", "look");
    assert_eq!(result(&team, "task-003"), "first words");
    up.stop();
}

#[test]
fn an_edited_script_answers_from_the_next_question_on_and_a_broken_one_changes_nothing() {
    let team = team();
    let up = team.up();
    let ask = |number: u32| {
        let id = format!("task-00{number}");
        add(&team, &id, "look");
        result(&team, &id)
    };
    assert_eq!(ask(1), "first words");
    team.write("models/s.yaml", script("other words"));
    assert_eq!(ask(2), "other words");
    team.write("models/s.yaml", "rules: [\n");
    assert_eq!(ask(3), "other words");
    up.tells("the script stays as it was");
    assert!(up.stderr().contains("models/s.yaml:"), "{}", up.stderr());
    team.write("models/s.yaml", script("last words"));
    assert_eq!(ask(4), "last words");
    up.stop();
}

#[test]
fn settings_that_are_empty_for_a_moment_change_nothing() {
    for nothing in ["", "# all of it\n"] {
        let team = team();
        let up = team.up();
        team.write("synod.yaml", nothing);
        up.tells("there are no settings any more; those of before stay");
        add(&team, "task-001", "look");
        assert_eq!(result(&team, "task-001"), "first words");
        up.stop();
        let ran = team.synod(&["pump"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stderr.contains("synod.yaml:1:1"), "{}", ran.stderr);
    }
}
