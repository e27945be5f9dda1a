//! What an act reaches, locks and runs, as data: the gate and the locks judge by it, whatever the tool.

use crate::topics::review::Check;
use crate::words::id::{AgentId, ReviewId};

/// What an act reaches. Paths are relative to the home.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reach<'a> {
    /// Files and folders that it reads.
    pub reads: Vec<&'a str>,
    /// Folders of which it shows the names and nothing else.
    pub lists: Vec<&'a str>,
    /// Files and folders that it makes, changes or removes.
    pub writes: Vec<&'a str>,
    /// The shared context that it reads or writes.
    pub context: Option<&'a str>,
    /// The lock that it takes for its agent, beyond the call.
    pub lock: Option<&'a str>,
    /// People outside the home that it speaks to.
    pub outward: Option<Outward<'a>>,
    /// The foreign server that it asks. What a server answers comes from outside.
    pub server: Option<&'a str>,
    /// The agents that get words of it.
    pub listener: Option<Listener<'a>>,
    /// How it uses the workspace of its agent, beside the paths that it names.
    pub workspace: Option<Use>,
    /// What it does about a review.
    pub review: Option<AboutReview<'a>>,
}

/// What an act does about a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AboutReview<'a> {
    /// It asks for one.
    Asks,
    /// It answers the one that its conversation is there for.
    Answers,
    /// It merges the work that one approved.
    Merges(&'a ReviewId),
}

/// People outside the home that an act speaks to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outward<'a> {
    /// An address or a channel.
    pub to: &'a str,
    /// The file of the home through which it goes.
    pub file: &'static str,
}

/// The agents that get words of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listener<'a> {
    /// One agent; `broadcast` and channels have an id too.
    Agent(&'a AgentId),
    /// An agent that is made by the act; all agents can read its file.
    NewAgent,
    /// All who wait for an agent that the act ends.
    Everybody,
}

/// How an act uses the workspace of its agent. A later one is more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// It reads there.
    Looks,
    /// It may write there.
    Changes,
    /// It is about the agent's own branch, and possible nowhere else.
    Branch,
}

/// What is locked while an act runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locked<'a> {
    /// A file or folder, relative to the home.
    Path(&'a str),
    /// The repository of the agent's workspace.
    Repository,
    /// The repository of the author of a review.
    RepositoryOf(&'a ReviewId),
}

/// The command that an act runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs<'a> {
    /// None.
    Nothing,
    /// One that the agent wrote.
    Command(&'a str),
    /// One that the owner of the home wrote into the agent's file.
    OwnersCommand(Check),
}
