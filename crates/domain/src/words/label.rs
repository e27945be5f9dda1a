//! Labels: where content comes from, who may see it, and how far it is to be trusted. Given where content comes in,
//! joined wherever it flows, never made better by what a model says.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::words::id::AgentId;

/// So many origins are named; of more, only that there are more.
pub const ORIGINS_MAX: usize = 16;
/// So many files have a label of their own; with more, the folder they are in has it.
pub const FILES_MAX: usize = 4096;
/// Stands for the origins that are not named.
const MORE: &str = "and more";

/// Who wrote it, at the worst. A later one is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Integrity {
    /// The owner of the home.
    #[default]
    Owner,
    /// Agents, from nothing worse.
    Team,
    /// Anybody.
    Outside,
}

impl Integrity {
    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Team => "team",
            Self::Outside => "outside",
        }
    }

    /// The integrity that `word` names.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Owner, Self::Team, Self::Outside].into_iter().find(|i| i.as_str() == word)
    }
}

/// Who may see it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readers {
    /// Everybody in the home, and nobody outside it.
    #[default]
    Home,
    /// The owner and these agents.
    Only(BTreeSet<AgentId>),
}

impl Readers {
    /// Whether an agent of the home may see it.
    pub fn include(&self, agent: &AgentId) -> bool {
        match self {
            Self::Home => true,
            Self::Only(few) => few.contains(agent),
        }
    }

    fn join(&mut self, other: &Self) {
        match (&mut *self, other) {
            (_, Self::Home) => {}
            (Self::Home, only) => *self = only.clone(),
            (Self::Only(mine), Self::Only(theirs)) => mine.retain(|agent| theirs.contains(agent)),
        }
    }
}

/// What is known of a piece of content.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Label {
    /// Who wrote it, at the worst.
    pub integrity: Integrity,
    /// Who may see it.
    #[serde(skip_serializing_if = "Label::is_for_the_home")]
    pub readers: Readers,
    /// Where what is not the home's own came from.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub origins: BTreeSet<String>,
}

impl Label {
    /// What the owner wrote.
    pub fn owner() -> Self {
        Self::default()
    }

    /// What an agent made from nothing worse.
    pub fn team() -> Self {
        Self { integrity: Integrity::Team, ..Self::default() }
    }

    /// What came in from `origin`.
    pub fn outside(origin: impl Into<String>) -> Self {
        Self {
            integrity: Integrity::Outside,
            readers: Readers::Home,
            origins: BTreeSet::from([origin.into()]),
        }
    }

    fn is_for_the_home(readers: &Readers) -> bool {
        *readers == Readers::Home
    }

    /// Whether there is nothing to say: the owner's own, for everybody in the home.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it counts at the gate: anybody may have written it, or not everybody may see it.
    pub fn counts(&self) -> bool {
        self.integrity == Integrity::Outside || self.readers != Readers::Home
    }

    /// Becomes as bad as the worse of both.
    pub fn join(&mut self, other: &Self) {
        self.integrity = self.integrity.max(other.integrity);
        self.readers.join(&other.readers);
        for origin in &other.origins {
            if self.origins.contains(origin) {
                continue;
            }
            if self.origins.len() >= ORIGINS_MAX {
                self.origins.insert(MORE.to_owned());
                break;
            }
            self.origins.insert(origin.clone());
        }
    }

    /// As bad as the worse of both.
    pub fn joined(mut self, other: &Self) -> Self {
        self.join(other);
        self
    }
}

/// One line for files and people: `outside for finance-001 from inbox/slack.jsonl:3, net:`.
impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.integrity.as_str())?;
        if let Readers::Only(few) = &self.readers {
            let names: Vec<&str> = few.iter().map(AgentId::as_str).collect();
            write!(f, " for {}", if names.is_empty() { "nobody".to_owned() } else { names.join(" ") })?;
        }
        if !self.origins.is_empty() {
            let names: Vec<String> = self.origins.iter().map(|o| o.replace([',', '\n', '\r'], "_")).collect();
            write!(f, " from {}", names.join(", "))?;
        }
        Ok(())
    }
}

/// Why a text is no label: it begins with none of the words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of owner, team, outside")]
pub struct BadLabel(String);

impl std::str::FromStr for Label {
    type Err = BadLabel;

    fn from_str(text: &str) -> Result<Self, BadLabel> {
        let (rest, origins) = match text.split_once(" from ") {
            Some((rest, origins)) => (rest, origins.split(", ").map(str::to_owned).collect()),
            None => (text, BTreeSet::new()),
        };
        let (word, readers) = match rest.split_once(" for ") {
            Some((word, "nobody")) => (word, Readers::Only(BTreeSet::new())),
            Some((word, few)) => (word, Readers::Only(few.split(' ').map(AgentId::new).collect())),
            None => (rest, Readers::Home),
        };
        let integrity = Integrity::parse(word.trim()).ok_or_else(|| BadLabel(word.to_owned()))?;
        Ok(Self { integrity, readers, origins })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_is_the_worse_of_both_in_any_order() {
        let secret = Label { readers: Readers::Only(BTreeSet::from([AgentId::new("a")])), ..Label::owner() };
        let others = Label {
            readers: Readers::Only(BTreeSet::from([AgentId::new("a"), AgentId::new("b")])),
            ..Label::team()
        };
        let all =
            [Label::owner(), Label::team(), Label::outside("net:"), secret, others, Label::outside("x")];
        for a in &all {
            assert_eq!(a.clone().joined(a), *a);
            for b in &all {
                let ab = a.clone().joined(b);
                assert_eq!(ab, b.clone().joined(a));
                assert!(ab.integrity >= a.integrity && ab.integrity >= b.integrity);
                for c in &all {
                    assert_eq!(ab.clone().joined(c), a.clone().joined(&b.clone().joined(c)));
                }
            }
        }
    }

    #[test]
    fn a_label_reads_as_it_prints() {
        let secret = Readers::Only(BTreeSet::from([AgentId::new("a"), AgentId::new("b")]));
        for label in [
            Label::owner(),
            Label::team(),
            Label::outside("inbox/slack.jsonl:3"),
            Label { readers: secret, ..Label::outside("net:").joined(&Label::outside("inbox/a b.jsonl:1")) },
            Label { readers: Readers::Only(BTreeSet::new()), ..Label::team() },
        ] {
            assert_eq!(label.to_string().parse::<Label>(), Ok(label));
        }
        assert!("trusted".parse::<Label>().is_err());
    }

    #[test]
    fn origins_have_a_bound() {
        let mut label = Label::owner();
        (0..100).for_each(|n| label.join(&Label::outside(format!("{n:03}"))));
        assert_eq!(label.origins.len(), ORIGINS_MAX + 1);
        assert!(label.origins.contains(MORE));
    }
}
