//! How a command ends: exit codes, and errors with a hint.

use std::process::ExitCode;

use crate::out::Out;

/// Documented exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Ok,
    /// It did not work.
    Failed,
    /// The command line is wrong.
    Usage,
    /// Something waits for a person.
    Waiting,
    /// A provider refuses the key, or there is none.
    Key,
    /// Refused by a rule.
    Denied,
    /// A limit was reached.
    Limit,
    /// The daemon does not answer.
    Unreachable,
    /// It took too long.
    TimedOut,
    /// A person stopped it.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Waiting => 3,
            Exit::Key => 4,
            Exit::Limit => 5,
            Exit::Denied => 6,
            Exit::Unreachable => 7,
            Exit::TimedOut => 124,
            Exit::Interrupted => 130,
        })
    }
}

/// An error that a person can do something about.
#[derive(Debug)]
pub struct Failure {
    /// What the process ends with.
    pub exit: Exit,
    /// What went wrong, as a lower-case fragment.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// An error with what to do about it.
pub fn fail(exit: Exit, message: impl Into<String>, help: impl Into<String>) -> anyhow::Error {
    Failure { exit, message: message.into(), help: Some(help.into()) }.into()
}

/// Tells the error to a person (or to a program, with `--json`) and gives its exit code.
pub fn report(error: &anyhow::Error, out: &Out) -> Exit {
    let failure = error.downcast_ref::<Failure>();
    let message = format!("{error:#}");
    let help = failure.and_then(|f| f.help.clone());
    out.error(&message, help.as_deref());
    failure.map_or(Exit::Failed, |f| f.exit)
}

/// How a command ends whose words may have gone nowhere: then it did not work, and a person is told why.
pub fn unless_lost(exit: Exit, out: &Out) -> Exit {
    let Some(error) = out.lost() else { return exit };
    out.complain(&format!("stdout cannot be written: {error}"), None);
    if exit == Exit::Ok { Exit::Failed } else { exit }
}
