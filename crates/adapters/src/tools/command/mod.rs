//! Running commands. Whether one may run was decided before; here it is only made sure that it runs in its
//! workspace, ends in time, and leaves nothing behind.

mod capture;
mod group;
mod words;

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use domain::id::{self, Seq};
use ports::tools::{Order, Outcome};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until, timeout};

use super::beneath::Root;
use super::blocking;
use capture::Capture;
use group::Group;

/// Where programs are looked for.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How long a command may take to end by itself once it was asked to.
const TERMINATE_MS_MAX: u64 = 2_000;
/// How long the rest of its output may take once all of it was ended.
const DRAIN_MS_MAX: u64 = 1_000;
/// A command that prints more than this is ended: nobody reads it.
const FLOOD_BYTES_MAX: u64 = 64 << 20;
/// Where the whole output of a command stands when it was cut, relative to the home.
const OUTPUT_FOLDER: &str = ".synod/output";

/// How a command came to its end.
enum End {
    Exited(std::io::Result<ExitStatus>),
    TimedOut,
    Flooded,
}

/// Ends what commands of this home left running when its daemon was killed, and says how much it was. Blocks.
pub(super) fn end_left_over(root: &Root) -> usize {
    group::end_left_over(root.identity())
}

/// Runs a command in the agent's workspace. One that ran to its end is done, whatever its exit code.
pub(super) async fn execute(root: Arc<Root>, order: &Order, command: &str) -> Outcome {
    let workspace = match workspace(Arc::clone(&root), order).await {
        Ok(workspace) => workspace,
        Err(error) => return Outcome::failed(error),
    };
    let mark = group::new_mark(root.identity());
    let (mut child, program) = match spawn(command, &workspace, &mark) {
        Ok(started) => started,
        Err(error) => return Outcome::failed(error),
    };
    let group = Group::of(child.id(), mark);
    let mut streams = Streams { out: Capture::default(), err: Capture::default() };
    let end = watch(&mut child, group, &mut streams, order.ms_max).await;
    let text = report(&root, order, &streams).await;
    match end {
        End::Exited(Ok(status)) => Outcome::done(format!("{}\n{text}", status_words(status))),
        End::Exited(Err(e)) => Outcome::failed(format!("{program} was lost: {e}\n{text}")),
        End::TimedOut => Outcome::failed(format!(
            "ended after {} ms, with everything it started; what it did until then stands\n{text}",
            order.ms_max
        )),
        End::Flooded => Outcome::failed(format!(
            "ended because it printed more than {FLOOD_BYTES_MAX} bytes; what it did until then stands\n{text}"
        )),
    }
}

async fn workspace(root: Arc<Root>, order: &Order) -> Result<PathBuf, String> {
    let agent = order.agent.clone();
    id::check(agent.as_str()).map_err(|e| e.to_string())?;
    blocking(move || {
        let found = root.make_folder(&format!("workspaces/{agent}")).map_err(|e| e.to_string())?;
        Ok(root.path().join(found.real))
    })
    .await
}

fn spawn(command: &str, workspace: &Path, mark: &str) -> Result<(Child, String), String> {
    let words = match words::plain(command) {
        Some(words) => words,
        // Without `--`, a command that begins with a dash would be an option of the shell.
        None => ["/bin/sh", "-c", "--", command].map(str::to_owned).into(),
    };
    let [program, arguments @ ..] = words.as_slice() else { return Err("the command is empty".to_owned()) };
    let child = Command::new(program)
        .args(arguments)
        .current_dir(workspace)
        .env_clear()
        .env("PATH", PATH)
        .env("HOME", workspace)
        .env("LANG", "C.UTF-8")
        .env(group::MARK, mark)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    match child {
        Ok(child) => Ok((child, program.clone())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Err(format!("there is no program {program:?} in {PATH}"))
        }
        Err(e) => Err(format!("{program} cannot be started: {e}")),
    }
}

struct Streams {
    out: Capture,
    err: Capture,
}

/// Reads what the command prints until it ends or must be ended; then nothing of it is left.
async fn watch(child: &mut Child, mut group: Group, streams: &mut Streams, ms_max: u64) -> End {
    let Streams { out, err } = streams;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let mut pumps = Box::pin(async { tokio::try_join!(pump(stdout, out), pump(stderr, err)) });
    let mut is_drained = false;
    let limit = Instant::now().checked_add(Duration::from_millis(ms_max));
    let limit = sleep_until(limit.unwrap_or_else(|| Instant::now() + Duration::from_secs(3_000_000_000)));
    tokio::pin!(limit);
    let end = loop {
        tokio::select! {
            status = child.wait() => break End::Exited(status),
            () = &mut limit => break End::TimedOut,
            pumped = &mut pumps, if !is_drained => {
                is_drained = true;
                if pumped.is_err() {
                    break End::Flooded;
                }
            }
        }
    };
    match end {
        End::Exited(_) => {}
        End::TimedOut | End::Flooded => {
            group.terminate();
            let last_words = async {
                // A command that cannot print what it still has to say would not end by itself.
                loop {
                    tokio::select! {
                        _ = child.wait() => return,
                        _ = &mut pumps, if !is_drained => is_drained = true,
                    }
                }
            };
            let _ = timeout(Duration::from_millis(TERMINATE_MS_MAX), last_words).await;
        }
    }
    let _ = blocking(move || {
        group.end();
        Ok(())
    })
    .await;
    // Nothing is left that could hold either of these up; the limits are for what we do not foresee.
    let _ = timeout(Duration::from_millis(DRAIN_MS_MAX), child.wait()).await;
    if !is_drained {
        let _ = timeout(Duration::from_millis(DRAIN_MS_MAX), pumps).await;
    }
    end
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
async fn report(root: &Root, order: &Order, streams: &Streams) -> String {
    let Streams { out, err } = streams;
    // Each may use what the other leaves.
    let half = order.output_bytes_max / 2;
    let out_max = half.max(order.output_bytes_max.saturating_sub(err.total()));
    let err_max = half.max(order.output_bytes_max.saturating_sub(out.total()));
    let mut text = format!("stdout:\n{}\nstderr:\n{}", shown(out, out_max), shown(err, err_max));
    if out.is_cut(out_max) || err.is_cut(err_max) {
        let whole = [b"stdout:\n".as_slice(), &out.kept(), b"\nstderr:\n", &err.kept()].concat();
        let folder = root.path().join(OUTPUT_FOLDER);
        let effect = order.ticket.effect;
        text.push_str(&match blocking(move || keep(&folder, effect, &whole)).await {
            Ok(name) => format!("\n[the whole output is kept for people in {OUTPUT_FOLDER}/{name}]"),
            Err(error) => format!("\n[the whole output could not be kept: {error}]"),
        });
    }
    text
}

fn shown(stream: &Capture, bytes_max: u64) -> String {
    if stream.total() == 0 { "[nothing]".to_owned() } else { stream.shown(bytes_max) }
}

fn keep(folder: &Path, effect: Seq, whole: &[u8]) -> Result<String, String> {
    let name = format!("{effect}.txt");
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(folder.join(&name), whole))
        .map_err(|e| e.to_string())?;
    Ok(name)
}

fn status_words(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code: {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended in an unknown way".to_owned(),
    }
}
