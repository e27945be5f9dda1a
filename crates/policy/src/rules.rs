//! The owner's rules for commands as data, and the scales of a judgement: verdict, risk, nature.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// `policy/commands.yaml`: patterns of commands and what they get.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// By pattern: words as a shell reads them. `*` matches any characters of a word; as the last word, all that follow.
    pub commands: BTreeMap<String, CommandRule>,
}

/// What the commands of one pattern get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRule {
    /// Of several rules for one command, the strictest wins.
    pub verdict: CommandVerdict,
    /// What a second run would do; `once` unless the owner says that the command only reads.
    pub nature: Nature,
    /// Whether the command needs the network; an approval then shows and grants it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// The owner's reason, shown in the approval or the refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl CommandRule {
    /// A rule with this verdict and nothing else, for commands that must not run twice.
    pub fn new(verdict: CommandVerdict) -> Self {
        Self { verdict, nature: Nature::Once, network: false, reason: None }
    }
}

/// `allow`, `ask` or `deny` (`true` and `false` are read as `allow` and `deny`), from mild to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandVerdict {
    /// The command runs.
    Allow,
    /// The command runs if a person approves it.
    Ask,
    /// The command never runs.
    Deny,
}

impl CommandVerdict {
    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// How much harm a wrong approval could do, from little to everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Risk {
    /// It reads, or changes what is easily restored.
    Low,
    /// It changes files of the workspace, or runs code there without a network.
    Medium,
    /// It uses the network, deletes what is not easily restored, or runs code that nobody named.
    High,
    /// It destroys, leaks credentials or takes other rights.
    Critical,
}

impl Risk {
    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
            Self::Critical => "CRITICAL",
        }
    }

    /// One step higher, but never to `CRITICAL`: that says what an act destroys, not who wants it.
    #[must_use]
    pub fn raised(self) -> Self {
        match self {
            Self::Low => Self::Medium,
            Self::Medium | Self::High => Self::High,
            Self::Critical => Self::Critical,
        }
    }

    /// The risk that `word` names.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Low, Self::Medium, Self::High, Self::Critical].into_iter().find(|r| r.as_str() == word)
    }
}

/// What a second run would do, for recovery after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nature {
    /// Changes nothing; it is run again.
    Read,
    /// Leads to the same state; it is run again.
    Idempotent,
    /// Must not run twice; after a crash its outcome is unknown.
    Once,
}
