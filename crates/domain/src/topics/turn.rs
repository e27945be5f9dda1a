//! A turn: the model is asked, and what came of it.

use crate::topics::budget::event::Bill;
use crate::topics::session::Message;
use crate::words::id::SessionId;
use crate::words::id::Time;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// What happens in a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Event {
    /// The model is asked.
    #[strum(to_string = "turn_begun")]
    Begun {
        /// In this conversation.
        session: SessionId,
        /// Which turn, from 1.
        turn: u32,
    },
    /// The model could not answer.
    #[strum(to_string = "turn_failed")]
    Failed {
        /// In this conversation.
        session: SessionId,
        /// Why.
        reason: String,
        /// When it is asked again.
        due: Time,
        /// The model that is asked from now on, in place of the one that failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fallback: Option<String>,
    },
    /// The model is asked again.
    #[strum(to_string = "turn_retried")]
    Retried {
        /// In this conversation.
        session: SessionId,
        /// Why.
        reason: String,
    },
    /// The model answered.
    Replied {
        /// In this conversation.
        session: SessionId,
        /// What.
        message: Message,
        /// Tokens that went in.
        tokens_in: u64,
        /// Tokens that came out.
        tokens_out: u64,
        /// Who was asked, and more of what it took; absent in old journals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent: Option<Bill>,
    },
    /// The agent reports its task done; what the task demands is looked at.
    EvidenceDemanded {
        /// In this conversation.
        session: SessionId,
        /// Synod's own calls, one for each piece of evidence.
        message: Message,
    },
    /// The agent answered in words although its task is open, and is told so.
    Reminded {
        /// In this conversation.
        session: SessionId,
    },
    /// The turn's request was built and is larger than what was reserved for it; it was not sent.
    Outgrown {
        /// In this conversation.
        session: SessionId,
        /// Tokens that would go in.
        tokens_in: u64,
    },
    /// A summary was asked for and is of no use: this turn goes on without any.
    Unsummarised {
        /// In this conversation.
        session: SessionId,
    },
    /// Older messages no longer fit the model's window and were summarised; they stay where they are.
    Summarised {
        /// In this conversation.
        session: SessionId,
        /// The summary; its `summary_through` says how far it reaches.
        message: Message,
        /// Tokens that went in.
        tokens_in: u64,
        /// Tokens that came out.
        tokens_out: u64,
        /// Who was asked, and more of what it took.
        spent: Bill,
    },
}
