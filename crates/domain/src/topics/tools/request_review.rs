//! The tool `request_review`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AboutReview, Examples, Reach, Shown, Tool, Use, Words};
use crate::topics::review;
use crate::words::id::AgentId;
use policy::Nature;

/// Ask another agent to look at what is committed on the caller's branch, and wait for what it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestReview {
    /// What changed, why, where to look
    #[schemars(length(min = 1, max = 10000))]
    pub summary: String,
    /// Id of the reviewer
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = r"^[a-z][a-z0-9-]{0,62}$"))]
    pub to: Option<AgentId>,
}

impl Tool for RequestReview {
    const NAME: &'static str = review::ASK;
    const DESCRIPTION: &'static str = "Have what you committed reviewed; the result is the verdict.";
    /// It only looks where the branch is; the rest are events.
    const NATURE: Nature = Nature::Read;

    fn reach(&self) -> Reach<'_> {
        let review = Some(AboutReview::Asks);
        Reach { workspace: Some(Use::Branch), review, ..Reach::default() }
    }

    fn words(&self) -> Words {
        Words::new("ask for a review", "asked for a review").about(self.summary.clone())
    }

    fn shown(&self) -> Option<Shown> {
        let title = format!("another round of review: {}", self.summary);
        Some(Shown::text("review_round", title, "What the author says", &self.summary))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { summary: "a change".to_owned(), to: None })
    }
}
