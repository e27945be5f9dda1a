//! The stages in which this program runs inside a cage, and how each is started.

use std::path::Path;
use std::process::Command;

/// The first argument by which a program of ours knows that it runs inside.
pub const COMMAND: &str = "__inner";

/// What is done with this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It goes into namespaces of its own, without a network, and starts the next stage in them.
    Unshare,
    /// The same, with the network of the system.
    Share,
    /// It is in namespaces of its own and still has to make its view.
    Settle,
    /// It is in a cage that bubblewrap made.
    Caged,
    /// There is no cage.
    Bare,
}

pub(super) const STAGES: [Stage; 5] =
    [Stage::Unshare, Stage::Share, Stage::Settle, Stage::Caged, Stage::Bare];

impl Stage {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Unshare => "unshare",
            Self::Share => "share",
            Self::Settle => "settle",
            Self::Caged => "caged",
            Self::Bare => "bare",
        }
    }
}

pub(super) fn command(program: &Path, stage: Stage) -> Command {
    let mut command = Command::new(program);
    command.args([COMMAND, stage.as_str()]);
    command
}
