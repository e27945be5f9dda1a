//! The tool `approve_work`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AboutReview, Examples, Reach, Tool, Words};
use crate::topics::review;
use crate::topics::role::Permission;

/// Say whether the work that the caller was asked to look at is good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApproveWork {
    /// Whether it may be merged as it is
    pub approved: bool,
    /// If not: each thing that is wrong, where, and what should happen
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50), inner(length(min = 1, max = 5000)))]
    pub issues: Vec<String>,
}

impl Tool for ApproveWork {
    const NAME: &'static str = review::ANSWER;
    const DESCRIPTION: &'static str = "Answer the review that you were asked for. true counts only after lint and run_tests passed in this \
        review.";
    const NEEDS: Option<Permission> = Some(Permission::ApproveWork);
    const INSIDE: bool = true;

    fn reach(&self) -> Reach<'_> {
        Reach { review: Some(AboutReview::Answers), ..Reach::default() }
    }

    fn words(&self) -> Words {
        match self.approved {
            true => Words::new("approve the work", "approved the work"),
            false => Words::new("reject the work", "rejected the work").about(self.issues.join("; ")),
        }
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { approved: true, issues: Vec::new() })
    }
}
