//! The audit log, `log/audit.jsonl`: one line for each decision of the gate, tool call, approval, delegation and change
//! of configuration. Lines are only ever added, each has the hash of the one before, and signed checkpoints say what
//! the log was. One thread writes it, behind the journal: what is told here has happened.

pub mod checkpoints;
mod given;
pub mod history;
pub mod line;
mod log;
mod memory;
pub mod note;
mod trail;
pub mod tree;
pub mod verify;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use domain::event::Event;
use domain::event::SystemEvent;
use domain::id::{Seq, Time};
use domain::layout;
use domain::state::State;
use ports::printer::{Printer, Recorded};

pub use given::{Given, given};
use line::Line;
pub use log::{Journal, KEY_VARIABLE, Log, origin_of};
use note::Checkpoint;
pub use trail::Trail;

/// The log.
pub const LOG: &str = layout::AUDIT_LOG;
/// What it was, signed.
pub const CHECKPOINTS: &str = layout::AUDIT_CHECKPOINTS;
/// The keys that signed, oldest first.
pub const KEYS: &str = layout::AUDIT_KEYS;
/// The key that signs, unless another is named.
pub const KEY: &str = layout::AUDIT_KEY;

/// Batches that may wait for the writer; whoever gives more waits.
const JOBS_MAX: usize = 256;
/// Lines that may wait for room on the disk. With more, whoever acts waits: nothing is done that is not told.
const LINES_MAX: usize = 10_000;
/// How soon a write that failed is tried again.
const RETRY: Duration = Duration::from_millis(200);

enum Job {
    Print(Arc<[Recorded]>),
    Flush(SyncSender<()>),
    Stop,
}

/// The writer's side that others hold; cheap to clone.
#[derive(Clone)]
pub struct Audit {
    jobs: SyncSender<Job>,
    told: Arc<AtomicU64>,
    stopping: Arc<AtomicBool>,
}

/// Whom the writer speaks to.
pub trait Listener: Send {
    /// The log cannot be written or signed as it should.
    fn complain(&self, path: &str, message: String);

    /// A checkpoint was signed; these files have it.
    fn signed(&self, files: &[&str], checkpoint: &Checkpoint);
}

/// Opens the log of a home and starts its writer. `state` is what the journal says, `printed` how far it was printed.
pub fn spawn(
    home: &Path,
    state: &State,
    printed: Seq,
    now: Time,
    listener: Box<dyn Listener>,
) -> std::io::Result<(Audit, JoinHandle<()>)> {
    let (jobs, receiver) = sync_channel(JOBS_MAX);
    let journal = Journal { last: state.seq.0, told: printed.0, at: now };
    let told = Arc::new(AtomicU64::new(0));
    let stopping = Arc::new(AtomicBool::new(false));
    let mut writer = Writer {
        home: home.to_owned(),
        log: None,
        journal,
        settings: state.config.settings.audit.clone(),
        trail: Trail::new(state),
        lines: Vec::new(),
        taken: 0,
        missed: false,
        told: told.clone(),
        stopping: stopping.clone(),
        listener,
        complaint: String::new(),
    };
    // A log that cannot be opened now (the disk is full) is tried again with each write.
    writer.settle();
    let thread = std::thread::Builder::new().name("synod-audit".to_owned()).spawn(move || {
        writer.run(&receiver);
    })?;
    Ok((Audit { jobs, told, stopping }, thread))
}

/// Up to which event the log of a home is known to be told, if that is remembered.
pub fn remembered(home: &Path) -> Option<Seq> {
    memory::Memory::load(home).map(|memory| Seq(memory.event))
}

impl Audit {
    /// From now on nothing waits for a disk that refuses: what is not told is told on the next start.
    pub fn give_up_waiting(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// Ends the writer once everything given so far is written, or cannot be.
    pub fn stop(&self) {
        self.give_up_waiting();
        _ = self.jobs.send(Job::Stop);
    }
}

impl Printer for Audit {
    fn print(&mut self, batch: Arc<[Recorded]>) {
        // An error means that the writer is gone; then nothing is told, and the cursor says so.
        _ = self.jobs.send(Job::Print(batch));
    }

    fn printed(&self) -> Seq {
        Seq(self.told.load(Ordering::Acquire))
    }

    fn flush(&mut self) {
        let (sender, receiver) = sync_channel(1);
        if self.jobs.send(Job::Flush(sender)).is_ok() {
            _ = receiver.recv();
        }
    }
}

/// Prints into two places. What is printed is what both have.
pub struct Both<A, B>(pub A, pub B);

impl<A: Printer, B: Printer> Printer for Both<A, B> {
    fn print(&mut self, batch: Arc<[Recorded]>) {
        self.0.print(batch.clone());
        self.1.print(batch);
    }

    fn printed(&self) -> Seq {
        self.0.printed().min(self.1.printed())
    }

    fn flush(&mut self) {
        self.0.flush();
        self.1.flush();
    }
}

struct Writer {
    home: PathBuf,
    log: Option<Log>,
    journal: Journal,
    settings: domain::settings::Audit,
    trail: Trail,
    /// Lines that are not written yet.
    lines: Vec<Line>,
    /// The last event of them.
    taken: u64,
    /// Whether events were left out; then none after them is told either, until the next start.
    missed: bool,
    told: Arc<AtomicU64>,
    stopping: Arc<AtomicBool>,
    listener: Box<dyn Listener>,
    complaint: String,
}

impl Writer {
    fn run(mut self, jobs: &Receiver<Job>) {
        loop {
            let job =
                if self.is_behind() { jobs.recv_timeout(RETRY) } else { jobs.recv().map_err(Into::into) };
            let mut next = match job {
                Ok(job) => Some(job),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let mut waiting = Vec::new();
            let mut over = false;
            // Take what else is there before the disk is touched: one write serves many events.
            while let Some(job) = next {
                match job {
                    Job::Print(batch) => self.take(&batch),
                    Job::Flush(reply) => waiting.push(reply),
                    Job::Stop => over = true,
                }
                next = if over || self.lines.len() > LINES_MAX { None } else { jobs.try_recv().ok() };
            }
            self.settle();
            while self.lines.len() > LINES_MAX && !self.stopping.load(Ordering::Acquire) {
                std::thread::sleep(RETRY);
                self.settle();
            }
            waiting.into_iter().for_each(|reply| _ = reply.send(()));
            if over {
                break;
            }
        }
        if let Some(log) = &mut self.log
            && !self.missed
        {
            log.close();
        }
        self.tell();
    }

    fn tell(&mut self) {
        if let Some(signed) = self.log.as_mut().and_then(Log::take_signed) {
            self.listener.signed(&[CHECKPOINTS, KEYS], &signed);
        }
        match self.log.as_mut().and_then(Log::take_complaint) {
            Some(complaint) => self.complain(complaint),
            None => self.complaint.clear(),
        }
    }

    fn is_behind(&self) -> bool {
        self.log.is_none() || !self.lines.is_empty()
    }

    fn take(&mut self, batch: &[Recorded]) {
        self.missed |= self.stopping.load(Ordering::Acquire) && self.lines.len() > LINES_MAX;
        if self.missed {
            return;
        }
        for recorded in batch {
            if let Event::System(SystemEvent::SettingsChanged { settings }) = &recorded.event {
                self.settings = settings.audit.clone();
            }
            self.journal.at = recorded.at;
            let mut lines = self.trail.lines(recorded);
            if let Some(log) = &self.log {
                leave_told(log, &mut lines);
            }
            self.lines.extend(lines);
            self.taken = self.taken.max(recorded.seq.0);
        }
    }

    /// Writes what waits, if the disk lets it.
    fn settle(&mut self) {
        if let Err(error) = self.try_settle() {
            // What stands on the disk is looked at anew before the next try.
            self.log = None;
            self.complain(format!("{LOG} cannot be written, and is tried again: {error}"));
            return;
        }
        self.tell();
    }

    fn try_settle(&mut self) -> std::io::Result<()> {
        let log = match &mut self.log {
            Some(log) => log,
            None => {
                let log = Log::open(&self.home, &self.settings, self.journal)?;
                leave_told(&log, &mut self.lines);
                self.log.insert(log)
            }
        };
        log.set(&self.settings, self.journal.at)?;
        if !self.lines.is_empty() || self.taken > log.event() {
            // Lines are kept until they are on the disk.
            log.append(&mut self.lines, self.taken)?;
            self.lines.clear();
        }
        self.told.store(log.event(), Ordering::Release);
        Ok(())
    }

    fn complain(&mut self, complaint: String) {
        if self.complaint != complaint {
            self.listener.complain(LOG, complaint.clone());
            self.complaint = complaint;
        }
    }
}

/// Leaves out what stands in the log: events come again after a crash, and half of one may have been told.
fn leave_told(log: &Log, lines: &mut Vec<Line>) {
    let (last, mut of_last) = log.last();
    lines.retain(|line| {
        let half_told = line.event == last && of_last > 0;
        of_last -= usize::from(half_told);
        line.event > log.event() && line.event >= last && !half_told
    });
}
