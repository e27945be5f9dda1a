//! Approvals: a decision that the gate asks a person for, as data.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::IntoStaticStr;

use crate::topics::tool::{Act, Permit, Seen};
use crate::words::id::{AgentId, ApprovalId, CallId, SessionId, TaskId, Time};
use crate::words::label::Label;
use policy::Risk;

/// What is asked, of whom it came, and what exactly would happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Unique in the home.
    pub id: ApprovalId,
    /// Who wants it.
    pub agent: AgentId,
    /// In which conversation.
    pub session: SessionId,
    /// Which of its calls.
    pub call: CallId,
    /// For which task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Exactly what would be done.
    pub act: Act,
    /// What it depends on outside of its words, as it was when it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
    /// What a command may do beyond reading, if the answer is yes.
    #[serde(default, skip_serializing_if = "Permit::is_none")]
    pub permit: Permit,
    /// SHA-256 of the act, of what was seen and of the permit; a decision is for this and nothing else.
    pub digest: String,
    /// What the agent said when it asked.
    pub why: String,
    /// How much harm it could do.
    pub risk: Risk,
    /// Why the risk is what it is, and which rule asked.
    pub factors: Vec<String>,
    /// Where what led to it comes from.
    #[serde(default, skip_serializing_if = "Label::is_plain")]
    pub label: Label,
    /// How it came here, from where it began: `inbox/slack.jsonl:3`, `task-001 of planner-001`, …
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<String>,
    /// The approval that nobody answered in time, if this asks once more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalates: Option<ApprovalId>,
    /// When it was asked.
    pub created: Time,
    /// When it lapses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Time>,
}

impl Request {
    /// Whether a budget that is used up asks, and no call.
    pub fn is_about_budget(&self) -> bool {
        matches!(self.act, Act::RaiseBudget(_))
    }
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Do it.
    Approved,
    /// Do not.
    Rejected {
        /// Why, for the agent; may be empty.
        reason: String,
    },
}

/// How an approval ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Somebody decided.
    Answered {
        /// What.
        answer: Answer,
        /// Who.
        by: String,
        /// Where: `cli`, `tasks/approvals.task.md`, `approvals/pending/…`.
        via: String,
    },
    /// Nobody decided in time.
    Expired,
    /// There is nothing left to decide: the task ended.
    Withdrawn {
        /// Why.
        reason: String,
    },
}

/// What people are asked and were asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Approvals {
    /// Approvals that wait for a person.
    pub approvals: BTreeMap<ApprovalId, Request>,
    /// Approvals that have ended, and how; so that a late answer can be told who was first.
    pub decided: BTreeMap<ApprovalId, Outcome>,
    /// The number of the next approval.
    pub next_approval: u32,
}

/// What happens to an approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Event {
    /// The gate asks a person about a call, or Synod itself about a budget.
    #[strum(to_string = "call_asked")]
    Asked {
        /// What exactly.
        request: Box<Request>,
    },
    /// An approval was answered, lapsed or was withdrawn.
    #[strum(to_string = "approval_ended")]
    Ended {
        /// Which.
        approval: ApprovalId,
        /// How.
        outcome: Outcome,
    },
    /// Approvals were found in files, without a journal; new ones get higher numbers.
    #[strum(to_string = "approvals_found")]
    Found {
        /// The number of the next one.
        next: u32,
    },
}
