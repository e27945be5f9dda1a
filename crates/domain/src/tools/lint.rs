//! `lint`.

use serde::{Deserialize, Serialize};

/// Run the checks that the owner set for the agent's workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lint {}
