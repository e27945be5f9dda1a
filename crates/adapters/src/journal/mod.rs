//! The journal on SQLite: one file in WAL mode, every append on the disk before it returns.
//!
//! Each event carries a checksum over the one before it and all its own columns, and the end of the chain is
//! kept beside it. So a flipped, removed or moved event is found when it is read. It is never skipped.
//! A whole file that was put back to an older state is a valid journal and cannot be told apart.

mod chain;
pub mod follow;
mod schema;

use std::path::Path;
use std::time::Duration;

use domain::id::{Seq, Time};
use ports::journal::{Entry, Journal, JournalError, Snapshot};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, TransactionBehavior, params};

use crate::lock::Claim;

/// How long another process may hold the database, a reader at a checkpoint for instance.
const BUSY_MS_MAX: u64 = 5_000;

/// A journal in one SQLite file.
#[derive(Debug)]
pub struct Sqlite {
    db: Connection,
    /// The end of the chain as it is on the disk.
    tail: Tail,
    /// What was printed; may be ahead of the disk, see [`Sqlite::set_printed`].
    printed: Seq,
    printed_on_disk: Seq,
    access: Access,
    /// What must still be there for a write to count.
    claim: Claim,
}

/// The last event and its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Tail {
    seq: Seq,
    check: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Write,
    Read,
    /// A commit failed. What of it reached the disk is unknown until the file is opened again.
    Broken,
}

impl Sqlite {
    /// Opens the journal for its one writer, and makes it if there is none.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let mut db = Connection::open(path).map_err(|e| storage("opened", &e))?;
        schema::prepare(&db)?;
        schema::migrate(&mut db)?;
        Self::over(db, Access::Write)
    }

    /// Opens the journal of a home that another process may be running.
    pub fn open_read_only(path: &Path) -> Result<Self, JournalError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(path, flags).map_err(|e| storage("opened", &e))?;
        db.busy_timeout(Duration::from_millis(BUSY_MS_MAX)).map_err(|e| storage("opened", &e))?;
        schema::check_version(&db)?;
        Self::over(db, Access::Read)
    }

    fn over(db: Connection, access: Access) -> Result<Self, JournalError> {
        let mut journal = Self {
            db,
            tail: Tail::default(),
            printed: Seq(0),
            printed_on_disk: Seq(0),
            access,
            claim: Claim::default(),
        };
        journal.refresh()?;
        Ok(journal)
    }

    /// Writes nothing more once this is lost: the system would take it, into a file that has no name.
    pub fn claimed(mut self, claim: Claim) -> Self {
        self.claim = claim;
        self
    }

    /// The version of SQLite that is built in.
    pub fn version() -> &'static str {
        rusqlite::version()
    }

    /// Limits the size of the file in pages, as a full disk would.
    pub fn limit_pages(&self, pages_max: u32) -> Result<(), JournalError> {
        self.db.pragma_update(None, "max_page_count", pages_max).map_err(|e| storage("written", &e))
    }

    /// Reads the end of the chain and the cursor from the disk.
    fn refresh(&mut self) -> Result<(), JournalError> {
        let tx = self.db.transaction().map_err(|e| storage("read", &e))?;
        let tail = Tail { seq: Seq(meta(&tx, "last_seq")?), check: check_of(meta(&tx, "last_check")?) };
        let found: Option<(u64, i64)> = tx
            .prepare_cached("SELECT seq, check_sum FROM events ORDER BY seq DESC LIMIT 1")
            .and_then(|mut s| s.query_row([], |row| Ok((read_u64(row, 0)?, row.get(1)?))).optional())
            .map_err(|e| damage_or_storage(tail.seq, &e))?;
        let printed = Seq(meta(&tx, "printed")?);
        drop(tx);
        let (seq, check) = found.map_or((0, 0), |(seq, check)| (seq, check));
        if seq != tail.seq.0 {
            let seq = Seq(seq.min(tail.seq.0) + 1);
            let reason = format!("the journal should end with event {}", tail.seq);
            return Err(JournalError::Damaged { seq, reason });
        }
        if u32::try_from(check) != Ok(tail.check) {
            let reason = "its checksum is not the one at the end of the journal".to_owned();
            return Err(JournalError::Damaged { seq: tail.seq, reason });
        }
        self.tail = tail;
        self.printed = printed.min(tail.seq);
        self.printed_on_disk = printed;
        Ok(())
    }

    fn writable(&self) -> Result<(), JournalError> {
        let reason = match self.access {
            Access::Write => return Ok(()),
            Access::Read => "it was opened for reading only",
            Access::Broken => "an earlier write failed, open it again",
        };
        Err(JournalError::Storage { doing: "written", reason: reason.to_owned() })
    }

    /// Runs `work` and the cursor's update in one durable transaction.
    fn commit<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, JournalError> {
        if let Some(path) = self.claim.lost() {
            return Err(JournalError::Lost { path: path.display().to_string() });
        }
        let failed = |e: rusqlite::Error| storage("written", &e);
        let tx = self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        // An error up to here drops the transaction, which rolls it back: the journal stays as it was.
        let value = work(&tx).map_err(failed)?;
        if self.printed != self.printed_on_disk {
            set_meta(&tx, "printed", self.printed.0).map_err(failed)?;
        }
        if let Err(e) = tx.commit() {
            self.access = Access::Broken;
            return Err(failed(e));
        }
        self.printed_on_disk = self.printed;
        Ok(value)
    }

    /// The stored checksum of one event, as the start of a chain.
    fn check_at(&self, seq: Seq) -> Result<u32, JournalError> {
        if seq.0 == 0 {
            return Ok(0);
        }
        let found: Option<i64> = self
            .db
            .prepare_cached("SELECT check_sum FROM events WHERE seq = ?1")
            .and_then(|mut s| s.query_row([number(seq.0)], |row| row.get(0)).optional())
            .map_err(|e| damage_or_storage(seq, &e))?;
        match found.map(u32::try_from) {
            Some(Ok(check)) => Ok(check),
            Some(Err(_)) => {
                Err(JournalError::Damaged { seq, reason: "its checksum is out of range".to_owned() })
            }
            None => Err(missing(seq)),
        }
    }
}

impl Journal for Sqlite {
    /// If the final write to the disk fails, the batch does not count, but a later `open` may find it there:
    /// as after a crash just before the answer. Until then nothing more is written.
    fn append(&mut self, batch: &[Entry]) -> Result<(), JournalError> {
        self.writable()?;
        if batch.is_empty() {
            return Ok(());
        }
        for (n, entry) in batch.iter().enumerate() {
            if entry.seq != self.tail.seq.plus(n + 1) {
                return Err(JournalError::Gap { last: self.tail.seq.plus(n), given: entry.seq });
            }
        }
        let mut tail = self.tail;
        self.tail = self.commit(|db| {
            let mut insert = db.prepare_cached(
                "INSERT INTO events (seq, at, version, kind, body, check_sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            for entry in batch {
                tail = Tail { seq: entry.seq, check: chain::link(tail.check, entry) };
                let seq = number(entry.seq.0);
                insert.execute(params![seq, entry.at.0, entry.version, entry.kind, entry.body, tail.check])?;
            }
            set_meta(db, "last_seq", tail.seq.0)?;
            set_meta(db, "last_check", u64::from(tail.check))?;
            Ok(tail)
        })?;
        Ok(())
    }

    fn last(&self) -> Seq {
        self.tail.seq
    }

    fn read(&mut self, after: Seq, limit: usize) -> Result<Vec<Entry>, JournalError> {
        if self.access == Access::Read {
            self.refresh()?;
        }
        if after >= self.tail.seq || limit == 0 {
            return Ok(Vec::new());
        }
        let mut check = self.check_at(after)?;
        let count_max = usize::try_from(self.tail.seq.0 - after.0).map_or(limit, |n| n.min(limit));
        let mut entries: Vec<Entry> = Vec::with_capacity(count_max.min(4096));
        let next = |entries: &[Entry]| after.plus(entries.len() + 1);
        let mut select = self
            .db
            .prepare_cached(
                "SELECT seq, at, version, kind, body, check_sum FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            )
            .map_err(|e| damage_or_storage(next(&entries), &e))?;
        let mut rows = select
            .query(params![number(after.0), number(count_max as u64)])
            .map_err(|e| damage_or_storage(next(&entries), &e))?;
        while let Some(row) = rows.next().map_err(|e| damage_or_storage(next(&entries), &e))? {
            let seq = next(&entries);
            let (entry, stored) = read_entry(row).map_err(|e| damage_or_storage(seq, &e))?;
            if entry.seq != seq {
                return Err(missing(seq));
            }
            check = chain::link(check, &entry);
            if check != stored {
                return Err(JournalError::Damaged { seq, reason: "its checksum does not fit".to_owned() });
            }
            entries.push(entry);
        }
        if entries.len() < count_max {
            return Err(missing(next(&entries)));
        }
        Ok(entries)
    }

    /// A damaged snapshot counts as none: everything in it is still in the events.
    fn snapshot(&mut self) -> Result<Option<Snapshot>, JournalError> {
        if self.access == Access::Read {
            self.refresh()?;
        }
        let found = self
            .db
            .prepare_cached("SELECT seq, version, body, check_sum FROM snapshots ORDER BY seq DESC LIMIT 1")
            .and_then(|mut s| s.query_row([], read_snapshot).optional());
        match found {
            Ok(Some((snapshot, check)))
                if check == chain::seal(&snapshot) && snapshot.seq <= self.tail.seq =>
            {
                Ok(Some(snapshot))
            }
            Ok(_) => Ok(None),
            Err(e) if is_damage(&e) => Ok(None),
            Err(e) => Err(storage("read", &e)),
        }
    }

    fn save_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), JournalError> {
        self.writable()?;
        if snapshot.seq > self.tail.seq {
            return Err(JournalError::Gap { last: self.tail.seq, given: snapshot.seq });
        }
        self.commit(|db| {
            db.prepare_cached("DELETE FROM snapshots")?.execute([])?;
            db.prepare_cached(
                "INSERT INTO snapshots (seq, version, body, check_sum) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![
                number(snapshot.seq.0),
                snapshot.version,
                snapshot.body,
                chain::seal(snapshot)
            ])?;
            Ok(())
        })
    }

    fn printed(&mut self) -> Result<Seq, JournalError> {
        if self.access == Access::Read {
            self.refresh()?;
        }
        Ok(self.printed)
    }

    /// Kept in memory and written with the next append, with a snapshot, or when the journal is dropped. A
    /// crash before that costs printing again what was printed since, which changes no file.
    fn set_printed(&mut self, seq: Seq) -> Result<(), JournalError> {
        self.writable()?;
        if seq > self.tail.seq {
            return Err(JournalError::Gap { last: self.tail.seq, given: seq });
        }
        self.printed = seq;
        Ok(())
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        if self.access == Access::Write && self.printed != self.printed_on_disk {
            // Lost if it fails: then the events are printed again.
            let _ = self.commit(|_| Ok(()));
        }
    }
}

fn read_entry(row: &Row<'_>) -> rusqlite::Result<(Entry, u32)> {
    let entry = Entry {
        seq: Seq(read_u64(row, 0)?),
        at: Time(row.get(1)?),
        version: row.get(2)?,
        kind: row.get(3)?,
        body: row.get(4)?,
    };
    Ok((entry, row.get(5)?))
}

fn read_snapshot(row: &Row<'_>) -> rusqlite::Result<(Snapshot, u32)> {
    let snapshot = Snapshot { seq: Seq(read_u64(row, 0)?), version: row.get(1)?, body: row.get(2)? };
    Ok((snapshot, row.get(3)?))
}

fn read_u64(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

/// SQLite has no unsigned numbers; a journal with more than 2^63 events does not exist.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn meta(db: &Connection, key: &str) -> Result<u64, JournalError> {
    db.prepare_cached("SELECT value FROM meta WHERE key = ?1")
        .and_then(|mut s| s.query_row([key], |row| read_u64(row, 0)))
        .map_err(|e| storage("read", &e))
}

fn set_meta(db: &Connection, key: &str, value: u64) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE meta SET value = ?2 WHERE key = ?1")?.execute(params![key, number(value)])?;
    Ok(())
}

/// A checksum that is out of range matches nothing.
fn check_of(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn missing(seq: Seq) -> JournalError {
    JournalError::Damaged { seq, reason: "it is missing".to_owned() }
}

fn storage(doing: &'static str, error: &rusqlite::Error) -> JournalError {
    JournalError::Storage { doing, reason: error.to_string() }
}

fn damage_or_storage(seq: Seq, error: &rusqlite::Error) -> JournalError {
    if is_damage(error) {
        JournalError::Damaged { seq, reason: error.to_string() }
    } else {
        storage("read", error)
    }
}

/// Whether the bytes are wrong, not the way to them.
fn is_damage(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => {
            matches!(failure.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        }
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::Utf8Error(..) => true,
        _ => false,
    }
}
