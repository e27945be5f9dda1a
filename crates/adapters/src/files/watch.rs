//! Notifications of the file system. They only say where to look; what changed is found by looking.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

use domain::layout;
use notify::{Event, EventKind, RecursiveMode, Watcher};

use super::Job;
use crate::disk;

/// The folders that people and the outside write to.
pub(super) const FOLDERS: [&str; 6] =
    [layout::AGENTS, layout::SESSIONS, layout::TASKS, layout::APPROVALS, layout::INBOX, layout::POLICY];

/// What is watched of a home.
pub(super) struct Watch {
    home: PathBuf,
    watcher: Box<dyn Watcher + Send>,
    /// Which folder is watched under each name: it may be taken away and made again.
    folders: BTreeMap<&'static str, Option<u64>>,
}

/// Watches the folders of a home, not its files: an editor that saves by renaming swaps the file away.
pub(super) fn start(home: &Path, jobs: SyncSender<Job>) -> std::io::Result<Watch> {
    for folder in FOLDERS {
        std::fs::create_dir_all(home.join(folder))?;
    }
    let told = notify::recommended_watcher(handler(jobs.clone()));
    told.map_err(std::io::Error::other).and_then(|watcher| Watch::of(home, Box::new(watcher))).or_else(|_| {
        // No notifications here (a network file system, or too many watches): look from time to time.
        let config = notify::Config::default().with_poll_interval(std::time::Duration::from_millis(500));
        let poll = notify::PollWatcher::new(handler(jobs), config).map_err(std::io::Error::other)?;
        Watch::of(home, Box::new(poll))
    })
}

impl Watch {
    fn of(home: &Path, mut watcher: Box<dyn Watcher + Send>) -> std::io::Result<Self> {
        watcher.watch(home, RecursiveMode::NonRecursive).map_err(std::io::Error::other)?;
        let mut folders = BTreeMap::new();
        for folder in FOLDERS {
            let found = inode(home, folder);
            watcher.watch(&home.join(folder), RecursiveMode::Recursive).map_err(std::io::Error::other)?;
            folders.insert(folder, found);
        }
        Ok(Self { home: home.to_owned(), watcher, folders })
    }

    /// Watches a folder that stands in the place of another one; says whether it does.
    pub(super) fn renew(&mut self, path: &str) -> bool {
        let Some((name, watched)) = self.folders.iter_mut().find(|(name, _)| **name == path) else {
            return false;
        };
        let found = inode(&self.home, name);
        if found == *watched {
            return false;
        }
        let place = self.home.join(name);
        // What is gone is not watched any more; an error says only that.
        _ = self.watcher.unwatch(&place);
        *watched = found.filter(|_| self.watcher.watch(&place, RecursiveMode::Recursive).is_ok());
        watched.is_some()
    }
}

fn inode(home: &Path, folder: &str) -> Option<u64> {
    std::fs::metadata(home.join(folder)).ok().map(|metadata| metadata.ino())
}

fn handler(jobs: SyncSender<Job>) -> impl FnMut(notify::Result<Event>) + Send + 'static {
    move |event: notify::Result<Event>| {
        let job = match event {
            Ok(event) if event.need_rescan() => Job::Rescan,
            Ok(Event { kind: EventKind::Access(_), .. }) => return,
            Ok(event) => {
                let paths: Vec<PathBuf> = event.paths.into_iter().filter(|p| !disk::is_passing(p)).collect();
                if paths.is_empty() {
                    return;
                }
                Job::Changed(paths)
            }
            Err(_) => Job::Rescan,
        };
        _ = jobs.send(job);
    }
}
