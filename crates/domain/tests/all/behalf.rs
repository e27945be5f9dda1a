//! On whose behalf a conversation without a task acts: a message carries along the chain and the required approvals of the
//! work for which it was sent, and not the rights of those in the chain.

use domain::delegation::Status;
use domain::id::{AgentId, DelegationId, TaskId};
use domain::message::Kind;
use domain::tool::{Act, CreatePlan, SendMessage, WriteFile};

use crate::delegation::{able, delegate};
use crate::home::{Home, create, run, tell};

const TEAM: [&str; 6] =
    ["retriever-001", "executor-001", "executor-002", "executor-003", "executor-004", "planner-001"];

/// A retriever, who may run nothing, has handed its work to the first executor.
fn handed_on() -> Home {
    let mut home = Home::with(&TEAM, |_| {}, able);
    home.task("is the disk fine?", "retriever-001");
    home.wants("retriever-001", &[delegate("executor-001", "look")]);
    home
}

fn waiting(to: &str, content: &str) -> Act {
    match tell(to, content) {
        Act::SendMessage(SendMessage { to, content, kind, priority, reply_to, approved, issues, .. }) => {
            Act::SendMessage(SendMessage {
                to,
                content,
                kind,
                priority,
                reply_to,
                wait_ms: Some(60_000),
                approved,
                issues,
            })
        }
        other => other,
    }
}

fn notify(to: &str, content: &str) -> Act {
    match tell(to, content) {
        Act::SendMessage(SendMessage {
            to, content, priority, reply_to, wait_ms, approved, issues, ..
        }) => {
            let kind = Some(Kind::Notification);
            Act::SendMessage(SendMessage { to, content, kind, priority, reply_to, wait_ms, approved, issues })
        }
        other => other,
    }
}

#[test]
fn who_is_asked_by_a_message_answers_with_its_own_rights() {
    for ask in [tell, waiting, notify] {
        let mut home = handed_on();
        home.wants("executor-001", &[ask("executor-002", "please run df")]);
        home.wants("executor-002", &[run("df -h")]);
        assert_eq!(home.calls_to_tools("executor-002").len(), 1);
    }
}

#[test]
fn a_yes_that_a_task_demands_is_demanded_of_all_that_is_done_for_it() {
    let way: [fn(&str) -> Act; 5] = [
        |to| tell(to, "write it"),
        |to| waiting(to, "write it"),
        |to| notify(to, "write it"),
        |to| create("write it", to, &[]),
        |to| delegate(to, "write it"),
    ];
    for first in way {
        for second in way {
            let mut home = Home::with(&TEAM, |_| {}, able);
            home.task_with("write it", "executor-001", |spec| spec.approval_required = true);
            home.wants("executor-001", &[first("executor-002")]);
            home.wants("executor-002", &[second("executor-003")]);
            home.wants("executor-003", &[write("executor-003")]);
            assert!(home.calls_to_tools("executor-003").is_empty(), "nobody said yes");
            let asked: Vec<&str> =
                home.state.people.approvals.values().map(|asked| asked.agent.as_str()).collect();
            assert_eq!(asked, ["executor-003"]);
        }
    }
}

#[test]
fn a_yes_that_a_task_demands_is_demanded_of_the_steps_of_its_plan() {
    let mut home = Home::with(&TEAM, |_| {}, able);
    home.task_with("plan it", "planner-001", |spec| spec.approval_required = true);
    let step =
        serde_json::json!({"id": "a", "title": "write", "tag": "ops:write", "assignee": "executor-001"});
    home.wants(
        "planner-001",
        &[Act::CreatePlan(CreatePlan { tasks: vec![serde_json::from_value(step).unwrap()] })],
    );
    home.wants("executor-001", &[write("executor-001")]);
    assert!(home.calls_to_tools("executor-001").is_empty());
    assert_eq!(home.state.people.approvals.len(), 1);
}

#[test]
fn who_is_asked_without_such_a_demand_afterwards_writes_unasked() {
    let mut home = Home::with(&TEAM, |_| {}, able);
    home.task_with("write it", "executor-001", |spec| spec.approval_required = true);
    home.wants("executor-001", &[tell("executor-002", "are you there?")]);
    home.says("executor-002", "yes");
    home.write("executor-002", "write it");
    home.wants("executor-002", &[write("executor-002")]);
    assert_eq!(home.calls_to_tools("executor-002").len(), 1);
}

#[test]
fn who_gets_work_back_as_a_task_has_come_no_nearer_to_its_beginning() {
    let mut home = Home::with(
        &TEAM,
        |_| {},
        |spec| {
            able(spec);
            spec.permissions.delegation.max_delegation_depth = Some(2);
        },
    );
    home.task("look", "executor-001");
    home.wants("executor-001", &[delegate("executor-002", "look")]);
    home.wants("executor-002", &[create("look", "executor-001", &[])]);
    home.wants("executor-001", &[delegate("executor-003", "look")]);
    let told = home.results("executor-001").pop().unwrap();
    assert!(told.starts_with("Max delegation depth exceeded: the work was handed on 2 times"), "{told}");
}

/// A file in the agent's own workspace: nobody is asked for that.
fn write(agent: &str) -> Act {
    Act::WriteFile(WriteFile { path: format!("workspaces/{agent}/x"), content: "x".to_owned() })
}

#[test]
fn a_delegation_of_who_was_asked_goes_on_with_the_chain_and_the_request() {
    let mut home = handed_on();
    home.wants("executor-001", &[waiting("executor-002", "please look")]);
    home.wants("executor-002", &[delegate("retriever-001", "look")]);
    assert_eq!(
        home.results("executor-002"),
        ["Circular delegation detected: retriever-001 → executor-001 → executor-002 → retriever-001; \
          do it yourself or ask somebody else"]
    );
    home.wants("executor-002", &[delegate("executor-003", "look")]);
    let record = &home.state.delegations.by_id[&DelegationId::new("delegation-0002")];
    assert_eq!(record.status, Status::Running);
    assert_eq!((record.request.as_str(), record.depth()), ("task-001", 3));
    assert_eq!(record.parent, Some(TaskId::new("task-002")), "it stands below what it was asked for");
    home.wants("executor-003", &[delegate("executor-004", "look")]);
    let told = home.results("executor-003").pop().unwrap();
    assert!(told.starts_with("Max delegation depth exceeded: the work was handed on 3 times"), "{told}");
}

#[test]
fn who_serves_a_person_afterwards_begins_a_chain_of_its_own() {
    let mut home = handed_on();
    home.wants("executor-001", &[waiting("executor-002", "please look")]);
    home.write("executor-002", "what are you doing?");
    home.wants("executor-002", &[delegate("retriever-001", "look")]);
    assert!(home.results("executor-002")[0].starts_with("Circular delegation detected"), "the other waits");
    home.says("executor-002", "I cannot");
    home.write("executor-002", "look for me");
    home.wants("executor-002", &[delegate("executor-003", "look")]);
    assert_eq!(home.state.delegations.by_id.values().next_back().unwrap().depth(), 1);
}

#[test]
fn of_two_requests_the_longer_chain_counts_and_every_required_approval() {
    let mut home = handed_on();
    home.task_with("is the net fine?", "planner-001", |spec| spec.approval_required = true);
    home.wants("executor-001", &[tell("executor-002", "please look")]);
    home.wants("planner-001", &[tell("executor-002", "please look")]);
    home.wants("executor-002", &[write("executor-002")]);
    assert_eq!(home.state.people.approvals.len(), 1);
    let hands = domain::delegation::chain(&home.state, home.session_of("executor-002").1);
    let chain = ["retriever-001", "executor-001", "executor-002"].map(AgentId::new);
    assert_eq!((hands.chain.as_slice(), hands.approval_required), (&chain[..], true));
}
