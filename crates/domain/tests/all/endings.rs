//! Ends that somebody waits for: whoever does is told, once, whichever way they come.

use domain::event::{Event, Found, FoundCall, Tail};
use domain::id::{AgentId, CallId, DelegationId, SessionId, TaskId, Time};
use domain::input::Input;
use domain::play;
use domain::session::{Head, Status};
use domain::state::State;
use domain::task::{End, Mark, Spec};
use domain::tool::{Act, Call, Want};

use crate::delegation::{able, delegate, delegate_with};
use crate::home::{Home, line};

fn id(text: &str) -> TaskId {
    TaskId::new(text)
}

/// A conversation of the agent about its task, as its file has it.
fn found(agent: &str, task: &str, status: Status, tail: Tail) -> Input {
    let head = Head {
        session: SessionId::new(format!("{agent}-abcdef")),
        agent: AgentId::new(agent),
        role: "executor".to_owned(),
        model: "m".to_owned(),
        system_prompt: String::new(),
        task: Some(id(task)),
        created: Time(5),
    };
    let (label, approvals) = (Default::default(), Vec::new());
    Input::SessionRead { head: Box::new(head), status, next_message: 3, tail, label, approvals }
}

/// A task as its file has it.
fn written(task: &str, title: &str, agent: &str, mark: Mark, say: impl FnOnce(&mut Spec)) -> Input {
    let mut spec = Spec::new(id(task), "tasks/x.task.md", title);
    spec.assignee = Some(AgentId::new(agent));
    say(&mut spec);
    Input::TaskRead { spec: Box::new(spec), mark, result: String::new() }
}

/// A home of which only the files are left: an agent had asked for these calls and has no result.
fn with_calls(acts: &[Act], files: Vec<Input>) -> Home {
    let mut home = Home::with(&["executor-001", "executor-002"], |_| {}, able);
    home.live = false;
    home.give(written("task-001", "is all fine?", "executor-001", Mark::Running, |_| {}));
    files.into_iter().for_each(|file| _ = home.give(file));
    let call = |(n, act): (usize, &Act)| FoundCall {
        call: Call {
            id: CallId::new(format!("c-{}", n + 1)),
            arguments: String::new(),
            want: Want::Act(act.clone()),
            seen: None,
        },
        found: Found::Nothing,
    };
    let calls = acts.iter().enumerate().map(call).collect();
    let tail = Tail::Calls { said: "I need this".to_owned(), calls };
    home.give(found("executor-001", "task-001", Status::Active, tail));
    home.live = true;
    home.give(Input::Started);
    home
}

#[test]
fn two_calls_that_delegate_the_same_in_a_found_session_both_hear_of_their_end() {
    let twice = [(); 2].map(|()| delegate_with("executor-002", "ops:check", "look", Some(5_000)));
    let mut home = with_calls(&twice, Vec::new());
    let tasks: Vec<&str> = home.state.tasks.keys().map(TaskId::as_str).collect();
    assert_eq!(tasks, ["task-001", "task-002", "task-003"]);
    home.says("executor-002", "fine");
    home.says("executor-002", "fine too");
    assert_eq!(
        home.results("executor-001"),
        ["executor-002 has done task-002: fine", "executor-002 has done task-003: fine too"]
    );
    assert_eq!(home.calls_to_model("executor-001").len(), 1, "it goes on");
    assert_eq!(home.pass(10_000), [], "nothing is too late");
}

#[test]
fn of_two_calls_that_delegate_the_same_each_takes_up_its_own_task() {
    let asked = |spec: &mut Spec| {
        spec.text = "look".to_owned();
        spec.properties.insert("requested_by".to_owned(), "executor-001-abcdef".to_owned());
    };
    // One of the two had been printed; or both, of which one was done.
    for (marks, tasks) in [(&[Mark::Open][..], 3), (&[Mark::Done, Mark::Open], 3)] {
        let name = |n: usize| format!("task-{:03}", n + 2);
        let file = |(n, mark): (usize, &Mark)| written(&name(n), "look", "executor-002", *mark, asked);
        let files = marks.iter().enumerate().map(file).collect();
        let mut home = with_calls(&[(); 2].map(|()| delegate("executor-002", "look")), files);
        assert_eq!(home.state.tasks.len(), tasks, "{marks:?}");
        while !home.calls_to_model("executor-002").is_empty() {
            home.says("executor-002", "fine");
        }
        let mut results = home.results("executor-001");
        results.sort();
        assert!(results[0].starts_with("executor-002 has done task-002: "), "{marks:?} {results:?}");
        assert_eq!(results[1..], ["executor-002 has done task-003: fine"], "{marks:?}");
    }
}

#[test]
fn what_is_due_and_leads_to_nothing_is_dropped_and_what_is_due_later_happens() {
    let mut home = Home::with(&["executor-001", "executor-002"], |_| {}, able);
    home.task("is all fine?", "executor-001");
    home.wants("executor-001", &[delegate_with("executor-002", "ops:check", "look", Some(5_000))]);
    // As a version before this one could leave it: nobody is told, and nothing takes it away.
    let mut state: State = home.state.clone();
    let first = &state.delegations.by_id[&DelegationId::new("delegation-0001")];
    let mut lost = first.clone();
    (lost.id, lost.task) = (DelegationId::new("delegation-0002"), id("task-999"));
    (lost.call, lost.deadline) = (CallId::new("c-9"), Some(home.at.plus_ms(1_000)));
    state.apply(home.at, &Event::Delegated { delegation: Box::new(lost) });
    let at = home.at.plus_ms(6_000);
    let mut happened = Vec::new();
    while state.next_deadline().is_some_and(|due| due <= at) {
        let before = state.seq;
        play(&mut state, at, &Input::Ticked, true, &mut |_, event| happened.push(event)).unwrap();
        assert_ne!(state.seq, before, "it does not stand still");
    }
    assert!(line(&happened).starts_with("deadline_dropped "), "{}", line(&happened));
    assert_eq!(state.tasks[&id("task-002")].end(), Some(End::Failed));
}
