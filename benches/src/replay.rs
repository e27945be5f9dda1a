//! Opening a home whose journal has 100,000 events and no snapshot.

use std::path::Path;

use adapters::journal::Sqlite;
use domain::id::Seq;
use engine::Engine;
use ports::journal::{Entry, Journal};

use crate::load;
use crate::measure::{Aim, Measurement, Pair, Unit, median, timed};
use crate::raw;

const EVENTS: usize = 100_000;
const ROUNDS: usize = 7;

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("journal.db");
    fill(&path)?;
    let pair = Pair::take_turns(
        ROUNDS,
        || timed(|| Ok(Engine::open(Box::new(Sqlite::open(&path)?))?)),
        || timed(|| Ok(raw::read_all(&path)?)),
    )?;
    Ok(vec![Measurement {
        name: "replay of 100,000 events".to_owned(),
        value: median(&pair.thing) * 1e3,
        unit: Unit::Milliseconds,
        against: "reading the rows",
        baseline: median(&pair.baseline) * 1e3,
        aim: Aim::AtMost(1_000.0),
        rounds: ROUNDS,
    }])
}

fn fill(path: &Path) -> anyhow::Result<()> {
    let mut events = load::record(1_000, EVENTS)?.events;
    events.truncate(EVENTS);
    let mut journal = Sqlite::open(path)?;
    for (index, chunk) in events.chunks(1_000).enumerate() {
        let first = index as u64 * 1_000 + 1;
        let entries: Result<Vec<Entry>, _> =
            (first..).zip(chunk).map(|(seq, (at, event))| engine::encode(Seq(seq), *at, event)).collect();
        journal.append(&entries?)?;
    }
    Ok(())
}
