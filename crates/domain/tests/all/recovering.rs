//! After a stop: what is taken up, what is unknown, and what the files alone give back.

use crate::home::decide;
use domain::agent;
use domain::approval::{Answer, Request};
use domain::effect::Effect;
use domain::event::{AgentEvent, CallEvent, TaskEvent, TurnEvent};
use domain::event::{Event, Finish, Found, FoundCall, Tail};
use domain::id::{AgentId, ApprovalId, CallId, SessionId, TaskId, Time};
use domain::input::Input;
use domain::input::{FileInput, ToolInput};
use domain::lifecycle::Lifecycle;
use domain::session::{Head, Status};
use domain::state::{Requester, State};
use domain::task::{End, Mark, Spec};
use domain::tool::{Act, Call, Permit, Want, WriteFile};
use policy::Risk;

use crate::home::{Home, line, read, run};

fn working(acts: &[Act]) -> Home {
    let mut home = Home::new(&["executor-001"]);
    home.task("look", "executor-001");
    if !acts.is_empty() {
        home.wants("executor-001", acts);
    }
    home
}

fn write() -> Act {
    Act::WriteFile(WriteFile { path: "workspaces/executor-001/a".to_owned(), content: "x".to_owned() })
}

#[test]
fn a_once_call_without_an_outcome_is_unknown_and_never_repeated() {
    let mut home = working(&[run("touch counter")]);
    let effects = home.effects.len();
    assert_eq!(line(&home.give(Input::Started)), "started call_finished:unknown turn_begun");
    assert!(matches!(home.effects[effects..], [Effect::CallModel { .. }]), "no tool runs");
    assert!(home.results("executor-001")[0].starts_with("outcome unknown: execute_command was under way"));
}

#[test]
fn calls_that_may_be_repeated_are_repeated_under_the_next_number() {
    for acts in [&[read("a"), read("b")][..], &[write(), read("b")]] {
        may_be_repeated(acts);
    }
}

fn may_be_repeated(acts: &[Act]) {
    let mut home = working(acts);
    let first = home.calls_to_tools("executor-001");
    let retried = " call_retried".repeat(first.len());
    assert_eq!(line(&home.give(Input::Started)), format!("started{retried}"));
    let second = home.calls_to_tools("executor-001");
    for ((_, call, old), (_, same, new)) in first.iter().zip(&second) {
        assert_eq!((call, old.effect, old.attempt + 1), (same, new.effect, new.attempt));
    }
    let (session, call, ticket) = first[0].clone();
    let late = Input::Tool(ToolInput::Finished {
        session,
        call,
        ticket,
        ok: true,
        text: "late".to_owned(),
        read: Vec::new(),
        wrote: Vec::new(),
        finding: None,
    });
    assert!(home.refusal(late).contains("came too late"));
    home.tool_ends("executor-001", true, "a");
    assert_eq!(line(&home.tool_ends("executor-001", true, "b")), "call_finished:done turn_begun");
}

#[test]
fn a_model_call_without_an_answer_is_asked_again_and_its_late_answer_refused() {
    let mut home = working(&[]);
    let (session, ticket) = home.thinking("executor-001");
    assert_eq!(line(&home.give(Input::Started)), "started turn_retried");
    assert!(home.refusal(crate::home::reply(session, ticket, "late", &[])).contains("came too late"));
    home.says("executor-001", "fine");
    assert_eq!(home.end(&TaskId::new("task-001")), Some(End::Done));
}

#[test]
fn an_outcome_seen_twice_counts_once() {
    let mut home = working(&[read("a"), read("b")]);
    let (session, call, ticket) = home.calls_to_tools("executor-001")[0].clone();
    let outcome = Input::Tool(ToolInput::Finished {
        session,
        call,
        ticket,
        ok: true,
        text: "a".to_owned(),
        read: Vec::new(),
        wrote: Vec::new(),
        finding: None,
    });
    home.give(outcome.clone());
    assert!(home.refusal(outcome).contains("came too late"));
}

#[test]
fn an_approval_outlives_a_restart() {
    let mut home = working(&[run("make")]);
    assert_eq!(line(&home.give(Input::Started)), "started");
    assert_eq!(
        line(&home.answer("approval-0001", Answer::Approved)),
        "approval_ended:approved working call_cleared"
    );
}

#[test]
fn what_waits_behind_a_call_is_held_back_across_a_restart() {
    let mut home = working(&[run("make"), run("touch counter"), read("a")]);
    assert_eq!(line(&home.give(Input::Started)), "started");
    assert_eq!(home.session_of("executor-001").1.lifecycle, Lifecycle::Blocked);
    assert_eq!(home.pass(1_000_000), [], "waiting for a person is not working time");
    home.answer("approval-0001", Answer::Approved);
    assert_eq!(home.calls_to_tools("executor-001").len(), 1, "the first call runs alone");
    assert_eq!(
        line(&home.give(Input::Started)),
        "started call_finished:unknown call_finished:dropped call_cleared",
        "after an unknown outcome only calls that read are run"
    );
}

#[test]
fn a_session_with_only_a_person_left_to_wait_for_after_a_restart_is_blocked() {
    let mut home = working(&[read("a"), run("make")]);
    assert_eq!(line(&home.give(Input::Started)), "started call_retried");
    assert_eq!(line(&home.tool_ends("executor-001", true, "a")), "call_finished:done call_asked blocked");
    assert_eq!(line(&home.give(Input::Started)), "started");
    assert_eq!(home.pass(1_000_000), [], "waiting for a person is not working time");
}

#[test]
fn nothing_begins_before_somebody_with_hands_has_started() {
    let mut home = Home::new(&["executor-001"]);
    home.live = false;
    home.task("look", "executor-001");
    assert_eq!(home.begun(), [""; 0]);
    home.live = true;
    home.give(Input::Started);
    assert_eq!(home.begun(), ["task-001"]);
}

#[test]
fn an_answer_that_was_kept_before_a_stop_is_acted_on_after_it() {
    let mut home = working(&[]);
    home.live = false;
    assert_eq!(line(&home.says("executor-001", "fine")), "replied");
    home.live = true;
    assert_eq!(line(&home.give(Input::Started)), "started call_finished:done task-001:done waiting complete");
}

#[test]
fn a_cut_makes_what_is_under_way_count_no_more() {
    let mut home = working(&[run("make")]);
    let (session, _) = home.session_of("executor-001");
    let events = home.give(Input::File(FileInput::SessionCut {
        session: session.clone(),
        next_message: 2,
        tail: Tail::Unanswered,
    }));
    assert_eq!(line(&events), "approval_ended:withdrawn working waiting session_cut working turn_begun");
    let mut home = working(&[read("a"), run("make")]);
    let (session, call, ticket) = home.calls_to_tools("executor-001")[0].clone();
    let events = home.give(Input::File(FileInput::SessionCut {
        session: session.clone(),
        next_message: 2,
        tail: Tail::Unanswered,
    }));
    assert_eq!(line(&events), "waiting session_cut working turn_begun");
    assert!(
        home.refusal(Input::Tool(ToolInput::Finished {
            session,
            call,
            ticket,
            ok: true,
            text: String::new(),
            read: Vec::new(),
            wrote: Vec::new(),
            finding: None,
        }))
        .contains("too late")
    );
    let said = home.says("executor-001", "from here");
    let Event::Turn(TurnEvent::Replied { message, .. }) = &said[0] else { panic!("it replied") };
    assert_eq!(message.id.as_str(), "m-0003", "no number is given twice: what was cut may be put back");
}

#[test]
fn a_cut_result_of_a_call_that_must_not_run_twice_is_unknown() {
    for (act, runs, results) in [(run("touch counter"), 0, 2), (read("a"), 1, 1), (run("make"), 0, 0)] {
        let mut home = working(std::slice::from_ref(&act));
        if let Some(approval) = home.state.people.approvals.keys().next().cloned() {
            home.answer(approval.as_str(), Answer::Approved);
        } else {
            home.tool_ends("executor-001", true, "done");
        }
        let (session, _) = home.session_of("executor-001");
        let call = Call {
            id: CallId::new("c-1"),
            arguments: String::new(),
            want: Want::Act(act.clone()),
            seen: None,
        };
        let calls = vec![FoundCall { call, found: Found::Nothing }];
        let tail = Tail::Calls { said: "I need this".to_owned(), calls };
        home.give(Input::File(FileInput::SessionCut { session, next_message: 3, tail }));
        assert_eq!(home.calls_to_tools("executor-001").len(), runs, "{act:?}");
        assert_eq!(home.results("executor-001").len(), results, "{act:?}");
    }
}

fn found(calls: Vec<(Act, Found)>, approvals: Vec<Request>, status: Status) -> Input {
    let head = Head {
        session: SessionId::new("executor-001-abcdef"),
        agent: AgentId::new("executor-001"),
        role: "executor".to_owned(),
        model: "m".to_owned(),
        system_prompt: String::new(),
        task: Some(TaskId::new("task-007")),
        created: Time(5),
    };
    let call = |(n, (act, found)): (usize, (Act, Found))| FoundCall {
        call: Call {
            id: CallId::new(format!("c-{}", n + 1)),
            arguments: String::new(),
            want: Want::Act(act),
            seen: None,
        },
        found,
    };
    let tail = Tail::Calls {
        said: "I need this".to_owned(),
        calls: calls.into_iter().enumerate().map(call).collect(),
    };
    Input::File(FileInput::SessionRead {
        head: Box::new(head),
        status,
        next_message: 3,
        tail,
        label: Default::default(),
        approvals,
    })
}

/// A home whose journal is gone: the task is read from its file.
fn from_files() -> Home {
    let mut home = Home::new(&["executor-001"]);
    home.live = false;
    let mut spec = Spec::new(TaskId::new("task-007"), "tasks/x.task.md", "look");
    spec.assignee = Some(AgentId::new("executor-001"));
    home.give(Input::File(FileInput::TaskRead {
        spec: Box::new(spec),
        mark: Mark::Running,
        result: String::new(),
    }));
    home
}

#[test]
fn from_the_files_alone_a_call_runs_only_if_it_cannot_have_run_before() {
    let cases: [(Act, Found, Option<Finish>, usize); 8] = [
        (read("a"), Found::Nothing, None, 1),
        (read("a"), Found::Finished, None, 0),
        (write(), Found::Nothing, None, 1),
        (run("touch counter"), Found::Nothing, Some(Finish::Unknown), 0),
        (run("df -h"), Found::Approved, None, 1),
        (run("make"), Found::Approved, Some(Finish::Unknown), 0),
        (run("make"), Found::Rejected, Some(Finish::Refused { rule: "rejected".to_owned() }), 0),
        (run("make"), Found::Nothing, None, 0),
    ];
    for (act, state, finish, runs) in cases {
        let case = format!("{act:?} {state:?}");
        let mut home = from_files();
        let events = home.give(found(vec![(act, state)], Vec::new(), Status::Active));
        let finished = events.into_iter().find_map(|event| match event {
            Event::Call(CallEvent::Finished { finish, .. }) => Some(finish),
            _ => None,
        });
        assert_eq!(finished, finish, "{case}");
        home.live = true;
        home.give(Input::Started);
        assert_eq!(home.calls_to_tools("executor-001").len(), runs, "{case}");
        assert_eq!(home.begun(), [""; 0], "the task goes on in its session: {case}");
    }
}

/// The approval of the first call, as its file has it.
fn asked(command: &str) -> Request {
    Request {
        id: ApprovalId::new("approval-0041"),
        agent: AgentId::new("executor-001"),
        session: SessionId::new("executor-001-abcdef"),
        call: CallId::new("c-1"),
        task: None,
        act: run(command),
        seen: None,
        permit: Permit::NONE,
        label: Default::default(),
        chain: Vec::new(),
        escalates: None,
        digest: run(command).digest(None, Permit::NONE),
        why: String::new(),
        risk: Risk::Medium,
        factors: Vec::new(),
        created: Time(5),
        expires: None,
    }
}

#[test]
fn from_the_files_alone_an_approval_goes_on_waiting_under_its_own_id() {
    let mut home = from_files();
    home.give(found(vec![(run("make"), Found::Pending)], vec![asked("make")], Status::Active));
    home.live = true;
    home.give(Input::Started);
    assert_eq!(home.session_of("executor-001").1.lifecycle, Lifecycle::Blocked);
    home.answer("approval-0041", Answer::Approved);
    assert_eq!(home.calls_to_tools("executor-001").len(), 1);
    assert_eq!(home.state.people.next_approval, 42);
}

#[test]
fn what_stands_behind_a_call_that_asks_has_not_begun() {
    let mut home = from_files();
    let calls = vec![(run("make"), Found::Pending), (run("touch counter"), Found::Nothing)];
    home.give(found(calls, vec![asked("make")], Status::Active));
    home.live = true;
    home.give(Input::Started);
    assert_eq!(home.results("executor-001"), [""; 0], "its outcome is not unknown");
    home.answer("approval-0041", Answer::Approved);
    home.tool_ends("executor-001", true, "built");
    assert_eq!(home.calls_to_tools("executor-001").len(), 1, "now it runs");
}

#[test]
fn a_session_file_that_is_known_or_of_nobody_changes_nothing() {
    let mut home = from_files();
    home.give(found(Vec::new(), Vec::new(), Status::Sleeping));
    assert_eq!(home.give(found(Vec::new(), Vec::new(), Status::Active)), []);
    let mut nobody = Home::new(&["planner-001"]);
    assert_eq!(nobody.give(found(Vec::new(), Vec::new(), Status::Active)), []);
}

#[test]
fn calls_that_share_an_id_in_a_file_are_told_apart() {
    let mut home = from_files();
    let input =
        found(vec![(read("a"), Found::Nothing), (run("make"), Found::Nothing)], Vec::new(), Status::Active);
    let Input::File(FileInput::SessionRead {
        head,
        status,
        next_message,
        tail: Tail::Calls { said, mut calls },
        label,
        approvals,
    }) = input
    else {
        unreachable!("a session with calls is read")
    };
    calls[1].call.id = calls[0].call.id.clone();
    let tail = Tail::Calls { said, calls };
    home.give(Input::File(FileInput::SessionRead {
        head,
        status,
        next_message,
        tail: tail.clone(),
        label,
        approvals,
    }));
    home.live = true;
    home.give(Input::Started);
    let both_go_on = |home: &mut Home| {
        assert_eq!((home.calls_to_tools("executor-001").len(), home.state.people.approvals.len()), (1, 0));
        home.tool_ends("executor-001", true, "a");
        assert_eq!((home.calls_to_tools("executor-001").len(), home.state.people.approvals.len()), (0, 1));
    };
    both_go_on(&mut home);
    home.give(Input::File(FileInput::SessionCut {
        session: SessionId::new("executor-001-abcdef"),
        next_message: 3,
        tail,
    }));
    both_go_on(&mut home);
}

#[test]
fn a_finished_session_found_in_its_file_stays_finished() {
    for status in [Status::Completed, Status::Error] {
        let mut home = from_files();
        home.give(found(vec![(read("a"), Found::Nothing)], Vec::new(), status));
        let session = &home.state.sessions[&SessionId::new("executor-001-abcdef")];
        assert_eq!(session.status(), status);
        assert_eq!(home.get(&TaskId::new("task-007")).session(), None);
    }
}

#[test]
fn a_parent_that_was_not_told_is_told_on_the_next_start() {
    let mut home = from_files();
    let mut part = Spec::new(TaskId::new("task-008"), "tasks/x.task.md", "part");
    part.parent = Some(TaskId::new("task-007"));
    home.give(Input::File(FileInput::TaskRead {
        spec: Box::new(part),
        mark: Mark::Done,
        result: "42".to_owned(),
    }));
    let Input::File(FileInput::SessionRead { head, next_message, approvals, .. }) =
        found(Vec::new(), Vec::new(), Status::Sleeping)
    else {
        unreachable!("a session is read")
    };
    home.give(Input::File(FileInput::SessionRead {
        label: Default::default(),
        head,
        status: Status::Sleeping,
        next_message,
        tail: Tail::Answered,
        approvals,
    }));
    home.live = true;
    assert_eq!(line(&home.give(Input::Started)), "started message_added working turn_begun");
    assert_eq!(
        home.heard("executor-001"),
        ["synod: task-008 has ended.\n- task-008 \"part\" is done:\n  42"]
    );
}

#[test]
fn what_an_older_build_left_to_nobody_goes_to_who_takes_it_now() {
    let mut state = State::new();
    let planner = agent::Spec::new(AgentId::new("planner-001"), "planner", "m");
    let left = Spec::new(TaskId::new("t-1"), "tasks/x.task.md", "sing");
    let by = Requester::Person { name: "dana".to_owned() };
    for event in [
        Event::Agent(AgentEvent::Defined { spec: Box::new(planner) }),
        Event::Task(TaskEvent::Added { spec: Box::new(left), by, in_file: true }),
    ] {
        state.apply(Time(1), &event);
    }
    let events = decide(&state, Time(2), &Input::Started).unwrap();
    assert_eq!(line(&events), "started task_edited");
    events.iter().for_each(|event| state.apply(Time(2), event));
    assert_eq!(line(&decide(&state, Time(3), &Input::Started).unwrap()), "started", "once");
}
