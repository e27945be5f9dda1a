//! Labels: where content comes from, who may see it, and how far it is to be trusted. Given where content comes in,
//! joined wherever it flows, never made better by what a model says.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::AgentId;
use crate::settings::Trust;
use crate::state::State;
use policy::path::{self, Pattern};

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

impl std::str::FromStr for Label {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (rest, origins) = match text.split_once(" from ") {
            Some((rest, origins)) => (rest, origins.split(", ").map(str::to_owned).collect()),
            None => (text, BTreeSet::new()),
        };
        let (word, readers) = match rest.split_once(" for ") {
            Some((word, "nobody")) => (word, Readers::Only(BTreeSet::new())),
            Some((word, few)) => (word, Readers::Only(few.split(' ').map(AgentId::new).collect())),
            None => (rest, Readers::Home),
        };
        let integrity = Integrity::parse(word.trim())
            .ok_or_else(|| format!("{word:?} is none of owner, team, outside"))?;
        Ok(Self { integrity, readers, origins })
    }
}

/// The label of what stands at `place`: a path relative to the home, `names:` and a folder for the names in it, `all:`
/// and a folder for everything that may be beneath it, or something like `net:` that is not in the home at all.
///
/// A plain path may be a folder, too. Then it has the labels of all files beneath it, and of rules that begin beneath it;
/// only `all:` counts every rule whose stars may stand for something in it.
pub fn of_place(state: &State, place: &str) -> Label {
    if let Some(folder) = place.strip_prefix("names:") {
        let folder = clean(folder);
        let rules = of_rules(&state.settings.trust, &folder, |pattern| pattern.covers(&folder));
        return of_files(state, &folder).joined(&rules).joined(&Label::team());
    }
    if let Some(folder) = place.strip_prefix("all:") {
        let path = clean(folder);
        let rules = of_rules(&state.settings.trust, &path, |pattern| pattern.may_cover_beneath(&path));
        return of_place(state, &path).joined(&rules);
    }
    if place.contains(':') && !place.contains('/') {
        return Label::outside(place);
    }
    let path = clean(place);
    let path = path.as_str();
    let mut label = of_files(state, path);
    let concerns = |pattern: &Pattern| pattern.covers(path) || pattern.begins_beneath(path);
    label.join(&of_rules(&state.settings.trust, path, concerns));
    match path.split('/').next().unwrap_or_default() {
        "inbox" | "approvals" | "log" => label.join(&Label::outside(path)),
        "workspaces" => label.join(&Label::team()),
        "sessions" => {
            let sessions = state
                .sessions
                .iter()
                .filter(|(id, _)| path == "sessions" || path == format!("sessions/{id}.session.yaml"));
            sessions.for_each(|(_, session)| label.join(&session.label));
        }
        "tasks" => {
            let tasks = state.tasks.values().filter(|t| path == "tasks" || t.spec.file == path);
            tasks.for_each(|task| label.join(&task.label));
        }
        "" => {
            label.join(&of_place(state, "tasks"));
            label.join(&of_place(state, "sessions"));
            label.join(&Label::outside("inbox"));
        }
        _ => {}
    }
    label
}

/// The folder whose label stands for a file's when there are too many files.
pub fn folder_for(place: &str) -> &str {
    place.match_indices('/').nth(1).map_or(place, |(end, _)| &place[..end])
}

/// What is known of files by who wrote them: the path itself, the folders above it and all beneath it.
fn of_files(state: &State, path: &str) -> Label {
    let mut label = Label::owner();
    if state.files.is_empty() {
        return label;
    }
    if path.is_empty() {
        state.files.values().for_each(|l| label.join(l));
        return label;
    }
    for (end, _) in path.match_indices('/').chain([(path.len(), "")]) {
        if let Some(found) = state.files.get(&path[..end]) {
            label.join(found);
        }
    }
    let beneath = format!("{path}/");
    for (name, found) in state.files.range(beneath.clone()..) {
        if !name.starts_with(&beneath) {
            break;
        }
        label.join(found);
    }
    label
}

/// What the owner says in `trust:` about a path, by the rules that concern it.
fn of_rules(trust: &Trust, path: &str, concerns: impl Fn(&Pattern) -> bool) -> Label {
    let mut label = Label::owner();
    if trust.outside.iter().any(|pattern| concerns(&Pattern::new(pattern))) {
        label.join(&Label::outside(path));
    }
    for (pattern, readers) in &trust.secret {
        if concerns(&Pattern::new(pattern)) {
            let readers = Readers::Only(readers.iter().cloned().collect());
            label.join(&Label { readers, ..Label::owner() });
        }
    }
    label
}

/// The plain form of a path; one that leads out of the home stays as it is and has no rule.
fn clean(path: &str) -> String {
    let relative = path.trim_matches('/');
    path::normal(relative).unwrap_or_else(|| relative.to_owned())
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

    #[test]
    fn a_place_is_as_bad_as_the_worst_in_it() {
        let mut state = State::new();
        state.settings.trust.outside = vec!["workspaces/*/vendor/*".to_owned()];
        state.settings.trust.secret =
            std::collections::BTreeMap::from([("memory/pay/*".to_owned(), vec![AgentId::new("finance")])]);
        state.files.insert("workspaces/a/notes".to_owned(), Label::outside("inbox/x.jsonl:1"));
        for (place, integrity) in [
            ("memory/a.md", Integrity::Owner),
            ("workspaces/a/main.rs", Integrity::Team),
            ("workspaces/a/notes", Integrity::Outside),
            ("workspaces/a/notes/deep.md", Integrity::Outside),
            ("workspaces/a", Integrity::Outside),
            ("names:workspaces/a", Integrity::Outside),
            ("names:workspaces/b", Integrity::Team),
            ("workspaces/ab", Integrity::Team),
            ("workspaces/b/vendor/x.c", Integrity::Outside),
            ("workspaces/b/vendor/deep/x.c", Integrity::Outside),
            ("workspaces/b/Vendor/./x.c", Integrity::Outside),
            ("workspaces/b/vendor", Integrity::Outside),
            ("names:workspaces/b/vendor", Integrity::Outside),
            ("names:workspaces/b/vendor/deep", Integrity::Outside),
            ("all:workspaces/b", Integrity::Outside),
            ("all:workspaces/b/vendor", Integrity::Outside),
            ("all:memory", Integrity::Owner),
            ("inbox/x.jsonl", Integrity::Outside),
            ("net:", Integrity::Outside),
            (".", Integrity::Outside),
        ] {
            assert_eq!(of_place(&state, place).integrity, integrity, "{place}");
        }
        assert!(!of_place(&state, "memory/pay/june.md").readers.include(&AgentId::new("coder")));
        assert!(!of_place(&state, "memory/pay").readers.include(&AgentId::new("coder")));
        assert!(!of_place(&state, "memory").readers.include(&AgentId::new("coder")));
        assert!(!of_place(&state, "Memory/Pay/june.md").readers.include(&AgentId::new("coder")));
        assert!(!of_place(&state, "names:memory/pay").readers.include(&AgentId::new("coder")));
        assert!(!of_place(&state, "all:memory").readers.include(&AgentId::new("coder")));
        assert!(of_place(&state, "names:memory").readers.include(&AgentId::new("coder")));
        assert!(of_place(&state, "memory/pay/june.md").readers.include(&AgentId::new("finance")));
        assert!(of_place(&state, "memory/play.md").readers.include(&AgentId::new("coder")));
    }
}
