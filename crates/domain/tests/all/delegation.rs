//! Handing work on: who may, to whom, how deep; what comes back; and that each agent keeps its own rights on the way.

use domain::agent;
use domain::context::Pass;
use domain::delegation::{Request, Status, Verdict, check};
use domain::event::Event;
use domain::event::{SessionEvent, SystemEvent};
use domain::id::{AgentId, DelegationId, TaskId};
use domain::input::{Failure, Input};
use domain::input::{FileInput, PersonInput};
use domain::lifecycle::Lifecycle;
use domain::settings::WhenFull;
use domain::state::State;
use domain::task::{End, Mark};
use domain::tool::{Act, CreateTask, Delegate, UpdateTask};

use crate::home::{Home, create, line, run, tell, update};

pub fn delegate(to: &str, text: &str) -> Act {
    delegate_with(to, "ops:check", text, None)
}

pub fn delegate_with(to: &str, tag: &str, text: &str, deadline_ms: Option<u64>) -> Act {
    let (tag, task) = (tag.to_owned(), text.to_owned());
    let (to, contexts) = (AgentId::new(to), Vec::new());
    let with_results = Vec::new();
    Act::Delegate(Delegate {
        to,
        tag,
        task,
        payload: None,
        callback: None,
        deadline_ms,
        contexts,
        with_results,
    })
}

pub fn able(spec: &mut agent::Spec) {
    spec.responsibilities = vec!["ops:*".to_owned()];
    spec.permissions.delegation.can_delegate = true;
}

const TEAM: [&str; 4] = ["executor-001", "executor-002", "executor-003", "retriever-001"];

fn team() -> Home {
    Home::with(&TEAM, |_| {}, able)
}

fn id(text: &str) -> TaskId {
    TaskId::new(text)
}

fn first() -> DelegationId {
    DelegationId::new("delegation-0001")
}

/// One row of the table: what is changed in the team, what is asked, and the answer.
type Row = (
    &'static str,
    fn(&mut Home),
    &'static [&'static str],
    &'static str,
    &'static str,
    Result<Verdict, &'static str>,
);

fn change(home: &mut Home, name: &str, say: impl FnOnce(&mut agent::Spec)) {
    let mut spec = home.state.team.agents[&AgentId::new(name)].spec.clone();
    say(&mut spec);
    home.give(Input::File(FileInput::AgentRead(Box::new(spec))));
}

fn fill(home: &mut Home) {
    change(home, "executor-002", |spec| {
        spec.permissions.concurrency.max_parallel_tasks = 1;
        spec.permissions.concurrency.max_pending_queue = 2;
    });
    home.task("busy", "executor-002");
}

/// Who, to whom, and which work.
fn rights() -> Vec<Row> {
    vec![
        ("all is well", |_| {}, &["executor-001"], "executor-002", "ops:check", Ok(Verdict::Start)),
        (
            "source may not delegate",
            |home| change(home, "executor-001", |s| s.permissions.delegation.can_delegate = false),
            &["executor-001"],
            "executor-002",
            "ops:check",
            Err("Agent not authorized to delegate: permissions.delegation.can_delegate of executor-001"),
        ),
        (
            "target not listed",
            |home| {
                let only = Some(vec!["executor-003".to_owned()]);
                change(home, "executor-001", |s| s.permissions.delegation.allowed_targets = only);
            },
            &["executor-001"],
            "executor-002",
            "ops:check",
            Err(
                "Target agent not in allowed list: executor-002 is not one of those that executor-001 may delegate to (executor-003)",
            ),
        ),
        (
            "an empty list allows anybody",
            |home| {
                change(home, "executor-001", |s| s.permissions.delegation.allowed_targets = Some(Vec::new()))
            },
            &["executor-001"],
            "executor-002",
            "ops:check",
            Ok(Verdict::Start),
        ),
        (
            "nobody",
            |_| {},
            &["executor-001"],
            "ghost",
            "ops:check",
            Err("Target agent not in allowed list: ghost"),
        ),
        (
            "not its kind of work",
            |_| {},
            &["executor-001"],
            "executor-002",
            "code:write",
            Err(
                "Target cannot handle this task type: code:write is none of the responsibilities of executor-002 (ops:*)",
            ),
        ),
        (
            "not a kind that the source hands on",
            |home| {
                let only = Some(vec!["ops:clean".to_owned()]);
                change(home, "executor-001", |s| s.permissions.delegation.allowed_tags = only);
            },
            &["executor-001"],
            "executor-002",
            "ops:check",
            Err(
                "Agent not authorized to delegate this task type: ops:check is none of allowed_tags of executor-001 (ops:clean)",
            ),
        ),
    ]
}

/// How deep, in a circle, and whether there is room.
fn bounds() -> Vec<Row> {
    vec![
        (
            "too deep, by the least of the chain",
            |home| change(home, "executor-003", |s| s.permissions.delegation.max_delegation_depth = Some(1)),
            &["executor-003", "executor-001"],
            "executor-002",
            "ops:check",
            Err(
                "Max delegation depth exceeded: the work was handed on 1 times and 1 is the most (executor-003 → executor-001)",
            ),
        ),
        (
            "in a circle",
            |_| {},
            &["executor-002", "executor-001"],
            "executor-002",
            "ops:check",
            Err("Circular delegation detected: executor-002 → executor-001 → executor-002"),
        ),
        (
            "no slot, but room to wait",
            fill,
            &["executor-001"],
            "executor-002",
            "ops:check",
            Ok(Verdict::Queue),
        ),
        (
            "no slot, and the queue is full",
            |home| {
                fill(home);
                home.task("waits", "executor-002");
                home.task("waits too", "executor-002");
            },
            &["executor-001"],
            "executor-002",
            "ops:check",
            Err("Target agent has no capacity: executor-002 works on 1 and 2 wait (max_pending_queue)"),
        ),
        (
            "no slot, and the setting says reject",
            |home| {
                fill(home);
                let mut settings = home.state.config.settings.clone();
                settings.limits.delegation_when_full = WhenFull::Reject;
                home.give(Input::File(FileInput::SettingsRead(Box::new(settings))));
            },
            &["executor-001"],
            "executor-002",
            "ops:check",
            Err(
                "Target agent has no capacity: executor-002 works on 1 and 0 wait (limits.delegation_when_full: reject)",
            ),
        ),
        (
            "the tasks of the home",
            |home| {
                home.task("busy", "executor-003");
                let mut settings = home.state.config.settings.clone();
                settings.limits.max_total_tasks = 1;
                home.give(Input::File(FileInput::SettingsRead(Box::new(settings))));
            },
            &["executor-001"],
            "executor-002",
            "ops:check",
            Err("Global task limit reached (1/1): limits.max_total_tasks"),
        ),
        (
            "the agents of the home",
            |home| {
                home.task("busy", "executor-003");
                let mut settings = home.state.config.settings.clone();
                settings.limits.max_total_agents = 1;
                home.give(Input::File(FileInput::SettingsRead(Box::new(settings))));
            },
            &["executor-001"],
            "executor-002",
            "ops:check",
            Err("Global agent limit reached (1/1): limits.max_total_agents"),
        ),
        (
            "an agent that works already",
            |home| {
                home.task("busy", "executor-002");
                let mut settings = home.state.config.settings.clone();
                settings.limits.max_total_agents = 1;
                home.give(Input::File(FileInput::SettingsRead(Box::new(settings))));
            },
            &["executor-001"],
            "executor-002",
            "ops:check",
            Ok(Verdict::Start),
        ),
        (
            "too deep, by the setting",
            |home| {
                let mut settings = home.state.config.settings.clone();
                settings.limits.default_delegation_depth = 1;
                home.give(Input::File(FileInput::SettingsRead(Box::new(settings))));
            },
            &["executor-003", "executor-001"],
            "executor-002",
            "ops:check",
            Err("Max delegation depth exceeded: the work was handed on 1 times and 1 is the most"),
        ),
        (
            "the first check that fails answers",
            |home| change(home, "executor-001", |s| s.permissions.delegation.can_delegate = false),
            &["executor-002", "executor-001"],
            "executor-002",
            "code:write",
            Err("Agent not authorized to delegate"),
        ),
    ]
}

#[test]
fn each_row_of_the_decision_matrix() {
    for (name, prepare, chain, target, tag, expected) in rights().into_iter().chain(bounds()) {
        let mut home = team();
        prepare(&mut home);
        let chain: Vec<AgentId> = chain.iter().map(|id| AgentId::new(*id)).collect();
        let target = AgentId::new(target);
        let request = Request { chain: &chain, target: &target, tag, provider: None };
        match (check(&home.state, &request), expected) {
            (Verdict::Reject(rejected), Err(words)) => {
                assert!(rejected.to_string().starts_with(words), "{name}: {rejected}");
            }
            (verdict, expected) => assert_eq!(Ok(verdict), expected, "{name}"),
        }
    }
}

#[test]
fn a_provider_without_budget_is_waited_for_after_all_other_checks() {
    let home = team();
    let (chain, target) = (vec![AgentId::new("executor-001")], AgentId::new("executor-002"));
    let request = Request { chain: &chain, target: &target, tag: "ops:check", provider: Some("no tokens") };
    assert_eq!(check(&home.state, &request), Verdict::BackOff { reason: "no tokens".to_owned() });
    let other = Request { tag: "code:write", ..request };
    assert!(matches!(check(&home.state, &other), Verdict::Reject(_)));
}

#[test]
fn a_delegator_leaves_its_slot_and_gets_the_result_as_that_of_its_call() {
    let mut home = team();
    home.task("is the disk fine?", "executor-001");
    let events = home.wants("executor-001", &[delegate("retriever-001", "look")]);
    assert_eq!(
        line(&events),
        "replied task_added delegated blocked task_started session_opened message_added working turn_begun"
    );
    assert_eq!(home.session_of("executor-001").1.lifecycle, Lifecycle::Blocked);
    assert_eq!(home.state.mark_of(home.get(&id("task-001"))), Mark::Running, "no person is asked");
    assert_eq!(home.state.schedule.busy, 1, "only the other works");
    let record = &home.state.delegations.by_id[&first()];
    assert_eq!((record.status, record.depth(), record.request.as_str()), (Status::Running, 1, "task-001"));
    home.says("retriever-001", "92 % full");
    assert_eq!(home.results("executor-001"), ["retriever-001 has done task-002: 92 % full"]);
    assert_eq!(home.heard("executor-001").len(), 1, "it is told once, by its call");
    assert_eq!(home.state.delegations.by_id[&first()].status, Status::Success);
    home.says("executor-001", "it is nearly full");
    assert_eq!(home.end(&id("task-001")), Some(End::Done));
    assert!(home.state.is_idle() && home.state.next_deadline().is_none());
}

#[test]
fn a_delegator_is_told_how_it_ended_otherwise() {
    let ended = |end: fn(&mut Home)| {
        let mut home = team();
        home.task("is the disk fine?", "executor-001");
        home.wants("executor-001", &[delegate_with("retriever-001", "ops:check", "look", Some(5_000))]);
        end(&mut home);
        let record = &home.state.delegations.by_id[&first()];
        let (status, error) = (record.status, record.error.clone());
        assert!(home.thinking("executor-001").1.attempt > 0, "it goes on");
        (home.results("executor-001").remove(0), status, error.unwrap_or_default())
    };
    let cannot = "the model cannot answer: overloaded";
    assert_eq!(
        ended(|home| _ = home.model_fails("retriever-001", Failure::GiveUp)),
        (format!("retriever-001 could not do task-002: {cannot}"), Status::Failed, cannot.to_owned())
    );
    assert_eq!(
        ended(|home| _ = home.mark(&id("task-002"), Mark::Cancelled)),
        (
            "retriever-001 no longer does, because it was cancelled, task-002: cancelled by dana".to_owned(),
            Status::Cancelled,
            "cancelled by dana".to_owned()
        )
    );
    let late = "deadline_ms: delegation-0001 timed out after 5000 ms";
    assert_eq!(
        ended(|home| _ = home.pass(5_000)),
        (format!("retriever-001 could not do task-002: {late}"), Status::Failed, late.to_owned())
    );
}

#[test]
fn who_delegated_hears_of_work_that_a_person_reopened() {
    let mut home = team();
    home.task("is all fine?", "executor-001");
    home.wants("executor-001", &[delegate_with("retriever-001", "ops:check", "look", Some(5_000))]);
    home.pass(5_000);
    home.mark(&id("task-002"), Mark::Open);
    home.says("executor-001", "It came too late.");
    assert!(home.calls_to_model("executor-001").is_empty(), "it waits for the part that was reopened");
    home.says("retriever-001", "all is fine");
    let told = home.heard("executor-001").pop().unwrap();
    assert!(told.contains("task-002") && told.contains("all is fine"), "{told}");
    home.says("executor-001", "All is fine.");
    assert_eq!(home.state.work.tasks[&id("task-001")].end(), Some(End::Done));
}

#[test]
fn who_asked_an_agent_that_leaves_before_it_began_is_told() {
    let mut home = team();
    change(&mut home, "executor-002", |spec| spec.permissions.concurrency.max_parallel_tasks = 1);
    home.task("something else", "executor-002");
    home.task("is all fine?", "executor-001");
    home.wants("executor-001", &[delegate("executor-002", "look")]);
    home.give(Input::File(FileInput::AgentGone(AgentId::new("executor-002"))));
    assert_eq!(
        home.results("executor-001"),
        ["executor-002 could not do task-003: executor-002 is no longer in the team and had not begun"]
    );
    assert_eq!(home.calls_to_model("executor-002").len(), 1, "what it has begun it finishes");
}

#[test]
fn a_rejected_delegation_is_a_refused_call_that_names_its_rule() {
    let mut home = team();
    home.task("is the disk fine?", "executor-001");
    home.wants("executor-001", &[delegate("executor-001", "look")]);
    assert_eq!(
        home.results("executor-001"),
        ["Circular delegation detected: executor-001 → executor-001; do it yourself or ask somebody else"]
    );
    assert!(home.state.delegations.is_empty() && home.state.work.tasks.len() == 1);
}

#[test]
fn what_was_delegated_and_what_was_made_beside_it_are_told_apart() {
    let mut home = team();
    home.task("is the disk fine?", "executor-001");
    home.wants("executor-001", &[create("note", "executor-002", &[]), delegate("retriever-001", "look")]);
    home.says("executor-002", "noted");
    assert_eq!(
        home.heard("executor-001")[1..],
        ["synod: task-002 has ended.\n- task-002 (@executor-002) \"note\" is done:\n  noted"]
    );
    home.says("retriever-001", "92 %");
    assert_eq!(home.results("executor-001")[1..], ["retriever-001 has done task-003: 92 %"]);
}

#[test]
fn an_agent_does_delegated_work_with_its_own_rights_and_not_with_those_of_its_caller() {
    let mut home = team();
    home.task("is the disk fine?", "retriever-001");
    home.wants_each("retriever-001", &[run("df -h"), delegate("executor-001", "look")]);
    assert_eq!(
        home.results("retriever-001"),
        ["denied by the rule: role retriever lacks execute_tools\n\
          retriever-001 is a retriever, which has no permission execute_tools; ask an agent that has it"]
    );
    home.wants("executor-001", &[create("run it for me", "executor-002", &[]), run("df -h")]);
    assert_eq!(home.calls_to_tools("executor-001").len(), 1);
    home.wants("executor-002", &[run("df -h")]);
    assert_eq!(home.calls_to_tools("executor-002").len(), 1, "also what was made for delegated work");
    home.tool_ends("executor-001", true, "92 %");
    change(&mut home, "executor-001", |spec| {
        spec.permissions.tools.deny = vec!["execute_command".to_owned()]
    });
    home.wants("executor-001", &[run("df -h")]);
    let denied = "denied by the rule: permissions.tools.deny of executor-001 has execute_command";
    assert!(
        home.results("executor-001").last().unwrap().starts_with(denied),
        "what is taken from an agent is taken from a conversation that goes on"
    );
}

#[test]
fn approvals_that_a_task_demands_are_demanded_of_what_it_is_delegated_to() {
    let mut home = team();
    home.task_with("is the disk fine?", "executor-001", |spec| spec.approval_required = true);
    home.wants("executor-001", &[delegate("executor-002", "look")]);
    home.wants("executor-002", &[run("touch counter")]);
    assert_eq!(home.state.people.approvals.len(), 1);
}

#[test]
fn the_other_has_the_time_that_is_left_and_uses_it_up() {
    let mut home = Home::with(
        &TEAM,
        |settings| settings.limits.count_model_time = true,
        |spec| {
            able(spec);
            spec.permissions.concurrency.task_timeout_ms =
                if spec.role == "retriever" { 90_000 } else { 10_000 };
        },
    );
    home.task("is the disk fine?", "executor-001");
    home.pass(4_000);
    home.wants("executor-001", &[delegate("retriever-001", "look")]);
    home.pass(5_000);
    home.says("retriever-001", "92 %");
    home.pass(999);
    home.wants("executor-001", &[delegate("retriever-001", "look again")]);
    home.pass(1);
    assert_eq!(
        home.results("executor-001")[1],
        "retriever-001 could not do task-003: task_timeout_ms: it worked longer than 1 ms"
    );
    assert_eq!(home.end(&id("task-001")), Some(End::Failed), "its own time is used up too");
}

#[test]
fn the_end_of_the_root_ends_all_below() {
    let mut home = Home::with(
        &TEAM,
        |_| {},
        |spec| {
            able(spec);
            spec.permissions.concurrency.task_timeout_ms = 10_000;
        },
    );
    home.task("is the disk fine?", "executor-001");
    home.wants("executor-001", &[delegate("executor-002", "look")]);
    home.wants("executor-002", &[delegate("executor-003", "look"), delegate("executor-003", "build")]);
    home.wants("executor-003", &[run("touch counter")]);
    home.wants("executor-003", &[run("make")]);
    assert_eq!(home.state.people.approvals.len(), 1);
    home.mark(&id("task-001"), Mark::Cancelled);
    let statuses: Vec<Status> = home.state.delegations.by_id.values().map(|d| d.status).collect();
    assert_eq!(statuses, [Status::Cancelled; 3]);
    assert!(
        home.state.is_idle()
            && home.state.people.approvals.is_empty()
            && home.state.next_deadline().is_none()
    );
    assert!(domain::pending(&home.state).is_empty());
}

#[test]
fn a_restart_goes_on_with_delegated_work() {
    let mut home = team();
    home.task("is the disk fine?", "executor-001");
    home.wants("executor-001", &[delegate("retriever-001", "look")]);
    home.give(Input::Started);
    home.says("retriever-001", "92 %");
    assert_eq!(home.results("executor-001"), ["retriever-001 has done task-002: 92 %"]);
}

/// A chain of three that ends in a model call, a command and an approval under way.
fn under_way() -> Home {
    let mut home = team();
    home.task("is the disk fine?", "executor-001");
    home.wants("executor-001", &[delegate("executor-002", "look")]);
    let parts = ["executor-003", "executor-003", "retriever-001"].map(|to| delegate(to, "look"));
    home.wants("executor-002", &parts);
    home.wants("executor-003", &[run("touch counter")]);
    home.wants("executor-003", &[run("make")]);
    assert_eq!((home.calls_to_tools("executor-003").len(), home.state.people.approvals.len()), (1, 1));
    home.thinking("retriever-001");
    home
}

fn nothing_is_left(home: &Home) {
    assert!(
        home.state.is_idle()
            && home.state.people.approvals.is_empty()
            && home.state.next_deadline().is_none()
    );
    assert!(domain::pending(&home.state).is_empty());
    assert!(home.state.team.agents.values().all(|agent| agent.busy == 0 && agent.sessions.is_empty()));
    assert!(home.state.delegations.by_id.values().all(|d| d.status.is_over()));
}

#[test]
fn a_task_that_goes_to_another_ends_what_was_delegated_and_tells_those_who_are_left() {
    let mut home = team();
    home.task("is the disk fine?", "executor-001");
    let acts = [create("explain", "retriever-001", &[]), delegate("executor-002", "look")];
    home.wants("executor-001", &acts);
    home.wants("executor-002", &[tell("executor-001", "which disk?")]);
    home.wants("retriever-001", &[tell("executor-002", "how full is it?")]);
    let mut spec = home.get(&id("task-001")).spec.clone();
    spec.assignee = Some(AgentId::new("executor-003"));
    let below = home.session_of("executor-002").0;
    let events = home.give(Input::File(FileInput::TaskRead {
        spec: Box::new(spec),
        mark: Mark::Running,
        result: String::new(),
    }));
    let said = |event: &Event| matches!(event, Event::Session(SessionEvent::MessageAdded { session, .. }) if *session == below);
    assert!(!events.iter().any(said), "who is stopped too is not told: {}", line(&events));
    assert_eq!(
        home.heard("retriever-001")[1..],
        ["agent:executor-002: executor-002 cannot answer: task-003 is cancelled"]
    );
}

fn cancel(what: &str) -> Input {
    Input::Person(PersonInput::Cancel { what: what.to_owned(), by: "dana".to_owned() })
}

#[test]
fn cancelling_the_root_by_any_of_its_names_leaves_nothing_below() {
    for name in ["task-001", "session"] {
        let mut home = under_way();
        let session = home.session_of("executor-001").0;
        home.give(cancel(if name == "session" { session.as_str() } else { name }));
        nothing_is_left(&home);
        assert_eq!(home.end(&id("task-001")), Some(End::Cancelled));
        assert_eq!(home.refusal(cancel("task-001")), "task-001 has ended already");
    }
    assert_eq!(team().refusal(cancel("task-009")), "there is no task, delegation or session task-009");
}

fn cancel_run(run: &str) -> Input {
    Input::Person(PersonInput::CancelRun { run: run.to_owned(), by: "dana".to_owned() })
}

#[test]
fn cancelling_a_run_ends_all_that_was_made_for_it_and_nothing_else() {
    for begun_with in ["task", "conversation"] {
        let mut home = team();
        home.task("something else", "retriever-001");
        let begun = if begun_with == "task" {
            home.task("is the disk fine?", "executor-001").to_string()
        } else {
            home.write("executor-001", "is the disk fine?");
            home.session_of("executor-001").0.to_string()
        };
        home.wants("executor-001", &[create("count", "executor-003", &[]), delegate("executor-002", "look")]);
        home.wants("executor-002", &[delegate("executor-003", "look"), run("make")]);
        home.wants("executor-003", &[delegate("executor-002", "look")]);
        let part = home.state.work.tasks.keys().next_back().unwrap().to_string();
        assert_eq!(
            home.refusal(cancel_run(&part)),
            format!("{part} is not a run: it belongs to run {begun}")
        );
        let refusal = home.refusal(cancel_run("delegation-0001"));
        assert_eq!(refusal, format!("delegation-0001 is not a run: it belongs to run {begun}"));
        home.give(cancel_run(&begun));
        assert_eq!(home.refusal(cancel_run(&begun)), format!("{begun} has ended already"));
        for (id, task) in home.state.work.tasks.iter().filter(|(id, _)| id.as_str() != "task-001") {
            assert_eq!(task.end(), Some(End::Cancelled), "{begun_with}: {id}");
        }
        assert_eq!(home.end(&id("task-001")), None, "{begun_with}");
        home.says("retriever-001", "done");
        nothing_is_left(&home);
    }
    let refusal = "there is no run task-009: a run has the id of the task or the session with which it began";
    assert_eq!(team().refusal(cancel_run("task-009")), refusal);
}

#[test]
fn cancelling_a_delegation_ends_what_is_below_it_and_tells_who_asked() {
    let mut home = under_way();
    home.give(cancel("delegation-0001"));
    assert_eq!(
        home.results("executor-001"),
        ["executor-002 no longer does, because it was cancelled, task-002: cancelled by dana"]
    );
    home.says("executor-001", "then not");
    nothing_is_left(&home);
}

#[test]
fn who_ended_its_own_task_and_delegates_is_told_when_all_above_ends() {
    let mut home = team();
    home.task("is all fine?", "executor-001");
    home.wants("executor-001", &[create("look", "executor-002", &[])]);
    home.says("executor-001", "I wait for it");
    let acts = [update(&id("task-002"), Mark::Cancelled, "no"), delegate("executor-003", "look")];
    home.wants("executor-002", &acts);
    home.give(cancel("task-001"));
    let results = home.results("executor-002");
    assert!(
        results.iter().any(|text| text.starts_with("executor-003 no longer does, because it was cancelled")),
        "{results:?}"
    );
    assert_eq!(home.calls_to_model("executor-002").len(), 1, "it goes on");
}

#[test]
fn a_conversation_about_no_task_takes_what_it_delegated_along() {
    let mut home = team();
    home.write("executor-001", "is the disk fine?");
    home.wants("executor-001", &[delegate("executor-002", "look")]);
    let session = home.session_of("executor-001").0;
    home.give(cancel(session.as_str()));
    nothing_is_left(&home);
    assert_eq!(home.end(&id("task-001")), Some(End::Cancelled));
}

#[test]
fn a_time_out_of_the_root_ends_all_below() {
    let mut home = Home::with(
        &TEAM,
        |_| {},
        |spec| {
            able(spec);
            let first = spec.id.as_str() == "executor-001";
            spec.permissions.concurrency.task_timeout_ms = if first { 5_000 } else { 60_000 };
        },
    );
    home.task("is the disk fine?", "executor-001");
    home.wants("executor-001", &[create("look", "executor-002", &[]), run("touch counter")]);
    home.wants("executor-002", &[delegate("executor-003", "look")]);
    home.wants("executor-003", &[run("make")]);
    assert_eq!(home.state.people.approvals.len(), 1);
    home.pass(5_000);
    nothing_is_left(&home);
    let ends = ["task-001", "task-002", "task-003"].map(|task| home.end(&id(task)));
    assert_eq!(ends, [Some(End::Failed), Some(End::Cancelled), Some(End::Cancelled)]);
}

#[test]
fn a_crash_in_a_call_that_must_not_be_repeated_fails_the_delegation_unless_it_is_to_go_on() {
    let crashed = |retry: bool| {
        let mut home = Home::with(&TEAM, |settings| settings.limits.delegation_retry = retry, able);
        home.task("is the disk fine?", "executor-001");
        home.wants("executor-001", &[delegate("executor-002", "look")]);
        home.wants("executor-002", &[run("touch counter")]);
        home.give(Input::Started);
        home
    };
    let why = "crashed: execute_command was under way when Synod stopped, and its outcome is unknown";
    let home = crashed(false);
    let record = &home.state.delegations.by_id[&first()];
    assert_eq!((record.status, record.error.as_deref()), (Status::Crashed, Some(why)));
    assert_eq!(home.results("executor-001"), [format!("executor-002 could not do task-002: {why}")]);
    assert_eq!(home.results("executor-002").len(), 1, "one result a call");
    let mut home = crashed(true);
    assert_eq!(home.state.delegations.by_id[&first()].status, Status::Running);
    home.says("executor-002", "it was touched");
    assert_eq!(home.results("executor-001"), ["executor-002 has done task-002: it was touched"]);
}

/// The names of the contexts that went along to whoever has this task.
fn gone_along(home: &Home, task: &str) -> Vec<String> {
    let Some(session) = home.state.work.tasks.get(&id(task)).and_then(|task| task.session()) else {
        return Vec::new();
    };
    let line = domain::delegation::line(&home.state, session);
    line.last().map(|link| link.passed.iter().map(|pass| pass.context.clone()).collect()).unwrap_or_default()
}

pub fn with_context(to: &str, context: &str) -> Act {
    match delegate_with(to, "ops:check", "look", Some(9_000)) {
        Act::Delegate(Delegate { to, tag, task, payload, callback, deadline_ms, with_results, .. }) => {
            let contexts = vec![Pass::to_read(context)];
            Act::Delegate(Delegate { to, tag, task, payload, callback, deadline_ms, contexts, with_results })
        }
        other => other,
    }
}

#[test]
fn a_context_goes_along_to_who_got_the_work_and_is_gone_however_that_ends() {
    type Ends = (&'static str, fn(&mut Home));
    let ends: [Ends; 6] = [
        ("done", |home| drop(home.says("executor-002", "looked"))),
        ("failed", |home| drop(home.model_fails("executor-002", Failure::GiveUp))),
        ("cancelled", |home| drop(home.give(cancel("delegation-0001")))),
        ("cancelled above", |home| drop(home.give(cancel("task-001")))),
        ("too late", |home| drop(home.pass(9_000))),
        ("crashed", |home| {
            home.wants("executor-002", &[run("touch counter")]);
            home.give(Input::Started);
        }),
    ];
    for (how, end) in ends {
        let mut home = team();
        home.task("is the disk fine?", "executor-001");
        home.wants("executor-001", &[with_context("executor-002", "plan")]);
        assert_eq!(gone_along(&home, "task-002"), ["plan"], "{how}");
        assert_eq!(gone_along(&home, "task-001"), Vec::<String>::new(), "{how}");
        let session = home.get(&id("task-002")).session().cloned().unwrap();
        end(&mut home);
        assert!(home.end(&id("task-002")).is_some(), "{how}");
        assert_eq!(domain::delegation::line(&home.state, &session), [], "{how}");
    }
}

#[test]
fn who_is_given_delegated_work_later_gets_nothing_along() {
    let mut home = team();
    home.task("is the disk fine?", "executor-001");
    home.wants("executor-001", &[with_context("executor-002", "plan")]);
    let mut spec = home.get(&id("task-002")).spec.clone();
    spec.assignee = Some(AgentId::new("executor-003"));
    home.give(Input::File(FileInput::TaskRead {
        spec: Box::new(spec),
        mark: Mark::Running,
        result: String::new(),
    }));
    assert_eq!(home.calls_to_model("executor-003").len(), 1, "it goes on with the other");
    assert_eq!(gone_along(&home, "task-002"), Vec::<String>::new());
}

#[test]
fn who_asked_is_told_the_name_of_who_did_it() {
    let mut home = team();
    home.task("is the disk fine?", "executor-001");
    home.wants("executor-001", &[delegate("executor-002", "look")]);
    let mut spec = home.get(&id("task-002")).spec.clone();
    spec.assignee = Some(AgentId::new("executor-003"));
    home.give(Input::File(FileInput::TaskRead {
        spec: Box::new(spec),
        mark: Mark::Running,
        result: String::new(),
    }));
    home.says("executor-003", "92 % full");
    assert_eq!(home.results("executor-001"), ["executor-003 has done task-002: 92 % full"]);
}

#[test]
fn a_tag_is_one_line_that_can_be_seen() {
    for tag in ["ops:a\n chain: executor-003", "ops:\u{202e}a", "ops:\u{7}", "ops:a\u{2028}b"] {
        let mut home = team();
        home.task("is the disk fine?", "executor-001");
        let made = match create("look", "executor-002", &[]) {
            Act::CreateTask(CreateTask {
                title,
                description,
                assignee,
                depends_on,
                parent,
                tags,
                priority,
                approval_required,
                done_when,
                with_results,
                ..
            }) => {
                let tag = Some(tag.to_owned());
                Act::CreateTask(CreateTask {
                    title,
                    description,
                    assignee,
                    depends_on,
                    parent,
                    tags,
                    tag,
                    priority,
                    approval_required,
                    done_when,
                    with_results,
                })
            }
            other => other,
        };
        home.wants_each("executor-001", &[delegate_with("executor-002", tag, "look", None), made]);
        let told = home.results("executor-001");
        let says =
            |text: &String| text.contains("is no tag: a tag is one line of characters that can be seen");
        assert!(told.len() == 2 && told.iter().all(says), "{told:?}");
        assert_eq!(home.state.work.tasks.len(), 1);
    }
}

#[test]
fn what_is_made_for_delegated_work_gets_nothing_along_and_each_hand_names_anew() {
    let mut home = team();
    home.task("is the disk fine?", "executor-001");
    home.wants("executor-001", &[with_context("executor-002", "plan")]);
    home.wants("executor-002", &[create("look", "retriever-001", &[]), delegate("executor-003", "look")]);
    assert_eq!(gone_along(&home, "task-003"), Vec::<String>::new());
    assert_eq!(gone_along(&home, "task-004"), Vec::<String>::new());
}

#[test]
fn a_payload_goes_along_and_a_call_without_callback_does_not_wait() {
    let mut home = team();
    home.task("is the disk fine?", "executor-001");
    let contexts = vec![Pass { expires_ms: Some(500), ..Pass::to_read("plan") }];
    let act = Act::Delegate(Delegate {
        to: AgentId::new("executor-002"),
        tag: "ops:check".to_owned(),
        task: "look".to_owned(),
        payload: Some(serde_json::json!({"disk": ["sda", 1]})),
        callback: Some(false),
        deadline_ms: None,
        contexts,
        with_results: Vec::new(),
    });
    let at = home.at;
    home.wants("executor-001", &[act]);
    assert_eq!(
        home.told("executor-001"),
        [
            "delegation-0001: executor-002 has task-002, and you hear no more of it\nchain: executor-001 → executor-002"
        ]
    );
    assert_eq!(home.heard("executor-002")[0].lines().last(), Some(r#"payload: {"disk":["sda",1]}"#));
    let record = &home.state.delegations.by_id[&first()];
    assert_eq!((record.callback, record.contexts[0].expires), (false, Some(at.plus_ms(500))));
    home.says("executor-001", "under way");
    assert_eq!(home.end(&id("task-001")), Some(End::Done), "it does not wait");
    home.says("executor-002", "92 % full");
    assert_eq!(home.state.delegations.by_id[&first()].status, Status::Success);
    assert_eq!(home.heard("executor-001").len(), 1, "it is told nothing more");
    assert!(home.state.is_idle());
}

#[test]
fn a_result_names_the_chain() {
    let mut home = team();
    home.task("is the disk fine?", "executor-001");
    home.wants("executor-001", &[delegate("executor-002", "look")]);
    home.says("executor-002", "92 % full");
    assert_eq!(
        home.told("executor-001"),
        ["executor-002 has done task-002: 92 % full\nchain: executor-001 → executor-002"]
    );
}

#[test]
fn what_is_no_name_of_a_context_is_refused() {
    let mut home = team();
    home.task("is the disk fine?", "executor-001");
    home.wants("executor-001", &[with_context("executor-002", "../x")]);
    let told = "\"../x\" is no name of a context: use the name under which you read it";
    assert_eq!(home.results("executor-001"), [told]);
}

#[test]
fn ids_go_on_behind_those_that_were_given_before_the_journal_began() {
    let mut home = team();
    let found = |delegations| Input::File(FileInput::IdsFound { delegations, reviews: 0 });
    assert_eq!(
        home.give(found(9999)),
        [Event::System(SystemEvent::IdsFound { delegations: 9999, reviews: 0 })]
    );
    assert_eq!(home.give(found(41)), [], "that is known");
    let stored = serde_json::to_string(&home.state).unwrap();
    assert_eq!(serde_json::from_str::<State>(&stored).unwrap(), home.state, "a snapshot has it");
    home.task("Look", "executor-001");
    home.wants("executor-001", &[delegate("executor-002", "one"), delegate("executor-003", "two")]);
    let given: Vec<&str> = home.state.delegations.by_id.keys().map(DelegationId::as_str).collect();
    assert_eq!(given, ["delegation-10000", "delegation-10001"]);
}

#[test]
fn who_handed_work_on_does_not_give_it_to_somebody_else_past_the_checks() {
    let mut home = team();
    home.task("look", "executor-001");
    change(&mut home, "executor-001", |spec| {
        spec.permissions.delegation.allowed_targets = Some(vec!["executor-002".to_owned()]);
    });
    fill(&mut home);
    let mut away = update(&id("task-003"), Mark::Done, "");
    if let Act::UpdateTask(UpdateTask { status, result, assignee, .. }) = &mut away {
        (*status, *result, *assignee) = (None, None, Some(AgentId::new("executor-003")));
    }
    let mut handed = delegate("executor-002", "look");
    if let Act::Delegate(Delegate { callback, .. }) = &mut handed {
        *callback = Some(false);
    }
    home.wants("executor-001", &[handed, away]);
    assert_eq!(
        home.results("executor-001")[1..],
        ["task-003 was handed on by a call; cancel it and ask executor-003 by a call of its own"]
    );
    assert_eq!(home.get(&id("task-003")).spec.assignee, Some(AgentId::new("executor-002")));
}
