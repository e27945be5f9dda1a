//! Who does or says something.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::words::id::AgentId;

const AGENT: &str = "agent:";
const PERSON: &str = "person";
const SYNOD: &str = "synod";

/// Who does or says something. In files it is one word: `agent:planner-001`, `person:dana`, `synod`, or the place that
/// something came in by, such as `inbox/slack-messages.jsonl:1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Actor {
    /// An agent of this home.
    Agent(AgentId),
    /// A person with a right to this home; without a name if none is known.
    Person(String),
    /// Synod itself.
    Synod,
    /// Somebody who has no right here, named by the place where their words came in.
    Outside(String),
}

impl Actor {
    /// A person by name.
    pub fn person(name: impl Into<String>) -> Self {
        Self::Person(name.into())
    }

    /// The agent, if it is one.
    pub fn agent(&self) -> Option<&AgentId> {
        match self {
            Self::Agent(id) => Some(id),
            Self::Person(_) | Self::Synod | Self::Outside(_) => None,
        }
    }

    /// The name alone, without the kind.
    pub fn name(&self) -> &str {
        match self {
            Self::Agent(id) => id.as_str(),
            Self::Person(name) if name.is_empty() => PERSON,
            Self::Person(name) => name,
            Self::Synod => SYNOD,
            Self::Outside(place) => place,
        }
    }

    /// Whether it is a person with a right to this home.
    pub fn is_person(&self) -> bool {
        matches!(self, Self::Person(_))
    }
}

impl From<&AgentId> for Actor {
    fn from(id: &AgentId) -> Self {
        Self::Agent(id.clone())
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(id) => write!(f, "{AGENT}{id}"),
            Self::Person(name) if name.is_empty() => f.write_str(PERSON),
            Self::Person(name) => write!(f, "{PERSON}:{name}"),
            Self::Synod => f.write_str(SYNOD),
            Self::Outside(place) => f.write_str(place),
        }
    }
}

impl FromStr for Actor {
    type Err = Infallible;

    fn from_str(word: &str) -> Result<Self, Infallible> {
        Ok(match word {
            SYNOD => Self::Synod,
            PERSON => Self::Person(String::new()),
            _ => {
                match (word.strip_prefix(AGENT), word.strip_prefix(PERSON).and_then(|w| w.strip_prefix(':')))
                {
                    (Some(id), _) if !id.is_empty() => Self::Agent(AgentId::new(id)),
                    (_, Some(name)) if !name.is_empty() => Self::Person(name.to_owned()),
                    _ => Self::Outside(word.to_owned()),
                }
            }
        })
    }
}

impl From<&str> for Actor {
    fn from(word: &str) -> Self {
        match word.parse() {
            Ok(actor) => actor,
            Err(never) => match never {},
        }
    }
}

impl Serialize for Actor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Actor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(String::deserialize(deserializer)?.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_is_one_word_and_reads_as_what_it_was() {
        let table = [
            ("agent:planner-001", Actor::Agent(AgentId::new("planner-001"))),
            ("person:dana", Actor::person("dana")),
            ("person", Actor::person("")),
            ("synod", Actor::Synod),
            ("inbox/slack-messages.jsonl:1", Actor::Outside("inbox/slack-messages.jsonl:1".to_owned())),
            ("agent:", Actor::Outside("agent:".to_owned())),
            ("person:", Actor::Outside("person:".to_owned())),
            ("synod:x", Actor::Outside("synod:x".to_owned())),
            ("personal", Actor::Outside("personal".to_owned())),
        ];
        for (word, actor) in table {
            assert_eq!(Actor::from(word), actor, "{word}");
            assert_eq!(actor.to_string(), word);
        }
    }
}
