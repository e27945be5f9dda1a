//! What no limit of the kernel holds for everyone: how many processes a cage has, how much memory they use
//! together, and how much of the disk they fill. Looked at every few milliseconds; past a bound, all of it ends.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::fs::statvfs;

use super::job::{End, Job, Limits};

/// How often it is looked. A program that forks as fast as it can starts some hundred processes in this time.
const PERIOD: Duration = Duration::from_millis(20);

/// Begins to watch the cage of this process.
pub(super) fn begin(job: &Job, line: Arc<UnixStream>) {
    let limits = job.limits.clone();
    let mut disk = job.writable.then(|| Disk::new(job.workspace.clone(), limits.disk_bytes_max));
    thread::spawn(move || {
        loop {
            thread::sleep(PERIOD);
            let over = processes(&limits).or_else(|| disk.as_mut().and_then(Disk::over));
            if let Some(reason) = over {
                let _ = End::Limited(reason).send(&line);
                std::process::exit(0);
            }
        }
    });
}

/// Why the processes are too many or too large, if they are.
fn processes(limits: &Limits) -> Option<String> {
    // Counted before anything else: against one that multiplies, only speed helps.
    let most = usize::try_from(limits.processes_max).unwrap_or(usize::MAX);
    let processes: Vec<PathBuf> = numbers().take(most.saturating_add(1)).collect();
    if processes.len() > most {
        return Some(format!("it had more than {most} processes"));
    }
    let pages = processes.iter().filter_map(|process| field(&process.join("statm"), 1)).sum::<u64>();
    let resident = pages * rustix::param::page_size() as u64;
    // Memory that several share counts several times here, so it is counted exactly before it is held against them.
    if resident > limits.memory_bytes_max && shared_fairly() > limits.memory_bytes_max {
        return Some(format!("it used more than {} bytes of memory", limits.memory_bytes_max));
    }
    None
}

fn shared_fairly() -> u64 {
    let of = |process: PathBuf| {
        let text = fs::read_to_string(process.join("smaps_rollup")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    numbers().filter_map(of).sum::<u64>() * 1024
}

/// The processes of the cage, which are all that its `/proc` shows.
fn numbers() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter(|e| e.file_name().as_encoded_bytes()[0].is_ascii_digit()).map(|e| e.path())
}

fn field(file: &std::path::Path, number: usize) -> Option<u64> {
    fs::read_to_string(file).ok()?.split(' ').nth(number)?.trim().parse().ok()
}

/// The disk of the workspace. Others write there too, so both count: what became less and what was written here.
struct Disk {
    workspace: PathBuf,
    free: u64,
    bytes_max: u64,
}

impl Disk {
    fn new(workspace: PathBuf, bytes_max: u64) -> Self {
        let free = free(&workspace).unwrap_or(0);
        Self { workspace, free, bytes_max }
    }

    fn over(&mut self) -> Option<String> {
        let now = free(&self.workspace)?;
        // What others give back is no room for this one.
        self.free = self.free.min(now.saturating_add(self.bytes_max).max(self.free));
        if self.free.saturating_sub(now) <= self.bytes_max || written() <= self.bytes_max {
            return None;
        }
        Some(format!("it filled more than {} bytes of the disk", self.bytes_max))
    }
}

fn free(at: &std::path::Path) -> Option<u64> {
    let stat = statvfs(at).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// What the processes of the cage wrote, those that ended included: the first one inherits their sums. One that
/// hides its sum is taken for the worst.
fn written() -> u64 {
    let of = |process: PathBuf| match fs::read_to_string(process.join("io")) {
        Ok(text) => {
            text.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok()).unwrap_or(0)
        }
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => u64::MAX,
        Err(_) => 0,
    };
    numbers().map(of).fold(0, u64::saturating_add)
}
