//! Every stage of a session and of a task, against everything that can come in: what follows, or why not.
//! The expected tables are text files, to be read; when one differs, the new one lies in the target's tmp folder.

use domain::Refused;
use domain::approval::Answer;
use domain::event::{Found, FoundCall, Tail};
use domain::id::{AgentId, CallId, Seq, SessionId, TaskId, Ticket};
use domain::input::{Failure, Input};
use domain::input::{FileInput, ModelInput, ToolInput};
use domain::task::{Mark, Priority, Spec};
use domain::tool::{Call, Want};

use crate::home::{Home, answered, create, line, marked, no, read, reply, run, update, written};

const ME: &str = "executor-001";

/// A home with one thing in it that a row is about.
struct Case {
    home: Home,
    session: SessionId,
    task: TaskId,
}

fn home() -> Home {
    Home::with(
        &[ME, "executor-002"],
        |settings| {
            settings.approvals.expire_ms = Some(5_000);
            settings.limits.count_model_time = true;
        },
        |agent| {
            agent.permissions.concurrency.max_parallel_tasks = 1;
            agent.permissions.concurrency.task_timeout_ms = 10_000;
        },
    )
}

/// The session of the task that is worked on.
fn at_work(prepare: impl FnOnce(&mut Home)) -> Case {
    let mut home = home();
    let task = home.task("look", ME);
    let (session, _) = home.session_of(ME);
    prepare(&mut home);
    Case { home, session, task }
}

/// A conversation about no task.
fn talking(prepare: impl FnOnce(&mut Home)) -> Case {
    let mut home = home();
    prepare(&mut home);
    home.write(ME, "hello");
    let open = &home.state.team.agents[&AgentId::new(ME)].sessions;
    let session = open.iter().find(|id| home.state.sessions[*id].task.is_none()).unwrap().clone();
    Case { home, session, task: TaskId::new("task-099") }
}

type Stage = (&'static str, fn() -> Case);

const SESSIONS: [Stage; 13] = [
    ("queued: somebody spoke, there is no slot", || talking(|home| _ = home.task("other", ME))),
    ("thinking, in a conversation", || talking(|_| {})),
    ("waiting, in a conversation", || {
        let mut case = talking(|_| {});
        case.home.says(ME, "hello");
        case
    }),
    ("thinking, at a task", || at_work(|_| {})),
    ("retrying", || at_work(|home| _ = home.model_fails(ME, Failure::Retry { after_ms: 0 }))),
    ("running a call that only reads", || at_work(|home| _ = home.wants(ME, &[read("a")]))),
    ("running a call that must not run twice", || {
        at_work(|home| _ = home.wants(ME, &[run("touch counter")]))
    }),
    ("asking", || at_work(|home| _ = home.wants(ME, &[run("make")]))),
    ("asking, with a call behind it", || {
        at_work(|home| _ = home.wants(ME, &[run("make"), run("touch counter")]))
    }),
    ("waiting for parts", || {
        at_work(|home| {
            home.wants(ME, &[create("decide", "human", &[])]);
            home.says(ME, "I wait");
        })
    }),
    ("winding down with an answer", || {
        at_work(|home| {
            home.live = false;
            home.says(ME, "fine");
        })
    }),
    ("winding down with a yes", || {
        at_work(|home| {
            home.wants(ME, &[run("make")]);
            home.live = false;
            home.answer("approval-0001", Answer::Approved);
        })
    }),
    ("over", || at_work(|home| _ = home.says(ME, "fine"))),
];

fn ticket(case: &Case) -> Ticket {
    let model = case.home.calls_to_model(ME).into_iter().find(|(id, _)| *id == case.session);
    let tool = case.home.calls_to_tools(ME).into_iter().find(|(id, ..)| *id == case.session);
    let known = model.map(|(_, ticket)| ticket).or(tool.map(|(_, _, ticket)| ticket));
    known.unwrap_or(Ticket { effect: Seq(1), attempt: 1 })
}

fn call_under_way(case: &Case) -> CallId {
    let running = case.home.calls_to_tools(ME).into_iter().next();
    running.map_or_else(|| CallId::new("c-1"), |(_, call, _)| call)
}

fn tool_finished(case: &Case, ok: bool) -> Input {
    Input::Tool(ToolInput::Finished {
        session: case.session.clone(),
        call: call_under_way(case),
        ticket: ticket(case),
        ok,
        text: "x".to_owned(),
        read: Vec::new(),
        wrote: Vec::new(),
        finding: None,
    })
}

fn model_failed(case: &Case, retry_after_ms: Option<u64>) -> Input {
    let (session, ticket) = (case.session.clone(), ticket(case));
    Input::Model(ModelInput::Failed {
        session,
        ticket,
        reason: "overloaded".to_owned(),
        failure: retry_after_ms.map_or(Failure::GiveUp, |after_ms| Failure::Retry { after_ms }),
    })
}

fn cut(case: &Case, tail: Tail) -> Input {
    Input::File(FileInput::SessionCut { session: case.session.clone(), next_message: 2, tail })
}

fn some_calls() -> Tail {
    let call =
        Call { id: CallId::new("c-1"), arguments: String::new(), want: Want::Act(run("df -h")), seen: None };
    Tail::Calls { said: "I look".to_owned(), calls: vec![FoundCall { call, found: Found::Nothing }] }
}

type Column = (&'static str, fn(&Case) -> Input);

const SESSION_INPUTS: [Column; 23] = [
    ("words", |case| reply(case.session.clone(), ticket(case), "fine", &[])),
    ("calls", |case| reply(case.session.clone(), ticket(case), "I look", &[read("b")])),
    ("nothing said", |case| reply(case.session.clone(), ticket(case), "", &[])),
    ("model busy", |case| model_failed(case, Some(0))),
    ("model gives up", |case| model_failed(case, None)),
    ("tool done", |case| tool_finished(case, true)),
    ("tool failed", |case| tool_finished(case, false)),
    ("yes", |_| answered("approval-0001", Answer::Approved)),
    ("no", |_| answered("approval-0001", no())),
    ("message", |case| written(Some(&case.session), ME, "hello")),
    ("cut behind an answer", |case| cut(case, Tail::Answered)),
    ("cut behind a question", |case| cut(case, Tail::Unanswered)),
    ("cut behind calls", |case| cut(case, some_calls())),
    ("mark open", |case| marked(&case.task, Mark::Open)),
    ("mark running", |case| marked(&case.task, Mark::Running)),
    ("mark asking", |case| marked(&case.task, Mark::Asking)),
    ("mark failed", |case| marked(&case.task, Mark::Failed)),
    ("mark done", |case| marked(&case.task, Mark::Done)),
    ("mark cancelled", |case| marked(&case.task, Mark::Cancelled)),
    ("task gone", |case| Input::File(FileInput::TaskGone { task: case.task.clone() })),
    ("time", |_| Input::Ticked),
    ("start", |_| Input::Started),
    ("agent gone", |_| Input::File(FileInput::AgentGone(AgentId::new(ME)))),
];

#[test]
fn a_session_in_any_stage_answers_anything_that_comes_in() {
    compare("sessions", &table(&SESSIONS, &SESSION_INPUTS), include_str!("../tables/sessions.txt"));
}

const TASKS: [Stage; 9] = [
    ("open, with an open dependency", || {
        let mut home = home();
        home.task("decide", "human");
        let task = home.task_with("look", ME, |spec| spec.depends_on = vec![TaskId::new("task-001")]);
        Case { home, session: SessionId::new(""), task }
    }),
    ("ready, without a slot", || {
        let mut home = home();
        home.task("other", ME);
        let task = home.task("look", ME);
        Case { home, session: SessionId::new(""), task }
    }),
    ("ready, with nobody to do it", || {
        let mut home = home();
        let task = home.task("look", "human");
        Case { home, session: SessionId::new(""), task }
    }),
    ("running", || at_work(|_| {})),
    ("asking", || at_work(|home| _ = home.wants(ME, &[run("make")]))),
    ("waiting for parts", || {
        at_work(|home| {
            home.wants(ME, &[create("decide", "human", &[])]);
            home.says(ME, "I wait");
        })
    }),
    ("done", || at_work(|home| _ = home.says(ME, "fine"))),
    ("failed", || at_work(|home| _ = home.model_fails(ME, Failure::GiveUp))),
    ("cancelled", || at_work(|home| _ = home.mark(&TaskId::new("task-001"), Mark::Cancelled))),
];

/// The file of a task is read again, with something changed in it.
fn edited(case: &Case, edit: impl FnOnce(&mut Spec)) -> Input {
    let mut spec = case.home.get(&case.task).spec.clone();
    edit(&mut spec);
    let mark = case.home.state.mark_of(case.home.get(&case.task));
    Input::File(FileInput::TaskRead { spec: Box::new(spec), mark, result: String::new() })
}

const TASK_COMMANDS: [Column; 13] = [
    ("mark open", |case| marked(&case.task, Mark::Open)),
    ("mark running", |case| marked(&case.task, Mark::Running)),
    ("mark asking", |case| marked(&case.task, Mark::Asking)),
    ("mark failed", |case| marked(&case.task, Mark::Failed)),
    ("mark done", |case| marked(&case.task, Mark::Done)),
    ("mark cancelled", |case| marked(&case.task, Mark::Cancelled)),
    ("gone", |case| Input::File(FileInput::TaskGone { task: case.task.clone() })),
    ("no edit", |case| edited(case, |_| {})),
    ("other title", |case| edited(case, |spec| spec.title = "look again".to_owned())),
    ("other assignee", |case| edited(case, |spec| spec.assignee = Some(AgentId::new("executor-002")))),
    ("nobody assigned", |case| edited(case, |spec| spec.assignee = None)),
    ("no dependency", |case| edited(case, |spec| spec.depends_on = Vec::new())),
    ("priority A", |case| edited(case, |spec| spec.priority = Some(Priority::A))),
];

#[test]
fn a_task_in_any_stage_answers_any_command_of_a_person() {
    compare("tasks", &table(&TASKS, &TASK_COMMANDS), include_str!("../tables/tasks.txt"));
}

#[test]
fn an_agent_that_ended_its_task_itself_is_in_no_stage_that_the_tables_miss() {
    let mut case = at_work(|_| {});
    case.home.wants(ME, &[update(&case.task, Mark::Done, "fine")]);
    assert_eq!(line(&case.home.mark(&case.task, Mark::Cancelled)), "task-001:cancelled");
    assert_eq!(line(&case.home.says(ME, "bye")), "replied waiting complete");
}

fn table(stages: &[Stage], columns: &[Column]) -> String {
    let mut text = String::new();
    for (stage, make) in stages {
        text.push_str(&format!("# {stage}\n"));
        for (name, input) in columns {
            let mut case = make();
            let input = input(&case);
            let answer = match input {
                Input::Ticked => Ok(case.home.pass(1_000_000)),
                input => case.home.try_give(input),
            };
            let cell = match answer {
                Ok(events) if events.is_empty() => "-".to_owned(),
                Ok(events) => line(&events),
                Err(Refused::Stale { .. }) => "too late".to_owned(),
                Err(refused) => format!("refused: {refused}"),
            };
            text.push_str(&format!("{name:<22} {cell}\n"));
        }
        text.push('\n');
    }
    text
}

fn compare(name: &str, actual: &str, expected: &str) {
    let path = format!("{}/{name}.txt", env!("CARGO_TARGET_TMPDIR"));
    let differs = actual.lines().zip(expected.lines()).enumerate().find(|(_, (a, b))| a != b);
    if actual != expected {
        std::fs::write(&path, actual).unwrap();
    }
    if let Some((number, (actual, expected))) = differs {
        panic!(
            "line {} of {name}.txt\nexpected {expected}\nbut was  {actual}\nall of it is in {path}",
            number + 1
        );
    }
    assert_eq!(actual.len(), expected.len(), "one table is longer; all of it is in {path}");
}
