//! Who spawned whom.

use crate::kernel::state::State;
use crate::topics::agent::Agent;
use crate::topics::spawn::Origin;
use crate::words::id::AgentId;

/// So many steps from a spawned agent up to one that was not are followed.
const DEPTH_FOLLOWED: usize = 64;

/// All agents that made `id`, or made one of those: each once, the nearest first. What `id` spends is spent from their
/// budgets too.
pub fn above<'a>(state: &'a State, id: &AgentId) -> Vec<&'a AgentId> {
    let spec_of = |id: &AgentId| state.team.agents.get(id).map(|agent| &agent.spec);
    let mut found: Vec<&AgentId> = Vec::new();
    let mut next = 0;
    let mut at = spec_of(id);
    loop {
        let above = at.and_then(|spec| spec.spawned_by.as_ref()).map_or(&[][..], Origin::agents);
        for maker in above.iter().rev() {
            if maker != id && !found.contains(&maker) {
                found.push(maker);
            }
        }
        let Some(maker) = found.get(next) else { return found };
        at = spec_of(maker);
        next += 1;
    }
}

/// How many agents stand above `id`, each of which spawned the next.
pub fn depth(state: &State, id: &AgentId) -> usize {
    lineage(state, id).count()
}

/// Who spawned `id`, who spawned that one, and so on.
pub(crate) fn lineage<'a>(state: &'a State, id: &AgentId) -> impl Iterator<Item = &'a AgentId> {
    let parent = |id: &AgentId| state.team.agents.get(id)?.spec.spawned_by.as_ref()?.parent();
    std::iter::successors(parent(id), move |id| parent(id)).take(DEPTH_FOLLOWED)
}

/// Agents that are there and that `id` spawned, or one of those did.
pub fn below<'a>(state: &'a State, id: &AgentId) -> Vec<&'a AgentId> {
    let there = there(state).filter(|agent| agent.terminated.is_none()).map(|agent| &agent.spec.id);
    let is_below = |other: &AgentId| lineage(state, other).any(|above| above == id);
    there.filter(|other| *other != id && is_below(other)).collect()
}

/// Agents that were spawned, by id, but for those that are over for good, of which there are ever more.
pub(crate) fn there(state: &State) -> impl Iterator<Item = &Agent> {
    state.team.spawned.iter().filter_map(|id| state.team.agents.get(id))
}
