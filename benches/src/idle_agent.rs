//! What an agent that does nothing costs in memory: in the engine, in the journal's cache and at the desk, which
//! has its own copy of the state. Each size is measured in a process of its own.

use std::process::Command;

use anyhow::Context as _;
use domain::input::Input;

use crate::home;
use crate::measure::{Aim, Measurement, Pair, Unit, median};
use crate::report;

/// The argument that makes this program the process that is measured.
pub const CHILD: &str = "__idle";

const AGENTS: u32 = 10_000;
const ROUNDS: usize = 3;

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let pair = Pair::take_turns(ROUNDS, || resident_with(AGENTS), || resident_with(0))?;
    let (full, empty) = (median(&pair.thing), median(&pair.baseline));
    let count = f64::from(AGENTS);
    Ok(vec![
        Measurement {
            name: "memory of an idle agent".to_owned(),
            value: (full - empty) / count,
            unit: Unit::Kibibytes,
            against: "the bytes of its file",
            baseline: home::agent_file("agent-00000").len() as f64 / 1024.0,
            aim: Aim::AtMost(20.0),
            rounds: ROUNDS,
        },
        Measurement {
            name: "memory with 10,000 idle agents".to_owned(),
            value: full,
            unit: Unit::Kibibytes,
            against: "with 0 agents",
            baseline: empty,
            aim: Aim::Nothing,
            rounds: ROUNDS,
        },
    ])
}

/// The resident memory of a process with a home of so many agents, in KiB.
fn resident_with(agents: u32) -> anyhow::Result<f64> {
    let output = Command::new(std::env::current_exe()?).arg(CHILD).arg(agents.to_string()).output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pages: f64 = String::from_utf8(output.stdout)?.trim().parse().context("a number of pages")?;
    Ok(pages * rustix::param::page_size() as f64 / 1024.0)
}

/// Opens a home with so many agents, works in it, and prints how many pages are resident once all is quiet.
pub fn child(agents: u32) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::create_dir_all(folder.path().join("agents"))?;
    std::fs::write(folder.path().join("synod.yaml"), "")?;
    for n in 0..agents {
        let id = format!("agent-{n:05}");
        std::fs::write(folder.path().join(format!("agents/{id}.agent.yaml")), home::agent_file(&id))?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let mut running = home::open(folder.path()).await?;
        running.check()?;
        running.handle.submit(Input::Started).await??;
        running.files.settled().await;
        let found = running.handle.look(|state| state.team.agents.len()).await?;
        anyhow::ensure!(found == agents as usize, "{agents} agents should be there, {found} are");
        let memory = std::fs::read_to_string("/proc/self/statm")?;
        report::print(memory.split_whitespace().nth(1).context("no resident pages in /proc/self/statm")?);
        running.close().await
    })
}
