//! Names of things. Each kind of thing has its own type, so that a task is never passed where a session
//! is meant. Ids are short strings that stand in the value itself: to clone or compare them asks no other memory.

use std::fmt;

use serde::{Deserialize, Serialize};
use smol_str::{SmolStr, format_smolstr};

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadId {
    /// Nothing was given.
    #[error("an id is empty")]
    Empty,
    /// Too long to be a file name everywhere.
    #[error("an id has {length} characters, at most {ID_LENGTH_MAX} are allowed")]
    TooLong {
        /// How many characters were given.
        length: usize,
    },
    /// A character that ids do not have.
    #[error("an id has only a-z, 0-9 and '-' and starts with a letter, {text:?} has {found:?}")]
    Character {
        /// The whole text.
        text: String,
        /// The first character that does not fit.
        found: char,
    },
}

/// The longest id, so that `<id>.session.yaml` is a file name on every system.
pub const ID_LENGTH_MAX: usize = 63;

/// Checks the common form of ids: `[a-z][a-z0-9-]{0,62}`.
pub fn check(text: &str) -> Result<(), BadId> {
    let Some(first) = text.chars().next() else { return Err(BadId::Empty) };
    let found = if first.is_ascii_lowercase() {
        text.chars().find(|c| !(c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-'))
    } else {
        Some(first)
    };
    if let Some(found) = found {
        return Err(BadId::Character { text: text.to_owned(), found });
    }
    if text.len() > ID_LENGTH_MAX {
        return Err(BadId::TooLong { length: text.len() });
    }
    Ok(())
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(SmolStr);

        impl $name {
            /// Takes a text as it is; for ids that Synod made itself or that were checked.
            pub fn new(text: impl Into<SmolStr>) -> Self {
                Self(text.into())
            }

            /// Checks the form `[a-z][a-z0-9-]{0,62}`.
            pub fn parse(text: &str) -> Result<Self, BadId> {
                check(text).map(|()| Self(text.into()))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

id! {
    /// An agent, as its file names it: `executor-001`.
    AgentId
}
id! {
    /// A session: `<agent>-<6 hex>`.
    SessionId
}
id! {
    /// A task: `task-003`.
    TaskId
}
id! {
    /// A run, by what it began with: `task-003`, or a session.
    RunId
}
id! {
    /// An approval: `approval-0001`.
    ApprovalId
}
id! {
    /// A delegation: `delegation-0001`.
    DelegationId
}
id! {
    /// A review: `review-0001`.
    ReviewId
}
id! {
    /// A lock, by what it is for: `deploy`, `file:memory/notes.md`.
    LockName
}
id! {
    /// A message inside its session: `m-0007`.
    MessageId
}
id! {
    /// A tool call inside its session, as the model named it or as Synod did.
    CallId
}

impl MessageId {
    /// The id of the message with this number in its session.
    pub fn numbered(number: u32) -> Self {
        Self(format_smolstr!("m-{number:04}"))
    }
}

/// The place of an event in the journal, from 1. 0 stands before all events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The place `n` further on.
    pub fn plus(self, n: usize) -> Self {
        Self(self.0 + n as u64)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Names one try at one effect. An outcome with an older attempt than the state knows is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket {
    /// The journal place of the event that asked for the effect.
    pub effect: Seq,
    /// 1 for the first try.
    pub attempt: u32,
}

/// Milliseconds since 1970-01-01 UTC. The domain never reads a clock: time comes in with the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub i64);

impl Time {
    /// This time, `ms` later.
    pub fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
    }

    /// Milliseconds from `earlier` to this; 0 if the clock went back.
    pub fn ms_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_small_letters_digits_and_dashes_only() {
        for good in ["a", "executor-001", "x9"] {
            assert_eq!(AgentId::parse(good).map(|id| id.to_string()), Ok(good.to_owned()));
        }
        assert_eq!(AgentId::parse(""), Err(BadId::Empty));
        for (bad, found) in [("9a", '9'), ("-a", '-'), ("a_b", '_'), ("A", 'A'), ("a/..", '/'), ("ä", 'ä')]
        {
            assert_eq!(AgentId::parse(bad), Err(BadId::Character { text: bad.to_owned(), found }));
        }
        assert_eq!(AgentId::parse(&"a".repeat(64)), Err(BadId::TooLong { length: 64 }));
    }
}
