//! What happens to a conversation, but for its turns and calls.

use crate::topics::chain::Hands;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::message::Question;
use crate::topics::session::Head;
use crate::topics::session::Message;
use crate::topics::tool::Call;
use crate::words::id::MessageId;
use crate::words::id::SessionId;
use crate::words::id::TaskId;
use crate::words::label::Label;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// What happens to a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Event {
    /// A conversation began.
    #[strum(to_string = "session_opened")]
    Opened {
        /// All but its messages.
        head: Box<Head>,
    },
    /// A conversation was found in its file, without a journal.
    #[strum(to_string = "session_adopted")]
    Adopted {
        /// All but its messages.
        head: Box<Head>,
        /// The agent's state in it.
        lifecycle: Lifecycle,
        /// Whether it is over with a failure.
        failed: bool,
        /// The number of its next message.
        next_message: u32,
        /// Where it stands.
        tail: Tail,
        /// The worst label of its messages.
        #[serde(default, skip_serializing_if = "Label::is_plain")]
        label: Label,
    },
    /// A person cut messages off a conversation.
    #[strum(to_string = "session_cut")]
    Cut {
        /// Which.
        session: SessionId,
        /// The number of its next message.
        next_message: u32,
        /// Where it stands now.
        tail: Tail,
    },
    /// A conversation that was over goes on.
    #[strum(to_string = "session_reopened")]
    Reopened {
        /// Which.
        session: SessionId,
    },
    /// Somebody said something to an agent.
    MessageAdded {
        /// In this conversation.
        session: SessionId,
        /// What.
        message: Message,
        /// The conversation that waits for an answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asker: Option<SessionId>,
        /// Whether a person wrote it into the file, where only its id is missing.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_file: bool,
    },
    /// A person changed the words of a message; the next turn uses them.
    MessageEdited {
        /// In this conversation.
        session: SessionId,
        /// Which.
        message: MessageId,
    },
    /// The agent's state changed.
    Moved {
        /// In this conversation.
        session: SessionId,
        /// About this task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// To this state.
        to: Lifecycle,
        /// Whether it is over with a failure.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        failed: bool,
        /// Why.
        reason: String,
    },
    /// The file of a conversation says who waits for its answer, without a journal.
    TiesFound {
        /// Which.
        session: SessionId,
        /// Through whose hands went what it does now.
        #[serde(default, skip_serializing_if = "Hands::is_empty")]
        hands: Hands,
        /// What it was asked and has not answered.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        requests: Vec<Question>,
        /// The conversation in which the request came up that it works for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<SessionId>,
    },
}

/// Where a conversation stands, by its last messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tail {
    /// The agent spoke last.
    Answered,
    /// Somebody spoke to the agent last, or there is nothing.
    Unanswered,
    /// The agent asked for tools and some results are missing.
    Calls {
        /// What the agent said along with it.
        said: String,
        /// The calls of the last turn.
        calls: Vec<FoundCall>,
    },
}

/// A call found in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundCall {
    /// What the agent asked for.
    pub call: Call,
    /// What is known of it.
    pub found: Found,
}

/// What the files know of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// There is a result.
    Finished,
    /// There is neither a result nor an approval.
    Nothing,
    /// An approval waits for an answer, so it has not run.
    Pending,
    /// An approval was given, and there is no result: it may have run.
    Approved,
    /// An approval was refused, and the agent was not told yet.
    Rejected,
}
