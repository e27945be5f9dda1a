//! The tables, and how older files get them.

use std::time::Duration;

use ports::journal::JournalError;
use rusqlite::{Connection, TransactionBehavior};

use super::{BUSY_MS_MAX, storage};

/// One step for each `user_version`: the first makes an empty file version 1. Steps are never changed, only added.
const STEPS: [&str; 1] = ["
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        version INTEGER NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        check_sum INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE snapshots (
        seq INTEGER PRIMARY KEY,
        version INTEGER NOT NULL,
        body TEXT NOT NULL,
        check_sum INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
    INSERT INTO meta VALUES ('printed', 0), ('last_seq', 0), ('last_check', 0);
"];

/// The newest format that this version reads.
const KNOWN: u32 = STEPS.len() as u32;

/// Sets what holds for this connection only, and WAL, which stays in the file.
pub(super) fn prepare(db: &Connection) -> Result<(), JournalError> {
    let failed = |e: rusqlite::Error| storage("opened", &e);
    db.busy_timeout(Duration::from_millis(BUSY_MS_MAX)).map_err(failed)?;
    // Before anything is written: a file of a newer version stays exactly as it is.
    check_version(db)?;
    db.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
    // FULL: a commit returns when the disk has it. NORMAL would lose the last ones with the power.
    db.pragma_update(None, "synchronous", "full").map_err(failed)
}

/// Refuses a file that a newer version wrote.
pub(super) fn check_version(db: &Connection) -> Result<(), JournalError> {
    let found = version(db)?;
    if found > KNOWN {
        return Err(JournalError::TooNew { found, known: KNOWN });
    }
    Ok(())
}

/// Takes the file to the newest format, all steps at once or none.
pub(super) fn migrate(db: &mut Connection) -> Result<(), JournalError> {
    if version(db)? == KNOWN {
        return Ok(());
    }
    let failed = |e: rusqlite::Error| storage("opened", &e);
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let from = version(&tx)?;
    for step in STEPS.iter().skip(from as usize) {
        tx.execute_batch(step).map_err(failed)?;
    }
    tx.pragma_update(None, "user_version", KNOWN).map_err(failed)?;
    tx.commit().map_err(failed)
}

fn version(db: &Connection) -> Result<u32, JournalError> {
    db.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(|e| storage("opened", &e))
}
