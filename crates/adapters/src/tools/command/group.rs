//! A command and everything it started, as one thing that can be ended.
//!
//! Most of it is one process group. What left the group is found by a mark in its environment; only a process
//! that wipes its own environment is missed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::runtime::Handle;

/// The variable that marks a command and its children.
pub(super) const MARK: &str = "SYNOD_RUN";

/// How often what is left is looked for: a process may start another while it is being ended.
const ROUNDS_MAX: usize = 5;

/// A mark that no other running command has, also of another home on this machine.
pub(super) fn new_mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A running command. Dropping it ends all of it at once.
#[derive(Debug)]
pub(super) struct Group {
    leader: Option<Pid>,
    mark: String,
    is_ended: bool,
}

impl Group {
    /// The group that the process with this number leads.
    pub(super) fn of(pid: Option<u32>, mark: String) -> Self {
        let leader = pid.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        Self { leader, mark, is_ended: false }
    }

    /// Asks all of it to end.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends all of it, and waits until nothing marked is found any more. Blocks for some milliseconds.
    pub(super) fn end(mut self) {
        self.is_ended = true;
        self.signal(Signal::KILL);
        end_marked(&self.mark);
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // It fails if nothing of the group is left, which is what we want. While something is left, the
            // system gives the number to no other process.
            let _ = kill_process_group(leader, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.is_ended {
            return;
        }
        self.signal(Signal::KILL);
        let mark = std::mem::take(&mut self.mark);
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || end_marked(&mark))),
            Err(_) => end_marked(&mark),
        }
    }
}

fn end_marked(mark: &str) {
    let needle = format!("{MARK}={mark}");
    for _ in 0..ROUNDS_MAX {
        let marked = marked(&needle).unwrap_or_default();
        if marked.is_empty() {
            return;
        }
        for pid in marked {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Processes of ours with this entry in their environment. Empty where the system has no `/proc`.
fn marked(needle: &str) -> io::Result<Vec<Pid>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // Others' environments cannot be read, and a dead process has an empty one.
        let Ok(environment) = fs::read(entry.path().join("environ")) else { continue };
        if environment.split(|byte| *byte == 0).any(|entry| entry == needle.as_bytes()) {
            found.extend(Pid::from_raw(number));
        }
    }
    Ok(found)
}
