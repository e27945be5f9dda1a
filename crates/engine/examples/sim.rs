//! Runs seeded simulations of whole teams: `cargo xtask sim --seeds 1000`.
//! A failing seed prints the command that replays it.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

use std::process::ExitCode;
use std::time::Instant;

#[path = "../tests/sim/mod.rs"]
mod sim;

fn main() -> ExitCode {
    let mut seeds = 1000;
    let mut start = 1;
    let mut tell = false;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let number = args.next().and_then(|text| text.parse::<u64>().ok());
        match (arg.as_str(), number) {
            ("--seeds", Some(n)) => seeds = n,
            ("--start", Some(n)) => start = n,
            ("--seed", Some(n)) => (start, seeds, tell) = (n, 1, true),
            _ => {
                eprintln!("usage: sim [--seeds N] [--start S] [--seed X]");
                return ExitCode::from(2);
            }
        }
    }
    let began = Instant::now();
    let mut total = sim::Tally::default();
    for seed in start..start + seeds {
        let mut trace = |line: String| {
            if tell {
                println!("{line}");
            }
        };
        match sim::run(seed, &mut trace) {
            Ok(tally) => total.add(&tally),
            Err(broken) => {
                eprintln!("seed {seed}: {}", broken.0);
                eprintln!("replay it with: cargo xtask sim --seed {seed}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!(
        "{seeds} seeds, {} steps, {} events, {} crashes, {} broken disks, {} tasks in {:.1} s: every invariant held",
        total.steps,
        total.events,
        total.crashes,
        total.faults,
        total.tasks,
        began.elapsed().as_secs_f64()
    );
    ExitCode::SUCCESS
}
