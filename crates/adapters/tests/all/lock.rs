//! The lock of a home.

use adapters::lock::{HomeLock, LOCK_FILE, LockError};

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
