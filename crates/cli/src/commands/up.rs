//! `synod up`: works in the home until it is told to stop.

use std::path::Path;
use std::sync::Arc;

use adapters::lock::HomeLock;
use formats::diagnostic::render;
use tokio::signal::unix::{Signal, SignalKind, signal};
use web::server::{Files, Server, Serving};

use super::screen::{Asks, Screen};
use super::story::{Told, show};
use crate::failure::{Exit, fail};
use crate::out::{Out, Tone};
use crate::wire::{self, Does, Running};

/// Said at each start of a home whose owner lets commands run without a sandbox.
const UNSAFE: &str = "warning: synod.yaml says `sandbox: {unsafe: true}`: where this system offers no sandbox, an approved command \
     of an agent runs with all your rights, on your files and network";

pub fn run(home: &Path, out: &Out) -> anyhow::Result<Exit> {
    let lock = wire::own(home)?;
    runtime()?.block_on(async {
        let Open { mut running, mut interrupt, server } = open(home, lock, out).await?;
        let worked = work(&mut running, &mut interrupt, home, out).await;
        server.close().await;
        // If it could not go on, whoever ends it knows why.
        finish(running, out).await?;
        worked?;
        Ok(Exit::Ok)
    })
}

async fn work(
    running: &mut Running,
    interrupt: &mut Interrupt,
    home: &Path,
    out: &Out,
) -> anyhow::Result<()> {
    let asks = if out.asks() { Asks::Person } else { Asks::Nobody };
    let mut screen = Screen::here(&running.handle, home, asks, out).await?;
    if !until_mended(running, interrupt, home, out).await {
        return Ok(());
    }
    running.start().await?;
    if !out.json {
        out.say(format!("synod works in {} (Ctrl-C stops it)", home.display()));
    }
    tell_going_on(home, running, out);
    let mut pulse = running.handle.pulse();
    let claim = running.claim.clone();
    loop {
        tokio::select! {
            () = claim.until_lost() => break,
            () = interrupt.wait() => break,
            goes_on = screen.turn() => if !goes_on { break },
            Some(problem) = running.problems.recv() => tell_problem(home, &problem, out),
            changed = pulse.changed() => if changed.is_err() { break },
        }
    }
    drop(screen);
    if !out.json && claim.lost().is_none() {
        out.say("stopping: waiting for running tools to finish");
    }
    Ok(())
}

/// Waits while settings keep everything from beginning; says whether to go on.
async fn until_mended(running: &mut Running, interrupt: &mut Interrupt, home: &Path, out: &Out) -> bool {
    let mut held = running.files().held();
    let claim = running.claim.clone();
    loop {
        let wrong = held.borrow_and_update().as_ref().map(wire::held);
        let Some(wrong) = wrong else { return true };
        if !out.json {
            out.say(format!("{wrong}, and goes on by itself when it is mended (Ctrl-C stops it)"));
        }
        loop {
            tokio::select! {
                () = claim.until_lost() => return false,
                () = interrupt.wait() => return false,
                Some(problem) = running.problems.recv() => tell_problem(home, &problem, out),
                changed = held.changed() => match changed {
                    Ok(()) => break,
                    Err(_) => return false,
                },
            }
        }
    }
}

/// A runtime for commands that work.
pub fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    adapters::hands::allow_many_files();
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

/// A home that is worked in by this process, which others can speak to.
pub struct Open {
    pub running: Running,
    pub interrupt: Interrupt,
    pub server: Serving,
}

/// Opens the home and serves its socket. Where that fails, nothing is left open.
pub async fn open(home: &Path, lock: HomeLock, out: &Out) -> anyhow::Result<Open> {
    let running = wire::open(home, lock, Does::Work).await?;
    if running.handle.look(|state| state.config.settings.sandbox.is_unsafe).await? {
        out.say(UNSAFE);
    }
    let interrupt = Interrupt::listen()?;
    match Server::bind(&wire::socket(home)) {
        Ok(server) => Ok(Open { server: serve(server, &running), running, interrupt }),
        Err(error) => {
            // If the home was taken away meanwhile, this says so.
            running.close().await?;
            let what = format!("cannot serve {}: {error}", wire::socket(home).display());
            Err(fail(
                Exit::Failed,
                what,
                "other commands speak to this one there: .synod must be a folder of yours",
            ))
        }
    }
}

/// Serves the home's socket.
fn serve(server: Server, running: &Running) -> Serving {
    let (desk, reading, held) = (running.files(), running.files(), running.files().held());
    let files = Files {
        read: Arc::new(move || {
            let files = reading.clone();
            Box::pin(async move { files.scan().await })
        }),
        printed: Arc::new(move || {
            let files = desk.clone();
            Box::pin(async move { files.settled().await })
        }),
        held: Arc::new(move || held.borrow().as_ref().map(wire::held)),
    };
    server.beside(files).spawn(running.handle.clone())
}

/// A person presses Ctrl-C or closes the terminal, or the system asks to stop.
pub struct Interrupt {
    ctrl_c: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Interrupt {
    /// Listens from now on. Before anything is served or begun: until somebody listens, a signal ends the
    /// process on the spot, and what was asked to stop would not wind down.
    pub fn listen() -> std::io::Result<Self> {
        Ok(Self {
            ctrl_c: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Ends when one came, also if it came before this was called.
    pub async fn wait(&mut self) {
        tokio::select! {
            _ = self.ctrl_c.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

/// Tells that work was done in the home before.
pub fn tell_going_on(home: &Path, running: &Running, out: &Out) {
    if !out.json && running.before.0 > 0 {
        let line = format!("goes on in {} after event {}", home.display(), running.before);
        out.line(out.dim(&line));
    }
    tell_unknown(running, out);
}

/// Tells of calls that may have run, and nobody knows: the journal that knew was deleted.
pub fn tell_unknown(running: &Running, out: &Out) {
    if out.json {
        return;
    }
    for (agent, known) in &running.unknown {
        let what = format!("does not know what became of a call of {agent}: {known}");
        show(
            &Told { who: "synod".to_owned(), what, tone: Tone::Bad, detail: Vec::new(), is_of_end: false },
            out,
        );
    }
}

/// Tells what is wrong with a file while the team works.
pub fn tell_problem(home: &Path, problem: &adapters::problem::Problem, out: &Out) {
    let now = || std::fs::read_to_string(home.join(&problem.diagnostic.path)).ok();
    let text = problem.text.clone().or_else(now);
    out.say(render(&problem.diagnostic, text.as_deref(), false));
}

/// Winds down and reports rules of scripts that nobody needed. A process that only went on with the work of
/// another cannot know.
pub async fn finish(running: Running, out: &Out) -> anyhow::Result<()> {
    let (reach, saw_all) = (running.reach.clone(), running.before.0 == 0);
    running.close().await?;
    let unused = reach.unmatched();
    if !out.json && saw_all && !unused.is_empty() {
        let lines: Vec<String> = unused.iter().map(|rule| format!("{}:{}", rule.file, rule.line)).collect();
        out.say(format!("scripted rules that never matched: {}", lines.join(", ")));
    }
    Ok(())
}
