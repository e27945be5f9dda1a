//! The SQLite journal: its contract, and what it does when the disk, the bytes or the version are wrong.

use std::fs;
use std::path::{Path, PathBuf};

use adapters::journal::Sqlite;
use domain::id::Seq;
use ports::journal::{Journal, JournalError, Snapshot};
use rusqlite::Connection;
use tempfile::TempDir;
use testkit::contract::journal::{self as contract, entries, entry};

struct Store {
    folder: TempDir,
}

impl Store {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("journal.db")
    }

    fn open(&self) -> Sqlite {
        Sqlite::open(&self.path()).unwrap()
    }

    /// A store with `count` events and nobody who has it open.
    fn with(count: u64) -> Self {
        let store = Self::new();
        store.open().append(&entries(1, count)).unwrap();
        store
    }

    /// Changes the file behind the journal's back.
    fn tamper(&self, sql: &str) {
        Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
    }
}

/// What opening and reading everything says.
fn read_all(path: &Path) -> Result<usize, JournalError> {
    Sqlite::open(path).and_then(|mut journal| journal.read(Seq(0), 1_000)).map(|entries| entries.len())
}

#[track_caller]
fn assert_damaged(path: &Path, expected: u64) {
    match read_all(path) {
        Err(JournalError::Damaged { seq, .. }) => assert_eq!(seq, Seq(expected)),
        other => panic!("expected damage at {expected}, got {other:?}"),
    }
}

#[test]
fn the_sqlite_journal_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let count = std::cell::Cell::new(0);
    let fresh = || {
        count.set(count.get() + 1);
        folder.path().join(format!("{}.db", count.get()))
    };
    contract::holds(|| Box::new(Sqlite::open(&fresh()).unwrap()));
    contract::survives(|| {
        let path = fresh();
        move || Box::new(Sqlite::open(&path).unwrap())
    });
}

#[test]
fn what_was_acknowledged_survives_a_kill_at_any_moment() {
    // A copy of the files between two appends is what a kill at that moment leaves.
    let store = Store::new();
    let mut journal = store.open();
    for n in 1..=40 {
        journal.append(&[entry(n)]).unwrap();
        let after = tempfile::tempdir().unwrap();
        for name in ["journal.db", "journal.db-wal"] {
            fs::copy(store.folder.path().join(name), after.path().join(name)).unwrap();
        }
        let mut found = Sqlite::open(&after.path().join("journal.db")).unwrap();
        assert_eq!(found.read(Seq(0), 100).unwrap(), entries(1, n));
        found.append(&[entry(n + 1)]).unwrap();
    }
}

#[test]
fn a_torn_write_ahead_log_loses_only_what_was_not_acknowledged() {
    let store = Store::new();
    let mut journal = store.open();
    journal.append(&entries(1, 3)).unwrap();
    let wal = store.folder.path().join("journal.db-wal");
    let acknowledged = usize::try_from(fs::metadata(&wal).unwrap().len()).unwrap();
    journal.append(&entries(4, 6)).unwrap();
    let bytes = fs::read(&wal).unwrap();
    assert!(bytes.len() > acknowledged);
    for cut in (acknowledged..bytes.len()).step_by(501) {
        let after = tempfile::tempdir().unwrap();
        fs::copy(store.path(), after.path().join("journal.db")).unwrap();
        fs::write(after.path().join("journal.db-wal"), &bytes[..cut]).unwrap();
        assert_eq!(read_all(&after.path().join("journal.db")).unwrap(), 3, "cut at {cut}");
    }
}

#[test]
fn a_changed_column_is_found_at_its_event() {
    for sql in [
        "UPDATE events SET body = body || ' ' WHERE seq = 4",
        "UPDATE events SET kind = 'other' WHERE seq = 4",
        "UPDATE events SET at = at + 1 WHERE seq = 4",
        "UPDATE events SET version = 2 WHERE seq = 4",
        "UPDATE events SET check_sum = check_sum - 1 WHERE seq = 4",
        "UPDATE events SET check_sum = -1 WHERE seq = 4",
        "UPDATE events SET version = 5000000000 WHERE seq = 4",
        "UPDATE events SET body = CAST(x'ff00fe' AS TEXT) WHERE seq = 4",
        "DELETE FROM events WHERE seq = 4",
        "DELETE FROM events WHERE seq BETWEEN 4 AND 6",
        "DELETE FROM events WHERE seq >= 4",
        "UPDATE events SET seq = 100 WHERE seq = 4; UPDATE events SET seq = 4 WHERE seq = 5; UPDATE events SET seq = 5 WHERE seq = 100",
    ] {
        let store = Store::with(9);
        store.tamper(sql);
        match read_all(&store.path()) {
            Err(JournalError::Damaged { seq: Seq(4), .. }) => {}
            other => panic!("{sql}: {other:?}"),
        }
    }
}

#[test]
fn the_first_and_the_last_event_are_guarded_too() {
    for (sql, seq) in [
        ("DELETE FROM events WHERE seq = 1", 1),
        ("UPDATE events SET body = 'x' WHERE seq = 1", 1),
        ("DELETE FROM events WHERE seq = 9", 9),
        ("UPDATE events SET body = 'x' WHERE seq = 9", 9),
        ("UPDATE events SET check_sum = 1 WHERE seq = 9", 9),
        ("INSERT INTO events SELECT 10, at, version, kind, body, check_sum FROM events WHERE seq = 9", 10),
    ] {
        let store = Store::with(9);
        store.tamper(sql);
        assert_damaged(&store.path(), seq);
    }
}

#[test]
fn events_before_the_damage_can_still_be_read() {
    let store = Store::with(9);
    store.tamper("UPDATE events SET body = 'x' WHERE seq = 6");
    let mut journal = store.open();
    assert_eq!(journal.read(Seq(0), 5).unwrap(), entries(1, 5));
    assert!(matches!(journal.read(Seq(5), 5), Err(JournalError::Damaged { seq: Seq(6), .. })));
}

#[test]
fn a_flipped_byte_in_the_file_is_found_or_changes_nothing() {
    let store = Store::with(60);
    store.tamper("PRAGMA wal_checkpoint(TRUNCATE)");
    let good = fs::read(store.path()).unwrap();
    let expected = entries(1, 60);
    let after = tempfile::tempdir().unwrap();
    let path = after.path().join("journal.db");
    let mut found = 0;
    for at in (0..good.len()).step_by(37) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        fs::write(&path, &bad).unwrap();
        for side in ["-wal", "-shm"] {
            let _ = fs::remove_file(after.path().join(format!("journal.db{side}")));
        }
        match Sqlite::open(&path).and_then(|mut journal| journal.read(Seq(0), 1_000)) {
            Ok(entries) => assert_eq!(entries, expected, "byte {at} was changed and nobody noticed"),
            Err(_) => found += 1,
        }
    }
    assert!(found > 50, "only {found} changes were in the way");
}

#[test]
fn a_damaged_snapshot_counts_as_none() {
    for sql in [
        "UPDATE snapshots SET body = 'other'",
        "UPDATE snapshots SET seq = 2",
        "UPDATE snapshots SET version = 9",
        "UPDATE snapshots SET check_sum = -5",
        "UPDATE snapshots SET body = CAST(x'ff' AS TEXT)",
    ] {
        let store = Store::with(5);
        store.open().save_snapshot(&Snapshot { seq: Seq(5), version: 1, body: "state".to_owned() }).unwrap();
        store.tamper(sql);
        let mut journal = store.open();
        assert_eq!(journal.snapshot().unwrap(), None, "{sql}");
        assert_eq!(journal.read(Seq(0), 10).unwrap(), entries(1, 5));
    }
}

#[test]
fn a_full_disk_loses_nothing_and_the_journal_goes_on_when_there_is_space() {
    let store = Store::with(3);
    let mut journal = store.open();
    journal.limit_pages(1).unwrap(); // SQLite takes it as: not one page more than there are.
    let mut big = entries(4, 9);
    for entry in &mut big {
        entry.body = "x".repeat(20_000);
    }
    match journal.append(&big) {
        Err(JournalError::Storage { doing: "written", reason }) => {
            assert!(reason.contains("full"), "{reason}")
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(journal.last(), Seq(3));
    assert_eq!(journal.read(Seq(0), 10).unwrap(), entries(1, 3));
    journal.limit_pages(100_000).unwrap();
    journal.append(&big).unwrap();
    drop(journal);
    assert_eq!(read_all(&store.path()).unwrap(), 9);
}

#[test]
fn a_journal_of_a_newer_version_is_left_alone() {
    let store = Store::with(3);
    store.tamper("PRAGMA user_version = 99");
    for error in
        [Sqlite::open(&store.path()).unwrap_err(), Sqlite::open_read_only(&store.path()).unwrap_err()]
    {
        assert!(matches!(error, JournalError::TooNew { found: 99, known: 1 }), "{error:?}");
    }
}

#[test]
fn a_file_that_is_no_journal_is_an_error() {
    let store = Store::new();
    fs::write(store.path(), "this is not a database, and long enough to look like one".repeat(100)).unwrap();
    assert!(matches!(Sqlite::open(&store.path()), Err(JournalError::Storage { doing: "opened", .. })));
    let absent = store.folder.path().join("absent.db");
    assert!(matches!(Sqlite::open_read_only(&absent), Err(JournalError::Storage { doing: "opened", .. })));
    assert!(!absent.exists(), "reading makes no file");
}

#[test]
fn a_reader_sees_what_the_writer_adds_and_writes_nothing() {
    let store = Store::new();
    let mut writer = store.open();
    writer.append(&entries(1, 2)).unwrap();
    let mut reader = Sqlite::open_read_only(&store.path()).unwrap();
    assert_eq!(reader.read(Seq(0), 10).unwrap(), entries(1, 2));
    writer.set_printed(Seq(2)).unwrap();
    writer.append(&entries(3, 4)).unwrap();
    assert_eq!(reader.read(Seq(2), 10).unwrap(), entries(3, 4));
    assert_eq!(reader.printed().unwrap(), Seq(2));
    assert!(reader.append(&entries(5, 5)).is_err());
    assert!(reader.set_printed(Seq(3)).is_err());
    writer.append(&entries(5, 5)).unwrap();
}

#[test]
fn the_cursor_is_kept_when_the_journal_is_closed() {
    let store = Store::with(4);
    let mut journal = store.open();
    journal.set_printed(Seq(3)).unwrap();
    drop(journal);
    assert_eq!(store.open().printed().unwrap(), Seq(3));
}

#[test]
fn two_writers_do_not_tear_the_chain() {
    let store = Store::with(2);
    let mut one = store.open();
    let mut two = store.open();
    one.append(&entries(3, 3)).unwrap();
    assert!(matches!(two.append(&entries(3, 3)), Err(JournalError::Storage { .. })));
    drop((one, two));
    assert_eq!(read_all(&store.path()).unwrap(), 3);
}

/// Where a child of the tests below writes; a run without it has nothing to do.
const CHILD: &str = "SYNOD_TEST_JOURNAL";

#[test]
fn child_that_writes_until_it_cannot() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let mut journal = Sqlite::open(Path::new(&path)).unwrap();
    let mut next = journal.last().0 + 1;
    while next < 100_000 {
        let batch = entries(next, next + next % 4);
        if let Err(error) = journal.append(&batch) {
            assert!(matches!(error, JournalError::Storage { doing: "written", .. }), "{error:?}");
            assert_eq!(journal.last(), Seq(next - 1), "nothing of the batch counts");
            println!("failed");
            return;
        }
        next = journal.last().0 + 1;
        println!("kept {}", journal.last());
    }
}

/// Starts that child through a shell, with `before` in front of it.
fn child(store: &Store, before: &str) -> std::process::Child {
    let program = std::env::current_exe().unwrap();
    std::process::Command::new("/bin/sh")
        .args([
            "-c",
            &format!("{before} exec \"$0\" --exact journal::child_that_writes_until_it_cannot --nocapture"),
        ])
        .arg(program)
        .env(CHILD, store.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap()
}

/// The last number that the child knew to be kept, and whether an append failed.
fn heard(lines: impl Iterator<Item = std::io::Result<String>>) -> (u64, bool) {
    let mut heard = (0, false);
    for line in lines.map_while(Result::ok) {
        if let Some(number) = line.strip_prefix("kept ") {
            heard.0 = number.parse().unwrap();
        }
        heard.1 |= line == "failed";
    }
    heard
}

#[test]
fn what_was_acknowledged_survives_kill_9() {
    use std::io::BufRead;
    let store = Store::new();
    let mut acknowledged = 0;
    for round in 0..5 {
        let mut child = child(&store, "");
        let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        let first: Vec<_> = lines.by_ref().take(20 + round * 17).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        acknowledged = heard(first.into_iter().chain(lines)).0;
        let mut journal = store.open();
        let last = journal.last().0;
        assert!(last >= acknowledged, "{last} of {acknowledged}");
        assert_eq!(journal.read(Seq(0), 100_000).unwrap(), entries(1, last));
    }
    assert!(acknowledged > 50);
}

#[test]
fn a_disk_that_takes_no_more_loses_nothing_that_was_acknowledged() {
    use std::io::BufRead;
    // A limit on the size of files is a full disk that needs no rights: 64 blocks of 512 or 1024 bytes.
    for blocks in [64, 100, 301] {
        let store = Store::new();
        let mut child = child(&store, &format!("trap '' XFSZ; ulimit -f {blocks};"));
        let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        let (acknowledged, has_failed) = heard(lines);
        assert!(child.wait().unwrap().success());
        assert!(has_failed && acknowledged > 0, "{acknowledged} at {blocks}");
        let mut journal = store.open();
        let last = journal.last().0;
        assert!(last >= acknowledged, "{last} of {acknowledged}");
        assert_eq!(journal.read(Seq(0), 100_000).unwrap(), entries(1, last));
        journal.append(&entries(last + 1, last + 2)).unwrap();
    }
}
