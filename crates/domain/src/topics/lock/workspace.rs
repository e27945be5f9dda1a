//! The lock on the workspace of an agent: whose work stands there. Only agents with a worktree of a repository have one; whoever
//! has a folder of its own shares it among its conversations. Reviews have none: they are made in another folder
//! (`Room::Review`), and never in this one.
//!
//! A call that works in it takes it, and its conversation keeps it while it waits too, without a lease: until its task
//! has ended, or, if it is about none, until it rests.

use super::Grant;
use crate::words::id::{AgentId, LockName};

/// The names of locks on workspaces begin so; the rest is the agent.
pub const WORKSPACE: &str = "workspace:";
/// The property of a task that brings work of another into line: its review.
pub const CONTINUES: &str = "continues";

/// A conversation's hold on its agent's workspace, for whoever carries out its calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// The grant.
    pub grant: Grant,
    /// Whose work it is: the task, or the conversation if it is about none. The same work has the same name in every session.
    pub work: String,
    /// The work of which it is a part, and that of its parts: where one of these stands, it goes on as it is.
    pub shares: Vec<String>,
    /// Other work on which it builds, if that stands there or was kept, the nearest first.
    pub onto: Vec<String>,
    /// The work that was there before, if it is finished and goes on in what comes after it.
    pub after: Option<String>,
}

/// In which of an agent's folders a conversation works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Room {
    /// Its workspace, where its own work stands.
    Own,
    /// A checkout of what others did: whoever looks at that never touches what it does itself.
    Review,
}

impl Room {
    /// The folder, relative to the home. No agent's id has a dot, so it is nobody's workspace.
    pub fn folder(self, agent: &AgentId) -> String {
        match self {
            Self::Own => format!("workspaces/{agent}"),
            Self::Review => format!("workspaces/{agent}.review"),
        }
    }
}

/// Whether a lock is one on a workspace.
pub fn is_workspace(name: &LockName) -> bool {
    name.as_str().starts_with(WORKSPACE)
}
