//! Reviews: a piece of work on a branch, and how far it is on its way into the repository. A state machine over facts;
//! nothing here looks at a repository.
//!
//! What is merged is a commit, never a branch: an approval is for one id, and what comes after it is new work.

pub mod written;

use std::collections::{BTreeMap, BTreeSet};
use strum::IntoStaticStr;

use serde::{Deserialize, Serialize};

use crate::topics::agent::Spec;
use crate::words::id::{AgentId, CallId, ReviewId, SessionId, TaskId};

/// The tool by which a review is asked for.
pub const ASK: &str = "request_review";
/// The tool by which it is answered.
pub const ANSWER: &str = "approve_work";
/// The tool by which approved work is merged.
pub const MERGE: &str = "merge_branch";
/// The property of a reviewer's task that names the review.
pub const PROPERTY: &str = "review";
/// The kind of work that a review is, for responsibilities and for finding it.
pub const TAG: &str = "review";

/// What Synod itself must have seen pass on a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The tool `lint`.
    Lint,
    /// The tool `run_tests`.
    Test,
}

impl Check {
    /// All of them, in the order in which they are worth running.
    pub const ALL: [Self; 2] = [Self::Lint, Self::Test];

    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lint => "lint",
            Self::Test => "test",
        }
    }

    /// The check that `word` names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|check| check.as_str() == word)
    }

    /// The tool that makes it.
    pub fn tool(self) -> &'static str {
        match self {
            Self::Lint => "lint",
            Self::Test => "run_tests",
        }
    }
}

/// The checks that an agent cannot make where it works, since its file has no command for them.
pub fn without_command(spec: &Spec, checks: &BTreeSet<Check>) -> Vec<Check> {
    let Some(workspace) = spec.workspace.as_ref().filter(|workspace| workspace.repo.is_some()) else {
        return Vec::new();
    };
    let is_missing = |check: &Check| match check {
        Check::Lint => workspace.lint.is_none(),
        Check::Test => workspace.test.is_none(),
    };
    checks.iter().copied().filter(is_missing).collect()
}

/// `review:` in `synod.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// How often one piece of work is looked at until a person is asked.
    pub max_review_rounds: u32,
    /// What must pass, in the reviewer's own checkout, before an approval counts.
    pub checks: BTreeSet<Check>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { max_review_rounds: 3, checks: BTreeSet::from(Check::ALL) }
    }
}

impl Settings {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Where work stands in a repository, as Synod found it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The author's branch.
    pub branch: String,
    /// The branch that it shall be merged into.
    pub target: String,
    /// The commit that is looked at, checked and merged.
    pub commit: String,
    /// What it is compared with: the last commit that both branches have.
    pub base: String,
}

/// One piece of work and what others say of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// Unique in the home.
    pub id: ReviewId,
    /// Whose work it is.
    pub author: AgentId,
    /// Who looks at it.
    pub reviewer: AgentId,
    /// What the author works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<TaskId>,
    /// One line: what the work is.
    pub title: String,
    /// The conversation that waits for the answer.
    pub session: SessionId,
    /// The call that waits for it there.
    pub call: CallId,
    /// The reviewer's task in this round.
    pub task: TaskId,
    /// What is looked at.
    pub place: Place,
    /// Which round it is, from 1.
    pub round: u32,
    /// How far it is.
    pub stage: Stage,
    /// What Synod saw of the checks, on this commit and in this round.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checks: BTreeMap<Check, bool>,
}

/// How far a review is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum Stage {
    /// The reviewer has it.
    Asked,
    /// It went back to its author.
    Rejected {
        /// What is wrong.
        issues: Vec<String>,
    },
    /// It may be merged.
    Approved,
    /// It could not be merged, and went back to its author.
    Conflicted {
        /// The files that both sides changed.
        files: Vec<String>,
    },
    /// It is merged.
    Merged {
        /// The merge commit.
        merge: String,
    },
    /// The reviewer's task ended without an answer.
    Lapsed,
}

impl Stage {
    /// The word for people and in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Rejected { .. } => "rejected",
            Self::Approved => "approved",
            Self::Conflicted { .. } => "conflicted",
            Self::Merged { .. } => "merged",
            Self::Lapsed => "lapsed",
        }
    }
}

/// One thing that happens to a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "move", rename_all = "snake_case")]
pub enum Move {
    /// A check ran on the commit in the reviewer's checkout.
    Checked {
        /// Which.
        check: Check,
        /// Whether it ended well.
        passed: bool,
    },
    /// The reviewer says that it is good.
    Approved,
    /// The reviewer says what is wrong.
    Rejected {
        /// Never empty.
        issues: Vec<String>,
    },
    /// It was merged.
    Merged {
        /// The merge commit.
        merge: String,
    },
    /// It could not be merged.
    Conflicted {
        /// The files that both sides changed.
        files: Vec<String>,
    },
    /// The reviewer's task ended without an answer.
    Lapsed,
}

impl Move {
    /// The word for people and in the audit log.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Checked { passed: true, .. } => "passed",
            Self::Checked { passed: false, .. } => "failed",
            Self::Approved => "approved",
            Self::Rejected { .. } => "rejected",
            Self::Merged { .. } => "merged",
            Self::Conflicted { .. } => "conflicted",
            Self::Lapsed => "lapsed",
        }
    }
}

/// Why something cannot happen to a review now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is somewhere else on its way.
    #[error("{review} is {stage}, so it cannot be {wanted}")]
    Stage {
        /// Which.
        review: ReviewId,
        /// Where it is.
        stage: &'static str,
        /// What was wanted.
        wanted: &'static str,
    },
    /// A check that must pass has not.
    #[error("{}", .0)]
    Unchecked(String),
    /// A no without a reason helps nobody.
    #[error("a rejection needs issues: say what is wrong, one thing each, so that the author can mend it")]
    NoIssues,
}

/// Why work is not looked at once more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotAgain {
    #[error("{review} is under way: {reviewer} looks at it")]
    UnderWay { review: ReviewId, reviewer: AgentId },
    #[error("{} was sent back already; mend it and commit first", short(.0))]
    SentBack(String),
    #[error("{} is approved already. It can be merged: {MERGE} {review}", short(.commit))]
    Approved { commit: String, review: ReviewId },
}

impl Review {
    /// What the review is after `next`, if it can happen now. `wanted` are the checks that an approval needs.
    pub fn after(&self, next: &Move, wanted: &BTreeSet<Check>) -> Result<Self, Refused> {
        let refused =
            || Refused::Stage { review: self.id.clone(), stage: self.stage.as_str(), wanted: next.as_str() };
        let at = |stage: Stage| Ok(Self { stage, ..self.clone() });
        match (&self.stage, next) {
            (Stage::Asked, Move::Checked { check, passed }) => {
                let mut after = self.clone();
                after.checks.insert(*check, *passed);
                Ok(after)
            }
            (Stage::Asked, Move::Approved) => match self.unchecked(wanted) {
                Some(why) => Err(Refused::Unchecked(why)),
                None => at(Stage::Approved),
            },
            (Stage::Asked, Move::Rejected { issues }) => match issues.is_empty() {
                true => Err(Refused::NoIssues),
                false => at(Stage::Rejected { issues: issues.clone() }),
            },
            (Stage::Asked, Move::Lapsed) => at(Stage::Lapsed),
            (Stage::Approved, Move::Merged { merge }) => at(Stage::Merged { merge: merge.clone() }),
            (Stage::Approved, Move::Conflicted { files }) => at(Stage::Conflicted { files: files.clone() }),
            // Told once more after a crash: it is the same merge.
            (Stage::Merged { merge: known }, Move::Merged { merge }) if known == merge => Ok(self.clone()),
            (Stage::Asked, Move::Merged { .. } | Move::Conflicted { .. })
            | (
                Stage::Approved,
                Move::Checked { .. } | Move::Approved | Move::Rejected { .. } | Move::Lapsed,
            )
            | (
                Stage::Rejected { .. } | Stage::Conflicted { .. } | Stage::Merged { .. } | Stage::Lapsed,
                Move::Checked { .. }
                | Move::Approved
                | Move::Rejected { .. }
                | Move::Merged { .. }
                | Move::Conflicted { .. }
                | Move::Lapsed,
            ) => Err(refused()),
        }
    }

    /// What keeps an approval from counting: a check that Synod has not seen, or has seen fail.
    fn unchecked(&self, wanted: &BTreeSet<Check>) -> Option<String> {
        let commit = short(&self.place.commit);
        let failed = wanted.iter().find(|check| self.checks.get(check) == Some(&false));
        let missing = wanted.iter().find(|check| !self.checks.contains_key(check));
        match (failed, missing) {
            (Some(check), _) => {
                Some(format!("{} did not pass on {commit}; reject it and name what failed", check.tool()))
            }
            (None, Some(check)) => Some(format!(
                "{} has not run on {commit} in this review; run it yourself before you approve",
                check.tool()
            )),
            (None, None) => None,
        }
    }

    /// Whether its author may ask once more, and why not.
    pub(crate) fn may_ask_again(&self, place: &Place) -> Result<(), NotAgain> {
        let (review, commit) = (self.id.clone(), place.commit.clone());
        match &self.stage {
            Stage::Asked => Err(NotAgain::UnderWay { review, reviewer: self.reviewer.clone() }),
            Stage::Rejected { .. } | Stage::Conflicted { .. } if self.place.commit == commit => {
                Err(NotAgain::SentBack(commit))
            }
            Stage::Approved if self.place.commit == commit => Err(NotAgain::Approved { commit, review }),
            Stage::Rejected { .. }
            | Stage::Conflicted { .. }
            | Stage::Approved
            | Stage::Lapsed
            | Stage::Merged { .. } => Ok(()),
        }
    }
}

/// The first characters of a commit's id, as git shows it.
pub fn short(commit: &str) -> &str {
    crate::words::text::cut(commit, 10)
}

/// All reviews of a home.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reviews {
    /// By id, those that are over too.
    pub by_id: BTreeMap<ReviewId, Review>,
    /// Which one a reviewer's task is about, those of earlier rounds too.
    pub by_task: BTreeMap<TaskId, ReviewId>,
    /// Those of an author, by what they are about.
    pub(crate) by_author: BTreeMap<AgentId, BTreeSet<(Option<TaskId>, ReviewId)>>,
    /// The highest number that was given before this journal began.
    pub found: u32,
}

impl Reviews {
    /// Whether there never was one.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty() && self.found == 0
    }

    /// The id of the next one.
    pub(crate) fn fresh(&self) -> ReviewId {
        let number = |id: &ReviewId| id.as_str().rsplit('-').next().and_then(|n| n.parse::<u64>().ok());
        let last = self.by_id.keys().filter_map(number).max().unwrap_or_default().max(self.found.into());
        ReviewId::new(format!("review-{:04}", last.saturating_add(1)))
    }

    /// The one that a reviewer's task is about, while the task is that of its current round.
    pub fn of_task(&self, task: &TaskId) -> Option<&Review> {
        self.by_task.get(task).and_then(|id| self.by_id.get(id)).filter(|review| review.task == *task)
    }

    /// The last one of an author about a task, unless it is merged.
    pub fn open_of(&self, author: &AgentId, about: Option<&TaskId>) -> Option<&Review> {
        let is_open = |r: &&Review| !matches!(r.stage, Stage::Merged { .. });
        let first = (about.cloned(), ReviewId::new(""));
        let own = self.by_author.get(author).into_iter().flat_map(|own| own.range(first.clone()..));
        let about_it = own.take_while(|(other, _)| other.as_ref() == about);
        about_it.filter_map(|(_, id)| self.by_id.get(id)).filter(is_open).last()
    }

    /// Takes in a review, or its next round.
    pub(crate) fn enter(&mut self, review: Review) {
        let own = self.by_author.entry(review.author.clone()).or_default();
        own.insert((review.about.clone(), review.id.clone()));
        self.by_task.insert(review.task.clone(), review.id.clone());
        self.by_id.insert(review.id.clone(), review);
    }
}

/// What Synod found out while it carried out a call that a review is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The author's branch as it stands.
    Submitted(Place),
    /// A check ran on this commit.
    Checked {
        /// Which commit was checked out.
        commit: String,
        /// Which check.
        check: Check,
        /// Whether it ended well.
        passed: bool,
    },
    /// The commit is merged.
    Merged {
        /// What was merged.
        commit: String,
        /// The merge commit.
        merge: String,
    },
    /// The commit cannot be merged.
    Conflicted {
        /// What was to be merged.
        commit: String,
        /// The files that both sides changed.
        files: Vec<String>,
    },
}

/// What happens to a review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", prefix = "review_")]
pub enum Event {
    /// An agent asked another to look at its work and waits for it; the task stands in an event of its own.
    Asked {
        /// What, as it begins a round.
        review: Box<Review>,
    },
    /// Something happened to a review.
    Moved {
        /// Which.
        review: ReviewId,
        /// The commit that it is about.
        commit: String,
        /// What.
        to: Move,
        /// Who did it.
        by: AgentId,
        /// In this conversation.
        session: SessionId,
    },
}

#[cfg(test)]
mod tests;
