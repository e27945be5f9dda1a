//! What comes from outside: people, files, outcomes, time. `play` turns inputs into events.

use std::collections::BTreeMap;

use crate::kernel::event::Tail;
use crate::topics::agent;
use crate::topics::approval::{Answer, Request};
use crate::topics::budget::charge::{Raise, Sum};
use crate::topics::lifecycle::Status;
use crate::topics::message::{Tie, Urgency};
use crate::topics::review::Finding;
use crate::topics::session::Head;
use crate::topics::settings::Settings;
use crate::topics::spawn::Order;
use crate::topics::task;
use crate::topics::task::Mark;
use crate::topics::tool::foreign::Offer;
use crate::topics::tool::{Call, Seen};
use crate::words::id::{AgentId, ApprovalId, CallId, MessageId, SessionId, TaskId, Ticket};
use crate::words::label::Label;
use crate::words::usage::Usage;
use policy::Policy;
use serde::{Deserialize, Serialize};

/// Something that wants a decision.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A process begins to work in this home, with hands to carry things out.
    Started,
    /// Take the next step that needs nothing from outside. Given until it yields nothing.
    Proceed,
    /// Time has passed.
    Ticked,
    /// A file says something.
    File(FileInput),
    /// A person wants something.
    Person(PersonInput),
    /// A model call came to something.
    Model(ModelInput),
    /// Work outside came to something.
    Tool(ToolInput),
}

/// What files say: a person wrote it, or it was found there without a journal.
#[derive(Debug, Clone, PartialEq)]
pub enum FileInput {
    /// `synod.yaml` was read.
    SettingsRead(Box<Settings>),
    /// `policy/commands.yaml` was read.
    PolicyRead(Policy),
    /// An agent's file was read.
    AgentRead(Box<agent::Spec>),
    /// An agent's file is gone.
    AgentGone(AgentId),
    /// A line of an inbox file was read.
    LineRead {
        /// `inbox/slack-messages.jsonl`
        source: String,
        /// From 1.
        line: u64,
        /// Who wrote it.
        from: String,
        /// Where, if the source has channels.
        channel: Option<String>,
        /// What.
        text: String,
    },
    /// A task file was read; this is what it says of one task.
    TaskRead {
        /// All but the mark; an empty id asks for one.
        spec: Box<task::Spec>,
        /// The mark in the file.
        mark: Mark,
        /// The `result:` in the file.
        result: String,
    },
    /// A person changed a mark.
    TaskMarked {
        /// Which task.
        task: TaskId,
        /// The new mark.
        mark: Mark,
        /// Why, if they say so.
        why: String,
        /// Who.
        by: String,
    },
    /// A person removed a task from its file.
    TaskGone {
        /// Which.
        task: TaskId,
    },
    /// A session file was found that the journal does not know.
    SessionRead {
        /// Its head.
        head: Box<Head>,
        /// Its status.
        status: Status,
        /// The number of its next message.
        next_message: u32,
        /// Where it stands.
        tail: Tail,
        /// The worst label of its messages.
        label: Label,
        /// Approvals of the last turn that still wait.
        approvals: Vec<Request>,
    },
    /// A person cut messages off the end of a session.
    SessionCut {
        /// Which.
        session: SessionId,
        /// The number of its next message.
        next_message: u32,
        /// Where it stands now.
        tail: Tail,
    },
    /// A person changed a message in a session file.
    MessageEdited {
        /// Which session.
        session: SessionId,
        /// Which message.
        message: MessageId,
    },
    /// All session files were read without a journal, and say this of who waits for whom.
    TiesFound {
        /// Of each conversation that is tied to another.
        ties: Vec<Tie>,
    },
    /// There is no journal, and ids with numbers up to these were given before.
    IdsFound {
        /// The highest of a delegation.
        delegations: u32,
        /// The highest of a review.
        reviews: u32,
    },
    /// Approval files were found with numbers up to this.
    ApprovalsFound {
        /// The highest.
        highest: u32,
    },
    /// An approval file about a budget was found that waits for an answer.
    QuestionFound {
        /// Which.
        approval: ApprovalId,
    },
    /// Labels of files were found in their list.
    LabelsFound {
        /// By path.
        labels: BTreeMap<String, Label>,
    },
    /// What was spent was found in its list.
    UsageFound {
        /// What, by who paid and for what.
        sums: Vec<Sum>,
        /// Budgets that people let be passed.
        raised: Vec<Raise>,
    },
}

/// What is tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Again {
    /// A task that failed, or that waits for a provider.
    Task(TaskId),
    /// A provider that does not answer.
    Provider(String),
    /// All providers that do not answer, and all tasks that failed.
    All,
}

/// What a person wants, by a command or in a file.
#[derive(Debug, Clone, PartialEq)]
pub enum PersonInput {
    /// A person ends a task, a delegation or a conversation, with all that is below it.
    Cancel {
        /// Its id.
        what: String,
        /// Who.
        by: String,
    },
    /// A person wants what stands still to be tried again now.
    Retry {
        /// What.
        what: Again,
        /// Who.
        by: String,
    },
    /// A person ends all that was made for one request.
    CancelRun {
        /// What it began with: the id of a task, or of a conversation.
        run: String,
        /// Who.
        by: String,
    },
    /// A person wants a new agent.
    Spawn {
        /// What it shall be.
        order: Box<Order>,
        /// Who.
        by: String,
    },
    /// A person ends a spawned agent, with all that it does.
    Terminate {
        /// Which.
        agent: AgentId,
        /// Why.
        reason: String,
        /// Who.
        by: String,
    },
    /// A person takes a lock away from who has it.
    FreeLock {
        /// Which.
        name: String,
        /// Who.
        by: String,
    },
    /// A person adds a task by a command.
    AddTask {
        /// What; its id is ignored, its file used.
        spec: Box<task::Spec>,
        /// Who.
        by: String,
    },
    /// A person speaks to an agent.
    Say {
        /// In which session; `None` lets Synod find or open one.
        session: Option<SessionId>,
        /// To whom; `broadcast` is all agents, `#ops` those that listen to that channel.
        agent: AgentId,
        /// What.
        text: String,
        /// How urgent it is.
        urgency: Urgency,
        /// Who.
        by: String,
        /// Whether it stands in the session file already.
        in_file: bool,
    },
    /// A person answered an approval.
    Answer {
        /// Which.
        approval: ApprovalId,
        /// What.
        answer: Answer,
        /// Who.
        by: String,
        /// Where.
        via: String,
    },
    /// A person vouches for what stands in a file, as it stands.
    TrustFile {
        /// Relative to the home.
        path: String,
        /// SHA-256 of its content.
        digest: String,
        /// Who.
        by: String,
    },
}

/// What came of a model call.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelInput {
    /// A model answered.
    Replied {
        /// In which session.
        session: SessionId,
        /// To which call.
        ticket: Ticket,
        /// What it says.
        text: String,
        /// What it asks for.
        calls: Vec<Call>,
        /// The alias of the model that was asked.
        model: String,
        /// What it took.
        usage: Usage,
        /// The places, beside the conversation, whose content the model was given.
        read: Vec<String>,
    },
    /// A model summarised older messages, so that the rest fits its window.
    Summarised {
        /// In which session.
        session: SessionId,
        /// The call that cannot be made without it.
        ticket: Ticket,
        /// The last message that it stands for.
        through: MessageId,
        /// What it says.
        text: String,
        /// The alias of the model that was asked.
        model: String,
        /// What it took.
        usage: Usage,
    },
    /// A summary was paid for and is of no use; the turn's own call is still to be made.
    Unsummarised {
        /// In which session.
        session: SessionId,
        /// Which call.
        ticket: Ticket,
    },
    /// A request turned out larger than what was reserved for it, and was not sent.
    Outgrown {
        /// In which session.
        session: SessionId,
        /// Which call.
        ticket: Ticket,
        /// Tokens that would go in.
        tokens_in: u64,
    },
    /// A model was asked beside the conversation; this is what it took.
    Spent {
        /// For which conversation.
        session: SessionId,
        /// For which tool call; absent: for the turn itself.
        call: Option<CallId>,
        /// The alias of the model.
        model: String,
        /// What it took.
        usage: Usage,
    },
    /// A model did not answer.
    Failed {
        /// In which session.
        session: SessionId,
        /// Which call.
        ticket: Ticket,
        /// Why.
        reason: String,
        /// What can be done about it.
        failure: Failure,
    },
}

/// What came of a tool call, or of other work outside.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolInput {
    /// A foreign server said which tools it offers.
    Found {
        /// The server's name.
        server: String,
        /// All of its tools.
        tools: Vec<Offer>,
    },
    /// The workspace of an agent that is over was taken away.
    CleanedUp {
        /// Whose.
        agent: AgentId,
        /// What was kept, in words.
        kept: Vec<String>,
    },
    /// What a call depends on was looked at.
    Looked {
        /// In which session.
        session: SessionId,
        /// Which call.
        call: CallId,
        /// Which try.
        ticket: Ticket,
        /// What was seen.
        seen: Option<Seen>,
    },
    /// A tool is finished.
    Finished {
        /// In which session.
        session: SessionId,
        /// Which call.
        call: CallId,
        /// Which try.
        ticket: Ticket,
        /// Whether it did what was asked.
        ok: bool,
        /// What the agent sees.
        text: String,
        /// The places whose content is in the text: paths relative to the home (a folder stands for all beneath),
        /// `net:` for the network.
        read: Vec<String>,
        /// The places it changed, likewise.
        wrote: Vec<String>,
        /// What was found out on the way, if it is about a review.
        finding: Option<Box<Finding>>,
    },
}

/// What can be done when a model does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// Ask it again, not before so many milliseconds.
    Retry {
        /// What the provider asked for; 0 if it did not say.
        after_ms: u64,
    },
    /// The model has no room for a request now; another of its provider may, and this one not before so many milliseconds.
    Limited {
        /// What the provider asked for; 0 if it did not say.
        after_ms: u64,
    },
    /// The provider does not answer, whatever it is asked.
    Outage {
        /// What it asked for; 0 if it did not say.
        after_ms: u64,
    },
    /// This model does not serve; another may.
    Down,
    /// The provider refuses the key, or there is none; a model of another provider may serve.
    Denied,
    /// No model would answer this.
    GiveUp,
}
