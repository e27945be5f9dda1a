//! What happens to a task.

use crate::topics::evidence::Evidence;
use crate::topics::task::Requester;
use crate::topics::task::{Change, End, Spec};
use crate::words::actor::Actor;
use crate::words::id::SessionId;
use crate::words::id::TaskId;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// What happens to a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", prefix = "task_")]
pub enum Event {
    /// There is a new task.
    Added {
        /// What it is.
        spec: Box<Spec>,
        /// Who asked for it.
        by: Requester,
        /// Whether it already stands in its file.
        in_file: bool,
    },
    /// A task says something new.
    Edited {
        /// Which.
        task: TaskId,
        /// What.
        change: Change,
        /// Whether the file already says so.
        in_file: bool,
    },
    /// An agent began with a task.
    Started {
        /// Which.
        task: TaskId,
        /// In this conversation.
        session: SessionId,
    },
    /// A task is over.
    Ended {
        /// Which.
        task: TaskId,
        /// How.
        end: End,
        /// What came of it.
        result: String,
        /// Who said so.
        by: Actor,
        /// The conversation that ended it; it hears of it by the result of its call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
        /// Whether it had ended when its file was read: that is no news.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        found: bool,
    },
    /// Synod saw all that the task demands as evidence.
    Verified {
        /// Which.
        task: TaskId,
        /// What was seen.
        evidence: Vec<Evidence>,
    },
    /// A task that was over is open again.
    Reopened {
        /// Which.
        task: TaskId,
        /// Who said so.
        by: Actor,
    },
}
