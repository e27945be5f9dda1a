//! `cargo xtask fuzz`: every target of `fuzz/` on its stored corpus, then on new inputs for a bounded time.

use std::process::{Command, Stdio};

use crate::flags::Flags;
use crate::shell::{self, Failure, say};

/// How long each target runs unless told otherwise.
const SECONDS: u64 = 60;

/// Runs all targets.
pub fn run(args: &[String]) -> Result<(), Failure> {
    let seconds = Flags::read(args, &["seconds"])?.number("seconds").unwrap_or(SECONDS);
    if !shell::succeeds(fuzz().arg("--version")) {
        return Err(Failure::new(
            "cargo-fuzz or the nightly compiler is missing\n\
             help: rustup toolchain install nightly && cargo install cargo-fuzz",
        ));
    }
    let listed =
        fuzz().arg("list").output().map_err(|e| Failure::new(format!("cannot list fuzz targets: {e}")))?;
    let targets = String::from_utf8_lossy(&listed.stdout).into_owned();
    if !listed.status.success() || targets.trim().is_empty() {
        return Err(Failure::new("there is no fuzz target in fuzz/"));
    }
    for target in targets.split_whitespace() {
        let corpus = shell::root().join("fuzz/corpus").join(target);
        std::fs::create_dir_all(&corpus)
            .map_err(|e| Failure::new(format!("cannot make {}: {e}", corpus.display())))?;
        say(format!("== {target}: its corpus, then new inputs for {seconds} s"));
        let mut command = fuzz();
        command.args(["run", target]).arg(&corpus).args(["--", &format!("-max_total_time={seconds}")]);
        shell::run(&mut command)?;
    }
    Ok(())
}

/// `cargo +nightly fuzz`, through rustup's cargo: the one that runs us is of one toolchain.
fn fuzz() -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(shell::root()).stdin(Stdio::null());
    // These would bind the new cargo to the toolchain of this one.
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN").args(["+nightly", "fuzz"]);
    command
}
