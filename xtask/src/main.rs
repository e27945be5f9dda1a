//! Keeps the project in order: tests, tidiness, simulation, crashes, benchmarks. Knows nothing of Synod's own
//! crates, so that it builds when they do not.

mod crash;
mod flags;
mod fmt;
mod fuzz;
mod shell;
mod test;
mod tidy;

use std::process::ExitCode;

use flags::Flags;
use shell::{Failure, say};

/// One row of the help, and what it runs.
struct Task {
    name: &'static str,
    does: &'static str,
    example: &'static str,
    run: fn(&[String]) -> Result<(), Failure>,
}

const TASKS: [Task; 8] = [
    Task {
        name: "test",
        does: "everything that must pass before a change goes in",
        example: "cargo xtask test",
        run: test::run,
    },
    Task {
        name: "tidy",
        does: "check what the compiler does not: crate edges, module cycles, purity of the domain, house rules",
        example: "cargo xtask tidy   (the module graph: --graph)",
        run: tidy::run,
    },
    Task {
        name: "fmt",
        does: "format all code, also the files that cargo fmt does not find",
        example: "cargo xtask fmt   (only look: --check)",
        run: fmt::run,
    },
    Task {
        name: "sim",
        does: "simulate a team under injected faults, one run a seed",
        example: "cargo xtask sim --scene team --seeds 1000 --start 0   (one again: --seed 17)",
        run: sim,
    },
    Task {
        name: "crash",
        does: "kill the real binary at random moments and compare what it ends with",
        example: "cargo xtask crash --times 100   (one again: --times 1 --seed 17)",
        run: crash::run,
    },
    Task { name: "bench", does: "measure", example: "cargo xtask bench --json", run: bench },
    Task {
        name: "fuzz",
        does: "run every stored corpus, then new inputs for a while; needs cargo-fuzz and a nightly compiler",
        example: "cargo xtask fuzz --seconds 60",
        run: fuzz::run,
    },
    Task { name: "help", does: "print this list", example: "cargo xtask help", run: help },
];

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_else(|| "help".to_owned());
    let rest: Vec<String> = args.collect();
    let Some(task) = TASKS.iter().find(|t| t.name == name.trim_start_matches('-')) else {
        say(format!("there is no task {name:?}\nhelp: cargo xtask help lists all"));
        return ExitCode::from(2);
    };
    match (task.run)(&rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&failure.message);
            ExitCode::from(failure.code)
        }
    }
}

fn help(_: &[String]) -> Result<(), Failure> {
    shell::print("Usage: cargo xtask <task>\n");
    for task in &TASKS {
        shell::print(format!("  {:6} {}\n         {}", task.name, task.does, task.example));
    }
    Ok(())
}

/// Simulated runs; `test` calls this too, with a bound.
fn sim(args: &[String]) -> Result<(), Failure> {
    const FLAGS: [&str; 3] = ["seeds", "start", "seed"];
    // The scene is the only flag with a word.
    let (scene, args) = match args {
        [flag, scene, rest @ ..] if flag == "--scene" => (vec![flag, scene], rest),
        args => (Vec::new(), args),
    };
    let flags = Flags::read(args, &FLAGS)?;
    let given = FLAGS.iter().filter_map(|name| Some([format!("--{name}"), flags.number(name)?.to_string()]));
    let head = ["run", "--release", "--quiet", "--locked", "-p", "synod-engine", "--example", "sim", "--"];
    shell::run(shell::cargo().args(head).args(scene).args(given.flatten()))
}

fn bench(args: &[String]) -> Result<(), Failure> {
    let head = ["run", "--release", "--quiet", "--locked", "-p", "synod-benches", "--"];
    shell::run(shell::cargo().args(head).args(args))
}
