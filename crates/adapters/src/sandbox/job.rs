//! What goes through the lifeline: one job in, one end out, both JSON.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::backend::Backend;
use super::pids::Bound;
use super::view::View;
use super::{Cage, PATH};

/// The longest job that is sent.
const JOB_BYTES_MAX: u32 = 4 << 20;
/// A folder in which nothing is when a command begins.
const EMPTY: &str = "/tmp";
/// The longest answer that is read.
const END_BYTES_MAX: u64 = 64 << 10;

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Run {
    /// A command that is run from its parsed words, without a shell.
    Script(String),
    /// Text for the shell of the system.
    Shell(String),
}

/// How much a command may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Processor time of one process.
    pub cpu_seconds_max: u64,
    /// Memory of one process, and of all together.
    pub memory_bytes_max: u64,
    /// Processes at once.
    pub processes_max: u64,
    /// Open files of one process.
    pub files_max: u64,
    /// The largest file it may write.
    pub file_bytes_max: u64,
    /// How much it may write to the disk that its workspace is on.
    pub disk_bytes_max: u64,
    /// The size of its own `/tmp`.
    pub tmp_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cpu_seconds_max: 3_600,
            memory_bytes_max: 4 << 30,
            processes_max: 512,
            files_max: 1_024,
            file_bytes_max: 1 << 30,
            disk_bytes_max: 2 << 30,
            tmp_bytes_max: 256 << 20,
        }
    }
}

/// Everything the inner program has to know.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) backend: Backend,
    pub(super) bound: Bound,
    pub(super) view: View,
    pub(super) workspace: PathBuf,
    pub(super) writable: bool,
    pub(super) network: bool,
    pub(super) limits: Limits,
    pub(super) environment: Vec<(String, String)>,
    pub(super) run: Run,
}

impl Job {
    pub(super) fn new(cage: &Cage, view: View, backend: Backend, bound: Bound) -> Self {
        let workspace = cage.workspace.clone();
        // What runs unasked finds no settings that a file of the workspace could hold: `.sqliterc` and its like run
        // programs. What was approved may keep something there.
        let home = if cage.writable { &workspace } else { Path::new(EMPTY) };
        let mut environment = environment(home);
        environment.extend(cage.variables.iter().cloned());
        let (writable, network) = (cage.writable, cage.network);
        let (limits, run) = (cage.limits.clone(), cage.run.clone());
        Self { backend, bound, view, workspace, writable, network, limits, environment, run }
    }

    /// Sends it. The other side may still be on its way; a job that fits no buffer waits for it.
    pub(super) fn send(&self, mut line: &UnixStream) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        let size = u32::try_from(text.len()).ok().filter(|size| *size <= JOB_BYTES_MAX);
        let size = size.ok_or_else(|| io::Error::other("the command is too long"))?;
        line.write_all(&[&size.to_le_bytes(), text.as_slice()].concat())
    }

    /// Waits for one, and takes no byte that comes behind it.
    pub(super) fn receive(mut line: &UnixStream) -> io::Result<Self> {
        let mut size = [0; 4];
        line.read_exact(&mut size)?;
        let mut text = vec![0; u32::from_le_bytes(size).min(JOB_BYTES_MAX) as usize];
        line.read_exact(&mut text)?;
        Ok(serde_json::from_slice(&text)?)
    }
}

/// The variables that every command has, and no other. Git takes no settings from `HOME`: they can make it run
/// something, and it would be the workspace that says so.
pub fn environment(home: &Path) -> Vec<(String, String)> {
    [
        ("PATH", PATH),
        ("HOME", &home.to_string_lossy()),
        ("LANG", "C.UTF-8"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

/// How a command came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// By itself.
    Exited(i32),
    /// By a signal.
    Signalled(i32),
    /// By a limit of the cage; the words say which.
    Limited(String),
    /// It never began.
    Unmade(String),
}

impl End {
    pub(super) fn send(&self, mut line: &UnixStream) -> io::Result<()> {
        let mut text = serde_json::to_vec(self)?;
        text.push(b'\n');
        line.write_all(&text)
    }

    /// What was sent, if anything. Never waits.
    pub(super) fn receive(line: &UnixStream) -> Option<Self> {
        let mut text = String::new();
        BufReader::new(line.take(END_BYTES_MAX)).read_line(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }
}
