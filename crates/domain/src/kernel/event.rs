//! What happened. Events are the journal: they are only ever added to, and old ones must stay readable
//! (`tests/golden/events` has one of each).

use serde::{Deserialize, Serialize};

use crate::topics::agent;
use crate::topics::approval::{Outcome, Request};
use crate::topics::budget::Hold;
use crate::topics::budget::charge::{Raise, Sum};
use crate::topics::caps::Cap;
use crate::topics::caps::Parked;
use crate::topics::chain::Hands;
use crate::topics::deadline::Deadline;
use crate::topics::delegation::Delegation;
use crate::topics::evidence::Evidence;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::lock::{Freed, Grant};
use crate::topics::message::Question;
use crate::topics::notice::Receiver;
use crate::topics::review::{Move, Review};
use crate::topics::session::{Head, Message};
use crate::topics::settings::Settings;
use crate::topics::task;
use crate::topics::task::Requester;
use crate::topics::tool::Permit;
use crate::words::id::{
    AgentId, ApprovalId, CallId, DelegationId, LockName, MessageId, ReviewId, SessionId, TaskId, Time,
};
use crate::words::label::Label;
use policy::{Nature, Policy};

/// The version of the encoding of events; a change that old readers cannot read raises it.
pub const VERSION: u32 = 1;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A process opened the home to work in it.
    Started,
    /// `synod.yaml` says something new.
    SettingsChanged {
        /// All of it.
        settings: Box<Settings>,
    },
    /// `policy/commands.yaml` says something new.
    PolicyChanged {
        /// All of it.
        policy: Policy,
    },
    /// An agent's file is new or says something new.
    AgentDefined {
        /// All of it.
        spec: Box<agent::Spec>,
    },
    /// An agent's file is gone.
    AgentRetired {
        /// Whose.
        agent: AgentId,
    },
    /// An agent was made while the team works; its file is printed.
    AgentSpawned {
        /// All of it; `spawned_by` says who made it.
        spec: Box<agent::Spec>,
        /// The conversation in which that was asked for, if an agent did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
    },
    /// A spawned agent was ended; its file is taken away and it does not come back.
    AgentTerminated {
        /// Which.
        agent: AgentId,
        /// Who said so: `agent:…`, `person:…`; `synod` if it ended with the one that made it.
        by: String,
        /// Why.
        reason: String,
        /// The conversation in which that was asked for, if an agent did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
    },
    /// The workspace of an agent that is over was taken away.
    WorkspaceCleaned {
        /// Whose.
        agent: AgentId,
        /// What was kept, in words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<String>,
    },
    /// A start takes up what was to be taken away before.
    CleaningResumed {
        /// Whose workspace.
        agent: AgentId,
    },
    /// What was due led to nothing: what it was about is over.
    DeadlineDropped {
        /// When it was due.
        due: Time,
        /// What.
        what: Deadline,
    },
    /// A line of an inbox file was taken.
    LineTaken {
        /// `inbox/slack-messages.jsonl`
        source: String,
        /// From 1.
        line: u64,
    },
    /// There is a new task.
    TaskAdded {
        /// What it is.
        spec: Box<task::Spec>,
        /// Who asked for it.
        by: Requester,
        /// Whether it already stands in its file.
        in_file: bool,
    },
    /// A task says something new.
    TaskEdited {
        /// Which.
        task: TaskId,
        /// What.
        change: task::Change,
        /// Whether the file already says so.
        in_file: bool,
    },
    /// An agent began with a task.
    TaskStarted {
        /// Which.
        task: TaskId,
        /// In this conversation.
        session: SessionId,
    },
    /// A task is over.
    TaskEnded {
        /// Which.
        task: TaskId,
        /// How.
        end: task::End,
        /// What came of it.
        result: String,
        /// Who said so: `agent:…`, `person:…`, `synod`.
        by: String,
        /// The conversation that ended it; it hears of it by the result of its call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
        /// Whether it had ended when its file was read: that is no news.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        found: bool,
    },
    /// All that somebody was to be told was told.
    Told {
        /// Its receiver.
        receiver: Receiver,
    },
    /// Synod saw all that the task demands as evidence.
    TaskVerified {
        /// Which.
        task: TaskId,
        /// What was seen.
        evidence: Vec<Evidence>,
    },
    /// A task that was over is open again.
    TaskReopened {
        /// Which.
        task: TaskId,
        /// Who said so.
        by: String,
    },
    /// A conversation began.
    SessionOpened {
        /// All but its messages.
        head: Box<Head>,
    },
    /// A conversation was found in its file, without a journal.
    SessionAdopted {
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
    /// Approvals were found in files, without a journal; new ones get higher numbers.
    ApprovalsFound {
        /// The number of the next one.
        next: u32,
    },
    /// Ids were given before this journal began; new ones get higher numbers.
    IdsFound {
        /// The highest number of a delegation.
        delegations: u32,
        /// The highest number of a review.
        reviews: u32,
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
    /// A person cut messages off a conversation.
    SessionCut {
        /// Which.
        session: SessionId,
        /// The number of its next message.
        next_message: u32,
        /// Where it stands now.
        tail: Tail,
    },
    /// A conversation that was over goes on.
    SessionReopened {
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
    /// The model is asked.
    TurnBegun {
        /// In this conversation.
        session: SessionId,
        /// Which turn, from 1.
        turn: u32,
    },
    /// The model could not answer.
    TurnFailed {
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
    TurnRetried {
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
    /// The gate let a call through.
    CallCleared {
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
    /// A call that may be repeated is carried out again.
    CallRetried {
        /// In this conversation.
        session: SessionId,
        /// Which.
        call: CallId,
    },
    /// The gate asks a person about a call, or Synod itself about a budget.
    CallAsked {
        /// What exactly.
        request: Box<Request>,
    },
    /// A call waits for another agent's answer.
    CallAwaited {
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
    CallFinished {
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
    BudgetRaised {
        /// The node, as in the settings; a run with its name.
        budget: String,
        /// By how much, until its window ends.
        cap: Cap,
        /// Where they said so.
        approval: ApprovalId,
    },
    /// A person vouches for what stands in a file, as it stands.
    FileTrusted {
        /// Relative to the home.
        path: String,
        /// SHA-256 of its content.
        digest: String,
        /// Who.
        by: String,
    },
    /// Labels of files were found in their list, without a journal.
    LabelsFound {
        /// By path.
        labels: std::collections::BTreeMap<String, Label>,
    },
    /// What was spent before this journal began was found in its list.
    UsageFound {
        /// What, by who paid and for what.
        sums: Vec<Sum>,
        /// Budgets that people let be passed, the oldest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        raised: Vec<Raise>,
    },
    /// An agent handed work to another and waits for it; the task stands in an event of its own.
    Delegated {
        /// What, as it begins.
        delegation: Box<Delegation>,
    },
    /// Delegated work was under way when Synod stopped, and nobody knows what it did.
    DelegationCrashed {
        /// Which.
        delegation: DelegationId,
        /// What is not known.
        reason: String,
        /// Whether it goes on all the same.
        retried: bool,
    },
    /// An agent asked another to look at its work and waits for it; the task stands in an event of its own.
    ReviewAsked {
        /// What, as it begins a round.
        review: Box<Review>,
    },
    /// Something happened to a review.
    ReviewMoved {
        /// Which.
        review: ReviewId,
        /// The commit that it is about.
        commit: String,
        /// What.
        to: Move,
        /// Who did it.
        by: AgentId,
        /// In this conversation.
        session: SessionId,
    },
    /// A call waits for a lock.
    LockAwaited {
        /// Which.
        name: LockName,
        /// In this conversation.
        session: SessionId,
        /// Which call.
        call: CallId,
        /// Whether it is to be kept beyond the call.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        kept: bool,
        /// How long.
        due: Time,
    },
    /// A call has a lock. What ends the call or its conversation also frees it.
    LockGranted {
        /// Which, with its number.
        grant: Grant,
        /// In this conversation.
        session: SessionId,
        /// Which call.
        call: CallId,
        /// Whether the conversation keeps it beyond the call.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        kept: bool,
    },
    /// A lock was given back or taken away.
    LockFreed {
        /// Which.
        name: LockName,
        /// Who had it.
        session: SessionId,
        /// How.
        why: Freed,
    },
    /// An approval was answered, lapsed or was withdrawn.
    ApprovalEnded {
        /// Which.
        approval: ApprovalId,
        /// How.
        outcome: Outcome,
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
    pub call: crate::topics::tool::Call,
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

impl Event {
    /// The event's name, as in the journal.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::LockAwaited { .. } => "lock_awaited",
            Self::LockGranted { .. } => "lock_granted",
            Self::LockFreed { .. } => "lock_freed",
            Self::Started => "started",
            Self::SettingsChanged { .. } => "settings_changed",
            Self::PolicyChanged { .. } => "policy_changed",
            Self::AgentDefined { .. } => "agent_defined",
            Self::AgentRetired { .. } => "agent_retired",
            Self::AgentSpawned { .. } => "agent_spawned",
            Self::AgentTerminated { .. } => "agent_terminated",
            Self::WorkspaceCleaned { .. } => "workspace_cleaned",
            Self::CleaningResumed { .. } => "cleaning_resumed",
            Self::DeadlineDropped { .. } => "deadline_dropped",
            Self::LineTaken { .. } => "line_taken",
            Self::TaskAdded { .. } => "task_added",
            Self::TaskEdited { .. } => "task_edited",
            Self::TaskStarted { .. } => "task_started",
            Self::TaskEnded { .. } => "task_ended",
            Self::Told { .. } => "told",
            Self::TaskVerified { .. } => "task_verified",
            Self::TaskReopened { .. } => "task_reopened",
            Self::SessionOpened { .. } => "session_opened",
            Self::SessionAdopted { .. } => "session_adopted",
            Self::ApprovalsFound { .. } => "approvals_found",
            Self::IdsFound { .. } => "ids_found",
            Self::TiesFound { .. } => "ties_found",
            Self::SessionCut { .. } => "session_cut",
            Self::SessionReopened { .. } => "session_reopened",
            Self::MessageAdded { .. } => "message_added",
            Self::MessageEdited { .. } => "message_edited",
            Self::Moved { .. } => "moved",
            Self::TurnBegun { .. } => "turn_begun",
            Self::TurnFailed { .. } => "turn_failed",
            Self::TurnRetried { .. } => "turn_retried",
            Self::Replied { .. } => "replied",
            Self::EvidenceDemanded { .. } => "evidence_demanded",
            Self::Outgrown { .. } => "outgrown",
            Self::Unsummarised { .. } => "unsummarised",
            Self::Summarised { .. } => "summarised",
            Self::CallCleared { .. } => "call_cleared",
            Self::CallRetried { .. } => "call_retried",
            Self::CallAsked { .. } => "call_asked",
            Self::CallAwaited { .. } => "call_awaited",
            Self::CallFinished { .. } => "call_finished",
            Self::ApprovalEnded { .. } => "approval_ended",
            Self::Delegated { .. } => "delegated",
            Self::DelegationCrashed { .. } => "delegation_crashed",
            Self::ReviewAsked { .. } => "review_asked",
            Self::ReviewMoved { .. } => "review_moved",
            Self::Spent { .. } => "spent",
            Self::Reserved { .. } => "reserved",
            Self::Parked { .. } => "parked",
            Self::Resumed { .. } => "resumed",
            Self::TaskParked { .. } => "task_parked",
            Self::TaskResumed { .. } => "task_resumed",
            Self::BudgetRaised { .. } => "budget_raised",
            Self::FileTrusted { .. } => "file_trusted",
            Self::LabelsFound { .. } => "labels_found",
            Self::UsageFound { .. } => "usage_found",
        }
    }
}
