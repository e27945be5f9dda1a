//! A line: what waits for its turn, best first, and nobody passed over for ever.
//!
//! Whoever waits longest is passed over at most `PASSED_MAX` times in a row; then it is its turn, whatever else has come.
//! So one before which `k` others came has its turn within `(PASSED_MAX + 1) * (k + 1)` turns, however many come later and
//! however urgent they are. Turns are counted and not time: a clock that jumps, or a home that stands still, changes nothing.
//!
//! Nothing here looks at more than the first of a sorted set: a turn costs the logarithm of how many wait.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::topics::caps::Parked;
use crate::topics::task::Priority;
use crate::words::id::AgentId;
use crate::words::id::Seq;
use crate::words::id::SessionId;
use crate::words::id::TaskId;
use crate::words::id::Time;

/// The order in a queue: lower is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rank {
    /// The task's letter.
    pub priority: Priority,
    /// The agent's own priority.
    pub agent_priority: u32,
    /// First come, first served.
    pub since: Seq,
}

/// What waits for a slot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// A session that goes on.
    Session(SessionId),
    /// A task that begins.
    Task(TaskId),
}

/// Where a task waits for a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Of this agent.
    pub agent: AgentId,
    /// In this order.
    pub(crate) rank: Rank,
    /// So long; absent: as long as it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Time>,
    /// Whether the agent's queue has a place for it.
    pub admitted: bool,
    /// The budget that keeps it from beginning; it keeps its place in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<Parked>,
}

/// So often others may go before the one who waits longest.
pub const PASSED_MAX: u32 = 7;

/// What waits. `by_rank` and `by_age` hold the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Line<T: Ord> {
    by_rank: BTreeSet<(Rank, T)>,
    by_age: BTreeSet<(Seq, T)>,
    /// How often in a row somebody else than the oldest had its turn.
    passed: u32,
}

impl<T: Ord> Default for Line<T> {
    fn default() -> Self {
        Self { by_rank: BTreeSet::new(), by_age: BTreeSet::new(), passed: 0 }
    }
}

impl<T: Ord + Clone> Line<T> {
    /// Somebody comes; `since` says how long it waits, which may be longer than it stands here.
    pub(crate) fn enter(&mut self, rank: Rank, since: Seq, who: T) {
        self.by_rank.insert((rank, who.clone()));
        self.by_age.insert((since, who));
    }

    /// Somebody goes, with or without having had its turn.
    pub(crate) fn leave(&mut self, rank: Rank, since: Seq, who: &T) {
        self.by_rank.remove(&(rank, who.clone()));
        self.by_age.remove(&(since, who.clone()));
    }

    /// Whose turn it is.
    pub(crate) fn next(&self) -> Option<&T> {
        if self.is_aged() { self.oldest().map(|(_, who)| who) } else { self.best().map(|(_, who)| who) }
    }

    /// Whether it is the turn of who waits longest, because it was passed over often enough.
    pub(crate) fn is_aged(&self) -> bool {
        self.passed >= PASSED_MAX
    }

    pub(crate) fn best(&self) -> Option<&(Rank, T)> {
        self.by_rank.first()
    }

    pub(crate) fn best_first(&self) -> impl Iterator<Item = &(Rank, T)> {
        self.by_rank.iter()
    }

    /// From the last to the best.
    pub(crate) fn worst_first(&self) -> impl Iterator<Item = &(Rank, T)> {
        self.by_rank.iter().rev()
    }

    pub(crate) fn oldest(&self) -> Option<&(Seq, T)> {
        self.by_age.first()
    }

    /// Somebody has its turn now. Told before it leaves.
    pub(crate) fn takes_turn(&mut self, is_oldest: bool) {
        self.passed = if is_oldest { 0 } else { self.passed.saturating_add(1) };
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_rank.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_rank.len()
    }
}
