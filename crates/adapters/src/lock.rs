//! One daemon per home. The locks are the system's own and go with the process, however it ends. One is on the folder
//! itself, which outlives a deleted `.synod/`; one is on a file, which also tells people who has it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use domain::layout;
use tokio::sync::watch;

/// Where the lock stands in a home.
pub const LOCK_FILE: &str = layout::LOCK;

/// Who has which lock, as the system tells it.
const LOCKS: &str = "/proc/locks";

/// Why this process may not run the home.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else does.
    #[error("{} is run by {}", home.display(), pid.map_or("another process".to_owned(), |p| format!("process {p}")))]
    Held {
        /// The home.
        home: PathBuf,
        /// Who, if that is known.
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
    home: PathBuf,
    // Closing them frees the locks.
    folder: File,
    file: File,
}

/// Whether to wait for whoever has the lock.
enum Wait {
    Never,
    /// For as long as anybody wants it.
    While(Weak<()>),
}

impl HomeLock {
    /// Takes the lock of a home, or says who has it. Never waits.
    pub fn take(home: &Path) -> Result<Self, LockError> {
        Self::acquire(home, &Wait::Never)
    }

    /// Begins to wait for the lock of a home.
    pub fn wait(home: &Path) -> Waiting {
        // With one place, the thread is rid of the lock whether or not anybody still wants it.
        let (sender, taken) = sync_channel(1);
        let wanted = Arc::new(());
        let (place, wait) = (home.to_owned(), Wait::While(Arc::downgrade(&wanted)));
        let spawned = std::thread::Builder::new().name("synod-lock".to_owned()).spawn(move || {
            _ = sender.send(Self::acquire(&place, &wait));
        });
        // Without a thread nobody sends, and the first look finds that out.
        drop(spawned);
        Waiting { home: home.to_owned(), taken, _wanted: wanted }
    }

    fn acquire(home: &Path, wait: &Wait) -> Result<Self, LockError> {
        let path = home.join(LOCK_FILE);
        let storage = |source| LockError::Storage { path: path.clone(), source };
        // First, and before anything is made: a folder stays the same however often `.synod/` is deleted.
        let folder =
            File::open(home).map_err(|source| LockError::Storage { path: home.to_owned(), source })?;
        match lock(&folder, wait) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(home)),
            // A network file system may know no locks on folders; there, the file's alone must do.
            Err(TryLockError::Error(_)) => {}
        }
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
        match lock(&file, wait) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(home)),
            Err(TryLockError::Error(source)) => return Err(storage(source)),
        }
        write_pid(&mut file).map_err(storage)?;
        Ok(Self { home: home.to_owned(), folder, file })
    }

    /// What this process holds: the folder, the lock file, and `also`, relative to the home, as they are now.
    pub fn claim(&self, also: &[&str]) -> io::Result<Claim> {
        let mut places = vec![
            Place { path: self.home.clone(), is: identity(&self.folder.metadata()?) },
            Place { path: self.home.join(LOCK_FILE), is: identity(&self.file.metadata()?) },
        ];
        for path in also {
            let path = self.home.join(path);
            places.push(Place { is: identity(&fs::metadata(&path)?), path });
        }
        Ok(Claim(Arc::new(Claimed { places, lost: watch::Sender::default() })))
    }
}

/// Waits for a lock, on a thread of its own: the system wakes it when whoever has the lock ends.
pub struct Waiting {
    home: PathBuf,
    taken: Receiver<Result<HomeLock, LockError>>,
    // The thread makes nothing in the home once this is gone.
    _wanted: Arc<()>,
}

impl Waiting {
    /// The lock, or who still has it after `patience`.
    pub fn within(&self, patience: Duration) -> Result<HomeLock, LockError> {
        match self.taken.recv_timeout(patience) {
            Ok(taken) => taken,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(held(&self.home)),
        }
    }
}

/// What a process holds while it works in a home, for those who must stop when it is taken from under them. Cheap to
/// clone; the default holds nothing and loses nothing.
#[derive(Debug, Clone, Default)]
pub struct Claim(Arc<Claimed>);

#[derive(Debug, Default)]
struct Claimed {
    places: Vec<Place>,
    lost: watch::Sender<Option<PathBuf>>,
}

#[derive(Debug)]
struct Place {
    path: PathBuf,
    is: (u64, u64),
}

impl Claim {
    /// What was deleted or replaced, once anything was. Costs a look at the name of each place.
    pub fn lost(&self) -> Option<PathBuf> {
        if let Some(path) = self.0.lost.borrow().as_ref() {
            return Some(path.clone());
        }
        let lost = self.0.places.iter().find(|place| place.is_lost())?;
        self.0.lost.send_replace(Some(lost.path.clone()));
        Some(lost.path.clone())
    }

    /// Ends when somebody noticed that it is lost.
    pub async fn until_lost(&self) {
        let mut lost = self.0.lost.subscribe();
        // The sender lives as long as this does.
        _ = lost.wait_for(Option::is_some).await;
    }
}

impl Place {
    fn is_lost(&self) -> bool {
        match fs::metadata(&self.path) {
            Ok(now) => identity(&now) != self.is,
            // Only a name that is gone counts: a disk that does not answer may answer again.
            Err(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        }
    }
}

fn identity(metadata: &fs::Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

fn lock(file: &File, wait: &Wait) -> Result<(), TryLockError> {
    match wait {
        Wait::Never => file.try_lock(),
        Wait::While(wanted) => {
            let locked = file.lock().map_err(TryLockError::Error);
            // It may have come too late.
            if wanted.strong_count() == 0 { Err(TryLockError::WouldBlock) } else { locked }
        }
    }
}

fn held(home: &Path) -> LockError {
    // The file may still have the number of the one before, or be gone; the system knows better, if it tells.
    LockError::Held { home: home.to_owned(), pid: owner(home).or_else(|| read_pid(home)) }
}

/// Who has locked the folder, from lines such as `5: FLOCK  ADVISORY  WRITE 4711 fd:01:131076 0 EOF`.
pub(crate) fn owner(folder: &Path) -> Option<u32> {
    let (device, inode) = identity(&fs::metadata(folder).ok()?);
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let file = format!("{major:02x}:{minor:02x}:{inode}");
    let locks = fs::read_to_string(LOCKS).ok()?;
    locks.lines().find_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
        // Those who wait have an arrow before the kind. Of a process in another container there is no number.
        [_, "FLOCK", _, _, pid, of, ..] if of == file => pid.parse().ok().filter(|pid| *pid > 0),
        _ => None,
    })
}

fn read_pid(home: &Path) -> Option<u32> {
    let mut text = String::new();
    File::open(home.join(LOCK_FILE)).ok()?.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "{}", std::process::id())
}
