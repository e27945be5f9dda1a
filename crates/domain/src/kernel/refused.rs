//! Why an input was not accepted. A refusal is not a failure: it tells somebody what to do instead.

use crate::topics::approval::Outcome;
use crate::topics::lifecycle::BadMove;
use crate::topics::task::Mark;
use crate::words::id::{AgentId, ApprovalId, SessionId, TaskId};

/// Every refusal names the thing and the rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no such approval.
    #[error("there is no approval {0}")]
    NoApproval(ApprovalId),
    /// Somebody else was first.
    #[error("approval {approval} is closed: {}", outcome_words(.outcome))]
    ApprovalClosed {
        /// Which.
        approval: ApprovalId,
        /// How it ended.
        outcome: Outcome,
    },
    /// There is no such task.
    #[error("there is no task {0}")]
    NoTask(TaskId),
    /// There is no such agent.
    #[error("there is no agent {0}")]
    NoAgent(AgentId),
    /// Nobody is there to whom this could be said; who was probably meant.
    #[error("{0}")]
    NoReceiver(String),
    /// There is no such session.
    #[error("there is no session {0}")]
    NoSession(SessionId),
    /// Nothing more is done in it.
    #[error("the conversation is over")]
    ConversationOver,
    /// There is nothing with this id that could be cancelled.
    #[error("there is no task, delegation or session {0}")]
    NoSuchWork(String),
    /// Nothing was begun with this id.
    #[error("there is no run {0}: a run has the id of the task or the session with which it began")]
    NoRun(String),
    /// Something that is not a run of its own.
    #[error("{what} is not a run: it belongs to run {run}")]
    PartOfRun {
        /// Its id.
        what: String,
        /// The run that it belongs to.
        run: String,
    },
    /// Nobody holds such a lock.
    #[error("nobody holds the lock {0}")]
    NoLock(String),
    /// A command runs in the workspace, and would go on in the work of whoever gets it next.
    #[error("a call of {session} runs in {lock} now: cancel {session}, or wait until the call has ended")]
    LockInUse {
        /// Which.
        lock: String,
        /// Whose.
        session: String,
    },
    /// It has ended already.
    #[error("{0} has ended already")]
    Ended(String),
    /// Nothing stands still there that could be tried again.
    #[error("{0} has not failed and waits for no provider")]
    NothingToRetry(String),
    /// A provider that answers, for all that is known.
    #[error("nothing waits for provider {0}")]
    NotOut(String),
    /// A person wrote a mark that only Synod gives.
    #[error(
        "{task} cannot be marked {} by hand: done, failed and cancelled are commands, and open once it has ended",
        mark.as_str()
    )]
    MarkNotACommand {
        /// Which task.
        task: TaskId,
        /// Which mark.
        mark: Mark,
    },
    /// An outcome of a try that no longer counts.
    #[error("an outcome of {session} came too late: its call is no longer under way")]
    Stale {
        /// In which session.
        session: SessionId,
    },
    /// The id is in use.
    #[error("there is already a task {0}")]
    TaskExists(TaskId),
    /// An agent is not made or not ended.
    #[error(transparent)]
    Spawn(#[from] crate::topics::spawn::Rejected),
    /// Too much at once.
    #[error("{limit}: {value} is the most")]
    Limit {
        /// The setting.
        limit: &'static str,
        /// Its value.
        value: u64,
    },
    /// An agent whose queue has no place for one more.
    #[error(
        "max_pending_queue: {waiting} tasks wait for {agent} already, and that is the most; ask later, ask somebody else or do it yourself"
    )]
    QueueFull {
        /// Whose.
        agent: AgentId,
        /// How many wait.
        waiting: u32,
    },
    /// Nobody to give it to.
    #[error(
        "nobody takes this: no assignee, no routing rule, no responsibility, no word and no planner fits, and routing.fallback names nobody who is there"
    )]
    NoRoute,
    /// Work that would never begin.
    #[error("the tasks would wait for each other: {0}")]
    Cycle(crate::kernel::waits::Cycle),
    /// Nothing was said.
    #[error("the message is empty")]
    EmptyMessage,
    /// A state has no such move.
    #[error(transparent)]
    BadMove(#[from] BadMove),
}

fn outcome_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Answered { answer: crate::topics::approval::Answer::Approved, by, via } => {
            format!("{by} approved it ({via})")
        }
        Outcome::Answered { answer: crate::topics::approval::Answer::Rejected { .. }, by, via } => {
            format!("{by} rejected it ({via})")
        }
        Outcome::Expired => "it expired".to_owned(),
        Outcome::Withdrawn { reason } => format!("it was withdrawn, {reason}"),
    }
}
