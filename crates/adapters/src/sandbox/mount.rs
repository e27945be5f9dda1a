//! The steps of which a view of the file system is made.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Devices that are harmless to all.
pub(super) const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// What covers a file: a device where none can be opened, so no program takes it for an empty file of the workspace.
pub(super) const COVER: &str = "/dev/null";

/// One step of making the view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mount {
    /// A link.
    Link { at: PathBuf, to: PathBuf },
    /// A folder or file of the system that cannot be written.
    ReadOnly { at: PathBuf, from: PathBuf },
    /// A folder of the system that can be written.
    Writable { at: PathBuf, from: PathBuf },
    /// An empty folder in memory.
    Memory { at: PathBuf, bytes: u64 },
    /// A file that is there and that nobody can open.
    Covered { at: PathBuf },
    /// Nothing more is written here; what is mounted beneath stays as it is.
    Sealed { at: PathBuf },
}
