//! `create_plan`.

use serde::{Deserialize, Serialize};

use crate::plan;

/// Split the caller's task into tasks that wait for each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreatePlan {
    /// In any order.
    pub tasks: Vec<plan::Step>,
}
