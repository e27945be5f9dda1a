//! What happens to budgets, and the bill of a model.

use crate::topics::budget::Hold;
use crate::topics::budget::charge::Raise;
use crate::topics::budget::charge::Sum;
use crate::topics::caps::Cap;
use crate::topics::caps::Parked;
use crate::words::id::ApprovalId;
use crate::words::id::CallId;
use crate::words::id::SessionId;
use crate::words::id::TaskId;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// What happens to budgets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Event {
    /// A model was asked beside the conversation, or gave an answer that cannot be used.
    Spent {
        /// For this conversation.
        session: SessionId,
        /// Tokens that went in.
        tokens_in: u64,
        /// Tokens that came out.
        tokens_out: u64,
        /// Who answered, and what else it took.
        spent: Bill,
        /// The tool call that it was for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
    },
    /// A model call was reserved on all budgets that it counts in.
    Reserved {
        /// For this conversation.
        session: SessionId,
        /// For this tool call; absent: for the turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// How much.
        hold: Hold,
    },
    /// A model call would pass a budget: it is not made now.
    Parked {
        /// In this conversation.
        session: SessionId,
        /// Why, and until when.
        parked: Parked,
        /// Tokens that would go in.
        expects: u64,
    },
    /// A window opened: a parked conversation looks again.
    Resumed {
        /// Which.
        session: SessionId,
    },
    /// The first model call of a task would pass a budget: the task is not begun now.
    TaskParked {
        /// Which.
        task: TaskId,
        /// Why, and until when.
        parked: Parked,
    },
    /// A window opened: a parked task looks again.
    TaskResumed {
        /// Which.
        task: TaskId,
    },
    /// A person said that a budget may be passed once; what waited for it looks again.
    #[strum(to_string = "budget_raised")]
    Raised {
        /// The node, as in the settings; a run with its name.
        budget: String,
        /// By how much, until its window ends.
        cap: Cap,
        /// Where they said so.
        approval: ApprovalId,
    },
    /// What was spent before this journal began was found in its list.
    #[strum(to_string = "usage_found")]
    Found {
        /// What, by who paid and for what.
        sums: Vec<Sum>,
        /// Budgets that people let be passed, the oldest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        raised: Vec<Raise>,
    },
}

/// Who answered, and what it took beside the tokens in and out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bill {
    /// The model's alias.
    pub model: String,
    /// Tokens read from the provider's cache, a part of those that went in.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_read: u64,
    /// Tokens written into the provider's cache, a part of those that went in.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// Tokens of thinking, a part of those that came out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    /// In millionths; absent if the price was unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
