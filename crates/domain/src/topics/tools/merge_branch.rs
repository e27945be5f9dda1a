//! The tool `merge_branch`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AboutReview, Examples, Locked, Reach, Tool, Words};
use crate::topics::review;
use crate::topics::role::Permission;
use crate::words::id::ReviewId;
use policy::Nature;

/// Merge work that was approved, as it was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MergeBranch {
    /// Id, such as review-0001
    #[schemars(with = "String", length(min = 1, max = 63))]
    pub review: ReviewId,
}

impl Tool for MergeBranch {
    const NAME: &'static str = review::MERGE;
    const DESCRIPTION: &'static str =
        "Merge exactly the commit that a review approved. In case of a conflict its author gets it back.";
    const NEEDS: Option<Permission> = Some(Permission::ApproveWork);
    /// The merge commit names its review, and is looked for before it is made again.
    const NATURE: Nature = Nature::Idempotent;

    fn reach(&self) -> Reach<'_> {
        Reach { review: Some(AboutReview::Merges(&self.review)), ..Reach::default() }
    }

    fn locks(&self) -> Vec<Locked<'_>> {
        vec![Locked::RepositoryOf(&self.review)]
    }

    fn words(&self) -> Words {
        Words::new(format!("merge {}", self.review), format!("merged {}", self.review))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { review: ReviewId::new("review-0001") })
    }
}
