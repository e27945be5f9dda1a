//! Runs seeded simulations of whole teams: `cargo xtask sim --scene team --seeds 1000`.
//! A failing seed prints the command that replays it.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

use std::fmt::Display;
use std::process::ExitCode;
use std::time::Instant;

use testkit::world::Scene;

#[path = "../tests/sim/mod.rs"]
mod sim;

fn main() -> ExitCode {
    let mut seeds = 1000;
    let mut start = 1;
    let mut tell = false;
    let mut scene = Scene::Home;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next().unwrap_or_default();
        match (arg.as_str(), value.as_str(), value.parse::<u64>().ok()) {
            ("--scene", "home", _) => scene = Scene::Home,
            ("--scene", "team", _) => scene = Scene::Team,
            ("--seeds", _, Some(n)) => seeds = n,
            ("--start", _, Some(n)) => start = n,
            ("--seed", _, Some(n)) => (start, seeds, tell) = (n, 1, true),
            _ => {
                eprintln!("usage: sim [--scene home|team] [--seeds N] [--start S] [--seed X]");
                return ExitCode::from(2);
            }
        }
    }
    let name = match scene {
        Scene::Home => "home",
        Scene::Team => "team",
    };
    let began = Instant::now();
    let mut total = sim::Tally::default();
    for seed in start..start + seeds {
        let mut trace = |line: &dyn Display| {
            if tell {
                println!("{line}");
            }
        };
        match sim::run(scene, seed, &mut trace) {
            Ok(tally) => total.add(&tally),
            Err(broken) => {
                eprintln!("seed {seed}: {}", broken.0);
                eprintln!("replay it with: cargo xtask sim --scene {name} --seed {seed}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!(
        "{seeds} seeds, {} steps, {} events, {} crashes, {} broken disks, {} tasks, {} delegations, {} agents made, {} reviews, {} merges in {:.1} s: every invariant held",
        total.steps,
        total.events,
        total.crashes,
        total.faults,
        total.tasks,
        total.delegations,
        total.spawned,
        total.reviews,
        total.merges,
        began.elapsed().as_secs_f64()
    );
    ExitCode::SUCCESS
}
