//! Puts the parts together: a home that works, and a home that only takes one command.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use adapters::audit::{self, Audit, Both};
use adapters::clock::SystemClock;
use adapters::delegations;
use adapters::files::{self, Files, Setup};
use adapters::hands::{LocalHands, Reach};
use adapters::journal::Sqlite;
use adapters::lock::{Claim, HomeLock, LockError};
use adapters::problem::Problem;
use adapters::sandbox::Sandbox;
use adapters::tools::Toolbox;
use anyhow::Context as _;
use domain::effect::Effect;
use domain::event::CallEvent;
use domain::event::{Event, Finish};
use domain::id::Seq;
use domain::input::Input;
use domain::layout;
use domain::state::State;
use engine::{Engine, Handle, Parts, Stopped};
use formats::diagnostic::Diagnostic;
use ports::clock::Clock as _;
use ports::hands::Hands;
use ports::journal::JournalError;
use ports::printer::{Printer as _, Recorded};
use ports::tools::Tools;
use tokio::sync::broadcast::error::TryRecvError;
use tokio::sync::{broadcast, mpsc};

use crate::failure::{Exit, fail};

/// Events that are looked at again for the home's history; of more, only the files that change later are committed.
const UNCOMMITTED_MAX: usize = 65_536;

/// A home in which Synod works.
pub struct Running {
    /// Speaks to the loop.
    pub handle: Handle,
    /// What files cannot be read.
    pub problems: mpsc::Receiver<Problem>,
    /// The models, for what their scripts have to report.
    pub reach: Reach,
    /// The last event of those who worked here before.
    pub before: Seq,
    /// Calls of which the files alone cannot tell what became: whose, and what is known.
    pub unknown: Vec<(String, String)>,
    files: Files,
    engine: JoinHandle<Result<(), Stopped>>,
    desk: JoinHandle<()>,
    audit: Audit,
    scribe: JoinHandle<()>,
    clerk: JoinHandle<()>,
    /// What must still be there for this process to go on.
    pub claim: Claim,
    _lock: HomeLock,
}

/// The journal of a home.
const JOURNAL: &str = layout::JOURNAL;

/// Whether this process carries things out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// It works: watches, asks models, runs tools.
    Work,
    /// It only leaves a mark for whoever works next.
    Mark,
}

/// The socket of a home.
pub fn socket(home: &Path) -> PathBuf {
    home.join(layout::SOCKET)
}

/// Whether a process works in the home now.
pub fn is_running(home: &Path) -> bool {
    web::client::is_served(&socket(home))
}

/// How long a command waits for another that has the home and cannot be spoken to: it begins, ends, or is short too.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// How long for many of them, one after the other.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(60);
/// How often it looks meanwhile whether the other can be spoken to by now.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How often a command begins anew because whom it spoke to has ended without taking anything.
pub const TRIES: u32 = 3;

/// Who works in a home.
pub enum Worker {
    /// Another process, which can be spoken to.
    Other,
    /// This one.
    Me(HomeLock),
}

/// Finds out who works in a home; waits a moment for who can only be waited for.
pub fn worker(home: &Path) -> anyhow::Result<Worker> {
    if is_running(home) {
        return Ok(Worker::Other);
    }
    let waiting = HomeLock::wait(home);
    let began = Instant::now();
    let (mut owner, mut since) = (None, began);
    loop {
        match waiting.within(LOOK_EVERY) {
            Ok(lock) => return Ok(Worker::Me(lock)),
            Err(LockError::Held { .. }) if is_running(home) => return Ok(Worker::Other),
            Err(LockError::Held { pid, .. }) if pid != owner && began.elapsed() < LOCK_WAIT_MAX => {
                (owner, since) = (pid, Instant::now());
            }
            Err(LockError::Held { .. }) if since.elapsed() < LOCK_WAIT => {}
            Err(error) => return Err(unlocked(error)),
        }
    }
}

/// The right to work in a home, for who has no use for another that does.
pub fn own(home: &Path) -> anyhow::Result<HomeLock> {
    match worker(home)? {
        Worker::Me(lock) => Ok(lock),
        Worker::Other => HomeLock::take(home).map_err(unlocked),
    }
}

fn unlocked(error: LockError) -> anyhow::Error {
    match error {
        LockError::Held { .. } => {
            fail(Exit::Failed, error.to_string(), "use the one that runs, or stop it first")
        }
        LockError::Storage { .. } => error.into(),
    }
}

/// Opens a home that this process has the lock of: rebuilds the state, finds what people changed meanwhile.
pub async fn open(home: &Path, lock: HomeLock, does: Does) -> anyhow::Result<Running> {
    let journal = Sqlite::open(&home.join(JOURNAL)).map_err(|error| unopened(&error))?;
    let claim = lock.claim(&[JOURNAL]).with_context(|| format!("cannot work in {}", home.display()))?;
    let journal = journal.claimed(claim.clone());
    let mut engine = Engine::open(Box::new(journal)).map_err(|error| unopened(&error))?;
    let clock = Arc::new(SystemClock);
    let sandbox = Arc::new(Sandbox::of_this_program()?);
    let toolbox = Toolbox::new(home.to_owned(), clock.clone())?.caged(sandbox);
    if does == Does::Work {
        // A process that was killed may have left commands behind; nobody waits for them any more.
        toolbox.end_left_over();
    }
    let tools: Arc<dyn Tools> = Arc::new(toolbox);
    let printed = engine.printed()?;
    let untold = untold(home, &mut engine, printed)?;
    let uncommitted = uncommitted(home, &mut engine)?;
    let state = engine.state().clone();
    let known = state.clone();
    let before = state.seq;
    let reach = Reach::default();
    let runtime = tokio::runtime::Handle::current();
    let mut made = None;
    let (handle, thread) = engine::spawn(engine, |handle| {
        let inputs: Arc<dyn ports::inputs::Inputs> = Arc::new(handle);
        let setup = Setup {
            home: home.to_owned(),
            state,
            inputs: inputs.clone(),
            tools: tools.clone(),
            printed,
            watch: does == Does::Work,
            uncommitted,
            claim: claim.clone(),
        };
        let (files, problems, desk) = files::spawn(setup)?;
        let hands: Box<dyn Hands> = match does {
            Does::Work => Box::new(LocalHands::new(
                home.to_owned(),
                runtime,
                inputs,
                files.clone(),
                tools,
                reach.clone(),
            )),
            Does::Mark => Box::new(NoHands),
        };
        let told = untold.first().map_or(printed, |first| Seq(first.seq.0 - 1));
        let (mut audit, scribe) = audit::spawn(home, &known, told, clock.now(), Box::new(files.clone()))?;
        if !untold.is_empty() {
            audit.print(untold.into());
        }
        let people = files.clone();
        let complain = move |message| people.complain(delegations::FILE, message);
        let (log, clerk) = delegations::spawn(home, &known, Box::new(complain))?;
        made = Some((files.clone(), problems, desk, audit.clone(), scribe, clerk));
        Ok(Parts { hands, printer: Box::new(Both(log, Both(files, audit))), clock })
    })
    .with_context(|| format!("cannot work in {}", home.display()))?;
    let (files, problems, desk, audit, scribe, clerk) =
        made.context("the files of the home were not opened")?;
    // What was not printed before the last stop is on its way to the files once the loop answers.
    handle.look(|_| ()).await?;
    let mut events = handle.listen();
    files.scan().await;
    // Behind the answer stands all that follows from the files.
    handle.look(|_| ()).await?;
    let unknown = calls_unknown(&mut events);
    Ok(Running {
        handle,
        problems,
        reach,
        before,
        unknown,
        files,
        engine: thread,
        desk,
        audit,
        scribe,
        clerk,
        claim,
        _lock: lock,
    })
}

/// Events that were printed and that the audit log does not remember: a power cut may take what it remembers.
fn untold(home: &Path, engine: &mut Engine, printed: Seq) -> anyhow::Result<Vec<Recorded>> {
    let mut events: Vec<Recorded> = Vec::new();
    let mut reached = audit::remembered(home).unwrap_or(printed);
    while reached < printed {
        let more = engine.events_after(reached)?;
        let Some(last) = more.last() else { break };
        reached = last.seq;
        events.extend(more.iter().filter(|recorded| recorded.seq <= printed).cloned());
    }
    Ok(events)
}

/// Events that may not be in the home's git history: a process that was killed had no time to commit them.
fn uncommitted(home: &Path, engine: &mut Engine) -> anyhow::Result<Vec<Recorded>> {
    let mut events: Vec<Recorded> = Vec::new();
    let mut reached = adapters::git::history::committed(home).unwrap_or(Seq(0));
    while events.len() < UNCOMMITTED_MAX {
        let more = engine.events_after(reached)?;
        let Some(last) = more.last() else { break };
        reached = last.seq;
        events.extend_from_slice(&more);
    }
    Ok(events)
}

/// Calls that may have run when the journal was lost: whose, and what is known of them.
fn calls_unknown(events: &mut broadcast::Receiver<Recorded>) -> Vec<(String, String)> {
    let mut unknown = Vec::new();
    loop {
        match events.try_recv().map(|recorded| recorded.event) {
            Ok(Event::Call(CallEvent::Finished { session, finish: Finish::Unknown, message, .. })) => {
                let agent = session.as_str().rsplit_once('-').map_or("", |(agent, _)| agent);
                unknown.push((agent.to_owned(), message.content));
            }
            Ok(_) | Err(TryRecvError::Lagged(_)) => {}
            Err(TryRecvError::Empty | TryRecvError::Closed) => return unknown,
        }
    }
}

/// What to do about a journal that cannot be used.
fn unopened(error: &JournalError) -> anyhow::Error {
    let help = match error {
        JournalError::Lost { path } => return lost(path),
        JournalError::TooNew { .. } => "a newer synod wrote it: use that one, or a later one",
        JournalError::Storage { reason, .. } if reason.contains("full") => {
            "make room on the disk and start again: what was answered is kept"
        }
        JournalError::Storage { .. } | JournalError::Damaged { .. } | JournalError::Gap { .. } => {
            "if the disk is well, keep a copy of .synod, then delete it: Synod goes on from the files"
        }
    };
    fail(Exit::Failed, error.to_string(), help)
}

/// What work waits for, in one line.
pub fn held(wrong: &Diagnostic) -> String {
    let Diagnostic { path, line, column, message, .. } = wrong;
    format!("{path}:{line}:{column}: {message}; all work waits for it")
}

/// The home was taken from under this process.
fn lost(path: &str) -> anyhow::Error {
    fail(
        Exit::Failed,
        format!(
            "{path} was deleted or replaced while synod worked here; it has stopped and writes nothing more"
        ),
        "start again: Synod goes on from the files; stop it before you delete .synod or move the home",
    )
}

impl Running {
    /// The files of the home.
    pub fn files(&self) -> Files {
        self.files.clone()
    }

    /// Refuses what would begin, or be given to somebody, under settings that do not read where none ever did.
    pub fn may_begin(&self) -> anyhow::Result<()> {
        let wrong = self.files.held().borrow().as_ref().map(held);
        let help = "mend it and give the command again; `synod check` shows all that is wrong";
        wrong.map_or(Ok(()), |wrong| Err(fail(Exit::Failed, wrong, help)))
    }

    /// Begins to work: takes up what was under way and starts what is ready.
    pub async fn start(&self) -> anyhow::Result<()> {
        self.may_begin()?;
        self.handle.submit(Input::Started).await?.context("the home was not started")?;
        Ok(())
    }

    /// Winds down: nothing new begins, tools may finish, everything is printed.
    pub async fn close(self) -> anyhow::Result<()> {
        self.audit.give_up_waiting();
        if let Some(path) = self.claim.lost() {
            return Err(self.abandon(&path).await);
        }
        self.handle.stop().await;
        let Self { engine, desk, files, handle, audit, scribe, clerk, .. } = self;
        drop(handle);
        let ended = tokio::task::spawn_blocking(move || engine.join()).await?;
        if let Ok(Err(Stopped::Journal(error @ JournalError::Lost { .. }))) = &ended {
            // Whoever would sign and commit what is left writes into a home that is no longer ours.
            std::mem::forget((audit, files));
            return Err(unopened(error));
        }
        // It ends with the engine, who alone has events for it.
        tokio::task::spawn_blocking(move || clerk.join())
            .await?
            .map_err(|_| anyhow::anyhow!("the thread of the delegation log panicked"))?;
        // The log is signed before the desk puts the checkpoint into the history.
        tokio::task::spawn_blocking(move || {
            audit.stop();
            scribe.join()
        })
        .await?
        .map_err(|_| anyhow::anyhow!("the audit thread panicked"))?;
        files.stop().await;
        tokio::task::spawn_blocking(move || desk.join())
            .await?
            .map_err(|_| anyhow::anyhow!("the file thread panicked"))?;
        let ended = ended.map_err(|_| anyhow::anyhow!("the engine thread panicked"))?;
        ended.map_err(|error| match &error {
            Stopped::Journal(journal) => unopened(journal),
            Stopped::Broken | Stopped::Abandoned => error.into(),
        })
    }

    /// Ends what runs and leaves the home as it is. Gives the reason.
    async fn abandon(self, path: &Path) -> anyhow::Error {
        self.handle.abandon().await;
        let Self { engine, files, audit, .. } = self;
        // Whatever it ended with, this is why.
        _ = tokio::task::spawn_blocking(move || engine.join()).await;
        // Whoever has no more to hear signs and commits what is left: these never get to that.
        std::mem::forget((audit, files));
        lost(&path.display().to_string())
    }
}

/// For commands that only leave a mark: the engine never asks them for anything before it is started.
struct NoHands;

impl Hands for NoHands {
    fn perform(&mut self, _: &State, _: Effect) {}
    fn wind_down(&mut self) {}
    fn abort(&mut self) {}
}
