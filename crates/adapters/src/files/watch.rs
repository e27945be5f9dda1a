//! Notifications of the file system. They only say where to look; what changed is found by looking.

use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

use notify::{Event, EventKind, RecursiveMode, Watcher};

use super::{Job, disk};

/// The folders that people and the outside write to.
pub(super) const FOLDERS: [&str; 6] = ["agents", "sessions", "tasks", "approvals", "inbox", "policy"];

/// Watches the folders of a home, not its files: an editor that saves by renaming swaps the file away.
pub(super) fn start(home: &Path, jobs: SyncSender<Job>) -> std::io::Result<Box<dyn Watcher + Send>> {
    for folder in FOLDERS {
        std::fs::create_dir_all(home.join(folder))?;
    }
    match watch(notify::recommended_watcher(handler(jobs.clone())), home) {
        Ok(watcher) => Ok(Box::new(watcher)),
        // No notifications here (a network file system, or too many watches): look from time to time.
        Err(_) => {
            let config = notify::Config::default().with_poll_interval(std::time::Duration::from_millis(500));
            let poll = watch(notify::PollWatcher::new(handler(jobs), config), home);
            poll.map(|watcher| Box::new(watcher) as Box<dyn Watcher + Send>).map_err(std::io::Error::other)
        }
    }
}

fn watch<W: Watcher>(watcher: notify::Result<W>, home: &Path) -> notify::Result<W> {
    let mut watcher = watcher?;
    watcher.watch(home, RecursiveMode::NonRecursive)?;
    for folder in FOLDERS {
        watcher.watch(&home.join(folder), RecursiveMode::Recursive)?;
    }
    Ok(watcher)
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
