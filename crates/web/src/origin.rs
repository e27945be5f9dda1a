//! Where a request comes from: a person's process, or one that Synod itself started, such as a command of an agent.
//! Agents decide nothing, so their commands do not either.

use std::fs;
use std::path::Path;

use tokio::net::UnixStream;

/// What a process below Synod is told.
pub(crate) const NOT_FROM_BELOW: &str = "this process was started by synod, or nothing is known of it: only people decide, outside of what synod runs";

/// So many processes are looked at on the way up; a chain that is longer is not known.
const STEPS_MAX: usize = 1_000;

/// Whose process is at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// One that does not descend from this process.
    Person,
    /// One that does.
    Below,
    /// One that has ended, that this process cannot see, or of a system without `/proc`.
    Unknown,
}

impl Origin {
    /// Of whoever connected.
    pub(crate) fn of(stream: &UnixStream) -> Self {
        let pid = stream.peer_cred().ok().and_then(|peer| peer.pid());
        match pid.and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid != 0) {
            Some(pid) => Self::by_parents(pid, std::process::id(), |pid| parent(Path::new("/proc"), pid)),
            None => Self::Unknown,
        }
    }

    /// By the parents of a process; the process itself is no child of its own.
    fn by_parents(pid: u32, own: u32, parent: impl Fn(u32) -> Option<u32>) -> Self {
        if pid == own {
            return Self::Person;
        }
        let mut at = pid;
        for _ in 0..STEPS_MAX {
            match parent(at) {
                Some(above) if above == own => return Self::Below,
                // The first process of the system, or one whose parent is outside of what is seen here.
                Some(0) => return Self::Person,
                Some(above) => at = above,
                None => return Self::Unknown,
            }
        }
        Self::Unknown
    }
}

/// The parent of a process, by `/proc/<pid>/stat`: `42 (name) S 7 …`, where the name may hold anything.
fn parent(proc: &Path, pid: u32) -> Option<u32> {
    let stat = fs::read(proc.join(pid.to_string()).join("stat")).ok()?;
    let behind_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let rest = String::from_utf8_lossy(&stat[behind_name..]).into_owned();
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_below_this_one_is_known_by_its_parents() {
        // 10 is Synod, 11 its command, 12 a child of that; 20 is a shell.
        let parent = |pid| match pid {
            10 | 20 => Some(1),
            11 => Some(10),
            12 => Some(11),
            1 => Some(0),
            40 => Some(40),
            _ => None,
        };
        for (pid, expected) in [
            (10, Origin::Person),
            (11, Origin::Below),
            (12, Origin::Below),
            (20, Origin::Person),
            (1, Origin::Person),
            (30, Origin::Unknown),
            (40, Origin::Unknown),
        ] {
            assert_eq!(Origin::by_parents(pid, 10, parent), expected, "{pid}");
        }
    }

    #[test]
    fn the_name_of_a_process_does_not_hide_its_parent() {
        let proc = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
        let folder = proc.path().join("7");
        let made =
            fs::create_dir(&folder).and_then(|()| fs::write(folder.join("stat"), "7 (a) S 1 (b)) S 6 7"));
        assert!(made.is_ok());
        assert_eq!(parent(proc.path(), 7), Some(6));
        assert_eq!(parent(proc.path(), 8), None);
    }
}
