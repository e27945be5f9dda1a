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
    /// Whether the work may be merged as it is
    pub approved: bool,
    /// What is wrong, one thing each: where, what happens, what should happen. Needed if it is not approved
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50), inner(length(min = 1, max = 5000)))]
    pub issues: Vec<String>,
}

impl Tool for ApproveWork {
    const NAME: &'static str = review::ANSWER;
    const DESCRIPTION: &'static str = "Answer the review that you were asked for. approved: true counts only when the checks (lint, \
        run_tests) ran in this review and passed. Otherwise say approved: false and name the issues.";
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
