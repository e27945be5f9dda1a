//! Random homes: whatever people, models, tools and time do, what must hold does.

use domain::approval::Answer;
use domain::effect::Effect;
use domain::event::{CallEvent, TurnEvent};
use domain::event::{Event, Tail};
use domain::id::{AgentId, ApprovalId, SessionId, TaskId};
use domain::input::{Failure, Input};
use domain::input::{FileInput, ModelInput, PersonInput, ToolInput};
use domain::lifecycle::Lifecycle;
use domain::pending;
use domain::state::State;
use domain::task::{Mark, Spec};
use domain::tool::{Act, WriteFile};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

use crate::home::{Home, answered, create, marked, no, read, reply, run, tell, update, written};

const TEAM: [&str; 3] = ["planner-001", "executor-001", "executor-002"];

/// Something that happens, with a number that picks what it happens to.
#[derive(Debug, Clone)]
enum Deed {
    Model(Vec<u8>),
    Tool(bool),
    Busy(bool),
    Answer(bool),
    Write(bool),
    Mark(Mark),
    Gone,
    Want(u8),
    Edit(u8),
    Cut(u8),
    Time(u64),
    Restart,
    Agent(bool),
    Slots(u32),
    Line,
}

fn deed() -> impl Strategy<Value = (Deed, usize)> {
    let mark = prop_oneof![Just(Mark::Open), Just(Mark::Done), Just(Mark::Failed), Just(Mark::Cancelled)];
    let deed = prop_oneof![
        10 => proptest::collection::vec(0..14u8, 0..4).prop_map(Deed::Model),
        6 => any::<bool>().prop_map(Deed::Tool),
        1 => any::<bool>().prop_map(Deed::Busy),
        3 => any::<bool>().prop_map(Deed::Answer),
        2 => any::<bool>().prop_map(Deed::Write),
        1 => mark.prop_map(Deed::Mark),
        1 => Just(Deed::Gone),
        3 => any::<u8>().prop_map(Deed::Want),
        1 => any::<u8>().prop_map(Deed::Edit),
        1 => any::<u8>().prop_map(Deed::Cut),
        2 => (0..30_000u64).prop_map(Deed::Time),
        1 => Just(Deed::Restart),
        1 => any::<bool>().prop_map(Deed::Agent),
        1 => (1..4u32).prop_map(Deed::Slots),
        1 => Just(Deed::Line),
    ];
    (deed, any::<usize>())
}

fn pick<'a, T>(from: impl Iterator<Item = &'a T>, number: usize) -> Option<T>
where
    T: Clone + 'a,
{
    let all: Vec<&T> = from.collect();
    (!all.is_empty()).then(|| all[number % all.len()].clone())
}

fn act(kind: u8, task: TaskId) -> Act {
    match kind {
        0 => read("a"),
        1 => run("touch counter"),
        2 => run("df -h"),
        3 | 4 => run("make"),
        5 => run("rm -rf /"),
        6 => tell("executor-001", "hello"),
        7 => tell("planner-001", "hello"),
        8 => tell("ghost-001", "hello"),
        9 => create("part", "executor-002", &[task.as_str()]),
        10 => create("part", "planner-001", &[]),
        11 => update(&task, Mark::Done, "fine"),
        12 => update(&task, Mark::Cancelled, ""),
        _ => Act::WriteFile(WriteFile { path: "policy/x".to_owned(), content: String::new() }),
    }
}

/// The input of a deed, if there is anything it can be done to.
fn input(home: &Home, deed: &Deed, number: usize) -> Option<Input> {
    let state = &home.state;
    let task = || pick(state.work.tasks.keys(), number).unwrap_or_else(|| TaskId::new("task-001"));
    let session = || pick(state.sessions.keys(), number);
    let agent = TEAM[number % TEAM.len()];
    Some(match deed {
        Deed::Model(kinds) => {
            let (session, ticket) = pick(home.calls_to_model(agent).iter(), number)?;
            let acts: Vec<Act> = kinds.iter().map(|kind| act(*kind, task())).collect();
            reply(session, ticket, "words", &acts)
        }
        Deed::Busy(again) => {
            let (session, ticket) = pick(home.calls_to_model(agent).iter(), number)?;
            let failure = if *again { Failure::Retry { after_ms: 10 } } else { Failure::GiveUp };
            Input::Model(ModelInput::Failed { session, ticket, reason: "busy".to_owned(), failure })
        }
        Deed::Tool(ok) => {
            let (session, call, ticket) = pick(home.calls_to_tools(agent).iter(), number)?;
            Input::Tool(ToolInput::Finished {
                session,
                call,
                ticket,
                ok: *ok,
                text: "x".to_owned(),
                read: Vec::new(),
                wrote: Vec::new(),
                finding: None,
            })
        }
        Deed::Answer(yes) => {
            let id = pick(state.people.approvals.keys().chain(state.people.decided.keys()), number)?;
            answered(ApprovalId::as_str(&id), if *yes { Answer::Approved } else { no() })
        }
        Deed::Write(known) => written(session().filter(|_| *known).as_ref(), agent, "hello"),
        Deed::Mark(mark) => marked(&task(), *mark),
        Deed::Gone => Input::File(FileInput::TaskGone { task: task() }),
        Deed::Want(kind) => Input::Person(PersonInput::AddTask {
            spec: Box::new(wanted(*kind, agent, task())),
            by: "dana".to_owned(),
        }),
        Deed::Edit(kind) => {
            let known = state.work.tasks.get(&task())?;
            let mut spec = wanted(*kind, agent, task());
            spec.id = known.spec.id.clone();
            Input::File(FileInput::TaskRead {
                spec: Box::new(spec),
                mark: state.mark_of(known),
                result: String::new(),
            })
        }
        Deed::Cut(kind) => {
            let session: SessionId = session()?;
            let next_message = state.sessions[&session].talk.next_message;
            let tail = if kind % 2 == 0 { Tail::Answered } else { Tail::Unanswered };
            Input::File(FileInput::SessionCut { session, next_message, tail })
        }
        Deed::Time(_) => Input::Ticked,
        Deed::Restart => Input::Started,
        Deed::Agent(false) => Input::File(FileInput::AgentGone(AgentId::new("executor-002"))),
        Deed::Agent(true) => Input::File(FileInput::AgentRead(Box::new(
            state.team.agents[&AgentId::new("executor-002")].spec.clone(),
        ))),
        Deed::Slots(most) => {
            let mut settings = state.config.settings.clone();
            settings.limits.parallel_max = *most;
            Input::File(FileInput::SettingsRead(Box::new(settings)))
        }
        Deed::Line => Input::File(FileInput::LineRead {
            source: "inbox/slack.jsonl".to_owned(),
            line: number as u64 % 20,
            from: "@dana".to_owned(),
            channel: None,
            text: "hello".to_owned(),
        }),
    })
}

fn wanted(kind: u8, agent: &str, other: TaskId) -> Spec {
    let mut spec = Spec::new(TaskId::new(""), "tasks/x.task.md", format!("task {kind}"));
    spec.assignee = (!kind.is_multiple_of(5)).then(|| AgentId::new(agent));
    if kind.is_multiple_of(3) {
        spec.depends_on.push(other);
    }
    spec.approval_required = kind.is_multiple_of(7);
    spec
}

/// What holds after every deed.
fn check(home: &Home) {
    let state = &home.state;
    let stored = serde_json::to_string(state).unwrap();
    assert_eq!(&serde_json::from_str::<State>(&stored).unwrap(), state, "a snapshot gives back the state");
    assert!(state.is_settled(), "no step is left undone");
    for effect in pending(state).iter().chain(&home.effects) {
        let (Effect::CallModel { ticket, .. } | Effect::RunTool { ticket, .. }) = effect else { continue };
        let cause = &home.events[usize::try_from(ticket.effect.0).unwrap() - 1];
        let fits = match effect {
            Effect::CallModel { .. } => matches!(cause, Event::Turn(TurnEvent::Begun { .. })),
            Effect::RunTool { .. } => matches!(cause, Event::Call(CallEvent::Cleared { .. })),
            Effect::Look { .. } => matches!(cause, Event::Call(CallEvent::LookWanted { .. })),
            Effect::Stop { .. } | Effect::Fence(_) | Effect::CleanUp { .. } => true,
        };
        assert!(fits, "{effect:?} comes from {cause:?}");
    }
    let working = state.sessions.values().filter(|session| session.lifecycle == Lifecycle::Working).count();
    assert_eq!(working, state.schedule.busy as usize);
}

proptest! {
    #[test]
    fn whatever_happens_what_must_hold_does(deeds in proptest::collection::vec(deed(), 1..60)) {
        let mut home = Home::with(&TEAM, |settings| {
            settings.limits.turns_max = 6;
            settings.limits.parallel_max = 3;
            settings.approvals.expire_ms = Some(20_000);
            settings.routing.fallback = Some(AgentId::new("planner-001"));
        }, |agent| agent.permissions.concurrency.max_parallel_tasks = 2);
        for (deed, number) in &deeds {
            if let Deed::Time(ms) = deed {
                home.pass(*ms);
            } else if let Some(input) = input(&home, deed, *number)
                && let Err(refused) = home.try_give(input)
            {
                assert!(refused.to_string().len() > 10, "a refusal names the thing: {refused}");
            }
            check(&home);
        }
    }
}
