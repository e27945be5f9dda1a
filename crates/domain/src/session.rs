//! Sessions: what the head of a session file says, and messages.

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, CallId, MessageId, SessionId, TaskId, Time};
use crate::label::Label;
use crate::tool::Call;

/// `status:` of a session file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The agent works, or will as soon as it can.
    Active,
    /// The agent has said what it had to say and waits.
    Sleeping,
    /// Over.
    Completed,
    /// Over, with a failure.
    Error,
}

impl Status {
    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Sleeping => "sleeping",
            Self::Completed => "completed",
            Self::Error => "error",
        }
    }

    /// The status that `word` names.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Active, Self::Sleeping, Self::Completed, Self::Error].into_iter().find(|s| s.as_str() == word)
    }
}

/// The head of a session: all but its messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// `<agent>-<6 hex>`.
    pub session: SessionId,
    /// Whose conversation.
    pub agent: AgentId,
    /// The agent's role when it began.
    pub role: String,
    /// The model when it began.
    pub model: String,
    /// What the model is told first.
    pub system_prompt: String,
    /// The task it is about, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// When it began.
    pub created: Time,
}

/// Who speaks, in the words of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// Instructions.
    System,
    /// Whoever the agent works for: a person, another agent, Synod.
    User,
    /// The agent.
    Assistant,
    /// What a tool gave back.
    ToolResult,
}

impl Speaker {
    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::ToolResult => "tool_result",
        }
    }

    /// The speaker that `word` names; `tool` is read as `tool_result`.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "system" => Some(Self::System),
            "user" => Some(Self::User),
            "assistant" => Some(Self::Assistant),
            "tool_result" | "tool" => Some(Self::ToolResult),
            _ => None,
        }
    }
}

/// One message of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Unique in its session.
    pub id: MessageId,
    /// When.
    pub at: Time,
    /// Who speaks.
    pub speaker: Speaker,
    /// Where it came from: `person:dana`, `agent:planner-001`, `synod`, `inbox/slack-messages.jsonl:1`.
    /// Empty for the agent's own words and tool results.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// What is said.
    pub content: String,
    /// Tools the agent asks for in this message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
    /// The call this is the result of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// Of a summary: the last message that it stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_through: Option<MessageId>,
    /// Of an answer: the last message that it was made with, if more came while it was made; absent: all before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_through: Option<MessageId>,
    /// What stands on it if an agent sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envelope: Option<Box<crate::message::Envelope>>,
    /// Where the words come from, and who may see them.
    #[serde(default, skip_serializing_if = "Label::is_plain")]
    pub label: Label,
}
