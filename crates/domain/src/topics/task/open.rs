//! Tasks that have not ended, by what they are looked for. What happens at each step looks here and never at all tasks:
//! those that have ended stay known, and there are ever more of them.

use std::collections::BTreeSet;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

use crate::topics::task::{Requester, Task};
use crate::words::id::{AgentId, SessionId, TaskId};
use crate::words::layout;
use crate::words::table::Table;

/// Follows from the tasks alone: each open one stands here as its file says now. A name under which none is left is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Open {
    all: BTreeSet<TaskId>,
    by_assignee: Table<AgentId, BTreeSet<TaskId>>,
    by_parent: Table<TaskId, BTreeSet<TaskId>>,
    /// By the conversation that asked for it.
    by_asker: Table<SessionId, BTreeSet<TaskId>>,
    /// By the file of the plan.
    by_plan: Table<String, BTreeSet<TaskId>>,
}

impl Open {
    /// The task is open. It stands in no other list than this one says.
    pub(crate) fn enter(&mut self, task: &Task) {
        let id = &task.spec.id;
        self.all.insert(id.clone());
        put(&mut self.by_assignee, task.spec.assignee.as_ref(), id);
        put(&mut self.by_parent, task.spec.parent.as_ref(), id);
        put(&mut self.by_asker, asker(task), id);
        put(&mut self.by_plan, plan_of(task), id);
    }

    /// The task has ended, or what it says will change.
    pub(crate) fn leave(&mut self, task: &Task) {
        let id = &task.spec.id;
        if self.all.remove(id) {
            take(&mut self.by_assignee, task.spec.assignee.as_ref(), id);
            take(&mut self.by_parent, task.spec.parent.as_ref(), id);
            take(&mut self.by_asker, asker(task), id);
            take(&mut self.by_plan, plan_of(task), id);
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &TaskId> {
        self.all.iter()
    }

    /// Those that an agent shall do, whether it has begun or not.
    pub(crate) fn of_agent(&self, agent: &AgentId) -> impl Iterator<Item = &TaskId> {
        self.by_assignee.get(agent).into_iter().flatten()
    }

    /// Those that are a part of this one, and not of one of its parts.
    pub(crate) fn parts_of(&self, task: &TaskId) -> impl Iterator<Item = &TaskId> + use<'_> {
        self.by_parent.get(task).into_iter().flatten()
    }

    pub(crate) fn asked_by(&self, session: &SessionId) -> impl Iterator<Item = &TaskId> {
        self.by_asker.get(session).into_iter().flatten()
    }

    /// Those that stand in the file of a plan.
    pub(crate) fn in_plan(&self, file: &str) -> impl Iterator<Item = &TaskId> + use<'_> {
        self.by_plan.get(&file.to_owned()).into_iter().flatten()
    }
}

fn asker(task: &Task) -> Option<&SessionId> {
    match &task.by {
        Requester::Session { session } => Some(session),
        Requester::Person { .. } | Requester::Inbox { .. } => None,
    }
}

fn plan_of(task: &Task) -> Option<&String> {
    Some(&task.spec.file).filter(|file| layout::is_plan(file))
}

fn put<Key: Ord + Hash + Clone>(lists: &mut Table<Key, BTreeSet<TaskId>>, key: Option<&Key>, id: &TaskId) {
    let Some(key) = key else { return };
    match lists.get_mut(key) {
        Some(list) => _ = list.insert(id.clone()),
        None => _ = lists.insert(key.clone(), BTreeSet::from([id.clone()])),
    }
}

fn take<Key: Ord + Hash + Clone>(lists: &mut Table<Key, BTreeSet<TaskId>>, key: Option<&Key>, id: &TaskId) {
    let Some(key) = key else { return };
    if let Some(list) = lists.get_mut(key) {
        list.remove(id);
        if list.is_empty() {
            lists.remove(key);
        }
    }
}
