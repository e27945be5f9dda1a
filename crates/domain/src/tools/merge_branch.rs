//! `merge_branch`.

use serde::{Deserialize, Serialize};

use crate::id::ReviewId;

/// Merge work that was approved, as it was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MergeBranch {
    /// By which review.
    pub review: ReviewId,
}
