//! Random choices among those who are there, for a large team.

use domain::id::AgentId;
use domain::state::State;

use crate::rng::Rng;

/// Agents of the team.
pub(super) const AGENTS: u64 = 50;
/// Everything agents ask each other for has a tag of this kind.
pub(super) const TAG: &str = "work:part";

pub(super) fn pick<T>(rng: &mut Rng, from: impl Iterator<Item = T>) -> Option<T> {
    let mut all: Vec<T> = from.collect();
    let at = usize::try_from(rng.below(all.len() as u64)).ok()?;
    (at < all.len()).then(|| all.swap_remove(at))
}

pub(super) fn somebody(rng: &mut Rng) -> AgentId {
    agent_id(rng.below(AGENTS))
}

/// An agent, now and then one that was spawned, also if it is over.
pub(super) fn anybody(rng: &mut Rng, state: &State) -> AgentId {
    let made = state.team.agents.values().filter(|agent| agent.spec.spawned_by.is_some());
    let made = if rng.chance(1, 4) { pick(rng, made) } else { None };
    made.map_or_else(|| somebody(rng), |agent| agent.spec.id.clone())
}

pub(super) fn agent_id(n: u64) -> AgentId {
    AgentId::new(format!("agent-{n}"))
}
