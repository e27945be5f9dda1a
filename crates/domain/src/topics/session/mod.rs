//! Sessions: what the head of a session file says, and messages.

pub mod event;
mod parts;
pub mod reading;

use std::sync::Arc;

use crate::words::actor::Actor;
use serde::{Deserialize, Serialize};

pub use self::parts::{Began, Clock, Pace, Proof, Proving, Purse, Talk, Ties};

use crate::topics::lifecycle::Lifecycle;
use crate::topics::lifecycle::Status;
use crate::topics::task::queue::Rank;
use crate::topics::tool;
use crate::topics::tool::Call;
use crate::topics::tool::Permit;
use crate::topics::tool::Want;
use crate::topics::tool::{Act, Check, Delegate, RequestReview};
use crate::words::id::ApprovalId;
use crate::words::id::DelegationId;
use crate::words::id::LockName;
use crate::words::id::ReviewId;
use crate::words::id::Ticket;
use crate::words::id::{AgentId, CallId, MessageId, SessionId, TaskId, Time};
use crate::words::label::Label;
use policy::Nature;

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
    /// Who says it; absent for the agent's own words and tool results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Actor>,
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
    /// Of a tool's result: whether the call failed or was refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// What stands on it if an agent sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envelope: Option<Box<crate::topics::message::Envelope>>,
    /// Where the words come from, and who may see them.
    #[serde(default, skip_serializing_if = "Label::is_plain")]
    pub label: Label,
}

impl Message {
    /// The agent that sent it, if one did.
    pub fn sender(&self) -> Option<&AgentId> {
        self.from.as_ref().and_then(Actor::agent)
    }

    /// Whether a person said it.
    pub fn is_of_person(&self) -> bool {
        self.from.as_ref().is_some_and(Actor::is_person)
    }
}

/// A conversation and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Whose.
    pub agent: AgentId,
    /// About what.
    pub task: Option<TaskId>,
    /// The agent's state in it.
    pub lifecycle: Lifecycle,
    /// Whether it is over with a failure.
    pub failed: bool,
    /// What happens in it right now.
    pub stage: Stage,
    /// The worst of all that was read in it: whatever is made here has this label.
    #[serde(default, skip_serializing_if = "Label::is_plain")]
    pub label: Label,
    /// What it began with.
    #[serde(default)]
    pub began: Began,
    /// What was said in it, and what is unread.
    #[serde(default)]
    pub talk: Talk,
    /// Who it works for, and whom it asked.
    #[serde(default)]
    pub ties: Ties,
    /// Its turns.
    #[serde(default)]
    pub pace: Pace,
    /// What it spent and expects to spend.
    #[serde(default)]
    pub purse: Purse,
    /// The evidence for what its agent reports.
    #[serde(default)]
    pub proof: Proof,
    /// Its working time.
    #[serde(default)]
    pub clock: Clock,
    /// Its place in its agent's queue while it waits there.
    pub(crate) queued: Option<Rank>,
}

/// What happens in a session right now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Nothing; `unread` says whether there is something to answer.
    Resting,
    /// The model is asked.
    Thinking {
        /// The call.
        ticket: Ticket,
    },
    /// The model failed and is asked again later.
    Retrying {
        /// The failed call.
        ticket: Ticket,
        /// When it is due.
        due: Time,
    },
    /// The model asked for tools.
    Acting {
        /// What the model said along with it: the reason an approval shows.
        said: String,
        /// Each call and how far it is, in the model's order.
        calls: Vec<Pending>,
    },
    /// The model has answered without asking for anything.
    Concluding {
        /// Its words.
        said: String,
    },
    /// The session is over.
    Over,
}

/// A tool call of the current turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// What the model asked for.
    pub call: Arc<Call>,
    /// How far it is.
    pub step: Step,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The gate has not seen it.
    New,
    /// A person is to be asked, and what it depends on is looked at for that.
    Looking {
        /// The try.
        ticket: Ticket,
    },
    /// That was looked at; the gate judges it by that.
    Looked,
    /// A person said yes; the gate looks once more before it runs.
    Approved {
        /// Which approval said so.
        approval: ApprovalId,
        /// What the approval showed that a command may do.
        #[serde(default, skip_serializing_if = "Permit::is_none")]
        permit: Permit,
    },
    /// It is being carried out.
    Running {
        /// The try.
        ticket: Ticket,
        /// What repeating it would do.
        nature: Nature,
        /// What a command may do beyond reading.
        #[serde(default, skip_serializing_if = "Permit::is_none")]
        permit: Permit,
        /// Whether a person said yes to exactly this.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        approved: bool,
    },
    /// It waits, and holds back the calls behind it.
    Waiting {
        /// For this.
        on: On,
    },
    /// It has waited and has its lock; the gate looks once more before it runs.
    Locked {
        /// The approval that a person gave for it before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approved: Option<(ApprovalId, Permit)>,
    },
    /// There is a result.
    Finished {
        /// Whether it was carried out and worked.
        ok: bool,
    },
}

/// What a call can wait for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// A person's decision.
    Approval {
        /// Its id.
        approval: ApprovalId,
    },
    /// Work that was handed on.
    Delegation {
        /// Its id.
        delegation: DelegationId,
    },
    /// A review of the caller's work.
    Review {
        /// Its id.
        review: ReviewId,
    },
    /// Another agent's answer.
    Answer {
        /// The request that it answers.
        correlation: String,
        /// When the call gives up.
        due: Time,
    },
    /// A lock.
    Lock {
        /// Its name.
        name: LockName,
        /// The approval that a person gave for the call before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approved: Option<(ApprovalId, Permit)>,
    },
}

impl Step {
    /// Whether something is done outside for it.
    pub(crate) fn is_under_way(&self) -> bool {
        matches!(self, Self::Running { .. } | Self::Looking { .. })
    }

    /// Whether there is a result.
    pub fn is_finished(&self) -> bool {
        matches!(self, Self::Finished { .. })
    }

    /// The approval that a person gave, and what it showed, if the call may run by it.
    pub(crate) fn approval(&self) -> Option<(&ApprovalId, Permit)> {
        match self {
            Self::Approved { approval, permit } | Self::Locked { approved: Some((approval, permit)) } => {
                Some((approval, *permit))
            }
            Self::New
            | Self::Looking { .. }
            | Self::Looked
            | Self::Running { .. }
            | Self::Waiting { .. }
            | Self::Locked { approved: None }
            | Self::Finished { .. } => None,
        }
    }
}

impl Pending {
    /// Whether the call changes nothing, so that its neighbours of the same kind may run at the same time.
    pub(crate) fn only_reads(&self) -> bool {
        match &self.call.want {
            // It reads where the branch stands, and then starts a review of that.
            Want::Act(Act::RequestReview(RequestReview { .. })) => false,
            Want::Act(act) => {
                tool::facts(act.tool()).is_some_and(|facts| facts.nature == Nature::Read && !facts.inside)
            }
            Want::Invalid { .. } => true,
        }
    }

    /// How the call may be under way beside its neighbours: while it reads, or while others work for it.
    fn together(&self) -> Option<Together> {
        match (&self.step, &self.call.want) {
            (Step::Waiting { on: On::Delegation { .. } }, _) => Some(Together::Delegates),
            (Step::Waiting { .. }, _) => None,
            (_, Want::Act(Act::Delegate(Delegate { .. }))) => Some(Together::Delegates),
            (_, _) => self.only_reads().then_some(Together::Reads),
        }
    }

    /// Whether the call is Synod's own look at evidence.
    fn is_check(&self) -> bool {
        matches!(self.call.want, Want::Act(Act::Check(Check { .. })))
    }
}

/// The call of an answer that goes on next, if one can. Calls take effect in the order given: a call that changes
/// something starts when all before it have ended, and a call that waits holds back those behind it. Neighbours that only
/// read may run at once, and neighbours that delegate are handed on together.
pub(crate) fn next_call(calls: &[Pending]) -> Option<usize> {
    let mut before: Option<Together> = None;
    for (index, pending) in calls.iter().enumerate() {
        let kind = pending.together();
        match &pending.step {
            Step::Finished { .. } => {}
            Step::Running { .. } | Step::Looking { .. } | Step::Waiting { .. } => match (kind, before) {
                (Some(kind), None) => before = Some(kind),
                (Some(kind), Some(same)) if kind == same => {}
                (Some(_) | None, _) => return None,
            },
            Step::New | Step::Looked | Step::Approved { .. } | Step::Locked { .. } => {
                return (before.is_none() || before == kind).then_some(index);
            }
        }
    }
    None
}

/// Whether calls before the one at `index` may have changed what it depends on since that was looked at.
pub(crate) fn is_outdated(calls: &[Pending], index: usize) -> bool {
    let changed = |before: &Pending| before.step == Step::Finished { ok: true } && !before.only_reads();
    calls[index].step == Step::New && calls[..index].iter().any(changed)
}

/// Calls that may be under way at the same time as their neighbours of the same kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Together {
    Reads,
    Delegates,
}

/// The call of an answer that did not work out, and because of which the one at `index` is not run: it would change something
/// on a wrong premise.
pub(crate) fn spoiled_by(calls: &[Pending], index: usize) -> Option<&Pending> {
    let own = calls.get(index)?;
    if own.only_reads() || own.is_check() {
        return None;
    }
    calls[..index].iter().find(|before| before.step == Step::Finished { ok: false })
}

impl Session {
    /// Whether a model call or a tool call is under way.
    pub fn in_flight(&self) -> bool {
        match &self.stage {
            Stage::Thinking { .. } => true,
            Stage::Acting { calls, .. } => calls.iter().any(|pending| pending.step.is_under_way()),
            Stage::Resting | Stage::Retrying { .. } | Stage::Concluding { .. } | Stage::Over => false,
        }
    }

    /// The call that waits for the answer to a request.
    pub fn awaiting(&self, correlation: &str) -> Option<&CallId> {
        let Stage::Acting { calls, .. } = &self.stage else { return None };
        let waits = |p: &&Pending| matches!(&p.step, Step::Waiting { on: On::Answer { correlation: c, .. } } if c == correlation);
        calls.iter().find(waits).map(|p| &p.call.id)
    }

    /// The word for `status:` in its file.
    pub fn status(&self) -> Status {
        self.lifecycle.status(self.failed)
    }

    /// One of the current turn's calls.
    pub fn pending(&self, call: &CallId) -> Option<&Pending> {
        match &self.stage {
            Stage::Acting { calls, .. } => calls.iter().find(|p| p.call.id == *call),
            Stage::Resting
            | Stage::Thinking { .. }
            | Stage::Retrying { .. }
            | Stage::Concluding { .. }
            | Stage::Over => None,
        }
    }

    /// Whether the domain has a next step to take here, without anything from outside.
    pub(crate) fn wants_attention(&self) -> bool {
        match &self.stage {
            Stage::Concluding { .. } => true,
            Stage::Acting { calls, .. } => {
                next_call(calls).is_some() || calls.iter().all(|pending| pending.step.is_finished())
            }
            Stage::Resting | Stage::Thinking { .. } | Stage::Retrying { .. } | Stage::Over => false,
        }
    }
}
