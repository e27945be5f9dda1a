//! How long one event takes until it is durable: in a cycle of the engine, and through its running loop.

use std::path::Path;
use std::sync::Arc;

use adapters::clock::SystemClock;
use adapters::journal::Sqlite;
use domain::id::{AgentId, Seq, TaskId, Time};
use domain::input::Input;
use domain::input::PersonInput;
use domain::task;
use engine::{Engine, Handle, Parts};
use ports::journal::Entry;
use ports::printer::{Printer, Recorded};

use crate::home::NoHands;
use crate::load;
use crate::measure::{Aim, Measurement, Pair, RANKS, Unit, timed};
use crate::raw::Raw;

const SAMPLES: usize = 1_000;
/// Before that, both logs are filled beyond their first checkpoint: a log file that still grows syncs more slowly.
const FILL_BATCHES: usize = 8;
const FILL_BATCH: usize = 1_000;

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let mut all = in_a_cycle()?;
    all.extend(through_the_loop()?);
    Ok(all)
}

fn in_a_cycle() -> anyhow::Result<Vec<Measurement>> {
    let folder = tempfile::tempdir()?;
    let mut engine = started(folder.path())?;
    let mut raw = RawLine::create(folder.path())?;
    let pair = Pair::take_turns(
        SAMPLES,
        || {
            let (input, before) = ([wish()], engine.state().seq);
            let took = timed(|| Ok(engine.cycle(Time(2), &input)?));
            anyhow::ensure!(engine.state().seq == before.plus(1), "a wish is one event");
            took
        },
        || raw.append(),
    )?;
    Ok(measurements("one event, cycle", &pair))
}

fn through_the_loop() -> anyhow::Result<Vec<Measurement>> {
    let folder = tempfile::tempdir()?;
    let engine = started(folder.path())?;
    let mut raw = RawLine::create(folder.path())?;
    let parts = |_: Handle| {
        Ok(Parts {
            hands: Box::new(NoHands),
            printer: Box::new(NoPrinter(Seq(0))),
            clock: Arc::new(SystemClock),
        })
    };
    let (handle, thread) = engine::spawn(engine, parts)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let pair = Pair::take_turns(
        SAMPLES,
        || {
            let input = wish();
            timed(|| Ok(runtime.block_on(handle.submit(input))??))
        },
        || raw.append(),
    )?;
    runtime.block_on(handle.stop());
    thread.join().map_err(|_| anyhow::anyhow!("the engine thread panicked"))??;
    Ok(measurements("one event, submit", &pair))
}

fn started(folder: &Path) -> anyhow::Result<Engine> {
    let mut engine = Engine::open(Box::new(Sqlite::open(&folder.join("journal.db"))?))?;
    engine.cycle(Time(1), &[Input::Started])?;
    let wishes = vec![wish(); FILL_BATCH];
    for _ in 0..FILL_BATCHES {
        engine.cycle(Time(1), &wishes)?;
    }
    Ok(engine)
}

/// A task for a person: one event, and nothing follows from it.
fn wish() -> Input {
    let mut spec = task::Spec::new(TaskId::new(""), "tasks/work.task.md", "look at the disk");
    spec.text = load::words(200, 1);
    spec.assignee = Some(AgentId::new("human"));
    Input::Person(PersonInput::AddTask { spec: Box::new(spec), by: "dana".to_owned() })
}

/// One row for each commit, with the bytes that the journal has for a wish.
pub struct RawLine {
    log: Raw,
    entry: Entry,
}

impl RawLine {
    pub fn create(folder: &Path) -> anyhow::Result<Self> {
        let log = Raw::create(&folder.join("raw.db"))?;
        let mut state = domain::state::State::new();
        let mut entries = Vec::new();
        domain::play(&mut state, Time(2), &wish(), false, &mut |state, event| {
            entries.push(engine::encode(state.seq, Time(2), &event));
        })?;
        let entry = entries.pop().ok_or_else(|| anyhow::anyhow!("a wish makes no event"))??;
        let mut raw = Self { log, entry };
        for _ in 0..FILL_BATCHES {
            let batch: Vec<Entry> = (0..FILL_BATCH).map(|_| raw.next()).collect();
            raw.log.append(&batch)?;
        }
        Ok(raw)
    }

    fn next(&mut self) -> Entry {
        self.entry.seq = self.entry.seq.plus(1);
        self.entry.clone()
    }

    pub fn append(&mut self) -> anyhow::Result<f64> {
        let entry = self.next();
        timed(|| Ok(self.log.append(&[entry])?))
    }
}

/// Says that everything is printed at once, and prints nothing.
struct NoPrinter(Seq);

impl Printer for NoPrinter {
    fn print(&mut self, batch: Arc<[Recorded]>) {
        self.0 = batch.last().map_or(self.0, |recorded| recorded.seq);
    }

    fn printed(&self) -> Seq {
        self.0
    }

    fn flush(&mut self) {}
}

fn measurements(name: &str, pair: &Pair) -> Vec<Measurement> {
    RANKS
        .map(|(what, pick)| Measurement {
            name: format!("{name}, {what}"),
            value: pick(&pair.thing) * 1e6,
            unit: Unit::Microseconds,
            against: "raw one-row commit",
            baseline: pick(&pair.baseline) * 1e6,
            aim: Aim::Times(1.5),
            rounds: SAMPLES,
        })
        .into()
}
