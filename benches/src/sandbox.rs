//! `true` in a sandbox, from the start of its process to its end, by each backend that this system has.

use std::path::Path;
use std::process::{Command, Stdio};

use adapters::sandbox::backend::Backend;
use adapters::sandbox::job::{End, Limits, Run};
use adapters::sandbox::memory::Memory;
use adapters::sandbox::{Cage, Sandbox};

use crate::measure::{Aim, Measurement, Pair, RANKS, Unit, timed};
use crate::status_command;

const SAMPLES: usize = 100;

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let synod = status_command::build()?;
    let folder = tempfile::tempdir()?;
    let home = folder.path().canonicalize()?;
    std::fs::create_dir_all(home.join("workspaces/coder"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut all = Vec::new();
    for backend in [Backend::Bubblewrap, Backend::Namespaces] {
        let sandbox = Sandbox::new(synod.clone()).only(backend);
        if sandbox.backend().is_none() {
            continue;
        }
        let cage = cage(&home);
        let pair = Pair::take_turns(
            SAMPLES,
            || timed(|| runtime.block_on(caged(&sandbox, &cage))),
            || {
                timed(|| {
                    let mut bare = Command::new("/bin/true");
                    Ok(bare.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?)
                })
            },
        )?;
        all.extend(RANKS.map(|(what, pick)| Measurement {
            name: format!("true in a sandbox by {backend}, {what}"),
            value: pick(&pair.thing) * 1e3,
            unit: Unit::Milliseconds,
            against: "/bin/true",
            baseline: pick(&pair.baseline) * 1e3,
            aim: Aim::AtMost(15.0),
            rounds: SAMPLES,
        }));
    }
    anyhow::ensure!(!all.is_empty(), "this system offers no sandbox; see `synod doctor`");
    Ok(all)
}

fn cage(home: &Path) -> Cage {
    Cage {
        home: home.to_owned(),
        workspace: home.join("workspaces/coder"),
        writable: false,
        network: false,
        read: vec![],
        memory: Memory::default(),
        variables: vec![],
        limits: Limits::default(),
        run: Run::Script("true".to_owned()),
    }
}

async fn caged(sandbox: &Sandbox, cage: &Cage) -> anyhow::Result<()> {
    let mut started = sandbox.start(cage)?;
    started.child.wait().await?;
    anyhow::ensure!(started.end() == Some(End::Exited(0)), "the command did not end well");
    Ok(())
}
