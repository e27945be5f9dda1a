//! `delegation_log`: what agents handed on to each other, as a table for people and programs. It is made of events and
//! never believed: each start writes it anew from the state, so what it misses after an error comes with the next start.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use domain::context::Pass;
use domain::delegation::{Delegation, Status};
use domain::event::Event;
use domain::id::{Seq, TaskId, Time};
use domain::state::State;
use domain::task::End;
use ports::printer::{Printer, Recorded};
use rusqlite::{Connection, OpenFlags, Result, params};

/// Where it is kept in a home.
const FILE: &str = ".synod/delegations.db";
/// Batches that may wait for the disk.
const JOBS_MAX: usize = 1024;

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
    db.busy_timeout(std::time::Duration::from_secs(2))?;
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

/// Writes the table as the state has it, and follows events from there on. The thread ends with the log.
pub fn spawn(home: &Path, state: &State) -> std::io::Result<(Log, JoinHandle<()>)> {
    let (jobs, taken) = sync_channel(JOBS_MAX);
    let all: Vec<Delegation> = state.delegations.by_id.values().cloned().collect();
    let path = home.join(FILE);
    let writer = move || Writer { path, open: BTreeMap::new(), db: None }.run(&all, &taken);
    let thread = std::thread::Builder::new().name("delegations".to_owned()).spawn(writer)?;
    Ok((Log { jobs }, thread))
}

impl Printer for Log {
    fn print(&mut self, batch: Arc<[Recorded]>) {
        let concerns = |recorded: &Recorded| {
            matches!(
                recorded.event,
                Event::Delegated { .. }
                    | Event::DelegationCrashed { .. }
                    | Event::TaskStarted { .. }
                    | Event::TaskEnded { .. }
                    | Event::TaskReopened { .. }
            )
        };
        if batch.iter().any(concerns) {
            // A thread that is gone wrote what it could; the next start writes the rest.
            _ = self.jobs.send(Job::Print(batch));
        }
    }

    /// Nobody waits for it: what it lacks, the next start writes.
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
    /// Those that are not over, by task.
    open: BTreeMap<TaskId, Delegation>,
    /// None until there is something to write, and after an error.
    db: Option<Connection>,
}

impl Writer {
    fn run(mut self, all: &[Delegation], jobs: &Receiver<Job>) {
        if !all.is_empty() || self.path.exists() {
            self.begin(all);
        }
        while let Ok(job) = jobs.recv() {
            match job {
                Job::Print(batch) => self.take(&batch),
                Job::Flush(reply) => _ = reply.send(()),
            }
        }
    }

    /// Opens the table, anew if it is damaged, and writes all that is known.
    fn begin(&mut self, all: &[Delegation]) {
        let opened = open(&self.path, all).or_else(|_| {
            _ = std::fs::remove_file(&self.path);
            open(&self.path, all)
        });
        self.db = opened.ok();
        let going = all.iter().filter(|delegation| !delegation.status.is_over());
        self.open = going.map(|delegation| (delegation.task.clone(), delegation.clone())).collect();
    }

    fn take(&mut self, batch: &[Recorded]) {
        let changed: Vec<Delegation> =
            batch.iter().filter_map(|recorded| self.follow(recorded.at, &recorded.event)).collect();
        if changed.is_empty() {
            return;
        }
        if self.db.is_none() && !self.path.exists() {
            self.db = open(&self.path, &[]).ok();
        }
        let written = self.db.as_mut().map(|db| write(db, &changed));
        if matches!(written, Some(Err(_))) {
            self.db = None;
        }
        self.open.retain(|_, delegation| !delegation.status.is_over());
    }

    /// What an event makes of a delegation, as `apply` does it.
    fn follow(&mut self, at: Time, event: &Event) -> Option<Delegation> {
        let known = match event {
            Event::Delegated { delegation } => {
                self.open.insert(delegation.task.clone(), (**delegation).clone());
                return Some((**delegation).clone());
            }
            Event::TaskStarted { task, .. } => {
                let known = self.open.get_mut(task)?;
                (known.status, known.started) = (Status::Running, Some(at));
                known
            }
            Event::DelegationCrashed { delegation, reason, retried } => {
                let known = self.open.values_mut().find(|known| known.id == *delegation)?;
                known.error = Some(reason.clone());
                if !retried {
                    (known.status, known.completed) = (Status::Crashed, Some(at));
                }
                known
            }
            Event::TaskReopened { task, .. } => {
                let known = self.open.get_mut(task).filter(|known| !known.status.is_over())?;
                known.status = Status::Pending;
                known
            }
            Event::TaskEnded { task, end, result, .. } => {
                let known = self.open.get_mut(task).filter(|known| !known.status.is_over())?;
                (known.status, known.error) = match end {
                    End::Done => (Status::Success, None),
                    End::Failed => (Status::Failed, Some(result.clone())),
                    End::Cancelled => (Status::Cancelled, Some(result.clone())),
                };
                known.completed = Some(at);
                known
            }
            _ => return None,
        };
        Some(known.clone())
    }
}

fn open(path: &Path, all: &[Delegation]) -> Result<Connection> {
    let mut db = Connection::open(path)?;
    db.busy_timeout(std::time::Duration::from_secs(2))?;
    // A power cut may take the table: the next start writes it anew.
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "OFF")?;
    db.execute_batch(SCHEMA)?;
    db.execute_batch(
        "DELETE FROM delegation_log; DELETE FROM delegation_task; DELETE FROM delegation_context;",
    )?;
    write(&mut db, all)?;
    Ok(db)
}

fn write(db: &mut Connection, changed: &[Delegation]) -> Result<()> {
    let transaction = db.transaction()?;
    for delegation in changed {
        let Some(number) = number(delegation) else { continue };
        let time = formats::time::print;
        let chain = serde_json::to_string(&delegation.chain).unwrap_or_default();
        transaction.execute(
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
        transaction.execute(
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
            transaction.execute(
                "INSERT OR REPLACE INTO delegation_context (id, contexts) VALUES (?1, ?2)",
                params![number, serde_json::to_string(&delegation.contexts).unwrap_or_default()],
            )?;
        }
    }
    transaction.commit()
}

fn number(delegation: &Delegation) -> Option<i64> {
    delegation.id.as_str().rsplit('-').next()?.parse().ok()
}
