//! `cargo xtask test`: all checks in order of cost, up to the first that fails.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::flags::Flags;
use crate::shell::{self, Failure, cargo, say};
use crate::{crash, fmt, sim, tidy};

const CLIPPY: &str = "clippy --workspace --all-targets --locked -- -D warnings";
const DOC: &str = "doc --workspace --no-deps --locked";
const DOCTEST: &str = "test --doc --workspace --locked";
const FMT: &str = "--check";
const NEXTEST: &str = "nextest run --workspace --locked";
const TEST: &str = "test --workspace --locked";

/// How much an ordinary run affords of what could go on for ever.
const SIM: &str = "--seeds 200";
const TEAM: &str = "--scene team --seeds 20";
const CRASH: &str = "--times 20";

/// One check.
enum Step {
    /// Tools that the others need.
    Needs,
    /// `cargo …`, with the warnings that rustdoc must not give.
    Cargo { name: &'static str, args: &'static str, rustdoc_flags: Option<&'static str> },
    /// `cargo xtask …`
    Task { name: &'static str, args: &'static str, run: fn(&[String]) -> Result<(), Failure> },
}

/// Runs every step.
pub fn run(args: &[String]) -> Result<(), Failure> {
    Flags::read(args, &[])?;
    let begun = Instant::now();
    let steps = steps(shell::succeeds(cargo().args(["nextest", "--version"])));
    for (index, step) in steps.iter().enumerate() {
        say(format!("== {} ({} of {})", step.name(), index + 1, steps.len()));
        let step_begun = Instant::now();
        let outcome = step.run();
        let seconds = step_begun.elapsed().as_secs_f64();
        if let Err(failure) = outcome {
            return Err(Failure::new(format!(
                "{}\n\nfailed: step {}, after {seconds:.1} s\nhelp: to run only this step: {}",
                failure.message,
                step.name(),
                step.rerun()
            )));
        }
        say(format!("== {}: ok in {seconds:.1} s", step.name()));
    }
    say(format!("all {} steps passed in {:.1} s", steps.len(), begun.elapsed().as_secs_f64()));
    Ok(())
}

fn steps(nextest: bool) -> Vec<Step> {
    let cargo = |name, args| Step::Cargo { name, args, rustdoc_flags: None };
    let mut steps = vec![Step::Needs, Step::Task { name: "fmt", args: FMT, run: fmt::run }];
    steps.push(Step::Task { name: "tidy", args: "", run: tidy::run });
    steps.push(cargo("clippy", CLIPPY));
    if nextest {
        steps.extend([cargo("tests", NEXTEST), cargo("doctests", DOCTEST)]);
    } else {
        // It runs doctests too.
        steps.push(cargo("tests", TEST));
    }
    steps.push(Step::Cargo { name: "doc", args: DOC, rustdoc_flags: Some("-D warnings") });
    steps.push(Step::Task { name: "sim", args: SIM, run: sim });
    steps.push(Step::Task { name: "sim", args: TEAM, run: sim });
    steps.push(Step::Task { name: "crash", args: CRASH, run: crash::run });
    steps
}

impl Step {
    fn name(&self) -> &'static str {
        match self {
            Self::Needs => "needs",
            Self::Cargo { name, .. } | Self::Task { name, .. } => name,
        }
    }

    fn run(&self) -> Result<(), Failure> {
        match self {
            Self::Needs => needs(),
            Self::Cargo { args, rustdoc_flags, .. } => {
                let mut command = cargo();
                command.args(args.split(' '));
                if let Some(flags) = rustdoc_flags {
                    command.env("RUSTDOCFLAGS", flags);
                }
                shell::run(&mut command)
            }
            Self::Task { args, run, .. } => {
                run(&args.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            }
        }
    }

    /// What a person types to run only this step.
    fn rerun(&self) -> String {
        match self {
            Self::Needs => "cargo xtask test".to_owned(),
            Self::Cargo { args, rustdoc_flags: None, .. } => format!("cargo {args}"),
            Self::Cargo { args, rustdoc_flags: Some(flags), .. } => {
                format!("RUSTDOCFLAGS='{flags}' cargo {args}")
            }
            Self::Task { name, args, .. } => format!("cargo xtask {name} {args}").trim_end().to_owned(),
        }
    }
}

/// Sees to it that a C compiler (for SQLite), git, `script` (a terminal for the prompts) and the parts of the toolchain are there.
fn needs() -> Result<(), Failure> {
    for (program, package) in [("cc", "gcc libc6-dev"), ("git", "git"), ("script", "bsdutils")] {
        if shell::succeeds(Command::new(program).arg("--version")) {
            continue;
        }
        if !is_debian_root() {
            return Err(Failure::new(format!(
                "{program} is missing; install it, on Debian the package {package}"
            )));
        }
        say(format!("{program} is missing; installing {package}"));
        shell::run(Command::new("apt-get").args(["update", "-qq"]))?;
        let mut install = Command::new("apt-get");
        install.args(["install", "-y", "-qq"]).args(package.split(' '));
        shell::run(install.env("DEBIAN_FRONTEND", "noninteractive"))?;
    }
    // Without it, the sandbox by our own namespaces is tested alone.
    if !shell::succeeds(Command::new("bwrap").arg("--version")) && is_debian_root() {
        say("bwrap is missing; installing bubblewrap");
        let mut install = Command::new("apt-get");
        install.args(["install", "-y", "-qq", "bubblewrap"]).env("DEBIAN_FRONTEND", "noninteractive");
        let _ = shell::run(Command::new("apt-get").args(["update", "-qq"]));
        if shell::run(&mut install).is_err() {
            say("bubblewrap cannot be installed; going on without it");
        }
    }
    for (part, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !shell::succeeds(cargo().args([part, "--version"])) {
            say(format!("cargo {part} is missing; installing {component}"));
            shell::run(Command::new("rustup").args(["component", "add", component]))?;
        }
    }
    Ok(())
}

fn is_debian_root() -> bool {
    let root = Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout.trim_ascii() == b"0");
    root && Path::new("/etc/debian_version").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reruns(nextest: bool) -> Vec<String> {
        steps(nextest).iter().map(Step::rerun).collect()
    }

    #[test]
    fn every_step_says_how_to_run_it_alone() {
        assert_eq!(
            reruns(true),
            [
                "cargo xtask test",
                "cargo xtask fmt --check",
                "cargo xtask tidy",
                "cargo clippy --workspace --all-targets --locked -- -D warnings",
                "cargo nextest run --workspace --locked",
                "cargo test --doc --workspace --locked",
                "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked",
                "cargo xtask sim --seeds 200",
                "cargo xtask sim --scene team --seeds 20",
                "cargo xtask crash --times 20",
            ]
        );
    }

    #[test]
    fn without_nextest_one_command_runs_tests_and_doctests() {
        let tests: Vec<String> = reruns(false).into_iter().filter(|r| r.contains("test --")).collect();
        assert_eq!(tests, ["cargo test --workspace --locked"]);
    }
}
