//! The ways in which a cage is made.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who makes a cage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// The program bubblewrap.
    Bubblewrap,
    /// Synod, by namespaces of its own.
    Namespaces,
    /// Nobody: limits hold, and what Landlock and seccomp do alone.
    Bare,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Namespaces => "namespaces",
            Self::Bare => "none",
        })
    }
}
