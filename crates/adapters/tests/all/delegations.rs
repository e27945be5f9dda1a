//! The table of delegations: whatever happens to its file, people are told once, and the rows are there when it can be written.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use adapters::delegations::{FILE, Log, Row, read, spawn};
use domain::delegation::{Delegation, Status};
use domain::event::Event;
use domain::event::{DelegationEvent, TaskEvent};
use domain::id::{AgentId, CallId, DelegationId, Seq, SessionId, TaskId, Time};
use domain::state::State;
use domain::task::End;
use ports::printer::{Printer, Recorded};
use rusqlite::Connection;

use crate::home::eventually;

/// A home in which only the table is written.
struct Home {
    folder: tempfile::TempDir,
    log: Log,
    thread: JoinHandle<()>,
    complaints: Arc<Mutex<Vec<String>>>,
}

impl Home {
    /// With this at the place of the table.
    fn with(prepare: impl FnOnce(PathBuf)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".synod")).unwrap();
        prepare(folder.path().join(FILE));
        let complaints = Arc::new(Mutex::new(Vec::new()));
        let heard = complaints.clone();
        let complain = move |message| heard.lock().unwrap().push(message);
        let (log, thread) = spawn(folder.path(), &State::new(), Box::new(complain)).unwrap();
        Self { folder, log, thread, complaints }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join(FILE)
    }

    /// Prints each event as a batch of its own and waits until it is written, or cannot be.
    fn print(&mut self, events: &[Recorded]) {
        for event in events {
            self.log.print([event.clone()].into());
            self.log.flush();
        }
    }

    fn rows(&self) -> Vec<Row> {
        read(self.folder.path()).unwrap()
    }

    fn complaints(&self) -> Vec<String> {
        self.complaints.lock().unwrap().clone()
    }

    fn end(self) -> (tempfile::TempDir, Vec<String>) {
        let complaints = self.complaints();
        drop(self.log);
        self.thread.join().unwrap();
        (self.folder, complaints)
    }
}

/// Three delegations: one is done, one fails, one is under way.
fn story() -> Vec<Recorded> {
    let delegated = |number: i64| {
        let agents = [AgentId::new("planner-001"), AgentId::new("coder-001")];
        Event::Delegation(DelegationEvent::Made {
            delegation: Box::new(Delegation {
                id: DelegationId::new(format!("delegation-{number:04}")),
                source: agents[0].clone(),
                target: agents[1].clone(),
                tag: "ops:look".to_owned(),
                chain: agents.to_vec(),
                request: task(number),
                parent: None,
                task: task(number),
                session: SessionId::new("planner-001-3f9a2c"),
                call: CallId::new("c-1"),
                created: Time(number),
                callback: true,
                deadline: None,
                contexts: Vec::new(),
                work_ms_max: 60_000,
                worked_before_ms: 0,
                status: Status::Pending,
                started: None,
                completed: None,
                error: None,
            }),
        })
    };
    let started = |number| {
        Event::Task(TaskEvent::Started { task: task(number), session: SessionId::new("coder-001-3f9a2c") })
    };
    let ended = |number, end| {
        let (result, by) = ("said".to_owned(), domain::Actor::from("agent:coder-001"));
        Event::Task(TaskEvent::Ended { task: task(number), end, result, by, session: None, found: false })
    };
    let events = [
        delegated(1),
        started(1),
        delegated(2),
        ended(1, End::Done),
        started(2),
        delegated(3),
        ended(2, End::Failed),
        started(3),
    ];
    let recorded = |((seq, second), event): ((u64, i64), Event)| Recorded {
        seq: Seq(seq),
        at: Time(1000 * second),
        event,
    };
    (1..).zip(1..).zip(events).map(recorded).collect()
}

fn task(number: i64) -> TaskId {
    TaskId::new(format!("task-{number:03}"))
}

/// What the table has when nothing goes wrong.
fn undisturbed() -> Vec<Row> {
    let mut home = Home::with(|_| {});
    home.print(&story());
    assert_eq!(home.complaints(), [""; 0]);
    let rows = home.rows();
    let shown: Vec<(&str, &str)> = rows.iter().map(|row| (row.id.as_str(), row.status.as_str())).collect();
    assert_eq!(
        shown,
        [("delegation-0001", "success"), ("delegation-0002", "failed"), ("delegation-0003", "running")]
    );
    rows
}

#[test]
fn a_table_that_cannot_be_written_is_told_of_once_and_mended_when_it_can() {
    let story = story();
    let mut home = Home::with(|_| {});
    home.print(&story[..3]);
    // Nothing can be opened there any more.
    let file = home.file();
    let block = || {
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
    };
    block();
    home.print(&story[3..6]);
    let complaints = home.complaints();
    assert!(
        complaints.len() == 1 && complaints[0].starts_with(&format!("{FILE} cannot be written")),
        "{complaints:?}"
    );
    fs::remove_dir(&file).unwrap();
    home.print(&story[6..7]);
    assert_eq!(home.rows().len(), 3, "what was there before is there too");
    block();
    home.print(&story[7..]);
    assert_eq!(home.complaints().len(), 2, "that is another time");
    fs::remove_dir(&file).unwrap();
    // Nothing happens any more; the end is one more try.
    let (folder, complaints) = home.end();
    assert_eq!(complaints.len(), 2);
    assert_eq!(read(folder.path()).unwrap(), undisturbed());
}

#[tokio::test]
async fn what_happens_while_somebody_has_the_table_comes_later_of_itself() {
    let story = story();
    let mut home = Home::with(|_| {});
    home.print(&story[..4]);
    let before = home.rows();
    let other = Connection::open(home.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    home.print(&story[4..5]);
    story[5..].iter().for_each(|event| home.log.print([event.clone()].into()));
    home.log.flush();
    assert_eq!(home.complaints().len(), 1, "{:?}", home.complaints());
    assert_eq!(home.rows(), before, "who reads need not wait");
    other.execute_batch("ROLLBACK").unwrap();
    let wanted = undisturbed();
    eventually("the rest of it", || home.rows() == wanted).await;
    assert_eq!(home.complaints().len(), 1);
}

#[test]
fn a_file_that_is_no_table_is_made_anew_without_a_word() {
    let story = story();
    let other = |path: PathBuf| {
        Connection::open(path).unwrap().execute_batch("CREATE TABLE delegation_log (id INTEGER)").unwrap();
    };
    let garbage = |path: PathBuf| fs::write(path, "no database, and long enough".repeat(100)).unwrap();
    for mut home in [Home::with(garbage), Home::with(other)] {
        home.print(&story);
        assert_eq!((home.rows(), home.complaints()), (undisturbed(), Vec::new()));
    }
}

#[test]
fn a_table_that_is_deleted_is_there_again_with_the_next_event() {
    let story = story();
    let mut home = Home::with(|_| {});
    home.print(&story[..7]);
    fs::remove_file(home.file()).unwrap();
    home.print(&story[7..]);
    assert_eq!((home.rows(), home.complaints()), (undisturbed(), Vec::new()));
}

#[test]
fn a_table_that_is_only_being_made_has_no_rows_yet() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".synod")).unwrap();
    assert_eq!(read(folder.path()).unwrap(), []);
    let file = Connection::open(folder.path().join(FILE)).unwrap();
    file.pragma_update(None, "journal_mode", "WAL").unwrap();
    assert_eq!(read(folder.path()).unwrap(), []);
}
