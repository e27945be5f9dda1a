//! Seed 003's decision matrix with the real binary: an agent that wants to hand work on, and what it is told. One row for
//! each check; each differs from the one that is let through in one thing.

use std::sync::Arc;

use adapters::model::Scripted;
use domain::task::Mark;
use testkit::provider::Provider;

use crate::team::{Process, Team, until_so};

const TASKS: &str = "tasks/requests.task.md";

/// What stands in the files of a row.
struct Row {
    /// The check that fails.
    check: &'static str,
    /// Under `permissions:` of the one who hands on.
    source: &'static str,
    /// What the other answers for.
    responsibilities: &'static str,
    /// Under `concurrency:` of the other.
    concurrency: &'static str,
    /// Under `limits:` of the settings.
    limits: &'static str,
    /// To whom it goes.
    to: &'static str,
    /// The words with which the call is refused; nothing if the work is done.
    told: &'static str,
}

const OPEN: Row = Row {
    check: "none",
    source: "delegation: {can_delegate: true}",
    responsibilities: "ops:*",
    concurrency: "max_parallel_tasks: 1",
    limits: "{}",
    to: "worker-2",
    told: "",
};

const ROWS: [Row; 6] = [
    OPEN,
    Row {
        check: "source may delegate",
        source: "delegation: {can_delegate: false}",
        told: "Agent not authorized to delegate: ",
        ..OPEN
    },
    Row {
        check: "target in the list",
        source: "delegation: {can_delegate: true, allowed_targets: [worker-3]}",
        told: "Target agent not in allowed list: ",
        ..OPEN
    },
    Row {
        check: "tag in the target's responsibilities",
        responsibilities: "docs:*",
        told: "Target cannot handle this task type: ",
        ..OPEN
    },
    Row {
        check: "tag in the source's list",
        source: "delegation: {can_delegate: true, allowed_tags: [\"docs:*\"]}",
        told: "Agent not authorized to delegate this task type: ",
        ..OPEN
    },
    Row { check: "no cycle", to: "worker-1", told: "Circular delegation detected: ", ..OPEN },
];

fn team(row: &Row) -> Team {
    let team = Team::nothing();
    let Row { source, responsibilities, concurrency, limits, to, .. } = row;
    team.write(
        "synod.yaml",
        format!(
            "providers: {{script: {{kind: scripted, script: models/s.yaml}}}}\nmodels: {{m: {{provider: script, model: m}}}}\nrouting: {{fallback: worker-1}}\nlimits: {limits}\n"
        ),
    );
    team.write(
        "agents/worker-1.agent.yaml",
        format!(
            "id: worker-1\ntype: executor\nmodel: m\nresponsibilities: [\"ops:*\"]\npermissions:\n  {source}\n"
        ),
    );
    team.write(
        "agents/worker-2.agent.yaml",
        format!(
            "id: worker-2\ntype: executor\nmodel: m\nresponsibilities: [\"{responsibilities}\"]\npermissions:\n  concurrency: {{{concurrency}}}\n"
        ),
    );
    team.write(
        "agents/worker-3.agent.yaml",
        "id: worker-3\ntype: executor\nmodel: m\nresponsibilities: [\"ops:*\"]\n",
    );
    team.write(
        "models/s.yaml",
        format!(
            "rules:\n  - agent: worker-1\n    tool_result: delegate\n    text: \"told: {{last}}\"\n  - agent: worker-1\n    calls: [{{tool: delegate, arguments: {{to: {to}, tag: \"ops:look\", task: Look closely}}}}]\n  - agent: worker-2\n    matches: Something long\n    delay_ms: 600000\n    text: never\n  - agent: worker-2\n    text: 92 % full\n"
        ),
    );
    team
}

/// What the one who wanted to hand on says at the end.
fn said(team: &Team) -> String {
    team.last_words("worker-1")
}

#[test]
fn each_check_refuses_with_its_words_and_leaves_nothing_behind() {
    for row in &ROWS {
        let team = team(row);
        team.fine(&["task", "add", "Is the disk fine?"]);
        assert_eq!(team.pump(), 0, "{}", row.check);
        let (said, log) = (said(&team), team.read("log/audit.jsonl"));
        assert_eq!(team.mark(TASKS, "task-001"), Some(Mark::Done), "{}: who is refused goes on", row.check);
        if row.told.is_empty() {
            assert!(said.contains("told: worker-2 has done task-002: 92 % full"), "{said}");
            assert!(log.contains("delegation-0001: worker-1 → worker-2"), "{log}");
        } else {
            assert!(said.starts_with("told: ") && said.contains(row.told), "{}: {said}", row.check);
            assert_eq!(team.tasks(TASKS).len(), 1, "{}: no work was made", row.check);
            assert!(team.sessions("worker-2").is_empty(), "{}", row.check);
            assert!(
                team.fine(&["delegation", "list"]).starts_with("No agent has delegated"),
                "{}",
                row.check
            );
        }
        team.is_in_order();
    }
}

/// The other's only slot is taken by work that does not end by itself; then work is handed on to it.
fn busy(limits: &'static str, concurrency: &'static str, queued: bool) -> (Team, Process) {
    let team = team(&Row { limits, concurrency, ..OPEN });
    let up = team.up();
    team.fine(&["task", "add", "Something long", "--to", "worker-2", "--file", "long.task.md"]);
    until_so("the slot is taken", || !team.sessions("worker-2").is_empty());
    if queued {
        team.fine(&["task", "add", "Something long too", "--to", "worker-2", "--file", "long.task.md"]);
    }
    team.fine(&["task", "add", "Is the disk fine?"]);
    (team, up)
}

#[test]
fn a_target_without_a_slot_is_waited_for() {
    let (team, up) = busy("{}", "max_parallel_tasks: 1", false);
    until_so("the work is made", || team.tasks(TASKS).len() == 2);
    assert_eq!(team.sessions("worker-2").len(), 1, "it waits for its turn");
    team.fine(&["cancel", "task-001"]);
    until_so("the slot is free", || said(&team).contains("told: worker-2 has done task-003: 92 % full"));
    up.stop();
    team.is_in_order();
}

#[test]
fn a_target_without_capacity_refuses_by_setting() {
    let told = "told: Target agent has no capacity: worker-2 works on 1";
    for (limits, concurrency, queued) in [
        ("{delegation_when_full: reject}", "max_parallel_tasks: 1", false),
        ("{}", "max_parallel_tasks: 1, max_pending_queue: 1", true),
    ] {
        let (team, up) = busy(limits, concurrency, queued);
        until_so("it is told", || said(&team).contains(told));
        assert_eq!(team.tasks(TASKS).len(), 1, "no work was made");
        up.stop();
        team.is_in_order();
    }
}

#[test]
fn work_is_handed_on_only_so_often() {
    let team = team(&Row { source: "delegation: {can_delegate: true, max_delegation_depth: 1}", ..OPEN });
    team.edit(
        "agents/worker-2.agent.yaml",
        "permissions:\n",
        "permissions:\n  delegation: {can_delegate: true}\n",
    );
    team.edit(
        "models/s.yaml",
        "    text: 92 % full",
        "    tool_result: delegate\n    text: \"{last}\"\n  - agent: worker-2\n    calls: [{tool: delegate, arguments: {to: worker-3, tag: \"ops:look\", task: Look again}}]",
    );
    team.fine(&["task", "add", "Is the disk fine?"]);
    assert_eq!(team.pump(), 0);
    let said = said(&team);
    assert!(said.contains("worker-2 has done task-002: Max delegation depth exceeded: "), "{said}");
    assert!(team.sessions("worker-3").is_empty());
    team.is_in_order();
}

/// What keeps the other's first call back, in the settings: its budget, or the account of its provider; and the room that
/// lets it go on.
const SHORT: [(&str, &str, &str, &str); 2] = [
    (
        "budget",
        "budgets.agents.worker-2.day",
        "worker-2: {day: {tokens: 1}}",
        "worker-2: {day: {tokens: 1000000}}",
    ),
    ("provider", "providers.far.limits", "{tokens_per_minute: 1}", "{tokens_per_minute: 1000000}"),
];

#[test]
fn without_room_at_a_budget_or_a_provider_the_work_backs_off_and_is_retried() {
    for (check, limit, full, room) in SHORT {
        let script = formats::script::read("s.yaml", "rules:\n  - text: 92 % full\n").value.unwrap();
        let server = Provider::start(Arc::new(Scripted::new("s.yaml", script)));
        let team = team(&OPEN);
        let settings = team.read("synod.yaml").replace(
            "providers: {",
            &format!("providers: {{far: {{kind: openai, base_url: '{}', limits: {{tokens_per_minute: 1000000}}}}, ", server.url()),
        );
        let settings = settings.replace("models: {", "models: {far: {provider: far, model: far}, ");
        let settings = format!("{settings}budgets: {{agents: {{worker-2: {{day: {{tokens: 1000000}}}}}}}}\n");
        assert!(settings.contains(room), "{settings}");
        team.write("synod.yaml", settings.replace(room, full));
        team.edit("agents/worker-2.agent.yaml", "model: m", "model: far");
        let up = team.up();
        team.fine(&["task", "add", "Is the disk fine?"]);
        until_so("it backs off", || {
            let moves = team.fine(&["message", "list", "--channel", "state", "--agent", "worker-1"]);
            moves.contains(&format!("waits for delegation-0001; Backoff and retry: {limit}: "))
        });
        until_so("the work is made and waits", || team.tasks(TASKS).len() == 2);
        assert!(team.sessions("worker-2").is_empty(), "{check}: nothing is opened for it");
        assert_eq!(server.count(), 0, "{check}");
        until_so("the log has it", || {
            team.fine(&["delegation", "list"]).contains("delegation-0001  pending  task-002")
        });
        team.edit("synod.yaml", full, room);
        until_so("there is room", || said(&team).contains("told: worker-2 has done task-002: 92 % full"));
        up.stop();
        assert_eq!(team.mark(TASKS, "task-001"), Some(Mark::Done), "{check}");
        assert_eq!(server.count(), 1, "{check}: it was asked once");
        team.is_in_order();
    }
}
