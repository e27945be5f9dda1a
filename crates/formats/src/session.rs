//! `sessions/<agent>-<6 hex>.session.yaml`: a head, then messages, which are the last key so that they can be
//! appended.

mod document;
mod print;
mod read;
mod tail;

use std::ops::Range;

use domain::Actor;
use domain::delegation::ON_BEHALF;
use domain::id::{CallId, MessageId, Time};
use domain::label::Label;
use domain::message::Envelope;
use domain::session::{Head, Speaker, Status};

use crate::shape::{Shape, may, must};

pub use print::{print_head, print_message};
pub use tail::torn_tail;

/// A session file: its text, its head, its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFile {
    path: String,
    // Everything below always is the parse of `text`.
    text: String,
    head: Head,
    status: Status,
    reason: String,
    updated: Option<Time>,
    messages: Vec<MessageItem>,
    places: Places,
}

/// One message as the file has it. What a person wrote may lack an id and a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageItem {
    /// Unique in the session; added by Synod if absent.
    pub id: Option<MessageId>,
    /// When.
    pub at: Option<Time>,
    /// Who speaks.
    pub speaker: Speaker,
    /// Where it came from.
    pub from: Option<Actor>,
    /// Where the words come from, and who may see them.
    pub label: Label,
    /// What is said.
    pub content: String,
    /// Tools that are asked for.
    pub calls: Vec<RawCall>,
    /// The call that this is the result of.
    pub call: Option<CallId>,
    /// Of a summary: the last message that it stands for.
    pub summary_through: Option<MessageId>,
    /// Of an answer: the last message that it was made with, if more came while it was made.
    pub read_through: Option<MessageId>,
    /// Of a tool's result: whether the call failed or was refused.
    pub is_error: bool,
    /// What stands on it if an agent sent it.
    pub envelope: Option<Box<Envelope>>,
    /// Where it starts, from 1.
    pub line: usize,
    /// Its bytes, from behind the dash.
    pub span: Range<usize>,
}

/// A tool call as the file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawCall {
    /// Unique in the session.
    pub id: CallId,
    /// The tool's name.
    pub name: String,
    /// JSON, as the model wrote it.
    pub arguments: String,
}

/// Where edits go.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Places {
    status: Option<Range<usize>>,
    reason: Option<Range<usize>>,
    updated: Option<Range<usize>>,
    /// The start of the line `messages:`.
    messages: usize,
    list: List,
}

/// How messages are appended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum List {
    /// Lines at `end`, the dash after `indent` spaces.
    Block { end: usize, indent: usize },
    /// No `messages:` yet; it goes here.
    Absent { end: usize },
    /// `[]` at this place; `line_end` is where its line ends.
    Empty { brackets: Range<usize>, line_end: usize },
    /// Before the closing bracket.
    Flow { end: usize },
}

const CALL: Shape = Shape::Record(&[
    must("id", Shape::Text, "unique in the session"),
    may("type", Shape::Word(&["function"]), "always `function`"),
    must(
        "function",
        Shape::Record(&[
            must("name", Shape::Text, "the tool's name"),
            may(
                "arguments",
                Shape::Either(&[Shape::Map(&Shape::Any), Shape::Text]),
                "JSON as a text, or a map",
            ),
        ]),
        "what is asked for",
    ),
]);

const MESSAGE: Shape = Shape::Record(&[
    may("id", Shape::Id, "unique in the session; added if left out"),
    must("role", Shape::Word(&["system", "user", "assistant", "tool_result", "tool"]), "who speaks"),
    may("from", Shape::Text, "where it came from, such as person:dana"),
    may("label", Shape::Text, "how far its words are to be trusted; written by Synod"),
    may("type", Shape::Word(&domain::message::Kind::WORDS), "of a message of an agent: what it wants"),
    may("to", Shape::Word(&["broadcast"]), "broadcast, if it went to all other agents"),
    may("channel", Shape::Id, "the channel that it was sent to, if it was"),
    may("priority", Shape::Word(&["low", "normal", "high", "critical"]), "how urgent it is (normal)"),
    may("correlation_id", Shape::Text, "names a request and its answers"),
    may("in_reply_to", Shape::Text, "the request that it answers"),
    may("awaited", Shape::Bool, "whether who asked stands still until it is answered"),
    may("approved", Shape::Bool, "of a response: whether the work is good"),
    may("issues", Shape::List(&Shape::Text), "of a response: what is wrong with the work"),
    may(ON_BEHALF, Shape::Text, "through whose hands the work came for which it was sent; written by Synod"),
    may("approval_required", Shape::Bool, "whether a yes is demanded for what is done because of it"),
    may("content", Shape::Text, "what is said"),
    may("tool_calls", Shape::List(&CALL), "tools that are asked for"),
    may("tool_call_id", Shape::Text, "of a tool_result: the call it answers"),
    may("summary_through", Shape::Id, "of a summary: the last message that it stands for"),
    may("read_through", Shape::Id, "of an answer: the last message that it saw, if more came meanwhile"),
    may("is_error", Shape::Bool, "of a tool_result: whether the call failed or was refused (false)"),
    may("timestamp", Shape::Time, "when"),
]);

/// All that a session file may say.
pub(crate) const SHAPE: Shape = Shape::Record(&[
    must("session_id", Shape::Id, "the session's name: <agent>-<6 hex>"),
    must("agent_id", Shape::Id, "whose conversation"),
    may("agent_type", Shape::Text, "the agent's role when it began"),
    may("model", Shape::Text, "the model when it began"),
    may("system_prompt", Shape::Text, "what the model is told first"),
    may("task", Shape::Id, "the task it is about"),
    may("created", Shape::Time, "when it began"),
    may("updated", Shape::Time, "when it last changed"),
    may("status", Shape::Word(&["active", "sleeping", "completed", "error"]), "how it stands (active)"),
    may("reason", Shape::Text, "of a conversation about no task that is over: why"),
    may("metadata", Shape::Map(&Shape::Any), "free words of the owner"),
    may("messages", Shape::List(&MESSAGE), "the conversation; the last key, so that it can be appended to"),
]);
