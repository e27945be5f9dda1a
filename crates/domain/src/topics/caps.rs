//! Bounds on spending, as the settings say them, and work that one of them holds up.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::words::id::{AgentId, Time};

/// `budgets:`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Budgets {
    /// All agents together, a day.
    #[serde(skip_serializing_if = "Cap::is_none")]
    pub day: Cap,
    /// All agents together, a month.
    #[serde(skip_serializing_if = "Cap::is_none")]
    pub month: Cap,
    /// One request and all that follows from it.
    #[serde(skip_serializing_if = "Cap::is_none")]
    pub run: Cap,
    /// One agent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<AgentId, Share>,
}

impl Budgets {
    /// Whether there is no cap at all.
    pub fn is_none(&self) -> bool {
        [self.day, self.month, self.run].iter().all(Cap::is_none)
            && self.agents.values().all(|share| share.day.is_none() && share.month.is_none())
    }
}

/// What one agent may spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Share {
    /// A day.
    #[serde(skip_serializing_if = "Cap::is_none")]
    pub day: Cap,
    /// A month.
    #[serde(skip_serializing_if = "Cap::is_none")]
    pub month: Cap,
}

/// The most that may be spent; what is absent is not bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cap {
    /// Tokens in and out, cached ones included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// In millionths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub money: Option<u64>,
}

impl Cap {
    /// Whether it bounds nothing.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Both together.
    pub(crate) fn plus(self, other: Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        Self { tokens: sum(self.tokens, other.tokens), money: sum(self.money, other.money) }
    }
}

/// What a provider allows an account in a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Rate {
    /// Requests, failed ones included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u64>,
    /// Tokens in and out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<u64>,
}

impl Rate {
    /// Whether it bounds nothing.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Parked {
    /// Whether it is a matter of a minute: a provider's limits, not a budget.
    pub fn is_brief(&self) -> bool {
        self.until.is_some() && self.limit.starts_with("providers.")
    }

    /// Whether a person may help: a budget is used up, and not only reserved by others.
    pub fn is_for_people(&self) -> bool {
        !self.held && self.limit.starts_with("budgets.")
    }
}

/// Why a session that could go on does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    /// The node of the budgets, or the provider's limits.
    pub limit: String,
    /// In words.
    pub reason: String,
    /// When it looks again by itself; absent: when a person raises the budget, or others give back what they reserved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// Whether it looks again when others give back what they reserved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// What its call may take, in the units that the node bounds.
    #[serde(default, skip_serializing_if = "Cap::is_none")]
    pub need: Cap,
}
