//! Events that the journal keeps each second, in batches, against the same bytes in a plain table.

use adapters::journal::Sqlite;
use domain::id::Seq;
use ports::journal::{Entry, Journal};

use crate::load;
use crate::measure::{Aim, Measurement, Pair, Unit, median, timed};
use crate::raw::Raw;

const ROUNDS: usize = 15;
/// Enough that checkpoints fall into each round.
const EVENTS_IN_ROUND: usize = 12_800;

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let events = load::record(100, EVENTS_IN_ROUND)?.events;
    let entries: Result<Vec<Entry>, _> = events
        .iter()
        .enumerate()
        .map(|(n, (at, event))| engine::encode(Seq(n as u64 + 1), *at, event))
        .collect();
    let mut entries = entries?;
    entries.truncate(EVENTS_IN_ROUND);
    [100, 256].into_iter().map(|size| batches_of(size, &entries)).collect()
}

fn batches_of(size: usize, entries: &[Entry]) -> anyhow::Result<Measurement> {
    let folder = tempfile::tempdir()?;
    let mut journal = Sqlite::open(&folder.path().join("journal.db"))?;
    let mut raw = Raw::create(&folder.path().join("raw.db"))?;
    let mut ours = entries.to_vec();
    let mut theirs = entries.to_vec();
    let pair = Pair::take_turns(
        ROUNDS,
        || {
            let took = timed(|| Ok(ours.chunks(size).try_for_each(|batch| journal.append(batch))?));
            renumber(&mut ours);
            took
        },
        || {
            let took = timed(|| Ok(theirs.chunks(size).try_for_each(|batch| raw.append(batch))?));
            renumber(&mut theirs);
            took
        },
    )?;
    let count = entries.len() as f64;
    Ok(Measurement {
        name: format!("journal, batches of {size}"),
        value: count / median(&pair.thing),
        unit: Unit::EventsPerSecond,
        against: "raw group commit",
        baseline: count / median(&pair.baseline),
        aim: Aim::Times(1.5),
        rounds: ROUNDS,
    })
}

/// Makes the same entries follow what was written.
fn renumber(entries: &mut [Entry]) {
    let count = entries.len() as u64;
    for entry in entries {
        entry.seq = Seq(entry.seq.0 + count);
    }
}
