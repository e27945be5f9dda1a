//! Makes what the desk wrote durable, on a thread of its own: nobody who reads a conversation waits for the disk.
//! The journal has it all already; what is told here is only how far the files can be relied on without it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use domain::id::Seq;

use super::turned::Turned;
use crate::disk::{self, yield_to_others};
use crate::git::history::{History, Notes};

/// From so many files on, the whole file system is asked once instead of each file by itself.
const TOGETHER_MIN: usize = 32;
/// How soon it is tried again when the disk refused.
const RETRY: Duration = Duration::from_millis(100);

/// What was written and may not be durable yet.
#[derive(Default)]
struct Pending {
    files: BTreeSet<String>,
    /// Everything up to this event stands in the files, once they are durable.
    reached: Option<Seq>,
    notes: Vec<Notes>,
    /// New versions that take their places when their bytes are durable.
    turned: Vec<Turned>,
    stop: bool,
    busy: bool,
}

#[derive(Default)]
struct Shared {
    pending: Mutex<Pending>,
    wake: Condvar,
    /// Somebody waits for all that was given to be durable.
    done: Condvar,
    /// New versions whose bytes are durable.
    ready: Mutex<Vec<Turned>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        // What a panic may leave behind is at worst a file that is flushed once more.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The desk's side of the thread.
pub(super) struct Flusher {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Flusher {
    /// Starts it. It tells `printed` how far the files reach, and the history what stands in them.
    pub(super) fn spawn(home: &Path, printed: Arc<AtomicU64>, history: History) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let worker = Worker { home: home.to_owned(), printed, history, shared: Arc::clone(&shared) };
        let thread = std::thread::Builder::new().name("synod-flush".to_owned()).spawn(move || {
            yield_to_others();
            worker.run();
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Takes over files that were written, and how far they reach. Never waits.
    pub(super) fn take(&self, files: BTreeSet<String>, reached: Option<Seq>, notes: Option<Notes>) {
        if files.is_empty() && reached.is_none() && notes.is_none() {
            return;
        }
        let mut pending = self.shared.lock();
        pending.files.extend(files);
        pending.reached = reached.or(pending.reached);
        pending.notes.extend(notes);
        self.shared.wake.notify_all();
    }

    /// Takes over a new version of a file. `prepared` gives it back when its bytes are durable.
    pub(super) fn prepare(&self, turned: Turned) {
        self.shared.lock().turned.push(turned);
        self.shared.wake.notify_all();
    }

    /// New versions whose bytes are durable.
    pub(super) fn prepared(&self) -> Vec<Turned> {
        std::mem::take(&mut *self.shared.ready.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until all that was taken over is durable, or the disk has refused it once more.
    pub(super) fn wait(&self) {
        let mut pending = self.shared.lock();
        while pending.busy || pending.is_due() {
            pending = self.shared.done.wait(pending).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

impl Pending {
    fn is_due(&self) -> bool {
        self.reached.is_some() || !self.files.is_empty() || !self.notes.is_empty() || !self.turned.is_empty()
    }
}

struct Worker {
    home: PathBuf,
    printed: Arc<AtomicU64>,
    history: History,
    shared: Arc<Shared>,
}

impl Worker {
    fn run(self) {
        loop {
            let mut pending = self.shared.lock();
            while !pending.is_due() && !pending.stop {
                pending = self.shared.wake.wait(pending).unwrap_or_else(PoisonError::into_inner);
            }
            let stop = pending.stop;
            let mine = std::mem::take(&mut *pending);
            (pending.busy, pending.stop) = (true, stop);
            drop(pending);
            let refused = self.flush(mine);
            let mut pending = self.shared.lock();
            pending.busy = false;
            self.shared.done.notify_all();
            if stop {
                return;
            }
            if let Some(refused) = refused {
                // What the disk refused stays, and so does the cursor: the journal has it.
                let waited = self.shared.wake.wait_timeout(pending, RETRY);
                let mut pending = waited.unwrap_or_else(PoisonError::into_inner).0;
                pending.files.extend(refused.files);
                pending.turned.extend(refused.turned);
                pending.reached = pending.reached.or(refused.reached);
                pending.notes.splice(0..0, refused.notes);
            }
        }
    }

    /// Makes a batch durable and tells of it; gives back what the disk refused.
    fn flush(&self, mut mine: Pending) -> Option<Pending> {
        let turned = std::mem::take(&mut mine.turned);
        (mine.files, mine.turned) = self.sync(mine.files, turned);
        if !mine.files.is_empty() || !mine.turned.is_empty() {
            return Some(mine);
        }
        if let Some(reached) = mine.reached {
            self.printed.store(reached.0, Ordering::Release);
        }
        mine.notes.into_iter().for_each(|notes| self.history.note(notes));
        None
    }

    /// Makes the files and their names durable, and the new versions of others; gives back those that are not.
    fn sync(&self, files: BTreeSet<String>, turned: Vec<Turned>) -> (BTreeSet<String>, Vec<Turned>) {
        let ready = |turned| self.shared.ready.lock().unwrap_or_else(PoisonError::into_inner).extend(turned);
        if files.len() + turned.len() >= TOGETHER_MIN && disk::sync_together(&self.home).is_ok() {
            ready(turned);
            return (BTreeSet::new(), Vec::new());
        }
        let (durable, late): (Vec<_>, Vec<_>) =
            turned.into_iter().partition(|turned| turned.prepared().sync().is_ok());
        ready(durable);
        let folders: BTreeSet<PathBuf> =
            files.iter().filter_map(|path| Some(self.home.join(path).parent()?.to_owned())).collect();
        let refused = files.into_iter().filter(|path| disk::sync(&self.home.join(path)).is_err()).collect();
        folders.iter().for_each(|folder| disk::sync_folder(folder));
        (refused, late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_moves_only_with_what_is_durable() {
        let home = tempfile::tempdir().unwrap();
        let (tell, _) = tokio::sync::mpsc::channel(1);
        let printed = Arc::new(AtomicU64::new(0));
        let history = History::spawn(home.path(), tell).unwrap();
        let flusher = Flusher::spawn(home.path(), printed.clone(), history).unwrap();
        std::fs::write(home.path().join("a"), "one").unwrap();
        flusher.take(["a".to_owned()].into(), Some(Seq(3)), None);
        flusher.wait();
        assert_eq!(printed.load(Ordering::Acquire), 3);
        // A file beneath what is no folder cannot be made durable.
        flusher.take(["a/b".to_owned()].into(), Some(Seq(5)), None);
        flusher.wait();
        assert_eq!(printed.load(Ordering::Acquire), 3, "the journal still has to print it");
        std::fs::remove_file(home.path().join("a")).unwrap();
        std::fs::create_dir(home.path().join("a")).unwrap();
        std::fs::write(home.path().join("a/b"), "two").unwrap();
        // Whatever comes next finds what was left.
        flusher.take(BTreeSet::new(), Some(Seq(6)), None);
        while printed.load(Ordering::Acquire) != 6 {
            std::thread::yield_now();
        }
        let many = (0..TOGETHER_MIN).map(|n| format!("many-{n}")).collect();
        flusher.take(many, Some(Seq(9)), None);
        flusher.wait();
        assert_eq!(printed.load(Ordering::Acquire), 9);
    }
}
