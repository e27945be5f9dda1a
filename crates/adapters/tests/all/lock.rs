//! The lock of a home.

use std::fs;

use adapters::journal::Sqlite;
use adapters::lock::{Claim, HomeLock, LOCK_FILE, LockError};
use domain::id::{Seq, Time};
use ports::journal::{Entry, Journal as _, JournalError};

#[test]
fn a_home_has_one_daemon_and_the_second_hears_which() {
    let home = tempfile::tempdir().unwrap();
    let first = HomeLock::take(home.path()).unwrap();
    match HomeLock::take(home.path()) {
        Err(LockError::Held { pid, .. }) => assert_eq!(pid, Some(std::process::id())),
        other => panic!("{other:?}"),
    }
    assert!(HomeLock::take(home.path()).unwrap_err().to_string().contains(&std::process::id().to_string()));
    drop(first);
    HomeLock::take(home.path()).unwrap();
}

#[test]
fn a_lock_file_that_a_dead_process_left_locks_nothing() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(".synod")).unwrap();
    std::fs::write(home.path().join(LOCK_FILE), "999999999\nand more than the number that comes\n").unwrap();
    let _lock = HomeLock::take(home.path()).unwrap();
    let text = std::fs::read_to_string(home.path().join(LOCK_FILE)).unwrap();
    assert_eq!(text, format!("{}\n", std::process::id()));
}

#[test]
fn a_home_that_cannot_be_written_is_an_error_with_the_file() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(".synod"), "a file where a folder should be").unwrap();
    let error = HomeLock::take(home.path()).unwrap_err().to_string();
    assert!(error.contains(".synod"), "{error}");
}

#[test]
fn a_deleted_synod_folder_gives_no_second_owner() {
    let home = tempfile::tempdir().unwrap();
    let first = HomeLock::take(home.path()).unwrap();
    fs::remove_dir_all(home.path().join(".synod")).unwrap();
    match HomeLock::take(home.path()) {
        Err(LockError::Held { pid, .. }) => assert_eq!(pid, Some(std::process::id())),
        other => panic!("{other:?}"),
    }
    assert!(!home.path().join(".synod").exists(), "whoever is refused leaves nothing behind");
    drop(first);
    HomeLock::take(home.path()).unwrap();
}

#[test]
fn a_claim_is_lost_with_what_it_was_on_and_nothing_is_journalled_any_more() {
    type Take = fn(&std::path::Path);
    let takes: [(&str, Take); 4] = [
        (".synod/lock", |home| fs::remove_dir_all(home.join(".synod")).unwrap()),
        (".synod/lock", |home| {
            fs::copy(home.join(LOCK_FILE), home.join("copy")).unwrap();
            fs::rename(home.join("copy"), home.join(LOCK_FILE)).unwrap();
        }),
        (".synod/journal.db", |home| fs::remove_file(home.join(".synod/journal.db")).unwrap()),
        ("", |home| {
            fs::rename(home, home.with_extension("old")).unwrap();
            fs::create_dir(home).unwrap();
        }),
    ];
    for (what, take) in takes {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir(&home).unwrap();
        let lock = HomeLock::take(&home).unwrap();
        let journal = Sqlite::open(&home.join(".synod/journal.db")).unwrap();
        let claim = lock.claim(&[".synod/journal.db"]).unwrap();
        let mut journal = journal.claimed(claim.clone());
        let entry =
            |seq| Entry { seq: Seq(seq), at: Time(1), version: 1, kind: "k".into(), body: "{}".into() };
        journal.append(&[entry(1)]).unwrap();
        assert_eq!(claim.lost(), None);
        take(&home);
        let path = if what.is_empty() { home.clone() } else { home.join(what) };
        match journal.append(&[entry(2)]) {
            Err(JournalError::Lost { path: lost }) => assert_eq!(lost, path.display().to_string()),
            other => panic!("{what}: {other:?}"),
        }
        assert_eq!(claim.lost(), Some(path));
    }
    assert_eq!(Claim::default().lost(), None);
}
