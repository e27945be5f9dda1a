//! What the owner's files say.

use std::collections::BTreeMap;

use crate::agent;
use crate::budget::charge::{Raise, Sum};
use crate::decide::{delegate, intake};
use crate::event::Event;
use crate::id::{AgentId, Time};
use crate::label::Label;
use crate::refused::Refused;
use crate::settings::{Policy, Settings};
use crate::state::State;

pub(super) fn settings(state: &State, at: Time, settings: &Settings) -> Vec<Event> {
    if state.settings == *settings {
        return Vec::new();
    }
    intake::with_takers(state, at, Event::SettingsChanged { settings: Box::new(settings.clone()) })
}

pub(super) fn policy(state: &State, policy: &Policy) -> Vec<Event> {
    if state.policy == *policy {
        return Vec::new();
    }
    vec![Event::PolicyChanged { policy: policy.clone() }]
}

pub(super) fn agent(state: &State, at: Time, spec: &agent::Spec) -> Vec<Event> {
    let known = state.agents.get(&spec.id);
    // Who made an agent bounds its rights, and does not change with its file.
    let made = known.and_then(|known| known.spec.spawned_by.clone()).or_else(|| spec.spawned_by.clone());
    let spec = agent::Spec { spawned_by: made, ..spec.clone() };
    match known {
        // It does not come back, whoever brings back its file.
        Some(known) if known.terminated.is_some() => Vec::new(),
        Some(known) if known.spec == spec && !known.retired => Vec::new(),
        _ => intake::with_takers(state, at, Event::AgentDefined { spec: Box::new(spec) }),
    }
}

pub(super) fn agent_gone(state: &State, at: Time, agent: &AgentId) -> Result<Vec<Event>, Refused> {
    match state.agents.get(agent) {
        Some(known) if !known.retired => {
            let retired = Event::AgentRetired { agent: agent.clone() };
            Ok([retired].into_iter().chain(delegate::left_alone(state, at, agent)).collect())
        }
        Some(_) => Ok(Vec::new()),
        None => Err(Refused::NoAgent(agent.clone())),
    }
}

/// Labels that a list in the home knows and the journal does not: the journal was deleted.
pub(super) fn labels(state: &State, labels: &BTreeMap<String, Label>) -> Vec<Event> {
    let missing = |(path, label): &(&String, &Label)| {
        state.files.get(*path).is_none_or(|known| known.clone().joined(label) != *known)
    };
    let labels: BTreeMap<String, Label> =
        labels.iter().filter(missing).map(|(path, label)| (path.clone(), label.clone())).collect();
    if labels.is_empty() { Vec::new() } else { vec![Event::LabelsFound { labels }] }
}

/// What a list in the home says that was spent, and no journal: it was deleted. Where anything was counted, the journal
/// knows better. What is from a time that has not come counts now: no window is closed by a clock that was wrong.
pub(super) fn usage(state: &State, at: Time, sums: &[Sum], raised: &[Raise]) -> Vec<Event> {
    if !state.ledger.is_unused() || (sums.is_empty() && raised.is_empty()) {
        return Vec::new();
    }
    let sums = sums.iter().map(|sum| Sum { reserved: sum.reserved.min(at), ..sum.clone() }).collect();
    let mut raised: Vec<Raise> = raised.iter().filter(|raise| raise.at <= at).cloned().collect();
    raised.sort_by_key(|raise| raise.at);
    vec![Event::UsageFound { sums, raised }]
}
