//! `synod cancel` on the root of a chain of delegations, from the start of its process until nothing of the chain is left:
//! the model's stream is closed, every process that the daemon had started is gone, and no slot and no lock is held.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ports::model::{RawCall, Reply};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::{Value, json};
use testkit::model::{Puppet, says};
use testkit::provider::{Fault, Provider};

use crate::measure::{Aim, Measurement, Pair, RANKS, Unit, timed};
use crate::status_command;

const SAMPLES: usize = 30;
/// How often the work is handed on; everybody but the last runs a command and has a lock.
const DEPTH: usize = 5;
const GONE_MS_MAX: f64 = 100.0;
/// What is not so by then will not be so.
const WAIT_MAX: Duration = Duration::from_secs(20);
/// How long to look away when it is not so yet. Nothing that is measured waits for it.
const LOOK: Duration = Duration::from_millis(5);
const COMMAND: &str = "sleep 86399";

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let synod = status_command::build()?;
    let server = Provider::start(Arc::new(Puppet::answering(|request| Ok(part_of(&request.model)))));
    // The last of each chain gets half an answer and then nothing: its stream stays open.
    server.misbehave(|number| (number % (DEPTH + 1) == DEPTH).then_some(Fault::Idle));
    let folder = tempfile::tempdir()?;
    furnish(folder.path(), &server.url())?;
    let mut chains = Chains {
        synod,
        home: folder.path().to_owned(),
        server,
        runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()?,
        cancelled: 0,
        daemon: None,
    };
    chains.up()?;
    chains.one()?;
    let pair = Pair::take_turns(SAMPLES, || chains.one(), kill_one)?;
    Ok(RANKS
        .map(|(what, pick)| Measurement {
            name: format!("synod cancel, chain of depth {DEPTH} until nothing is left, {what}"),
            value: pick(&pair.thing) * 1e3,
            unit: Unit::Milliseconds,
            against: "kill, one bare process",
            baseline: pick(&pair.baseline) * 1e3,
            aim: Aim::AtMost(GONE_MS_MAX),
            rounds: SAMPLES,
        })
        .into())
}

/// What the worker with this model does: takes a lock, runs a command and hands the work on, all at once.
fn part_of(model: &str) -> Reply {
    let Ok(number) = model.trim_start_matches('w').parse::<usize>() else { return says("I am nobody") };
    let call = |name: &str, arguments: Value| RawCall {
        id: String::new(),
        name: name.to_owned(),
        arguments: arguments.to_string(),
    };
    let to = format!("worker-{}", number + 1);
    let calls = vec![
        call("lock", json!({"name": format!("disk-{number}")})),
        call("delegate", json!({"to": to, "tag": "ops:look", "task": "look at the disk"})),
        call("execute_command", json!({"command": COMMAND})),
    ];
    Reply { calls: if number > DEPTH { Vec::new() } else { calls }, ..says("I see to it.") }
}

fn furnish(home: &Path, url: &str) -> anyhow::Result<()> {
    let workers = 1..=DEPTH + 1;
    let models: Vec<String> =
        workers.clone().map(|number| format!("w{number}: {{provider: p, model: w{number}}}")).collect();
    for folder in ["agents", "policy"] {
        std::fs::create_dir_all(home.join(folder))?;
    }
    std::fs::write(
        home.join("synod.yaml"),
        format!(
            "providers: {{p: {{kind: openai, base_url: '{url}'}}}}\nmodels: {{{}}}\nrouting: {{fallback: worker-1}}\n",
            models.join(", ")
        ),
    )?;
    std::fs::write(
        home.join("policy/commands.yaml"),
        format!("commands:\n  {COMMAND}: {{verdict: allow, effect: read}}\n"),
    )?;
    for number in workers {
        let file = format!(
            "id: worker-{number}\ntype: executor\nmodel: w{number}\nresponsibilities: [\"ops:*\"]\n\
             permissions: {{delegation: {{can_delegate: true, max_delegation_depth: {DEPTH}}}}}\n"
        );
        std::fs::write(home.join(format!("agents/worker-{number}.agent.yaml")), file)?;
    }
    Ok(())
}

/// One home with its daemon, in which chains are begun and cancelled.
struct Chains {
    synod: PathBuf,
    home: PathBuf,
    server: Provider,
    runtime: tokio::runtime::Runtime,
    cancelled: usize,
    daemon: Option<Child>,
}

impl Chains {
    fn up(&mut self) -> anyhow::Result<()> {
        let mut up = self.command(&["up"]);
        self.daemon = Some(up.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
        until("the daemon answers", || Ok(self.status()?["daemon"]["running"] == true))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.synod);
        command.args(args).arg("--home").arg(&self.home);
        command
    }

    fn ask(&self, args: &[&str]) -> anyhow::Result<Value> {
        let ran = self.command(args).arg("--json").output()?;
        anyhow::ensure!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        Ok(serde_json::from_slice(&ran.stdout)?)
    }

    fn status(&self) -> anyhow::Result<Value> {
        self.ask(&["status"])
    }

    /// Begins a chain, waits until all of it is under way, and says how long it takes to be rid of it.
    fn one(&mut self) -> anyhow::Result<f64> {
        let added = self.ask(&["task", "add", "Is the disk fine?"])?;
        let task = added["task"].as_str().context("a task was added")?.to_owned();
        let asked = (self.cancelled + 1) * (DEPTH + 1);
        until("the last one is asked", || Ok(self.server.count() == asked))?;
        let daemon = self.daemon.as_ref().map(Child::id).context("there is a daemon")?;
        until("all commands run", || Ok(sleeping(&below(daemon)?)? == DEPTH))?;
        let processes = handles(&below(daemon)?)?;
        let held = self.ask(&["lock", "list"])?;
        anyhow::ensure!(
            held["locks"].as_array().map(Vec::len) == Some(DEPTH),
            "everybody has a lock: {held}"
        );
        let took = timed(|| {
            let ran = self.command(&["cancel", &task]).stdout(Stdio::null()).status()?;
            anyhow::ensure!(ran.success(), "cancel ended with {ran}");
            let closed = self.server.abandoned(self.cancelled + 1);
            self.runtime.block_on(async { tokio::time::timeout(WAIT_MAX, closed).await })?;
            processes.iter().try_for_each(gone)
        })?;
        self.cancelled += 1;
        let (status, locks) = (self.status()?, self.ask(&["lock", "list"])?);
        anyhow::ensure!(
            status["daemon"]["idle"] == true && status["daemon"]["working"] == json!([]),
            "something goes on: {status}"
        );
        anyhow::ensure!(locks["locks"] == json!([]), "a lock is left: {locks}");
        anyhow::ensure!(below(daemon)?.is_empty(), "a process is left");
        anyhow::ensure!(self.server.count() == asked, "somebody was asked once more");
        Ok(took)
    }
}

impl Drop for Chains {
    fn drop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            _ = i32::try_from(daemon.id())
                .ok()
                .and_then(Pid::from_raw)
                .map(|pid| kill_process(pid, Signal::TERM));
            _ = daemon.wait();
        }
    }
}

/// The baseline: a command that kills one process that nobody caged, until that is gone.
fn kill_one() -> anyhow::Result<f64> {
    let mut bare = Command::new("sleep").arg("86399").stdin(Stdio::null()).spawn()?;
    let process = handles(&BTreeSet::from([bare.id()]))?;
    let took = timed(|| {
        let killed = Command::new("kill").args(["-9", &bare.id().to_string()]).status()?;
        anyhow::ensure!(killed.success(), "kill ended with {killed}");
        process.iter().try_for_each(gone)
    });
    bare.kill()?;
    bare.wait()?;
    took
}

fn until(what: &str, mut is_so: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let began = Instant::now();
    while !is_so()? {
        anyhow::ensure!(began.elapsed() < WAIT_MAX, "{what}: not within {WAIT_MAX:?}");
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// All processes that descend from this one.
fn below(root: u32) -> anyhow::Result<BTreeSet<u32>> {
    let mut parents = Vec::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // One that ended meanwhile has no parent to tell of.
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse::<u32>().ok());
        parents.extend(parent.map(|parent| (pid, parent)));
    }
    let mut found = BTreeSet::new();
    loop {
        let is_new =
            |(pid, parent): &&(u32, u32)| !found.contains(pid) && (*parent == root || found.contains(parent));
        let new: Vec<u32> = parents.iter().filter(is_new).map(|(pid, _)| *pid).collect();
        if new.is_empty() {
            return Ok(found);
        }
        found.extend(new);
    }
}

/// How many of them are the command itself, and no longer what puts it into its cage.
fn sleeping(processes: &BTreeSet<u32>) -> anyhow::Result<usize> {
    let line = |pid: &u32| std::fs::read(format!("/proc/{pid}/cmdline")).ok();
    let words = |line: Vec<u8>| String::from_utf8_lossy(&line).replace('\0', " ");
    Ok(processes.iter().filter_map(line).map(words).filter(|line| line.trim() == COMMAND).count())
}

fn handles(processes: &BTreeSet<u32>) -> anyhow::Result<Vec<OwnedFd>> {
    let open = |pid: &u32| {
        let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw).context("no process has this id")?;
        Ok(pidfd_open(pid, PidfdFlags::empty())?)
    };
    processes.iter().map(open).collect()
}

fn gone(process: &OwnedFd) -> anyhow::Result<()> {
    let mut ended = [PollFd::new(process, PollFlags::IN)];
    let most = Timespec { tv_sec: WAIT_MAX.as_secs().try_into()?, tv_nsec: 0 };
    anyhow::ensure!(poll(&mut ended, Some(&most))? == 1, "a process is not gone within {WAIT_MAX:?}");
    Ok(())
}
