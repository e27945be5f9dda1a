//! A command and everything it started, as one thing that can be ended.
//!
//! In a sandbox it is one namespace, which ends with its first process. Without one, most of it is one process
//! group, and what left the group is found by a mark in its environment; only a process that wipes its own
//! environment is missed. The mark names the home and the process that runs it, so that the next daemon finds what
//! a killed one left behind.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{fs, io};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, waitpid};

/// The variable that marks a command and its children.
pub(super) const MARK: &str = "SYNOD_RUN";

/// How often what is left is looked for: a process may start another while it is being ended.
const ROUNDS_MAX: usize = 20;
/// How often, and in which steps, the end of one that was killed is waited for.
const REAP_TRIES_MAX: usize = 100;
const REAP_EVERY: Duration = Duration::from_millis(1);

/// A mark that no other running command has: `<home>/<process that runs it>/<number>`.
pub(super) fn new_mark(home: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{}{}", own_marks(home), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// How the marks of this process begin.
fn own_marks(home: &str) -> String {
    format!("{home}/{}/", std::process::id())
}

/// Ends what earlier processes that ran this home left running, and says how much it was. Blocks.
pub(super) fn end_left_over(home: &str) -> usize {
    let (home, own) = (format!("{home}/"), own_marks(home));
    end_marked(|mark| mark.starts_with(&home) && !mark.starts_with(&own)).len()
}

/// A running command. Dropping it ends all of it at once.
#[derive(Debug)]
pub(super) struct Group {
    leader: Option<Pid>,
    mark: Option<String>,
    is_ended: bool,
}

impl Group {
    /// The group that the process with this number leads.
    pub(super) fn of(pid: Option<u32>, mark: Option<String>) -> Self {
        let leader = pid.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        Self { leader, mark, is_ended: false }
    }

    /// Ends all of it, until nothing new with its mark is found. Blocks for a millisecond or some.
    pub(super) fn end(&mut self) {
        self.is_ended = true;
        if let Some(leader) = self.leader {
            // It fails if nothing of the group is left, which is what we want. While something is left, the
            // system gives the number to no other process.
            let _ = kill_process_group(leader, Signal::KILL);
        }
        if let Some(own) = &self.mark {
            end_marked(|mark| mark == own).into_iter().for_each(reap);
        }
    }
}

/// Takes note of the end of a process that lost its parent: it is then a child of this one, and nobody else waits for
/// it. Any other process is left alone by the system.
fn reap(pid: Pid) {
    for _ in 0..REAP_TRIES_MAX {
        match waitpid(Some(pid), WaitOptions::NOHANG) {
            Ok(None) => std::thread::sleep(REAP_EVERY),
            Ok(Some(_)) | Err(_) => return,
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Here and not in another thread, which would be lost when the runtime is shut down.
        if !self.is_ended {
            self.end();
        }
    }
}

fn end_marked(is_ours: impl Fn(&str) -> bool) -> Vec<Pid> {
    // One that was ended may still be seen for a while, but starts nothing more.
    let mut ended = BTreeSet::new();
    for _ in 0..ROUNDS_MAX {
        let mut is_new = false;
        for pid in marked(&is_ours).unwrap_or_default() {
            if ended.insert(pid.as_raw_nonzero()) {
                is_new = true;
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        if !is_new {
            break;
        }
    }
    ended.into_iter().filter_map(|number| Pid::from_raw(number.get())).collect()
}

/// Processes with such a mark in their environment. Empty where the system has no `/proc`.
fn marked(is_ours: impl Fn(&str) -> bool) -> io::Result<Vec<Pid>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // Others' environments cannot be read, and a dead process has an empty one.
        let Ok(environment) = fs::read(entry.path().join("environ")) else { continue };
        if environment.split(|byte| *byte == 0).filter_map(mark_of).any(&is_ours) {
            found.extend(Pid::from_raw(number));
        }
    }
    Ok(found)
}

fn mark_of(entry: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(entry).ok()?;
    text.strip_prefix(MARK)?.strip_prefix('=')
}
