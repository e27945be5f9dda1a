//! The owner's rules for commands, as data, and the words in which a judgement is given.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// `policy/commands.yaml`: patterns of commands and what they get.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// By pattern: words as a shell reads them, in which `*` stands for anything; at the end, for any rest.
    pub commands: BTreeMap<String, CommandRule>,
}

/// What the commands of one pattern get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRule {
    /// Run it, ask first, or never.
    pub verdict: CommandVerdict,
    /// What repeating it would do; `once` unless the owner says that it only reads.
    pub nature: Nature,
    /// Whether it needs the network; an approval then shows and grants it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// Why, for whoever is asked or refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl CommandRule {
    /// A rule that says only this, for commands that must not run twice.
    pub fn new(verdict: CommandVerdict) -> Self {
        Self { verdict, nature: Nature::Once, network: false, reason: None }
    }
}

/// `allow`, `ask` or `deny` (`true` and `false` are read as `allow` and `deny`), from mild to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandVerdict {
    /// Run it.
    Allow,
    /// Ask a person.
    Ask,
    /// Never.
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

/// How much harm a wrong yes could do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Risk {
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// All.
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

    /// The risk that `word` names.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Low, Self::Medium, Self::High, Self::Critical].into_iter().find(|r| r.as_str() == word)
    }
}

/// What a repetition after a crash would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nature {
    /// Changes nothing; runs again.
    Read,
    /// Changes the same thing to the same state; runs again.
    Idempotent,
    /// Must not run twice; in doubt, its outcome is unknown.
    Once,
}
