//! Starting the real binary, and killing it with all that it started.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// No command of the demo takes longer, on any machine.
const LIMIT: Duration = Duration::from_secs(120);

/// How often a running process is looked at.
const POLL: Duration = Duration::from_millis(1);

/// How long a process that lost its parent may take to end by itself.
const LINGER: Duration = Duration::from_secs(5);

/// How a process came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code; -1 for a signal that was not ours.
    Exited(i32),
    /// By our SIGKILL.
    Killed,
}

/// Runs a program in a process group of its own; its output is appended to `log`.
pub fn run(program: &Path, args: &[&str], log: &Path, kill_after: Option<Duration>) -> io::Result<Ending> {
    let out = OpenOptions::new().create(true).append(true).open(log)?;
    let begun = Instant::now();
    let mut child = Command::new(program)
        .args(args)
        .env_remove("SYNOD_HOME")
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(out)
        .process_group(0)
        .spawn()?;
    loop {
        // The kill comes first, so that a delay of 0 kills before anything is done.
        let elapsed = begun.elapsed();
        let killed = kill_after.is_some_and(|after| elapsed >= after);
        if killed || elapsed >= LIMIT {
            // Not yet waited for, so the number still is this child's.
            kill_group(child.id())?;
            child.wait()?;
            let late = || {
                io::Error::new(io::ErrorKind::TimedOut, format!("it ran longer than {} s", LIMIT.as_secs()))
            };
            return if killed { Ok(Ending::Killed) } else { Err(late()) };
        }
        if let Some(status) = child.try_wait()? {
            return Ok(Ending::Exited(status.code().unwrap_or(-1)));
        }
        thread::sleep(POLL);
    }
}

fn kill_group(leader: u32) -> io::Result<()> {
    // The standard library kills one process, and the shell's own `kill` is everywhere.
    let status =
        Command::new("sh").args(["-c", &format!("kill -9 -{leader}")]).stderr(Stdio::null()).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("cannot kill the process group {leader}")))
    }
}

/// Processes that still have to do with the folder, each as its number and command line. Those that end within
/// a short time are not counted: a command that ran when its parent was killed ends by itself.
pub fn left_behind(home: &Path) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let found = of_home(home);
        if found.is_empty() || begun.elapsed() >= LINGER {
            return found;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Those that have the folder in their command line, or work in it.
fn of_home(home: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let shown = home.to_string_lossy();
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let number = entry.file_name().to_string_lossy().into_owned();
        if number == own || !number.bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        // A process that ends while it is looked at is not left behind.
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let inside = fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(home));
        if inside || line.contains(&*shown) {
            found.push(format!("{number}: {}", line.trim()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("xtask-process-{name}-{}.log", std::process::id()))
    }

    #[test]
    fn an_exit_code_is_told_from_a_kill() {
        let log = log("ending");
        let sh = Path::new("/bin/sh");
        assert_eq!(
            run(sh, &["-c", "echo out; echo err >&2; exit 3"], &log, None).unwrap(),
            Ending::Exited(3)
        );
        assert_eq!(fs::read_to_string(&log).unwrap(), "out\nerr\n");
        assert_eq!(run(sh, &["-c", "sleep 60"], &log, Some(Duration::ZERO)).unwrap(), Ending::Killed);
        fs::remove_file(log).unwrap();
    }

    #[test]
    fn a_kill_takes_the_children_too() {
        let log = log("group");
        let mark = log.display().to_string();
        let script = format!("sh -c 'sleep 60; : {mark}' & wait");
        let ending =
            run(Path::new("/bin/sh"), &["-c", &script], &log, Some(Duration::from_millis(50))).unwrap();
        assert_eq!((ending, left_behind(&log)), (Ending::Killed, Vec::new()));
        fs::remove_file(log).unwrap();
    }
}
