//! Agents that are made while the team works: who made them, and what must be so before one is made or ended. A spawned
//! agent has the rights of its role. Nothing here makes anything; `rules/spawn.rs` does.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::topics::chain;
use crate::words::id::AgentId;

/// The tool by which an agent makes another.
pub const SPAWN: &str = "spawn_agent";
/// The tool by which it ends one that it made.
pub const TERMINATE: &str = "terminate_agent";
/// The entry of `metadata:` that says in which call of which conversation an agent was made.
pub const MADE_IN: &str = "spawned_in";
/// What stands before the name of a person who made an agent; no agent has such a name.
const PERSON: &str = "person:";

/// Why a text does not say who made an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} names nobody who could have spawned an agent: write the ids of agents, as `planner-001` or `{example}`, or `person:dana`",
    example = chain::shown(&[AgentId::new("planner-001"), AgentId::new("coder-001")])
)]
pub struct BadOrigin(String);

/// Who made an agent: `spawned_by:` in its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum Origin {
    /// A person.
    Person(String),
    /// The chain of the work for which it was made; the last one is its parent. They pay for it, and do not bound its
    /// rights.
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
    pub fn parse(text: &str) -> Result<Self, BadOrigin> {
        if let Some(name) = text.strip_prefix(PERSON).filter(|name| !name.trim().is_empty()) {
            return Ok(Self::Person(name.to_owned()));
        }
        let chain: Result<Vec<AgentId>, _> = chain::read(text).map(AgentId::parse).collect();
        match chain {
            Ok(chain) if !chain.is_empty() => Ok(Self::Agents(chain)),
            Ok(_) | Err(_) => Err(BadOrigin(text.to_owned())),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(name) => write!(f, "{PERSON}{name}"),
            Self::Agents(chain) => f.write_str(&chain::shown(chain)),
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
        Self::parse(&text).unwrap_or_else(|_| Self::Agents(vec![AgentId::new(text)]))
    }
}

/// What a new agent shall be.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Order {
    /// Its role.
    pub role: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub goal: String,
    /// Task tags it answers for, as patterns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub responsibilities: Vec<String>,
    /// Its model, if a person says which; an agent's has the model of its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Why an agent is not made or not ended, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// Nobody knows what such an agent could do.
    #[error("there is no role {role}; there are: {}", .known.join(", "))]
    NoRole {
        /// Which.
        role: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// Not in `permissions.spawn.roles` of the agent that asks.
    #[error("permissions.spawn.roles of {parent} has no {role}: {parent} may spawn {}", list(.allowed))]
    Role {
        /// The agent that asks.
        parent: AgentId,
        /// The role that it wants.
        role: String,
        /// The patterns that it may spawn.
        allowed: Vec<String>,
    },
    /// Spawned by one that was spawned by one that was spawned…
    #[error(
        "limits.spawn_depth_max: {parent} was spawned itself, {depth_max} deep is the most; do it yourself, or ask {parent}'s maker"
    )]
    TooDeep {
        /// Who asks.
        parent: AgentId,
        /// The setting.
        depth_max: u32,
    },
    /// Too many are there.
    #[error(
        "limits.spawned_max: {most} spawned agents are there, which is the most; end one that is no longer needed"
    )]
    TooMany {
        /// The setting.
        most: u32,
    },
    /// Nobody says which model it speaks with.
    #[error("no model is given for it, and no other {role} has one; there are: {}", .known.join(", "))]
    NoModel {
        /// Its role.
        role: String,
        /// The aliases of the settings.
        known: Vec<String>,
    },
    /// The settings have no such alias.
    #[error("there is no model {model}; there are: {}", .known.join(", "))]
    UnknownModel {
        /// Which.
        model: String,
        /// The aliases of the settings.
        known: Vec<String>,
    },
    /// A pattern that no tag can fit.
    #[error("a responsibility is a tag or a pattern of tags on one line, such as code:*, and not `{0}`")]
    BadResponsibility(String),
    /// A name of several lines, or an empty one.
    #[error("the name must be one line that is not empty, of at most {NAME_CHARS_MAX} characters")]
    BadName,
    /// There is none.
    #[error("there is no agent {0}")]
    NoAgent(AgentId),
    /// It is over with it.
    #[error("{0} was terminated")]
    Terminated(AgentId),
    /// Its file is a person's.
    #[error("{0} was not spawned: a person wrote its file, and a person takes it away")]
    NotSpawned(AgentId),
    /// By somebody else.
    #[error("{agent} was spawned by {origin}; only those who made it, and people, end it")]
    NotYours {
        /// Which.
        agent: AgentId,
        /// Who may.
        origin: String,
    },
}

/// The longest name for people.
pub const NAME_CHARS_MAX: usize = 100;

impl Rejected {
    /// The rule that decided, in words that can be searched for.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::NoRole { .. } => "spawn: the role exists",
            Self::Role { .. } => "permissions.spawn.roles",
            Self::TooDeep { .. } => "limits.spawn_depth_max",
            Self::TooMany { .. } => "limits.spawned_max",
            Self::NoModel { .. } => "spawn: a model is known",
            Self::UnknownModel { .. } => "spawn: the model exists",
            Self::BadResponsibility(_) => "spawn: a responsibility is a pattern of tags",
            Self::BadName => "spawn: a name is one line",
            Self::NoAgent(_) | Self::Terminated(_) => "terminate: the agent is there",
            Self::NotSpawned(_) => "terminate: only spawned agents",
            Self::NotYours { .. } => "terminate: only who made it",
        }
    }
}

fn list(words: &[String]) -> String {
    if words.is_empty() { "nobody".to_owned() } else { words.join(", ") }
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
