//! Work that agents hand on, from outside: what the files say of it, and that it stops when it is told to.

use domain::task::Mark;

use crate::team::Team;

const TASKS: &str = "tasks/requests.task.md";

const SETTINGS: &str = "\
providers: {script: {kind: scripted, script: models/s.yaml}}
models: {m: {provider: script, model: m}}
routing: {fallback: worker-1}
";

/// Workers that each hand on to the next one; what the last one does is the test's.
fn chain(length: usize, last: &str) -> Team {
    let team = Team::nothing();
    team.write("synod.yaml", SETTINGS);
    let mut rules = "rules:\n".to_owned();
    for number in 1..=length {
        let agent = format!("worker-{number}");
        team.write(
            &format!("agents/{agent}.agent.yaml"),
            format!(
                "id: {agent}\ntype: executor\nmodel: m\nresponsibilities: [\"ops:*\"]\npermissions:\n  delegation: {{can_delegate: true, max_delegation_depth: 10}}\n  concurrency: {{task_timeout_ms: 600000}}\n"
            ),
        );
        if number < length {
            let next = number + 1;
            rules.push_str(&format!(
                "  - agent: {agent}\n    tool_result: delegate\n    text: \"{agent} heard: {{last}}\"\n  - agent: {agent}\n    calls: [{{tool: delegate, arguments: {{to: worker-{next}, tag: \"ops:look\", task: Look closely}}}}]\n"
            ));
        }
    }
    rules.push_str(&format!("  - agent: worker-{length}\n{last}"));
    team.write("models/s.yaml", rules);
    team
}

#[test]
fn work_goes_down_a_chain_and_its_result_comes_back() {
    let team = chain(3, "    text: 92 % full\n");
    assert_eq!(team.fine(&["task", "add", "Is the disk fine?"]), "task-001 is added\n");
    assert_eq!(team.pump(), 0);
    let task = team.task(TASKS, "task-003").unwrap();
    assert_eq!(task.mark, Mark::Done);
    let file = team.read(TASKS);
    assert!(file.contains("chain: worker-1 → worker-2 → worker-3"), "{file}");
    let said = team.talk("worker-1").last().unwrap().content.clone();
    assert!(said.contains("worker-1 heard: worker-2 has done task-002: worker-2 heard: worker-3 has done task-003: 92 % full"), "{said}");
    team.is_in_order();
    let log = team.read("log/audit.jsonl");
    assert!(log.contains("delegation-0002: worker-1 → worker-2 → worker-3"), "{log}");
}

#[test]
fn delegated_work_goes_on_without_a_journal() {
    let team = chain(3, "    calls: [{tool: execute_command, arguments: {command: touch done}}]\n");
    team.fine(&["task", "add", "Is the disk fine?"]);
    assert_eq!(team.pump(), 3, "the last one waits for a person");
    std::fs::remove_dir_all(team.at(".synod")).unwrap();
    team.write("models/s.yaml", team.read("models/s.yaml").replace("  - agent: worker-3\n", "  - agent: worker-3\n    tool_result: execute_command\n    text: it is done\n  - agent: worker-3\n"));
    team.to_the_end();
    for id in ["task-001", "task-002", "task-003"] {
        assert_eq!(team.mark(TASKS, id), Some(Mark::Done), "{}", team.read(TASKS));
    }
    assert_eq!(team.tasks(TASKS).len(), 3, "nothing was handed on twice");
}
