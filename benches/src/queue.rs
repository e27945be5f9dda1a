//! What it costs to schedule a task when many wait, and how long a freed slot stays empty.

use std::hint::black_box;

use adapters::journal::Sqlite;
use domain::agent;
use domain::effect::Effect;
use domain::id::{AgentId, TaskId, Time};
use domain::input::Input;
use domain::input::{FileInput, ModelInput, PersonInput};
use domain::settings::{Limits, Settings};
use domain::state::State;
use domain::task::{self, Priority};
use domain::usage::Usage;
use domain::{pending, play, react};
use engine::Engine;
use testkit::rng::Rng;

use crate::load;
use crate::measure::{Aim, Measurement, Pair, RANKS, Unit, median, timed, timed_on_cpu};
use crate::one_event::RawLine;

const MANY: u32 = 10_000;
const FEW: u32 = 100;
/// Tasks that are ended, begun and added in one round.
const STEPS: u32 = 90;
const ROUNDS: usize = 15;
const HAND_OVERS: usize = 1_000;
const LETTERS: [Priority; 6] = [Priority::A, Priority::B, Priority::C, Priority::D, Priority::E, Priority::F];

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let mut all = vec![scheduled("100 agents", 100)?, scheduled("one agent", 1)?];
    all.push(in_memory()?);
    all.extend(durable()?);
    Ok(all)
}

/// One step is: a task ends, the next one gets its slot, and a new one is added.
fn scheduled(name: &str, agents: u32) -> anyhow::Result<Measurement> {
    let (many, few) = (queued(agents, MANY)?, queued(agents, FEW)?);
    let step = |from: &State| {
        let mut state = from.clone();
        timed_on_cpu(|| {
            for number in 0..STEPS {
                _ = black_box(hand_over(&mut state));
                _ = black_box(give(&mut state, &wish(number, number % agents)));
            }
            state
        })
    };
    let pair = Pair::take_turns(ROUNDS, || Ok(step(&many)), || Ok(step(&few)))?;
    let each = |times: &[f64]| median(times) / f64::from(STEPS) * 1e6;
    Ok(Measurement {
        name: format!("queue, {MANY} tasks wait, {name}"),
        value: each(&pair.thing),
        unit: Unit::Microseconds,
        against: "100 tasks wait",
        baseline: each(&pair.baseline),
        aim: Aim::Times(2.5),
        rounds: ROUNDS,
    })
}

/// From the words that end a task to the call that begins the next.
fn in_memory() -> anyhow::Result<Measurement> {
    let mut state = queued(1, 2 * HAND_OVERS as u32)?;
    let mut raw = {
        let folder = tempfile::tempdir()?;
        (RawLine::create(folder.path())?, folder)
    };
    let pair = Pair::take_turns(
        HAND_OVERS,
        || {
            let effects = std::cell::Cell::new(0);
            let took = timed(|| {
                effects.set(hand_over(&mut state)?);
                Ok(())
            });
            anyhow::ensure!(effects.get() > 0, "the next one begins");
            took
        },
        || raw.0.append(),
    )?;
    Ok(Measurement {
        name: "slot hand-over, in memory, median".to_owned(),
        value: median(&pair.thing) * 1e6,
        unit: Unit::Microseconds,
        against: "raw one-row commit",
        baseline: median(&pair.baseline) * 1e6,
        aim: Aim::Times(1.0),
        rounds: HAND_OVERS,
    })
}

/// The same with the journal: the next one begins when all of it is kept.
fn durable() -> anyhow::Result<Vec<Measurement>> {
    let folder = tempfile::tempdir()?;
    let mut raw = RawLine::create(folder.path())?;
    let mut engine = Engine::open(Box::new(Sqlite::open(&folder.path().join("journal.db"))?))?;
    for inputs in opening(1, 2 * HAND_OVERS as u32).chunks(1_000) {
        engine.cycle(Time(1), inputs)?;
    }
    let pair = Pair::take_turns(
        HAND_OVERS,
        || {
            let input = [ends(engine.state())?];
            let begun = engine.state().sessions.len();
            let took = timed(|| Ok(engine.cycle(Time(2), &input)?));
            anyhow::ensure!(engine.state().sessions.len() == begun + 1, "the next one begins");
            took
        },
        || raw.append(),
    )?;
    let ranks = RANKS.map(|(what, pick)| Measurement {
        name: format!("slot hand-over, durable, {what}"),
        value: pick(&pair.thing) * 1e6,
        unit: Unit::Microseconds,
        against: "raw one-row commit",
        baseline: pick(&pair.baseline) * 1e6,
        aim: Aim::Times(2.0),
        rounds: HAND_OVERS,
    });
    Ok(ranks.into())
}

/// One task at work and so many that wait, for one slot.
fn queued(agents: u32, tasks: u32) -> anyhow::Result<State> {
    let mut state = State::new();
    for input in opening(agents, tasks) {
        give(&mut state, &input)?;
    }
    Ok(state)
}

fn opening(agents: u32, tasks: u32) -> Vec<Input> {
    let limits = Limits { parallel_max: 1, tasks_max: u32::MAX, ..Limits::default() };
    let mut inputs = vec![
        Input::File(FileInput::SettingsRead(Box::new(Settings { limits, ..Settings::default() }))),
        Input::Started,
    ];
    for number in 0..agents {
        let mut spec = agent::Spec::new(agent_id(number), "executor", "team");
        spec.permissions.concurrency.max_pending_queue = agent::bounds::PENDING_QUEUE.1;
        inputs.push(Input::File(FileInput::AgentRead(Box::new(spec))));
    }
    inputs.extend((0..=tasks).map(|number| wish(number, number % agents)));
    inputs
}

fn agent_id(number: u32) -> AgentId {
    AgentId::new(format!("executor-{number:03}"))
}

fn wish(number: u32, agent: u32) -> Input {
    let mut spec = task::Spec::new(TaskId::new(""), "tasks/work.task.md", "look at the disk");
    spec.text = load::words(200, 1);
    spec.assignee = Some(agent_id(agent));
    spec.priority = Some(LETTERS[Rng::new(u64::from(number)).below(6) as usize]);
    Input::Person(PersonInput::AddTask { spec: Box::new(spec), by: "dana".to_owned() })
}

/// The only one at work comes to its end.
fn ends(state: &State) -> anyhow::Result<Input> {
    match pending(state).into_iter().next() {
        Some(Effect::CallModel { ticket, session, .. }) => {
            let text = load::words(300, 1);
            let calls = testkit::model::ending(state, &session, &text);
            Ok(Input::Model(ModelInput::Replied {
                session,
                ticket,
                text,
                calls,
                model: String::new(),
                usage: Usage::of(900, 80),
                read: Vec::new(),
            }))
        }
        _ => anyhow::bail!("nobody is at work"),
    }
}

fn hand_over(state: &mut State) -> anyhow::Result<usize> {
    let input = ends(state)?;
    give(state, &input)
}

/// Plays an input; how many calls to models follow.
fn give(state: &mut State, input: &Input) -> anyhow::Result<usize> {
    let mut calls = 0;
    play(state, Time(2), input, true, &mut |state, event| {
        let effects = react(state, &event);
        calls += effects.iter().filter(|effect| matches!(effect, Effect::CallModel { .. })).count();
        _ = black_box(event);
    })?;
    Ok(calls)
}
