//! Running commands. Whether one may run was decided before; here it is only made sure that it runs in its sandbox,
//! as it was approved, ends in time, and leaves nothing behind.

mod capture;
mod git;
mod group;
pub(super) mod look;

use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use domain::id::{self, AgentId};
use domain::lock::workspace::Room;
use domain::settings::Trust;
use domain::tool::{Permit, Runs, Seen};
use policy::command::Script;
use ports::tools::{Order, Outcome};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{Instant, sleep_until, timeout};

use super::own::void;
use super::{blocking, content, kept, reach};
use crate::beneath::Root;
use crate::sandbox::job::{End, Limits, Run};
use crate::sandbox::memory::{Hidden, Memory};
use crate::sandbox::{Cage, Sandbox, Started};
use capture::Capture;
use group::Group;

/// How long a command may take to end by itself once it was asked to.
const TERMINATE_MS_MAX: u64 = 2_000;
/// How long the rest of its output may take once all of it was ended.
const DRAIN_MS_MAX: u64 = 1_000;
/// A command that prints more than this is ended: nobody reads it.
const FLOOD_BYTES_MAX: u64 = 64 << 20;

/// Words that only a shell knows: a script that begins with one needs it.
const SHELL_WORDS: [&str; 29] = [
    ".", ":", "alias", "bg", "builtin", "command", "declare", "eval", "exec", "exit", "export", "fg",
    "getopts", "hash", "jobs", "let", "local", "read", "readonly", "return", "set", "shift", "source",
    "trap", "type", "ulimit", "umask", "unset", "wait",
];

/// What a command could read of `memory/`.
struct OfMemory {
    /// The places, relative to the home.
    read: Vec<String>,
    /// Why it saw nothing of it, if it should have.
    unseen: Option<String>,
}

/// How watching a command ended.
enum Watched {
    Gone(std::io::Result<ExitStatus>),
    TimedOut,
    Flooded,
}

/// Ends what commands of this home left running when its daemon was killed, and says how much it was. Blocks.
pub(super) fn end_left_over(root: &Root) -> usize {
    group::end_left_over(root.identity())
}

/// Runs a command in the agent's workspace. One that ran to its end is done, whatever its exit code.
pub(super) async fn execute(
    root: Arc<Root>,
    sandbox: Arc<Sandbox>,
    order: &Order,
    command: &str,
    (permit, trust): (Permit, Trust),
) -> Outcome {
    let mark = group::new_mark(root.identity());
    let started = {
        let (root, order, command, mark) =
            (Arc::clone(&root), order.clone(), command.to_owned(), mark.clone());
        blocking(move || start(&root, &sandbox, &order, &command, (permit, &trust), mark)).await
    };
    let (mut started, group, seen) = match started {
        Ok(started) => started,
        Err(error) => return Outcome::failed(error),
    };
    let mut streams = Streams { out: Capture::default(), err: Capture::default() };
    let watched = watch(&mut started, group, &mut streams, order.ms_max).await;
    let end = started.end();
    let (mut text, kept) = report(&root, order, &streams).await;
    if let Some(why) = &seen.unseen {
        text.push_str(&format!("\n[memory/ was not shown to it: {why}]"));
    }
    const STANDS: &str = "what it did until then stands";
    let outcome = match (watched, end) {
        (Watched::TimedOut, _) => Outcome::failed(format!(
            "ended after {} ms, with everything it started; {STANDS}\n{text}",
            order.ms_max
        )),
        (Watched::Flooded, _) => Outcome::failed(format!(
            "ended because it printed more than {FLOOD_BYTES_MAX} bytes; {STANDS}\n{text}"
        )),
        (Watched::Gone(_), Some(End::Exited(code))) => Outcome::done(format!("exit code: {code}\n{text}")),
        (Watched::Gone(_), Some(End::Signalled(signal))) => {
            Outcome::done(format!("ended by signal {signal}\n{text}"))
        }
        (Watched::Gone(_), Some(End::Limited(why))) => {
            Outcome::failed(format!("ended because {why}; {STANDS}\n{text}"))
        }
        (Watched::Gone(_), Some(End::Unmade(why))) => {
            Outcome::failed(format!("the command was not started: {why}\n{text}"))
        }
        (Watched::Gone(Ok(status)), None) => {
            Outcome::failed(format!("the sandbox ended before its command ({status}); {STANDS}\n{text}"))
        }
        (Watched::Gone(Err(e)), None) => Outcome::failed(format!("the command was lost: {e}\n{text}")),
    };
    let outcome = place(outcome, &order.room().folder(&order.agent), permit);
    let outcome = seen.read.into_iter().fold(outcome, Outcome::reading);
    match kept {
        Some(place) => outcome.writing(place),
        None => outcome,
    }
}

/// With the places that a command could read and write.
fn place(outcome: Outcome, workspace: &str, permit: Permit) -> Outcome {
    let outcome = outcome.reading(workspace);
    let outcome = if permit.network { outcome.reading("net:") } else { outcome };
    if permit.writes { outcome.writing(workspace) } else { outcome }
}

/// Looks once more whether all is as it was, and starts the command. Blocks.
fn start(
    root: &Root,
    sandbox: &Sandbox,
    order: &Order,
    command: &str,
    (permit, trust): (Permit, &Trust),
    mark: String,
) -> Result<(Started, Group, OfMemory), String> {
    let workspace = workspace(root, (&order.agent, order.room()))?;
    if let Some(refusal) = sandbox.refusal() {
        return Err(refusal);
    }
    let lack = sandbox.lack();
    let is_caged = lack.is_none();
    if let Some(lack) = lack.filter(|_| permit.is_none()) {
        return Err(format!("{lack}; so a command runs only when a person approved it"));
    }
    let places = sandbox.places(root.path())?;
    let mut variables = places.variables();
    if !is_caged {
        variables.push((group::MARK.to_owned(), mark.clone()));
    }
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let limits =
        Limits { cpu_seconds_max: (order.ms_max / 1_000 + 1).saturating_mul(cores), ..Limits::default() };
    let hidden = Hidden { agent: &order.agent, trust, files: &order.hidden };
    let (memory, unseen) = match Memory::of(root.path(), &hidden) {
        Ok(memory) => (memory, None),
        Err(why) => (Memory::default(), Some(why)),
    };
    let read = reach::of_memory(&memory, root.path(), &workspace, command);
    let cage = Cage {
        home: root.path().to_owned(),
        workspace,
        writable: permit.writes,
        network: permit.network,
        read: places.read,
        memory,
        variables,
        limits,
        run: run_of(command),
    };
    // What an approval is for must be what runs. What only reads can do no harm by reading something else.
    let is_approved = matches!(order.act.runs(), Runs::Command(_)) && !permit.is_none();
    if let Some(before) = order.seen.as_ref().filter(|_| is_approved) {
        let now = look::look(root, sandbox, (&order.agent, order.room()), command)?;
        if let Some(what) = content::difference(before, &now) {
            return Err(void(&what));
        }
    }
    let started = sandbox.start(&cage).map_err(|e| e.to_string())?;
    let group = Group::of(started.child.id(), (!is_caged).then_some(mark));
    Ok((started, group, OfMemory { read, unseen }))
}

/// From its words where they are enough, by the shell where they are not.
fn run_of(command: &str) -> Run {
    let is_plain = |script: &Script| {
        let mut all = script.pipelines.iter().flat_map(|pipeline| &pipeline.commands);
        !all.any(|simple| SHELL_WORDS.contains(&simple.words[0].text.as_str()))
    };
    match policy::command::script(command).filter(is_plain) {
        Some(_) => Run::Script(command.to_owned()),
        None => Run::Shell(command.to_owned()),
    }
}

/// The folder in which an agent works, made if need be.
fn workspace(root: &Root, (agent, room): (&AgentId, Room)) -> Result<PathBuf, String> {
    id::check(agent.as_str()).map_err(|e| e.to_string())?;
    let found = root.make_folder(&room.folder(agent)).map_err(|e| e.to_string())?;
    Ok(root.path().join(found.real))
}

struct Streams {
    out: Capture,
    err: Capture,
}

/// Reads what the command prints until it ends or must be ended; then nothing of it is left.
async fn watch(started: &mut Started, mut group: Group, streams: &mut Streams, ms_max: u64) -> Watched {
    let Streams { out, err } = streams;
    let (stdout, stderr) = (started.child.stdout.take(), started.child.stderr.take());
    let mut pumps = Box::pin(async { tokio::try_join!(pump(stdout, out), pump(stderr, err)) });
    let mut is_drained = false;
    let limit = Instant::now().checked_add(Duration::from_millis(ms_max));
    let limit = sleep_until(limit.unwrap_or_else(|| Instant::now() + Duration::from_secs(3_000_000_000)));
    tokio::pin!(limit);
    let watched = loop {
        tokio::select! {
            status = started.child.wait() => break Watched::Gone(status),
            () = &mut limit => break Watched::TimedOut,
            pumped = &mut pumps, if !is_drained => {
                is_drained = true;
                if pumped.is_err() {
                    break Watched::Flooded;
                }
            }
        }
    };
    match watched {
        Watched::Gone(_) => {}
        Watched::TimedOut | Watched::Flooded => {
            started.terminate();
            let last_words = async {
                // A command that cannot print what it still has to say would not end by itself.
                loop {
                    tokio::select! {
                        _ = started.child.wait() => return,
                        _ = &mut pumps, if !is_drained => is_drained = true,
                    }
                }
            };
            let _ = timeout(Duration::from_millis(TERMINATE_MS_MAX), last_words).await;
            started.cut();
        }
    }
    let _ = blocking(move || {
        group.end();
        Ok(())
    })
    .await;
    // Nothing is left that could hold either of these up; the limits are for what we do not foresee.
    let _ = timeout(Duration::from_millis(DRAIN_MS_MAX), started.child.wait()).await;
    if !is_drained {
        let _ = timeout(Duration::from_millis(DRAIN_MS_MAX), pumps).await;
    }
    watched
}

/// More was printed than anybody reads.
struct TooMuch;

async fn pump(stream: Option<impl AsyncRead + Unpin>, into: &mut Capture) -> Result<(), TooMuch> {
    let Some(mut stream) = stream else { return Ok(()) };
    let mut buffer = vec![0; 16 << 10];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return Ok(()),
            Ok(n) => into.push(&buffer[..n]),
        }
        if into.total() > FLOOD_BYTES_MAX {
            return Err(TooMuch);
        }
    }
}

/// What was printed, cut to the order's limit; the whole is then kept in a file for people.
async fn report(root: &Arc<Root>, order: &Order, streams: &Streams) -> (String, Option<String>) {
    let Streams { out, err } = streams;
    // Each may use what the other leaves.
    let half = order.output_bytes_max / 2;
    let out_max = half.max(order.output_bytes_max.saturating_sub(err.total()));
    let err_max = half.max(order.output_bytes_max.saturating_sub(out.total()));
    let mut text = format!("stdout:\n{}\nstderr:\n{}", shown(out, out_max), shown(err, err_max));
    if out.is_cut(out_max) || err.is_cut(err_max) {
        let whole = [b"stdout:\n".as_slice(), &out.kept(), b"\nstderr:\n", &err.kept()].concat();
        let (root, ticket) = (Arc::clone(root), order.ticket);
        match blocking(move || kept::keep(&root, ticket, &whole)).await {
            Ok(place) => {
                text.push_str(&format!(
                    "\n[the whole output stands in {place}; read_file shows it by lines]"
                ));
                return (text, Some(place));
            }
            Err(error) => text.push_str(&format!("\n[the whole output could not be kept: {error}]")),
        }
    }
    (text, None)
}

fn shown(stream: &Capture, bytes_max: u64) -> String {
    if stream.total() == 0 { "[nothing]".to_owned() } else { stream.shown(bytes_max) }
}
