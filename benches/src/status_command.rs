//! `synod status --json` from the start of its process to its end, in the home of the demo.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::measure::{Aim, Measurement, Pair, RANKS, Unit, timed};

const SAMPLES: usize = 100;

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let synod = build()?;
    let folder = tempfile::tempdir()?;
    let home = folder.path().join("home");
    let demo = Command::new(&synod).args(["demo", "--yes", "--json", "--home"]).arg(&home).output()?;
    anyhow::ensure!(demo.status.success(), "the demo failed: {}", String::from_utf8_lossy(&demo.stderr));
    let pair = Pair::take_turns(
        SAMPLES,
        || run_once(Command::new(&synod).args(["status", "--json", "--home"]).arg(&home)),
        || run_once(&mut Command::new("/bin/true")),
    )?;
    Ok(RANKS
        .map(|(what, pick)| Measurement {
            name: format!("synod status --json, {what}"),
            value: pick(&pair.thing) * 1e3,
            unit: Unit::Milliseconds,
            against: "/bin/true",
            baseline: pick(&pair.baseline) * 1e3,
            aim: Aim::AtMost(25.0),
            rounds: SAMPLES,
        })
        .into())
}

/// Builds the binary as it is released; it stands beside this program.
pub fn build() -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the workspace has no folder")?;
    let built = Command::new(cargo)
        .args(["build", "--release", "--quiet", "--locked", "-p", "synod-cli"])
        .current_dir(root)
        .status()?;
    anyhow::ensure!(built.success(), "synod does not build");
    Ok(std::env::current_exe()?.with_file_name("synod"))
}

fn run_once(command: &mut Command) -> anyhow::Result<f64> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    timed(|| {
        let status = command.status()?;
        anyhow::ensure!(status.success(), "{command:?} ended with {status}");
        Ok(())
    })
}
