//! Agents that are made while the team works: who made them, and whose rights bound them.
//! Nothing here makes anything; `decide/spawn.rs` does.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::agent;
use crate::delegation;
use crate::id::AgentId;
use crate::state::State;

/// What stands before the name of a person who made an agent; no agent has such a name.
const PERSON: &str = "person:";

/// Who made an agent: `spawned_by:` in its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum Origin {
    /// A person: the agent has what its role has.
    Person(String),
    /// Through whose hands the wish came; the last one is its parent. The agent has no more rights than each of them.
    Agents(Vec<AgentId>),
}

impl Origin {
    /// The agent that made it.
    pub fn parent(&self) -> Option<&AgentId> {
        self.agents().last()
    }

    /// All through whose hands the wish came.
    pub fn agents(&self) -> &[AgentId] {
        match self {
            Self::Person(_) => &[],
            Self::Agents(chain) => chain,
        }
    }

    /// Reads `spawned_by:`; the error says what it may be.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(name) = text.strip_prefix(PERSON).filter(|name| !name.trim().is_empty()) {
            return Ok(Self::Person(name.to_owned()));
        }
        let chain: Result<Vec<AgentId>, _> = delegation::read(text).map(AgentId::parse).collect();
        match chain {
            Ok(chain) if !chain.is_empty() => Ok(Self::Agents(chain)),
            Ok(_) | Err(_) => Err(format!(
                "{text:?} names nobody who could have spawned an agent: write the ids of agents, as `planner-001` or `{}`, or `person:dana`",
                delegation::shown(&[AgentId::new("planner-001"), AgentId::new("coder-001")])
            )),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(name) => write!(f, "{PERSON}{name}"),
            Self::Agents(chain) => f.write_str(&delegation::shown(chain)),
        }
    }
}

impl From<Origin> for String {
    fn from(origin: Origin) -> Self {
        origin.to_string()
    }
}

impl From<String> for Origin {
    fn from(text: String) -> Self {
        // What cannot be read names somebody unknown, and who is bound by somebody unknown may do nothing.
        Self::parse(&text).unwrap_or_else(|_| Self::Agents(vec![AgentId::new(text)]))
    }
}

/// All agents whose rights bound `id` because they made it, or made one of those: each once, the nearest first.
/// `spec_of` knows the agents that there are.
pub fn makers<'a>(id: &AgentId, spec_of: impl Fn(&AgentId) -> Option<&'a agent::Spec>) -> Vec<&'a AgentId> {
    let mut found: Vec<&AgentId> = Vec::new();
    let mut next = 0;
    let mut at = spec_of(id);
    loop {
        let above = at.and_then(|spec| spec.spawned_by.as_ref()).map_or(&[][..], Origin::agents);
        for maker in above.iter().rev() {
            if maker != id && !found.contains(&maker) {
                found.push(maker);
            }
        }
        let Some(maker) = found.get(next) else { return found };
        at = spec_of(maker);
        next += 1;
    }
}

/// The same of a home.
pub fn above<'a>(state: &'a State, id: &AgentId) -> Vec<&'a AgentId> {
    makers(id, |id| state.agents.get(id).map(|agent| &agent.spec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_reads_as_it_is_printed() {
        for text in ["person:dana", "planner-001", "planner-001 → coder-001"] {
            assert_eq!(Origin::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "person:", "Bob", "a → ", "→"] {
            assert!(Origin::parse(text).is_err(), "{text:?}");
        }
        assert_eq!(Origin::from("Bob!".to_owned()).agents(), [AgentId::new("Bob!")]);
    }
}
