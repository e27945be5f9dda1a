//! Who waits until others give back what they reserved. What is given back at a node opens it: those who wait there look
//! one after the other whether there is room, until one of them has to stop there again. That one waits for what somebody
//! else has reserved there, so the node will be opened again; the rest stays behind it for as long as it waits.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::topics::task::queue::Work;
use crate::words::id::{AgentId, Seq};

/// By name of the node and by agent: who waits there, longest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Waiters {
    pub(crate) by_node: BTreeMap<String, BTreeMap<AgentId, BTreeSet<(Seq, Work)>>>,
    /// Nodes where there may be room, because something was given back or somebody left since the last one stopped there.
    /// At each of them somebody waits.
    pub(crate) open: BTreeSet<String>,
}

impl Waiters {
    /// Whether nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        self.by_node.is_empty()
    }

    /// Somebody has found no room at a node.
    pub(crate) fn stop(&mut self, node: &str, agent: &AgentId, since: Seq, who: Work) {
        let by_agent = self.by_node.entry(node.to_owned()).or_default();
        by_agent.entry(agent.clone()).or_default().insert((since, who));
        self.open.remove(node);
    }

    /// Somebody no longer waits at a node.
    pub(crate) fn leave(&mut self, node: &str, agent: &AgentId, since: Seq, who: Work) {
        let Some(by_agent) = self.by_node.get_mut(node) else { return };
        let Some(all) = by_agent.get_mut(agent) else { return };
        all.remove(&(since, who));
        if all.is_empty() {
            by_agent.remove(agent);
        }
        if by_agent.is_empty() {
            self.by_node.remove(node);
            self.open.remove(node);
        } else {
            // It may be the one that the others stayed behind.
            self.open.insert(node.to_owned());
        }
    }

    /// Something was given back at a node.
    pub(super) fn open(&mut self, node: &str) {
        if self.by_node.contains_key(node) {
            self.open.insert(node.to_owned());
        }
    }

    /// Everybody may look again: nobody knows what was given back before.
    pub(crate) fn open_all(&mut self) {
        self.open = self.by_node.keys().cloned().collect();
    }

    /// All that wait at a node.
    pub(super) fn at(&self, node: &str) -> impl Iterator<Item = &Work> {
        self.by_node.get(node).into_iter().flat_map(BTreeMap::values).flatten().map(|(_, who)| who)
    }
}
