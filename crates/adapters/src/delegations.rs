//! `delegation_log`: what agents handed on to each other, as a table for people and programs. It is made of events and
//! never believed: each start writes it anew from the state. If it cannot be written, people are told once, nobody waits,
//! and it is written anew as soon as that works.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use domain::context::Pass;
use domain::delegation::{Delegation, Delegations};
use domain::event::Event;
use domain::event::{DelegationEvent, TaskEvent};
use domain::id::{DelegationId, Seq, TaskId};
use domain::state::State;
use ports::printer::{Printer, Recorded};
use rusqlite::{Connection, ErrorCode, OpenFlags, Result, params};

/// Where it is kept in a home.
pub const FILE: &str = ".synod/delegations.db";
/// What SQLite keeps beside it.
const BESIDE: [&str; 2] = ["-wal", "-shm"];
/// Batches that may wait for the disk.
const JOBS_MAX: usize = 1024;
/// How long a reader waits for who has the table.
const READ_WAIT: Duration = Duration::from_secs(2);
/// How long the writer does: meanwhile batches pile up.
const WRITE_WAIT: Duration = Duration::from_millis(250);
/// How soon a table that could not be written is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// The seed's table and indices; what it has no column for stands beside it.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS delegation_log (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        request_id TEXT NOT NULL,
        source_agent TEXT NOT NULL,
        target_agent TEXT NOT NULL,
        task_tag TEXT NOT NULL,
        status TEXT NOT NULL,
        chain TEXT NOT NULL,
        started_at TEXT NOT NULL,
        completed_at TEXT,
        error TEXT,
        created_at TEXT DEFAULT CURRENT_TIMESTAMP
    );
    CREATE INDEX IF NOT EXISTS idx_delegation_log_request ON delegation_log(request_id);
    CREATE INDEX IF NOT EXISTS idx_delegation_log_status ON delegation_log(status);
    CREATE TABLE IF NOT EXISTS delegation_task (
        id INTEGER PRIMARY KEY, task TEXT NOT NULL, parent TEXT, session TEXT NOT NULL, deadline TEXT
    );
    CREATE TABLE IF NOT EXISTS delegation_context (id INTEGER PRIMARY KEY, contexts TEXT NOT NULL);
";

/// One row, with what stands beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// `delegation-0001`
    pub id: String,
    /// The task with which all of it began.
    pub request: String,
    /// Who handed it on.
    pub source: String,
    /// Who got it.
    pub target: String,
    /// The kind of work.
    pub tag: String,
    /// The word for how far it is.
    pub status: String,
    /// Whose hands it went through.
    pub chain: Vec<String>,
    /// When the target began; until then, when it was handed on.
    pub started: String,
    /// When it was over.
    pub completed: Option<String>,
    /// Why it did not work out.
    pub error: Option<String>,
    /// When it was handed on.
    pub created: String,
    /// The task that was made of it.
    pub task: String,
    /// The task of who handed it on.
    pub parent: Option<String>,
    /// When it is too late.
    pub deadline: Option<String>,
    /// Contexts that went along.
    pub contexts: Vec<Pass>,
}

/// All rows of a home, the oldest first; none if there is no table.
pub fn read(home: &Path) -> Result<Vec<Row>> {
    let path = home.join(FILE);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    db.busy_timeout(READ_WAIT)?;
    // One that is only being made has no tables yet.
    let tables = "SELECT count(*) FROM sqlite_master WHERE name = 'delegation_log'";
    if db.query_row(tables, [], |row| row.get::<_, u32>(0))? == 0 {
        return Ok(Vec::new());
    }
    let contexts = read_contexts(&db);
    let mut rows = db.prepare(
        "SELECT l.id, request_id, source_agent, target_agent, task_tag, status, chain, started_at, completed_at,
         error, created_at, task, parent, deadline FROM delegation_log l JOIN delegation_task t ON t.id = l.id
         ORDER BY l.id",
    )?;
    let row = |row: &rusqlite::Row<'_>| {
        let (number, chain): (i64, String) = (row.get(0)?, row.get(6)?);
        Ok(Row {
            id: format!("delegation-{number:04}"),
            request: row.get(1)?,
            source: row.get(2)?,
            target: row.get(3)?,
            tag: row.get(4)?,
            status: row.get(5)?,
            chain: serde_json::from_str(&chain).unwrap_or_default(),
            started: row.get(7)?,
            completed: row.get(8)?,
            error: row.get(9)?,
            created: row.get(10)?,
            task: row.get(11)?,
            parent: row.get(12)?,
            deadline: row.get(13)?,
            contexts: contexts.get(&number).cloned().unwrap_or_default(),
        })
    };
    rows.query_map([], row)?.collect()
}

/// What went along with each, by number. A table that is older than this has none until the next start writes it.
fn read_contexts(db: &Connection) -> BTreeMap<i64, Vec<Pass>> {
    let Ok(mut rows) = db.prepare("SELECT id, contexts FROM delegation_context") else {
        return BTreeMap::new();
    };
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
    let Ok(found) = rows.query_map([], row) else { return BTreeMap::new() };
    let read = |(id, text): (i64, String)| Some((id, serde_json::from_str(&text).ok()?));
    found.flatten().filter_map(read).collect()
}

enum Job {
    Print(Arc<[Recorded]>),
    Flush(SyncSender<()>),
}

/// Hands events to the thread that writes the table.
pub struct Log {
    jobs: SyncSender<Job>,
}

/// Who is told that the table cannot be written.
pub type Complain = Box<dyn Fn(String) + Send>;

/// Writes the table as the state has it, and follows events from there on. The thread ends with the log.
pub fn spawn(home: &Path, state: &State, complain: Complain) -> std::io::Result<(Log, JoinHandle<()>)> {
    let (jobs, taken) = sync_channel(JOBS_MAX);
    let (path, all) = (home.join(FILE), state.delegations.clone());
    let writer = Writer { path, all, table: None, behind: None, complain };
    let thread =
        std::thread::Builder::new().name("delegations".to_owned()).spawn(move || writer.run(&taken))?;
    Ok((Log { jobs }, thread))
}

impl Printer for Log {
    fn print(&mut self, batch: Arc<[Recorded]>) {
        let concerns = |recorded: &Recorded| {
            matches!(
                recorded.event,
                Event::Delegation(DelegationEvent::Made { .. })
                    | Event::Delegation(DelegationEvent::Crashed { .. })
                    | Event::Task(TaskEvent::Started { .. })
                    | Event::Task(TaskEvent::Ended { .. })
                    | Event::Task(TaskEvent::Reopened { .. })
            )
        };
        if batch.iter().any(concerns) {
            // A thread that is gone wrote what it could; the next start writes the rest.
            _ = self.jobs.send(Job::Print(batch));
        }
    }

    /// Nobody waits for it: what it lacks comes later, at the latest with the next start.
    fn printed(&self) -> Seq {
        Seq(u64::MAX)
    }

    fn flush(&mut self) {
        let (sender, receiver) = sync_channel(1);
        if self.jobs.send(Job::Flush(sender)).is_ok() {
            _ = receiver.recv();
        }
    }
}

struct Writer {
    path: PathBuf,
    /// What the table should have: all of it, because what is there may get lost.
    all: Delegations,
    /// None until there is something to write, and after an error.
    table: Option<Table>,
    /// When to try again, if the table lacks something.
    behind: Option<Instant>,
    complain: Complain,
}

impl Writer {
    fn run(mut self, jobs: &Receiver<Job>) {
        if !self.all.by_id.is_empty() || self.path.exists() {
            self.write_all();
        }
        loop {
            let job = match self.behind {
                Some(due) => jobs.recv_timeout(due.saturating_duration_since(Instant::now())),
                None => jobs.recv().map_err(RecvTimeoutError::from),
            };
            match job {
                Ok(Job::Print(batch)) => self.take(&batch),
                Ok(Job::Flush(reply)) => {
                    self.catch_up();
                    _ = reply.send(());
                }
                Err(RecvTimeoutError::Timeout) => self.catch_up(),
                Err(RecvTimeoutError::Disconnected) => return self.catch_up(),
            }
        }
    }

    fn take(&mut self, batch: &[Recorded]) {
        let follow =
            |recorded: &Recorded| self.all.follow(recorded.at, &recorded.event).map(|known| known.id.clone());
        let changed: Vec<DelegationId> = batch.iter().filter_map(follow).collect();
        match self.behind {
            Some(due) if due > Instant::now() => {}
            Some(_) => self.catch_up(),
            None if changed.is_empty() => {}
            None => self.write(&changed),
        }
    }

    fn write(&mut self, changed: &[DelegationId]) {
        let rows = changed.iter().filter_map(|id| self.all.by_id.get(id));
        let table = self.table.as_mut().filter(|table| table.is_at(&self.path));
        if table.is_none_or(|table| write(&mut table.db, rows).is_err()) {
            self.write_all();
        }
    }

    fn catch_up(&mut self) {
        if self.behind.is_some() {
            self.write_all();
        }
    }

    /// Writes the whole table anew; in a new file, if it is the file that is not as it should be.
    fn write_all(&mut self) {
        self.table = None;
        if !self.path.exists() {
            remove(&self.path);
        }
        let written = Table::new(&self.path, &self.all).or_else(|error| {
            if is_passing(&error) {
                return Err(error);
            }
            remove(&self.path);
            Table::new(&self.path, &self.all)
        });
        match written {
            Ok(table) => (self.table, self.behind) = (Some(table), None),
            Err(error) => {
                let is_news = self.behind.replace(Instant::now() + RETRY).is_none();
                if is_news {
                    let what = "cannot be written, and is tried again; until then it lacks what happens";
                    (self.complain)(format!("{FILE} {what}: {error}"));
                }
            }
        }
    }
}

/// The table, open for its one writer.
struct Table {
    db: Connection,
    /// Which file it is, by device and inode.
    file: (u64, u64),
}

impl Table {
    /// Opens the file, or makes it, and writes all of it anew.
    fn new(path: &Path, all: &Delegations) -> Result<Self> {
        let mut db = Connection::open(path)?;
        db.busy_timeout(WRITE_WAIT)?;
        // A power cut may take the table: the next start writes it anew.
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", "OFF")?;
        // Whoever reads meanwhile sees the old rows or the new ones, and no table before there are rows.
        let transaction = db.transaction()?;
        transaction.execute_batch(SCHEMA)?;
        transaction.execute_batch(
            "DELETE FROM delegation_log; DELETE FROM delegation_task; DELETE FROM delegation_context;",
        )?;
        put(&transaction, all.by_id.values())?;
        transaction.commit()?;
        Ok(Self { db, file: file_at(path).unwrap_or_default() })
    }

    /// Whether who opens the path gets this file: what is written into a deleted one, nobody sees.
    fn is_at(&self, path: &Path) -> bool {
        file_at(path) == Some(self.file)
    }
}

fn file_at(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Whether an error says nothing against the file: it is good again when its place, its disk or its other users are.
fn is_passing(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::OutOfMemory
        )
    )
}

/// Takes a file away that is no good. What SQLite kept beside it must not be taken for the next one's.
fn remove(path: &Path) {
    for end in [""].iter().chain(&BESIDE) {
        let mut place = path.as_os_str().to_owned();
        place.push(end);
        _ = std::fs::remove_file(place);
    }
}

fn write<'a>(db: &mut Connection, changed: impl Iterator<Item = &'a Delegation>) -> Result<()> {
    let transaction = db.transaction()?;
    put(&transaction, changed)?;
    transaction.commit()
}

fn put<'a>(db: &Connection, rows: impl Iterator<Item = &'a Delegation>) -> Result<()> {
    for delegation in rows {
        let Some(number) = number(delegation) else { continue };
        let time = formats::time::print;
        let chain = serde_json::to_string(&delegation.chain).unwrap_or_default();
        db.execute(
            "INSERT OR REPLACE INTO delegation_log (id, request_id, source_agent, target_agent, task_tag, status,
             chain, started_at, completed_at, error, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            params![
                number,
                delegation.request.as_str(),
                delegation.source.as_str(),
                delegation.target.as_str(),
                delegation.tag,
                delegation.status.as_str(),
                chain,
                time(delegation.started.unwrap_or(delegation.created)),
                delegation.completed.map(time),
                delegation.error.as_deref().map(crate::redact::redact),
                time(delegation.created),
            ],
        )?;
        db.execute(
            "INSERT OR REPLACE INTO delegation_task (id, task, parent, session, deadline) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                number,
                delegation.task.as_str(),
                delegation.parent.as_ref().map(TaskId::as_str),
                delegation.session.as_str(),
                delegation.deadline.map(time),
            ],
        )?;
        if !delegation.contexts.is_empty() {
            db.execute(
                "INSERT OR REPLACE INTO delegation_context (id, contexts) VALUES (?1, ?2)",
                params![number, serde_json::to_string(&delegation.contexts).unwrap_or_default()],
            )?;
        }
    }
    Ok(())
}

fn number(delegation: &Delegation) -> Option<i64> {
    delegation.id.as_str().rsplit('-').next()?.parse().ok()
}
