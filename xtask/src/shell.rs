//! Talking to people and to other programs.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why a task did not succeed.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// For a person: what failed and what to do.
    pub message: String,
    /// 1 failed, 2 usage.
    pub code: u8,
}

impl Failure {
    /// What was checked does not hold, or could not be checked.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 1 }
    }

    /// The command line makes no sense.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 2 }
    }
}

/// Talk: to stderr.
pub fn say(text: impl Display) {
    // A reader that went away is no reason to stop the work.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Data: to stdout.
pub fn print(text: impl Display) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// The folder of the workspace.
pub fn root() -> PathBuf {
    let here =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or(env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    here.parent().map(Path::to_path_buf).unwrap_or(here)
}

/// Where cargo puts what it builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// The cargo that runs us, in the workspace, without input.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// Runs a program to its end; its output is shown.
pub fn run(command: &mut Command) -> Result<(), Failure> {
    let shown = show(command);
    let status = command.status().map_err(|e| Failure::new(format!("cannot start `{shown}`: {e}")))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("`{shown}` ended with {status}"))) }
}

/// Whether a program starts and succeeds; its output is not shown.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// A command as one would type it.
pub fn show(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|w| w.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
