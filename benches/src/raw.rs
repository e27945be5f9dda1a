//! The least that a durable log on SQLite costs: the same bytes and pragmas as the journal, no checks.

use std::path::Path;

use ports::journal::Entry;
use rusqlite::{Connection, TransactionBehavior, params};

/// A log without checks.
pub struct Raw {
    db: Connection,
}

impl Raw {
    /// Makes the log.
    pub fn create(path: &Path) -> rusqlite::Result<Self> {
        let db = Connection::open(path)?;
        db.pragma_update(None, "journal_mode", "wal")?;
        db.pragma_update(None, "synchronous", "full")?;
        db.execute_batch(
            "CREATE TABLE events (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, version INTEGER NOT NULL,
             kind TEXT NOT NULL, body TEXT NOT NULL, check_sum INTEGER NOT NULL) STRICT",
        )?;
        Ok(Self { db })
    }

    /// Adds all in one transaction, one statement for each.
    pub fn append(&mut self, batch: &[Entry]) -> rusqlite::Result<()> {
        let tx = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut insert = tx.prepare_cached("INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
            for entry in batch {
                let seq = i64::try_from(entry.seq.0).unwrap_or(i64::MAX);
                insert.execute(params![
                    seq,
                    entry.at.0,
                    entry.version,
                    entry.kind,
                    entry.body,
                    0x9e37_79b9_u32
                ])?;
            }
        }
        tx.commit()
    }
}

/// Reads every column of every row of a journal; gives the number of bytes.
pub fn read_all(path: &Path) -> rusqlite::Result<usize> {
    let db = Connection::open(path)?;
    let mut select = db.prepare("SELECT seq, at, version, kind, body, check_sum FROM events ORDER BY seq")?;
    let mut rows = select.query([])?;
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        let (kind, body): (String, String) = (row.get(3)?, row.get(4)?);
        let numbers: (i64, i64, u32, u32) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(5)?);
        bytes += kind.len() + body.len() + size_of_val(&numbers);
    }
    Ok(bytes)
}
