//! Lines that the audit log keeps each second, in batches, against appending and flushing the same bytes.

use std::fs::{File, OpenOptions};
use std::io::Write as _;

use adapters::audit::line::{Kind, Line};
use adapters::audit::{Journal, LOG, Log};
use domain::id::Time;
use domain::settings::Audit;

use crate::measure::{Aim, Measurement, Pair, Unit, median, timed};

const ROUNDS: usize = 15;
/// Enough that checkpoints fall into each round.
const LINES_IN_ROUND: u64 = 2_000;

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    [1, 100].into_iter().map(batches_of).collect()
}

fn batches_of(size: usize) -> anyhow::Result<Measurement> {
    let home = tempfile::tempdir()?;
    let journal = Journal { last: 0, told: 0, at: Time(0) };
    let mut log = Log::open(home.path(), &Audit::default(), journal)?;
    let lines_in_round = LINES_IN_ROUND.min(200 * size as u64);
    let raw = OpenOptions::new().append(true).create(true).open(home.path().join("raw"))?;
    // A batch as it stands in the log, for the baseline.
    let mut event = 0;
    log.append(&mut lines(&mut event, size), event)?;
    let text = std::fs::read_to_string(home.path().join(LOG))?;
    let batch: String = text.split_inclusive('\n').skip(2).collect();
    let pair = Pair::take_turns(
        ROUNDS,
        || {
            timed(|| {
                for _ in 0..lines_in_round / size as u64 {
                    log.append(&mut lines(&mut event, size), event)?;
                }
                Ok(())
            })
        },
        || timed(|| (0..lines_in_round / size as u64).try_for_each(|_| append(&raw, &batch))),
    )?;
    let count = lines_in_round as f64;
    Ok(Measurement {
        name: format!("audit log, batches of {size}"),
        value: count / median(&pair.thing),
        unit: Unit::EventsPerSecond,
        against: "raw append and flush",
        baseline: count / median(&pair.baseline),
        aim: Aim::Times(1.5),
        rounds: ROUNDS,
    })
}

fn append(mut file: &File, batch: &str) -> anyhow::Result<()> {
    file.write_all(batch.as_bytes())?;
    Ok(file.sync_data()?)
}

/// Lines as a tool call gives them.
fn lines(event: &mut u64, count: usize) -> Vec<Line> {
    let one = |event: u64| {
        let mut line = Line::new(Kind::Gate, "2026-01-31T12:00:00.000Z".to_owned(), event, "allow");
        line.agent = "executor-001".to_owned();
        line.session = "executor-001-3f9a2c".to_owned();
        line.task = "task-003".to_owned();
        line.call = format!("call-{event}");
        line.action = "execute_command".to_owned();
        line.args = "{\"command\":\"df -h --output=avail .\"}".to_owned();
        line.rule = "policy/commands.yaml has \"df -h --output=avail .\": allow".to_owned();
        line.by = "gate".to_owned();
        line
    };
    (0..count)
        .map(|_| {
            *event += 1;
            one(*event)
        })
        .collect()
}
