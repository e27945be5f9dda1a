//! What is said over the socket.

use std::collections::BTreeMap;

use domain::approval;
use domain::event::Event;
use domain::id::SessionId;
use domain::label::Label;
use domain::tool::Call;
use domain::usage::{Spent, Usage};
use domain::waits::Wait;
use serde::{Deserialize, Serialize};

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// What is under way.
    Live,
    /// Decide an approval.
    Answer {
        /// Which.
        approval: String,
        /// Yes or no.
        approve: bool,
        /// Why not.
        #[serde(default)]
        reason: String,
        /// Who decides.
        by: String,
    },
    /// Speak to an agent.
    Say {
        /// In this session; else one is found or opened.
        #[serde(default)]
        session: Option<String>,
        /// To whom.
        agent: String,
        /// What.
        text: String,
        /// How urgent it is.
        #[serde(default, skip_serializing_if = "domain::message::Urgency::is_normal")]
        urgency: domain::message::Urgency,
        /// Who speaks.
        by: String,
    },
    /// Add a task.
    Add {
        /// What.
        task: Box<domain::task::Spec>,
        /// Who adds it.
        by: String,
    },
    /// Mark a task, as a person can do in its file.
    Mark {
        /// Which.
        task: String,
        /// How.
        mark: domain::task::Mark,
        /// Why.
        #[serde(default)]
        why: String,
        /// Who.
        by: String,
    },
    /// End a task, a delegation or a session, with all that is below it.
    Cancel {
        /// Its id.
        what: String,
        /// Who.
        by: String,
    },
    /// Try again what stands still.
    Retry {
        /// What.
        what: domain::input::Again,
        /// Who wants it.
        by: String,
    },
    /// End all that was made for one request.
    CancelRun {
        /// The task or the session with which it began.
        run: String,
        /// Who.
        by: String,
    },
    /// Make an agent.
    Spawn {
        /// What it shall be.
        order: Box<domain::spawn::Order>,
        /// Who wants it.
        by: String,
    },
    /// End a spawned agent, with all that it does.
    Terminate {
        /// Which.
        agent: String,
        /// Why.
        #[serde(default)]
        reason: String,
        /// Who ends it.
        by: String,
    },
    /// Who waits for what, and who has which lock.
    Waits,
    /// Requests, each with all that was made for it.
    Runs {
        /// Only the run of this task or session, with its members; else all, without.
        #[serde(default)]
        of: Option<String>,
    },
    /// Take a lock away from who has it.
    Free {
        /// Which.
        lock: String,
        /// Who.
        by: String,
    },
    /// Vouch for what stands in a file, as it stands.
    Vouch {
        /// Relative to the home.
        path: String,
        /// SHA-256 of what was read there.
        digest: String,
        /// Who vouches.
        by: String,
    },
    /// Wait until a task has ended or nothing more can be done without somebody outside.
    Await {
        /// The task; without one, only the second.
        #[serde(default)]
        task: Option<String>,
        /// At most so long.
        ms_max: u64,
    },
    /// Be told of what happens from now on: the connection carries [`News`] until one side closes it.
    Follow,
    /// Wind down and end.
    Stop,
}

/// What whoever follows is told, one a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// How it stands; always first.
    Opening(Box<Opening>),
    /// Something happened.
    Event {
        /// Its number.
        seq: u64,
        /// Milliseconds since 1970.
        at: i64,
        /// What.
        event: Box<Event>,
    },
    /// The text of an answer that is not finished.
    Heard {
        /// In this session.
        session: String,
        /// How many bytes came so far.
        bytes: usize,
        /// The last of them.
        tail: String,
        /// What the answer took so far.
        usage: Usage,
    },
    /// What is under way changed.
    Live(Live),
    /// So many events came too fast.
    Missed(u64),
}

/// What to know of a home to understand what happens next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Opening {
    /// The last event.
    pub seq: u64,
    /// Approvals that wait for a person.
    pub approvals: Vec<approval::Request>,
    /// Conversations in which a person waits for an answer.
    pub asked: Vec<SessionId>,
    /// Calls that were asked for and not finished.
    pub calls: Vec<(SessionId, Call)>,
    /// What is under way.
    pub live: Live,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Response {
    /// It was decided and is durable.
    Done {
        /// The last event.
        seq: u64,
        /// The task that was added, if one was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<String>,
        /// The agent that was made, if one was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// The conversations in which somebody was spoken to.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sessions: Vec<String>,
        /// What is tried again, in words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        retried: Vec<String>,
    },
    /// It was refused by a rule.
    Refused {
        /// Why.
        reason: String,
    },
    /// It could not be understood.
    Bad {
        /// Why.
        reason: String,
    },
    /// What is under way.
    Live(Live),
    /// Who waits for what.
    Waits(Box<Waits>),
    /// Requests, each with all that was made for it.
    Runs(Vec<Run>),
    /// What was waited for, or what there is instead.
    Awaited {
        /// Where the task stands, if one was named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskView>,
        /// Approvals that wait for a person.
        approvals: usize,
        /// Sessions that a budget keeps from going on.
        #[serde(default)]
        parked: usize,
        /// How much of that waits for a provider that does not answer.
        #[serde(default)]
        offline: usize,
        /// Whether the time was over first.
        timed_out: bool,
        /// The last event by then.
        #[serde(default)]
        seq: u64,
    },
}

/// Where a task stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskView {
    /// The word for its mark.
    pub mark: String,
    /// Whether it has ended.
    pub ended: bool,
    /// What came of it.
    pub result: String,
    /// Whether it failed because a provider refused the key, or there is none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
    /// From what it was made.
    #[serde(default, skip_serializing_if = "Label::is_plain")]
    pub label: Label,
}

/// What is under way in a running home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Live {
    /// The process.
    pub pid: u32,
    /// The last event.
    pub seq: u64,
    /// Whether nothing is under way and nothing can begin.
    pub idle: bool,
    /// Sessions in which something happens, and what.
    pub working: Vec<Working>,
    /// Why tasks do not go on, if it is for a reason that no file tells; the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<Waiting>,
}

/// A task that does not go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Which.
    pub task: String,
    /// In words.
    pub why: String,
}

/// Who waits for what in a home, and who has which lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Waits {
    /// Every wait there is.
    pub waits: Vec<Wait>,
    /// Sessions that are not over, by id.
    pub sessions: BTreeMap<String, Talk>,
    /// Every lock that is held.
    pub locks: Vec<Lock>,
}

/// A session, as far as waits need it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Talk {
    /// Whose.
    pub agent: String,
    /// About what.
    pub task: Option<String>,
    /// The agent's state in it.
    pub state: String,
}

/// A lock that is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// What for.
    pub name: String,
    /// The agent that has it.
    pub agent: String,
    /// In this session.
    pub session: String,
    /// About this task.
    pub task: Option<String>,
    /// Milliseconds since 1970.
    pub since: i64,
    /// When it lapses unless it is used, likewise; never while a call has it.
    pub until: Option<i64>,
    /// Its fencing number.
    pub fence: u64,
    /// How often its owner took it to keep it; 0: a call has it while it runs.
    pub kept: u32,
    /// Who waits for it, in order.
    pub queue: Vec<Queued>,
}

/// One who waits for a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// The agent.
    pub agent: String,
    /// In this session.
    pub session: String,
    /// Since when.
    pub since: i64,
    /// Until when; absent: as long as it takes.
    pub until: Option<i64>,
}

/// One request and all that was made for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// What it began with.
    pub id: String,
    /// What that is about; empty for a conversation, whose words are in its file.
    pub title: String,
    /// Where it stands.
    pub state: domain::run::RunState,
    /// Who asked: `person:dana`, a line of the inbox; empty if nobody knows.
    pub by: String,
    /// How it is coordinated.
    pub mode: domain::mode::Mode,
    /// Milliseconds since 1970.
    pub began: i64,
    /// Likewise; absent while something is open or at work.
    pub ended: Option<i64>,
    /// When it is too late, likewise.
    pub deadline: Option<i64>,
    /// What is counted.
    pub counts: domain::run::Counts,
    /// What it used and cost since the request began.
    pub spent: domain::usage::Spent,
    /// Agents that work or worked for it.
    pub agents: Vec<String>,
    /// What it may spend.
    pub budget: RunBudget,
    /// Its tasks and sessions, each behind what it was made for; empty if they were not asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<RunMember>,
}

/// What a run may spend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunBudget {
    /// The name of the budget.
    pub name: String,
    /// The most tokens, with what a person allowed beyond the settings; absent: any.
    pub tokens_max: Option<u64>,
    /// Tokens that are spent.
    pub tokens: u64,
    /// Tokens that are reserved for calls under way.
    pub tokens_reserved: u64,
    /// The most money in millionths, likewise.
    pub money_max: Option<u64>,
    /// Millionths that are spent.
    pub money: u64,
    /// Millionths that are reserved.
    pub money_reserved: u64,
}

/// A task or a session of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunMember {
    /// Its id.
    pub id: String,
    /// `task` or `session`.
    pub kind: String,
    /// How far below what the run began with.
    pub depth: usize,
    /// Who has it.
    pub agent: Option<String>,
    /// Its mark, or the agent's state in it.
    pub state: String,
    /// Of a task: its title.
    pub title: String,
}

/// A session in which something happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Working {
    /// Which.
    pub session: String,
    /// Whose.
    pub agent: String,
    /// About what.
    pub task: Option<String>,
    /// What: `model`, or the tools that run.
    pub doing: Vec<String>,
    /// The same for people: what the calls do that run; empty while the model is asked.
    #[serde(default)]
    pub acts: Vec<String>,
    /// The model that is asked.
    #[serde(default)]
    pub model: String,
    /// What the session used and spent so far, without an answer that is not finished.
    #[serde(default)]
    pub spent: Spent,
}
