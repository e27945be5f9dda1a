//! Providers that do not answer: since when and why, and who tries them next. Until one request has its answer, nobody
//! else asks, so that a provider that comes back meets one request and not all that wait.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::topics::session::{Session, Stage};
use crate::words::id::{SessionId, TaskId, Time};
use crate::words::table::Table;

/// The first wait before a provider is tried again, doubled with each failure.
const WAIT_MS: u64 = 1_000;
/// The longest wait, unless the provider asks for a longer one.
const WAIT_MS_MAX: u64 = 300_000;

/// What does not answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// A name of `providers`.
    pub provider: String,
    /// One of its models; absent: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.model {
            Some(model) => write!(f, "model {model} of provider {}", self.provider),
            None => write!(f, "provider {}", self.provider),
        }
    }
}

/// Who tries next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// Nobody before it is due.
    Waits,
    /// The first that asks.
    Open,
    /// This conversation asks; its answer decides.
    Asks(SessionId),
}

/// A provider, or one of its models, that does not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// Which.
    pub place: Place,
    /// Since when.
    pub since: Time,
    /// What it said last, or what was found in place of an answer.
    pub error: String,
    /// Tries that failed, one after the other.
    pub failures: u32,
    /// When it is tried next.
    pub due: Time,
    /// Who tries.
    pub probe: Probe,
}

impl Outage {
    /// Whether a conversation may not ask now.
    pub fn is_closed_to(&self, session: &SessionId) -> bool {
        match &self.probe {
            Probe::Waits => true,
            Probe::Open => false,
            Probe::Asks(asks) => asks != session,
        }
    }
}

/// How long to wait after so many failures in a row, at least as long as the provider asks for, plus up to a quarter by
/// `spread`.
pub fn wait_ms(failures: u32, after_ms: u64, spread: u64) -> u64 {
    let doubled = WAIT_MS.saturating_mul(1 << failures.min(16)).min(WAIT_MS_MAX);
    let wait = doubled.max(after_ms);
    wait.saturating_add(spread % (wait / 4 + 1))
}

/// All outages there are, and tasks that failed because a key was refused.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Outages {
    /// By the name of the place.
    pub by_name: BTreeMap<String, Outage>,
    /// Tasks that failed because a provider refused the key or had none, until they are opened again: the provider.
    pub denied: Table<TaskId, String>,
}

impl Outages {
    /// Whether nothing is out and no key was refused.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty() && self.denied.is_empty()
    }
}

/// Whether the conversation that tries waits for its answer now.
pub(crate) fn is_asking(session: Option<&Session>) -> bool {
    session.is_some_and(|session| matches!(session.stage, Stage::Thinking { .. }))
}

/// What happens to providers that do not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Event {
    /// A provider, or one of its models, does not answer.
    #[strum(to_string = "provider_failed")]
    Failed {
        /// Which.
        place: Place,
        /// Who asked.
        session: SessionId,
        /// Why.
        error: String,
        /// When it is tried again.
        due: Time,
    },
    /// It is due.
    #[strum(to_string = "provider_due")]
    Due {
        /// Which.
        place: Place,
        /// When it is due again, if nothing comes of it.
        due: Time,
        /// Whether the next that asks may; else one is asking still.
        open: bool,
    },
    /// A conversation asks it, and all others wait for what comes of that.
    #[strum(to_string = "provider_tried")]
    Tried {
        /// Which.
        place: Place,
        /// Who.
        session: SessionId,
    },
    /// It answers, or nobody waits for it any more.
    #[strum(to_string = "provider_answers")]
    Ended {
        /// Which.
        place: Place,
    },
    /// A conversation asks another of its agent's models, because the one that it would ask does not answer.
    #[strum(to_string = "model_switched")]
    Switched {
        /// Which.
        session: SessionId,
        /// The fallback that it asks from now on; absent: its primary model again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fallback: Option<String>,
    },
    /// A provider refuses the key, or there is none.
    #[strum(to_string = "key_refused")]
    Denied {
        /// Who asked.
        session: SessionId,
        /// The provider.
        provider: String,
        /// What it says.
        error: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_five_minutes_and_honour_what_the_provider_asks_for() {
        let waits: Vec<u64> = [0, 1, 2, 8, 9, 60].map(|failures| wait_ms(failures, 0, 0)).into();
        assert_eq!(waits, [1_000, 2_000, 4_000, 256_000, 300_000, 300_000]);
        assert_eq!(wait_ms(0, 1_200_000, 0), 1_200_000);
        let spread: Vec<u64> = (0..1_000).map(|spread| wait_ms(2, 0, spread * 7)).collect();
        assert!(spread.iter().all(|wait| (4_000..=5_000).contains(wait)));
    }
}
