//! The files of a home: printing what happened into them, and noticing what people do to them.
//!
//! One thread, the desk, owns all of it, so that there is one writer. It keeps a copy of the state as printed;
//! whatever a file says beyond that, a person said.

mod agents;
mod approvals;
mod cabinet;
mod chronicle;
mod cycles;
mod desk;
mod flush;
mod fresh;
mod hold;
mod ids;
mod inbox;
mod labels;
mod looks;
mod outbox;
mod owned;
mod places;
mod recent;
mod reports;
mod session_op;
mod sessions;
mod stamps;
mod statuses;
mod strangers;
mod tasks;
mod ties;
mod turned;
mod usage;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use domain::id::{Seq, SessionId};
use domain::state::State;
use ports::inputs::Inputs;
use ports::printer::{Printer, Recorded};
use ports::tools::Tools;
use tokio::sync::{mpsc, oneshot};

pub use hold::Held;
pub use looks::DEBOUNCE;
pub use recent::STALE_SAVE;
pub use usage::found as usage_found;

use crate::audit::Listener;
use crate::audit::note::Checkpoint;
use crate::disk::yield_to_others;
use crate::git::history::History;
use crate::lock::Claim;
use crate::problem::Problem;
use crate::session::Conversation;
use fresh::Fresh;

/// Jobs that may wait for the desk; whoever gives more waits.
const JOBS_MAX: usize = 2048;
/// Problems that may wait to be told; a listener that is slower misses some, and `synod check` finds them all.
const PROBLEMS_MAX: usize = 64;

pub(crate) enum Job {
    Print(Arc<[Recorded]>),
    /// The files at these paths may have changed.
    Changed(Vec<PathBuf>),
    /// Notifications were lost: look at everything.
    Rescan,
    Conversation(SessionId, oneshot::Sender<Conversation>),
    Scan(oneshot::Sender<()>),
    /// Answered when all that was said and made so far stands in the files.
    Written(oneshot::Sender<()>),
    /// Answered when they tell how every conversation stands, too.
    Settled(oneshot::Sender<()>),
    /// Answered when it is durable too.
    Flush(SyncSender<()>),
    /// Puts a file that Synod wrote elsewhere into the history, with the reason.
    Keep(String, String),
    Stop,
}

/// The desk's side that others hold; cheap to clone.
#[derive(Clone)]
pub struct Files {
    jobs: SyncSender<Job>,
    printed: Arc<AtomicU64>,
    problems: mpsc::Sender<Problem>,
    fresh: Fresh,
    home: Arc<Path>,
    held: Held,
}

/// What the desk needs.
pub struct Setup {
    /// The home.
    pub home: PathBuf,
    /// The state as the journal has it.
    pub state: State,
    /// Where to put what people did.
    pub inputs: Arc<dyn Inputs>,
    /// For reading the arguments of calls that stand in a session file.
    pub tools: Arc<dyn Tools>,
    /// Up to where events were printed.
    pub printed: Seq,
    /// Whether to watch; commands that only leave a mark do not.
    pub watch: bool,
    /// Events that are in the journal and perhaps not in the home's history yet.
    pub uncommitted: Vec<Recorded>,
    /// What must still be there for anything to be written.
    pub claim: Claim,
}

/// Starts the desk. Returns its handle, what it has to complain about, and its thread.
pub fn spawn(setup: Setup) -> std::io::Result<(Files, mpsc::Receiver<Problem>, JoinHandle<()>)> {
    let (jobs, receiver): (SyncSender<Job>, Receiver<Job>) = sync_channel(JOBS_MAX);
    let (problems, problem_receiver) = mpsc::channel(PROBLEMS_MAX);
    let printed = Arc::new(AtomicU64::new(setup.printed.0));
    let fresh = Fresh::default();
    let (hold, held) = hold::Hold::new(&setup.state.config.settings);
    let files = Files {
        jobs: jobs.clone(),
        printed: printed.clone(),
        problems: problems.clone(),
        fresh: fresh.clone(),
        home: setup.home.as_path().into(),
        held,
    };
    let watcher = if setup.watch { Some(watch::start(&setup.home, jobs)?) } else { None };
    let history = History::spawn(&setup.home, problems.clone())?;
    let flusher = flush::Flusher::spawn(&setup.home, printed.clone(), history)?;
    let mut desk = desk::Desk::new(setup, printed, problems, flusher, fresh, hold);
    desk.watch = watcher;
    let thread = std::thread::Builder::new().name("synod-files".to_owned()).spawn(move || {
        yield_to_others();
        desk.run(&receiver);
    })?;
    Ok((files, problem_receiver, thread))
}

impl Files {
    /// Looks at every file and gives what people changed as inputs. Returns when all have been given.
    pub async fn scan(&self) {
        let (sender, receiver) = oneshot::channel();
        self.give(Job::Scan(sender)).await;
        _ = receiver.await;
    }

    /// What a session file says, after everything given so far was printed, or will say once it is there. Waits while the file cannot be read.
    pub async fn conversation(&self, session: &SessionId) -> Option<Conversation> {
        if let Some(conversation) = self.unwritten(session) {
            return Some(conversation);
        }
        let (sender, receiver) = oneshot::channel();
        self.give(Job::Conversation(session.clone(), sender)).await;
        receiver.await.ok()
    }

    /// What was said in a conversation of which the file does not have all yet, or has just been made.
    pub(crate) fn unwritten(&self, session: &SessionId) -> Option<Conversation> {
        self.fresh.get(&self.home, session)
    }

    /// Waits until all that was said and made so far stands in the files. How a conversation stands may be told later.
    pub async fn written(&self) {
        let (sender, receiver) = oneshot::channel();
        self.give(Job::Written(sender)).await;
        _ = receiver.await;
    }

    /// Waits until all that was given so far stands in the files.
    pub async fn settled(&self) {
        let (sender, receiver) = oneshot::channel();
        self.give(Job::Settled(sender)).await;
        _ = receiver.await;
    }

    /// Puts a file of the home that Synod wrote, such as a checkpoint of the audit log, into its history. `why` is
    /// the first line of the commit if nothing weightier happened at the same time.
    pub async fn keep(&self, path: &str, why: &str) {
        self.give(Job::Keep(path.to_owned(), why.to_owned())).await;
    }

    /// The same, from a thread that may wait.
    pub(crate) fn keep_waiting(&self, path: &str, why: &str) {
        // An error means that the desk is gone, and the history with it.
        _ = self.jobs.send(Job::Keep(path.to_owned(), why.to_owned()));
    }

    /// Tells people what is wrong with a file that others write.
    pub fn complain(&self, path: &str, message: String) {
        // Nobody may listen any more, or not fast enough.
        _ = self.problems.try_send(Problem::of_file(path, message));
    }

    /// What keeps work from beginning, after a scan and from then on: settings that do not read, and none that ever did.
    pub fn held(&self) -> Held {
        self.held.clone()
    }

    /// Ends the desk once everything given so far is done.
    pub async fn stop(&self) {
        self.give(Job::Stop).await;
    }

    async fn give(&self, job: Job) {
        // The desk may be behind; its queue is bounded, and waiting for room must not hold up other work.
        if let Err(TrySendError::Full(job)) = self.jobs.try_send(job) {
            let jobs = self.jobs.clone();
            _ = tokio::task::spawn_blocking(move || jobs.send(job)).await;
        }
    }
}

impl Printer for Files {
    fn print(&mut self, batch: Arc<[Recorded]>) {
        self.fresh.note(&batch);
        // An error means that the desk is gone; then nothing is printed, and the cursor says so.
        _ = self.jobs.send(Job::Print(batch));
    }

    fn printed(&self) -> Seq {
        Seq(self.printed.load(Ordering::Acquire))
    }

    fn flush(&mut self) {
        let (sender, receiver) = sync_channel(1);
        if self.jobs.send(Job::Flush(sender)).is_ok() {
            _ = receiver.recv();
        }
    }
}

impl Listener for Files {
    fn complain(&self, path: &str, message: String) {
        Files::complain(self, path, message);
    }

    fn signed(&self, files: &[&str], checkpoint: &Checkpoint) {
        let root = data_encoding::BASE64.encode(&checkpoint.root);
        let why = format!("signed the audit log at {} lines: {root}", checkpoint.size);
        files.iter().for_each(|path| self.keep_waiting(path, &why));
    }
}

/// The path of a file relative to the home, with `/`.
pub(crate) fn relative(home: &Path, path: &Path) -> Option<String> {
    let rest = path.strip_prefix(home).ok()?;
    rest.to_str().map(|text| text.replace('\\', "/"))
}
