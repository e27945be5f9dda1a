//! What keeps a cage from having more processes than it may: against one that multiplies, only the kernel is fast
//! enough. Which of its limits there is depends on its age and on who runs Synod.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};

/// Where groups with a limit on processes are made: of the first version, then of the second.
const PLACES: [&str; 2] = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"];
/// How the names of ours begin.
const NAME: &str = "synod-cage-";
/// Those who stand for the cage outside of it.
const OUTSIDE: u64 = 2;

/// Who bounds the processes of a cage. The watch counts them beside it, always.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The namespace of the processes, since Linux 6.14.
    Namespace,
    /// The limit of the user, which binds all but root.
    User,
    /// A control group, which root can make.
    Group,
    /// Nobody else: the watch ends a cage that has too many, some milliseconds later.
    Watch,
}

impl Bound {
    /// The best that this system has.
    pub fn best() -> Self {
        if is_own_process_limit() {
            return Self::Namespace;
        }
        if !rustix::process::geteuid().is_root() {
            return Self::User;
        }
        // Tried, because a container often sees groups that it cannot change.
        match Group::make(1).and_then(|group| group.take(std::process::id(), Taking::Nobody)) {
            Ok(()) => Self::Group,
            Err(_) => Self::Watch,
        }
    }
}

/// Who is taken into a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taking {
    /// A process and those that it started.
    All,
    /// Nobody; it is only seen whether they could be.
    Nobody,
}

/// A control group for one cage. Dropping it takes it away, once nobody is in it.
#[derive(Debug)]
pub struct Group {
    folder: PathBuf,
}

impl Group {
    /// Makes one for so many processes.
    pub(super) fn make(processes_max: u64) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut failed = io::Error::from(io::ErrorKind::NotFound);
        for place in PLACES.map(Path::new) {
            sweep(place);
            let folder = place.join(format!("{NAME}{}-{number}", std::process::id()));
            if let Err(e) = fs::create_dir(&folder) {
                failed = e;
                continue;
            }
            let group = Self { folder };
            match group.set("pids.max", processes_max.saturating_add(OUTSIDE)) {
                Ok(()) => return Ok(group),
                Err(e) => failed = e,
            }
        }
        Err(failed)
    }

    /// Takes in a process and those that it started. Whoever it starts afterwards is born in the group.
    pub(super) fn take(&self, first: u32, taking: Taking) -> io::Result<()> {
        let mut all = vec![first];
        while let Some(process) = all.pop() {
            if taking == Taking::All {
                self.set("cgroup.procs", process.into())?;
            }
            let started = fs::read_to_string(format!("/proc/{process}/task/{process}/children"))?;
            if taking == Taking::All {
                all.extend(started.split_whitespace().filter_map(|n| n.parse::<u32>().ok()));
            }
        }
        Ok(())
    }

    fn set(&self, name: &str, value: u64) -> io::Result<()> {
        // Never made: where it is not there, this is no such group.
        OpenOptions::new().write(true).open(self.folder.join(name))?.write_all(value.to_string().as_bytes())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // If somebody is still in it, a later one sweeps it away.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Takes away what is empty and whose maker is gone.
fn sweep(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(NAME)?.split('-').next());
        if maker.is_some_and(|maker| !Path::new("/proc").join(maker).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Whether a namespace has a limit of its own, which before was the whole system's.
fn is_own_process_limit() -> bool {
    let uname = rustix::system::uname();
    let mut parts =
        uname.release().to_str().unwrap_or_default().split(['.', '-']).map(|n| n.parse::<u32>().ok());
    matches!((parts.next().flatten(), parts.next().flatten()), (Some(major), Some(minor)) if (major, minor) >= (6, 14))
}
