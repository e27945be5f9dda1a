//! Tool calls: what happens to one, and how it ends.

use crate::topics::session::Message;
use crate::topics::tool::{Permit, Seen};
use crate::words::id::ApprovalId;
use crate::words::id::CallId;
use crate::words::id::SessionId;
use crate::words::id::Time;
use policy::Nature;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// What happens to a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", prefix = "call_")]
pub enum Event {
    /// The gate let a call through.
    Cleared {
        /// In this conversation.
        session: SessionId,
        /// Which.
        call: CallId,
        /// By which rule.
        rule: String,
        /// What repeating it would do.
        nature: Nature,
        /// What a command may do beyond reading.
        #[serde(default, skip_serializing_if = "Permit::is_none")]
        permit: Permit,
        /// The approval that a person gave for exactly this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval: Option<ApprovalId>,
    },
    /// What a call depends on is looked at once more before a person is asked: calls before it changed something.
    LookWanted {
        /// In this conversation.
        session: SessionId,
        /// Which.
        call: CallId,
    },
    /// It was.
    Looked {
        /// In this conversation.
        session: SessionId,
        /// Which.
        call: CallId,
        /// What it depends on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<Seen>,
    },
    /// A call that may be repeated is carried out again.
    Retried {
        /// In this conversation.
        session: SessionId,
        /// Which.
        call: CallId,
    },
    /// A call waits for another agent's answer.
    Awaited {
        /// In this conversation.
        session: SessionId,
        /// Which.
        call: CallId,
        /// The request that was sent.
        correlation: String,
        /// How long.
        due: Time,
    },
    /// A call has a result.
    Finished {
        /// In this conversation.
        session: SessionId,
        /// How.
        finish: Finish,
        /// The result as the agent sees it; its `call` says which call.
        message: Message,
        /// The places that it changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        wrote: Vec<String>,
    },
}

/// How a call came to its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was carried out.
    Done,
    /// It was tried and did not work.
    Failed,
    /// It was not let through.
    Refused {
        /// By which rule.
        rule: String,
    },
    /// It was under way when Synod stopped, and must not be repeated: nobody knows.
    Unknown,
    /// The session ended before it could be carried out.
    Dropped,
}
