//! What it costs to decide and apply the end of much work at once: a run of many open tasks, and an agent that has many.
//! It must grow with the work that is given up, and not with its square: the engine does nothing else meanwhile.

use domain::agent;
use domain::event::Event;
use domain::event::{AgentEvent, SystemEvent, TaskEvent};
use domain::id::{AgentId, SessionId, TaskId, Time};
use domain::input::Input;
use domain::input::PersonInput;
use domain::play;
use domain::settings::{Limits, Settings};
use domain::spawn::Origin;
use domain::state::{Requester, State};
use domain::task;

use crate::measure::{Aim, Measurement, Pair, Unit, median, timed_on_cpu};

const MANY: u32 = 10_000;
const FEW: u32 = 1_000;
const ROUNDS: usize = 5;
/// Ten times the work may cost this much more: sets of ten thousand are a little deeper and do not fit into a cache.
const GROWS_AT_MOST: f64 = 20.0;
/// The deepest nesting of the run whose tasks are parts of parts.
const DEPTH: u32 = 50;
const ROOT: u32 = 1;

/// How the tasks of a run hang together.
#[derive(Clone, Copy)]
enum Shape {
    /// Made in a conversation, each for itself.
    Apart,
    /// All are parts of the first one.
    Parts,
    /// Parts of parts.
    Deep,
}

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let given_up = |name: &str, shape: Shape| {
        let input = |state: &State| {
            Input::Person(PersonInput::CancelRun { run: run_of(state), by: "dana".to_owned() })
        };
        measured(&format!("cancel a run of {MANY} open tasks, {name}"), |tasks| working(tasks, shape), input)
    };
    let fired = |_: &State| {
        Input::Person(PersonInput::Terminate {
            agent: AgentId::new("executor-001"),
            reason: String::new(),
            by: "dana".to_owned(),
        })
    };
    Ok(vec![
        given_up("each for itself", Shape::Apart)?,
        given_up("parts of one", Shape::Parts)?,
        given_up("parts of parts", Shape::Deep)?,
        measured(&format!("terminate an agent with {MANY} open tasks"), |t| working(t, Shape::Apart), fired)?,
    ])
}

fn measured(
    name: &str,
    make: impl Fn(u32) -> anyhow::Result<State>,
    input: impl Fn(&State) -> Input,
) -> anyhow::Result<Measurement> {
    let (many, few) = (make(MANY)?, make(FEW)?);
    let once = |from: &State| {
        let (mut state, input) = (from.clone(), input(from));
        let mut refused = None;
        let took = timed_on_cpu(|| refused = play(&mut state, Time(2), &input, false, &mut |_, _| {}).err());
        anyhow::ensure!(refused.is_none(), "{name}: {refused:?}");
        anyhow::ensure!(state.work.open_tasks == 0, "{name}: {} tasks are left", state.work.open_tasks);
        Ok(took)
    };
    let pair = Pair::take_turns(ROUNDS, || once(&many), || once(&few))?;
    Ok(Measurement {
        name: name.to_owned(),
        value: median(&pair.thing) * 1e3,
        unit: Unit::Milliseconds,
        against: "1000 open tasks",
        baseline: median(&pair.baseline) * 1e3,
        aim: Aim::Times(GROWS_AT_MOST),
        rounds: ROUNDS,
    })
}

/// An agent that was spawned, has one conversation, and so many open tasks.
fn working(tasks: u32, shape: Shape) -> anyhow::Result<State> {
    let limits = Limits { parallel_max: 1, tasks_max: u32::MAX, ..Limits::default() };
    let mut spec = agent::Spec::new(AgentId::new("executor-001"), "executor", "team");
    spec.spawned_by = Some(Origin::Person("dana".to_owned()));
    spec.permissions.concurrency.max_pending_queue = agent::bounds::PENDING_QUEUE.1;
    let agent = spec.id.clone();
    let mut state = State::new();
    state.apply(
        Time(1),
        &Event::System(SystemEvent::SettingsChanged {
            settings: Box::new(Settings { limits, ..Settings::default() }),
        }),
    );
    state.apply(Time(1), &Event::Agent(AgentEvent::Spawned { spec: Box::new(spec), session: None }));
    let speaks = Input::Person(PersonInput::Say {
        session: None,
        agent: agent.clone(),
        text: "look at the disks".to_owned(),
        urgency: Default::default(),
        by: "dana".to_owned(),
        in_file: false,
    });
    play(&mut state, Time(1), &speaks, false, &mut |_, _| {})?;
    let session = state.sessions.keys().next().cloned().unwrap_or_else(|| SessionId::new(""));
    for number in ROOT..ROOT + tasks {
        let mut spec = task::Spec::new(task_id(number), "tasks/work.task.md", "look at a disk");
        spec.assignee = Some(agent.clone());
        spec.parent = match shape {
            Shape::Apart => None,
            Shape::Parts => (number > ROOT).then(|| task_id(ROOT)),
            // Chains that all begin at the first one.
            Shape::Deep if number % DEPTH == ROOT => (number > ROOT).then(|| task_id(ROOT)),
            Shape::Deep => Some(task_id(number - 1)),
        };
        let by = Requester::Session { session: session.clone() };
        state.apply(Time(1), &Event::Task(TaskEvent::Added { spec: Box::new(spec), by, in_file: false }));
    }
    Ok(state)
}

/// All of them were asked for in the one conversation that there is.
fn run_of(state: &State) -> String {
    state.sessions.keys().next().map(ToString::to_string).unwrap_or_default()
}

fn task_id(number: u32) -> TaskId {
    TaskId::new(format!("task-{number:03}"))
}
