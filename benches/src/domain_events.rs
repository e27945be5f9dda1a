//! Events that the domain decides each second, with 1,000 agents, on one core.

use std::hint::black_box;

use domain::{play, react};

use crate::load;
use crate::measure::{Aim, Measurement, Pair, Unit, median, timed_on_cpu};

const AGENTS: u32 = 1_000;
const EVENTS: usize = 200_000;
const ROUNDS: usize = 9;

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let run = load::record(AGENTS, EVENTS)?;
    let decided = &run.events[run.opening..];
    let count = decided.len() as f64;
    let pair = Pair::take_turns(
        ROUNDS,
        || {
            let mut state = run.team.clone();
            Ok(timed_on_cpu(|| {
                for (at, input) in &run.inputs {
                    let played = play(&mut state, *at, input, true, &mut |state, event| {
                        _ = black_box((react(state, &event), event));
                    });
                    _ = black_box(played);
                }
                state
            }))
        },
        || {
            let mut state = run.team.clone();
            Ok(timed_on_cpu(|| {
                for (at, event) in decided {
                    state.apply(*at, event);
                }
                state
            }))
        },
    )?;
    Ok(vec![Measurement {
        name: format!("domain events, {AGENTS} agents"),
        value: count / median(&pair.thing),
        unit: Unit::EventsPerSecond,
        against: "apply only, the same events",
        baseline: count / median(&pair.baseline),
        aim: Aim::AtLeast(500_000.0),
        rounds: ROUNDS,
    }])
}
