//! One daemon per home. The lock is the system's own and goes with the process, however it ends; the file
//! only tells people who has it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Where the lock stands in a home.
pub const LOCK_FILE: &str = ".synod/lock";

/// Why this process may not run the home.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else does.
    #[error("{} is run by process {}", home.display(), pid.map_or("of an unknown number".to_owned(), |p| p.to_string()))]
    Held {
        /// The home.
        home: PathBuf,
        /// Who, if the file says so.
        pid: Option<u32>,
    },
    /// The file could not be made or locked.
    #[error("{} cannot be locked: {source}", path.display())]
    Storage {
        /// The lock file.
        path: PathBuf,
        /// In the words of the system.
        source: io::Error,
    },
}

/// The right to run a home, until it is dropped.
#[derive(Debug)]
pub struct HomeLock {
    // Never read again: closing it frees the lock.
    _file: File,
}

impl HomeLock {
    /// Takes the lock of a home, or says who has it. Never waits.
    pub fn take(home: &Path) -> Result<Self, LockError> {
        let path = home.join(LOCK_FILE);
        let storage = |source| LockError::Storage { path: path.clone(), source };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(storage)?;
        }
        // Not truncated: until the lock is ours, the number in it is somebody else's.
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(storage)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held { home: home.to_owned(), pid: read_pid(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(storage(source)),
        }
        write_pid(&mut file).map_err(storage)?;
        Ok(Self { _file: file })
    }
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "{}", std::process::id())
}
