//! The parts of a conversation, each with its owner: the rules of that subject, and nobody else, change it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::topics::caps::Parked;
use crate::topics::chain::Hands;
use crate::topics::message::{Kind, Urgency};
use crate::words::id::{AgentId, Seq, SessionId, Time};
use crate::words::usage::Spent;

/// What a conversation began with: the agent and the settings may have changed since.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Began {
    /// The version of its agent with which it began.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) version: u32,
    /// The edition of the settings with which it began.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) edition: u32,
}

/// What was said in a conversation, and what its model has not read yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Talk {
    /// The number after that of the last message in its file.
    pub next_message: u32,
    /// Numbers below this were given, also to messages that a person cut off: who puts them back finds their numbers free.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) numbered: u32,
    /// Whether somebody spoke since the last turn began.
    pub unread: bool,
    /// While the model answers: the number of the first message that it was not asked with; 0 if there is none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unread_from: u32,
    /// Agents that told it something since the last turn began and want no answer.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unheard: BTreeSet<AgentId>,
    /// The same, of what the model is asked with now: it has heard it when it answers.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub hearing: BTreeSet<AgentId>,
    /// The most urgent of what was said since the last turn began.
    #[serde(default, skip_serializing_if = "Urgency::is_normal")]
    pub urgency: Urgency,
}

/// Who a conversation works for, and whom it asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ties {
    /// Who waits for the agent's last words, beside whoever asked for the task.
    pub askers: BTreeSet<SessionId>,
    /// Its requests that have no answer yet: by name, who was asked, and in which of their conversations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub asked: BTreeMap<String, BTreeMap<AgentId, SessionId>>,
    /// In which of its turns it asked each of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) asked_in: BTreeMap<String, u32>,
    /// What kind of request each of them is, if it is not a plain one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) asked_as: BTreeMap<String, Kind>,
    /// Requests of others that have no answer yet: by name, the turn in which it reads them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) requests: BTreeMap<String, u32>,
    /// The conversation whose request this one works for, if that came from another agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<SessionId>,
    /// Through whose hands went what it does now, if it is about no task.
    #[serde(default, skip_serializing_if = "Hands::is_empty")]
    pub hands: Hands,
    /// Turns of all conversations that the last request here has caused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub caused: u32,
}

/// How far a conversation is: its turns, and what kept it from going on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// Turns since somebody spoke to the agent.
    pub turns: u32,
    /// All turns.
    pub turns_total: u32,
    /// How often the model failed in this turn; a restart makes a new try, but is no failure.
    pub failures: u32,
    /// Until when the agent's fallback is asked in place of its primary model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_until: Option<Time>,
    /// How often older messages were summarised in this turn.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub summaries: u32,
    /// The last act and how often it came in a row.
    pub repeated: Option<(String, u32)>,
}

/// What a conversation spent, will spend, and may not spend now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purse {
    /// What was used and spent here.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub spent: Spent,
    /// Tokens that the next request will have, as far as anybody can tell before it is built.
    #[serde(default, skip_serializing_if = "is_none")]
    pub expects: u64,
    /// The largest request that was built here and had more tokens than were reserved for it.
    #[serde(default, skip_serializing_if = "is_none")]
    pub outgrown: u64,
    /// The budget that keeps it from going on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<Parked>,
    /// Since when it waits for a budget; it keeps its place when it is parked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parked_since: Option<Seq>,
}

/// The evidence for what the agent reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// What the agent reported, while Synod looks for the evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proving: Option<Proving>,
    /// How often it reported its task done and the evidence was not there.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unproven: u32,
    /// How often it answered in words and was told that its task is open, since it last asked for something.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reminders: u32,
}

/// The working time of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// Working time so far.
    pub worked_ms: u64,
    /// Since when it works now.
    pub(crate) working_since: Option<Time>,
    /// When that is too long.
    pub(crate) work_due: Option<Time>,
}

/// A report of which Synod looks at the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proving {
    /// What the agent said.
    pub said: String,
    /// Whether a piece of evidence was missing.
    pub missing: bool,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_none(number: &u64) -> bool {
    *number == 0
}
