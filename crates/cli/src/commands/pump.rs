//! `synod pump`: does all that can be done now, and exits.

use std::path::Path;
use std::time::Duration;

use adapters::lock::HomeLock;
use serde_json::json;
use web::api::{Request, Response, TaskView};
use web::client::ClientError;
use web::server::Patience;

use super::screen::{Asks, Screen};
use super::{inbox, up};
use crate::failure::{Exit, fail};
use crate::out::Out;
use crate::text;
use crate::view;
use crate::view::tasks::Tasks;
use crate::wire::{self, Running, Worker};

/// How long the end waits for the files to be printed.
const PRINT_WAIT: Duration = Duration::from_secs(2);

pub fn run(home: &Path, timeout: u64, out: &Out) -> anyhow::Result<Exit> {
    for _ in 0..wire::TRIES {
        match wire::worker(home)? {
            Worker::Me(lock) => return alone(home, lock, timeout, out),
            Worker::Other => {
                // The daemon does the work; this waits until it has done all it can.
                if let Some(awaited) = await_daemon(home, None, timeout)? {
                    return Ok(report(home, (awaited.exit, Next::Daemon), awaited.approvals, timeout, out));
                }
            }
        }
    }
    Err(ended())
}

fn alone(home: &Path, lock: HomeLock, timeout: u64, out: &Out) -> anyhow::Result<Exit> {
    up::runtime()?.block_on(async {
        let up::Open { mut running, mut interrupt, server } = up::open(home, lock, out).await?;
        let worked = work(&mut running, &mut interrupt, home, timeout, out).await;
        let approvals = running.handle.pulse().borrow().approvals;
        server.close().await;
        // If it could not go on, whoever ends it knows why.
        up::finish(running, out).await?;
        Ok(report(home, (worked?, Next::Start), approvals, timeout, out))
    })
}

async fn work(
    running: &mut Running,
    interrupt: &mut up::Interrupt,
    home: &Path,
    timeout: u64,
    out: &Out,
) -> anyhow::Result<Exit> {
    let mut screen = Screen::here(&running.handle, home, Asks::Nobody, out).await?;
    running.start().await?;
    up::tell_unknown(running, out);
    let exit = until_idle(running, interrupt, &mut screen, home, timeout, out).await?;
    // Who wrote to an agent has nothing else that tells it from an answer.
    Ok(if exit == Exit::Ok && screen.story.unanswered() > 0 { Exit::Failed } else { exit })
}

/// Who goes on with what is not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A daemon, by itself.
    Daemon,
    /// Whoever starts next.
    Start,
}

impl Next {
    /// What comes when a person has done their part.
    pub fn then(self) -> &'static str {
        match self {
            Self::Daemon => "then the daemon goes on by itself",
            Self::Start => "then go on with `synod pump`",
        }
    }
}

/// Tells how it ended; that a person has something to do stands in the files alone.
fn report(home: &Path, (exit, next): (Exit, Next), approvals: usize, timeout: u64, out: &Out) -> Exit {
    let tasks = view::tasks::read(home);
    let due: Vec<usize> = tasks.for_people().collect();
    let exit = with_chores(exit, due.len());
    if out.json {
        let ids: Vec<&str> = due.iter().filter_map(|index| tasks.list[*index].id()).collect();
        let waiting = approvals + due.len();
        out.value(json!({
            "waiting": waiting,
            "approvals": approvals,
            "tasks": ids,
            "providers": view::outages::json(&view::spent::known(home)),
            "timed_out": exit == Exit::TimedOut,
        }));
    } else if exit == Exit::Waiting && approvals == 0 {
        out.say(what_waits(&tasks, &due, next));
    } else if exit == Exit::Waiting {
        let what = inbox::waits(approvals, due.len());
        out.say(format!("{what} for you: `synod inbox` shows what and how to answer"));
    } else if exit == Exit::Limit {
        out.say("a budget keeps work from going on: `synod budget show` says which, `synod inbox` what you can do");
    } else if exit == Exit::TimedOut && view::outages::say(home, out) {
        out.say(match next {
            Next::Daemon => "the daemon tries again by itself",
            Next::Start => "what waits is kept; go on with `synod pump` or `synod up`",
        });
    } else if exit == Exit::TimedOut {
        let then = match next {
            Next::Daemon => "the daemon goes on",
            Next::Start => "what is under way goes on with the next start",
        };
        out.say(format!("not done within {timeout} s; {then}"));
    }
    exit
}

/// How a command ends that leaves so many tasks for people to do.
pub fn with_chores(exit: Exit, due: usize) -> Exit {
    match exit {
        Exit::Ok | Exit::Limit if due > 0 => Exit::Waiting,
        Exit::Ok
        | Exit::Limit
        | Exit::Waiting
        | Exit::Failed
        | Exit::Key
        | Exit::Usage
        | Exit::Denied
        | Exit::Unreachable
        | Exit::TimedOut
        | Exit::Interrupted => exit,
    }
}

/// Tasks for people, in one line: which, and how to answer the first.
pub fn what_waits(tasks: &Tasks, due: &[usize], next: Next) -> String {
    let Some(first) = due.first().map(|index| &tasks.list[*index]) else { return String::new() };
    let (id, title) = (first.id().unwrap_or("a task"), text::line(&first.spec.title));
    let more = match due.len() - 1 {
        0 => String::new(),
        n => format!(" (and {n} more: `synod inbox`)"),
    };
    format!("{id} \"{title}\" waits for you{more}: {}; {}", tasks.how_to_answer(first), next.then())
}

/// What the daemon said when there was nothing more to wait for.
pub struct Awaited {
    /// Where the task stands, if one was named.
    pub task: Option<TaskView>,
    /// The last event by then.
    pub seq: u64,
    /// Approvals that wait.
    pub approvals: usize,
    /// What a command that only waits ends with.
    pub exit: Exit,
}

/// Waits, through the socket, for a task or for the loop to have nothing to do; nothing if the daemon ended meanwhile.
pub fn await_daemon(home: &Path, task: Option<&str>, timeout: u64) -> anyhow::Result<Option<Awaited>> {
    let request = Request::Await { task: task.map(str::to_owned), ms_max: timeout.saturating_mul(1000) };
    let patience = Duration::from_secs(timeout.saturating_add(10));
    match web::client::ask_within(&wire::socket(home), &request, patience) {
        Ok(Response::Awaited { task, approvals, parked, offline, timed_out, seq }) => {
            let exit = if timed_out { Exit::TimedOut } else { left(approvals, parked, offline) };
            Ok(Some(Awaited { task, seq, approvals, exit }))
        }
        Ok(Response::Refused { reason }) if reason == engine::Closed.to_string() => Ok(None),
        Err(ClientError::Unreachable { .. } | ClientError::Ended) => Ok(None),
        Ok(Response::Refused { reason } | Response::Bad { reason }) => {
            Err(fail(Exit::Failed, reason, "the daemon goes on by itself when it is mended"))
        }
        Ok(Response::Done { .. } | Response::Live(_) | Response::Waits(_) | Response::Runs(_)) => {
            Err(odd_answer())
        }
        Err(error @ (ClientError::Silent { .. } | ClientError::Garbled(_))) => Err(unreachable(&error)),
    }
}

impl Awaited {
    /// Somebody here did not want to wait any longer.
    pub fn interrupted() -> Self {
        Self { task: None, seq: 0, approvals: 0, exit: Exit::Interrupted }
    }
}

/// How a command ends that leaves so much for others to decide.
fn left(approvals: usize, parked: usize, offline: usize) -> Exit {
    match (approvals, parked.saturating_sub(offline), offline) {
        (0, 0, 0) => Exit::Ok,
        (0, 0, _) => Exit::TimedOut,
        (0, _, _) => Exit::Limit,
        (_, _, _) => Exit::Waiting,
    }
}

/// The daemon is of another version, or out of its mind.
pub fn odd_answer() -> anyhow::Error {
    fail(Exit::Failed, "the daemon gave another answer than was asked for", "stop it and start it again")
}

/// The daemon was there a moment ago.
pub fn unreachable(error: &ClientError) -> anyhow::Error {
    let help = match error {
        ClientError::Unreachable { .. } => "is `synod up` still running in this home?",
        ClientError::Silent { .. } | ClientError::Ended | ClientError::Garbled(_) => {
            "it may have been done or not: look with `synod status` before you give it again"
        }
    };
    fail(Exit::Unreachable, error.to_string(), help)
}

/// One after the other began, and ended before it could be spoken to.
pub fn ended() -> anyhow::Error {
    fail(Exit::Unreachable, "whoever works in this home ends before it answers", "try again in a moment")
}

/// Works and tells until nothing more can be done without somebody outside.
pub async fn until_idle(
    running: &mut Running,
    interrupt: &mut up::Interrupt,
    screen: &mut Screen<'_>,
    home: &Path,
    timeout: u64,
    out: &Out,
) -> anyhow::Result<Exit> {
    let mut pulse = running.handle.pulse();
    let most = running.handle.look(|state| state.config.settings.limits.outage_wait_ms_max).await?;
    let mut patience = Patience::new(most);
    let claim = running.claim.clone();
    let over = tokio::time::sleep(Duration::from_secs(timeout));
    tokio::pin!(over);
    loop {
        // Somebody at this terminal may still answer.
        let seen = *pulse.borrow_and_update();
        patience.look(&seen);
        if seen.idle {
            screen.catch_up();
        }
        let is_asking = screen.is_asking();
        // An answer may be on the screen before the loop has gone on with it.
        let is_behind = seen.seq.0 < screen.seq;
        if seen.idle && patience.is_over(&seen) && !is_asking && !is_behind {
            // What is wrong with the files is known when they were printed; a file that cannot be must not hold this up.
            _ = tokio::time::timeout(PRINT_WAIT, running.files().settled()).await;
            while let Ok(problem) = running.problems.try_recv() {
                up::tell_problem(home, &problem, out);
            }
            let now = *pulse.borrow();
            return Ok(left(now.approvals, now.parked, now.offline.unwrap_or_default()));
        }
        tokio::select! {
            () = interrupt.wait() => return Ok(Exit::Interrupted),
            // Whoever closes the home says why.
            () = claim.until_lost() => return Ok(Exit::Failed),
            // Who thinks about an answer is not hurried.
            () = &mut over, if !is_asking => return Ok(Exit::TimedOut),
            () = patience.wait() => {}
            goes_on = screen.turn() => if !goes_on { return Ok(Exit::Failed) },
            Some(problem) = running.problems.recv() => up::tell_problem(home, &problem, out),
            changed = pulse.changed() => if changed.is_err() { return Ok(Exit::Failed) },
        }
    }
}
