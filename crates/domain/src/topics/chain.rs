//! The chain of agents through whose hands work went.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::words::id::AgentId;

/// The property of a task's file that names its chain, so that it binds also without a journal.
pub const CHAIN: &str = "chain";

/// The property of a task that was made for such work otherwise than by a delegation, and by nobody who has a task.
pub const ON_BEHALF: &str = "on_behalf_of";

/// What stands between two agents of a chain.
const THEN: &str = " → ";

/// Through whose hands work went.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Hands {
    /// One after the other, from the first to the last.
    pub chain: Vec<AgentId>,
    /// Whether a task for which it is demands a person's yes for every effect.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub approval_required: bool,
}

impl Hands {
    /// Whether nobody handed anything on, and nothing is demanded.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// A second request comes in while the first goes on: the longer chain counts, and an approval that either of them
    /// requires is required.
    pub fn add(&mut self, other: &Self) {
        self.approval_required |= other.approval_required;
        if other.chain.len() > self.chain.len() {
            self.chain.clone_from(&other.chain);
        }
    }

    /// It is in the hands of `agent` now.
    pub(crate) fn reach(&mut self, agent: &AgentId) {
        if self.chain.last() != Some(agent) {
            self.chain.push(agent.clone());
        }
    }

    /// The chain as it stands in files; `None` if it is empty.
    pub fn words(&self) -> Option<String> {
        (!self.chain.is_empty()).then(|| shown(&self.chain))
    }

    /// What such words say.
    pub fn of_words(chain: Option<&str>) -> Self {
        let chain = chain.into_iter().flat_map(read).filter(|id| !id.is_empty());
        Self { chain: chain.map(AgentId::new).collect(), approval_required: false }
    }

    /// What the file of a delegated task says of it.
    pub(crate) fn write(&self, properties: &mut BTreeMap<String, String>) {
        properties.insert(CHAIN.to_owned(), shown(&self.chain));
    }

    /// What the file of a task says of it, if anything.
    pub(crate) fn read(properties: &BTreeMap<String, String>) -> Option<Self> {
        let chain = properties.get(CHAIN).or_else(|| properties.get(ON_BEHALF))?;
        Some(Self::of_words(Some(chain)))
    }
}

/// The names in a chain as it stands in files.
pub(crate) fn read(chain: &str) -> impl Iterator<Item = &str> {
    chain.split(THEN.trim()).map(str::trim)
}

/// A chain as it stands in files and is shown to people.
pub fn shown(chain: &[AgentId]) -> String {
    chain.iter().map(AgentId::as_str).collect::<Vec<_>>().join(THEN)
}
