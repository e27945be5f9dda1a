//! Waiting for whoever writes the journal, be it a daemon or a command: the system says when its files changed, so
//! nobody has to look from time to time.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use domain::layout;
use notify::event::ModifyKind;
use notify::{Config, Event, EventKind, PollWatcher, RecursiveMode, Watcher};

/// How often to look where the system says nothing (a network file system, or too many watches).
const POLL: Duration = Duration::from_millis(500);

/// Tells when the journal of a home may have more than before.
pub struct Changes {
    folder: PathBuf,
    /// Which folder is watched: it may be deleted and made again.
    watched: Option<u64>,
    watcher: Box<dyn Watcher + Send>,
    wakes: Receiver<()>,
}

impl Changes {
    /// Watches from now on, also a journal that is only to be made. What is read after this and not seen is told.
    pub fn of(home: &Path) -> std::io::Result<Self> {
        let (sender, wakes) = sync_channel(1);
        let folder = home.join(layout::OWN);
        let watched = |watcher: Box<dyn Watcher + Send>| {
            let mut watcher = watcher;
            watcher.watch(home, RecursiveMode::NonRecursive).map(|()| watcher)
        };
        let told = notify::recommended_watcher(handler(folder.clone(), sender.clone()));
        let watcher = told.and_then(|watcher| watched(Box::new(watcher))).or_else(|_| {
            let config = Config::default().with_poll_interval(POLL);
            watched(Box::new(PollWatcher::new(handler(folder.clone(), sender), config)?))
        });
        let watcher = watcher.map_err(std::io::Error::other)?;
        let mut changes = Self { folder, watched: None, watcher, wakes };
        changes.watch_folder();
        Ok(changes)
    }

    /// Waits for a change, at most so long; says whether there was one.
    pub fn wait(&mut self, most: Option<Duration>) -> bool {
        let woken = match most {
            Some(most) => !matches!(self.wakes.recv_timeout(most), Err(RecvTimeoutError::Timeout)),
            None => self.wakes.recv().is_ok(),
        };
        self.watch_folder();
        woken
    }

    fn watch_folder(&mut self) {
        use std::os::unix::fs::MetadataExt as _;
        let found = std::fs::metadata(&self.folder).ok().map(|folder| folder.ino());
        if found == self.watched {
            return;
        }
        // What is gone is not watched any more; an error says only that.
        _ = self.watcher.unwatch(&self.folder);
        let watch = found.filter(|_| self.watcher.watch(&self.folder, RecursiveMode::NonRecursive).is_ok());
        self.watched = watch;
    }
}

fn handler(folder: PathBuf, wake: SyncSender<()>) -> impl FnMut(notify::Result<Event>) + Send + 'static {
    move |event| {
        if event.map_or(true, |event| concerns(&folder, &event)) {
            // One wake that waits stands for all that follow.
            _ = wake.try_send(());
        }
    }
}

/// Whether there may be more to read. Reading makes files beside the journal and takes them away: that is nothing new.
fn concerns(folder: &Path, event: &Event) -> bool {
    let (made, written) = match event.kind {
        // SQLite gives the files that it opens to whom the journal belongs, if it runs as root: whoever reads, too.
        EventKind::Modify(ModifyKind::Metadata(_)) => (false, false),
        EventKind::Create(_) | EventKind::Remove(_) => (true, false),
        EventKind::Modify(_) => (true, true),
        EventKind::Any | EventKind::Access(_) | EventKind::Other => (false, false),
    };
    let is = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        (made && (path == folder || name == Some("journal.db")))
            || (written && name == Some("journal.db-wal"))
    };
    event.need_rescan() || event.paths.iter().any(is)
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, CreateKind, MetadataKind, RemoveKind};

    use super::*;
    use crate::journal::Sqlite;

    #[test]
    fn what_reading_leaves_behind_is_no_change() {
        let folder = Path::new("/home/.synod");
        let concerns = |kind, path: &str| concerns(folder, &Event::new(kind).add_path(folder.join(path)));
        let (created, removed) = (EventKind::Create(CreateKind::File), EventKind::Remove(RemoveKind::File));
        let (written, read) = (EventKind::Modify(ModifyKind::Any), EventKind::Access(AccessKind::Any));
        let owned = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));
        for kind in [created, removed, read, owned] {
            assert!(!concerns(kind, "journal.db-wal"), "{kind:?}");
        }
        for kind in [created, removed, written, read] {
            assert!(!concerns(kind, "journal.db-shm") && !concerns(kind, "audit.json"), "{kind:?}");
        }
        assert!(concerns(written, "journal.db-wal") && concerns(written, "journal.db"));
        assert!(concerns(created, "journal.db") && concerns(created, "") && concerns(removed, ""));
        assert!(!concerns(read, "journal.db"));
    }

    #[test]
    fn who_reads_does_not_wake_itself() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".synod")).unwrap();
        let path = home.path().join(".synod/journal.db");
        // It goes away without closing, as one that is killed, and its files beside the journal stay.
        std::mem::forget(Sqlite::open(&path).unwrap());
        let mut changes = Changes::of(home.path()).unwrap();
        for _ in 0..10 {
            drop(Sqlite::open_read_only(&path).unwrap());
            if !changes.wait(Some(Duration::from_millis(100))) {
                return;
            }
        }
        panic!("it reads again and again what it has read");
    }
}
