//! The checks of a delegation: who may, to whom, which work, how deep, no circle, room, provider.

use policy::glob;

use crate::kernel::state::State;
use crate::topics::agent::Agent;
use crate::topics::delegation::{Rejected, Request, Verdict};
use crate::topics::settings::WhenFull;
use crate::topics::spawn::Origin;
use crate::words::id::AgentId;
use crate::words::id::SessionId;

/// The eight checks, in their order: who may, to whom, which work (twice), how deep, no circle, room, provider.
pub fn check(state: &State, request: &Request<'_>) -> Verdict {
    let Request { chain, target, tag, provider } = *request;
    let spec_of = |id: &AgentId| state.employed(id).map(|agent| &agent.spec);
    let Some(source) = chain.last().and_then(spec_of).filter(|s| s.permissions.delegation.can_delegate)
    else {
        return Verdict::Reject(Rejected::Source(chain.last().unwrap_or(target).clone()));
    };
    let rules = &source.permissions.delegation;
    let found = state.employed(target);
    // The owner consented to its work when they let the source spawn it.
    let is_own = found.is_some_and(|agent| is_maker(&source.id, agent));
    let targets = rules.allowed_targets.as_ref().filter(|list| !list.is_empty());
    let is_listed = is_own || targets.is_none_or(|list| list.iter().any(|name| name == target.as_str()));
    let Some(agent) = found.filter(|_| is_listed) else {
        let able = || state.team.agents.values().filter(|a| !a.retired).map(|a| a.spec.id.to_string());
        let allowed = targets.map_or_else(|| able().take(20).collect(), Clone::clone);
        let source_agent = source.id.clone();
        return Verdict::Reject(Rejected::Target { target: target.clone(), source_agent, allowed });
    };
    let able = &agent.spec.responsibilities;
    let takes_all = is_own && able.is_empty();
    if !takes_all && !able.iter().any(|pattern| glob(pattern, tag)) {
        let (target, tag, able) = (target.clone(), tag.to_owned(), able.clone());
        return Verdict::Reject(Rejected::TargetTag { target, tag, able });
    }
    let tags = rules.allowed_tags.as_ref().filter(|list| !list.is_empty());
    if let Some(allowed) = tags.filter(|list| !list.iter().any(|pattern| glob(pattern, tag))) {
        let (tag, source_agent, allowed) = (tag.to_owned(), source.id.clone(), allowed.clone());
        return Verdict::Reject(Rejected::SourceTag { tag, source_agent, allowed });
    }
    let depth = chain.len().saturating_sub(1);
    // No agent of the chain lets work go deeper than its own file says.
    let usual = state.config.settings.limits.default_delegation_depth;
    let members = chain.iter().filter_map(|id| state.team.agents.get(id));
    let depths = members.map(|a| a.spec.permissions.delegation.max_delegation_depth.unwrap_or(usual));
    let depth_max = depths.min().unwrap_or(0);
    if depth >= depth_max as usize {
        return Verdict::Reject(Rejected::Depth { depth, depth_max, chain: chain.to_vec() });
    }
    if chain.contains(target) {
        let chain = chain.iter().chain([target]).cloned().collect();
        return Verdict::Reject(Rejected::Cycle { chain });
    }
    room(state, agent, provider)
}

/// Whether `id` spawned this agent.
fn is_maker(id: &AgentId, agent: &Agent) -> bool {
    agent.spec.spawned_by.as_ref().and_then(Origin::parent) == Some(id)
}

fn room(state: &State, agent: &Agent, provider: Option<&str>) -> Verdict {
    let (busy, pending) = (agent.busy, agent.pending());
    let concurrency = &agent.spec.permissions.concurrency;
    let is_free = busy as usize + pending < concurrency.max_parallel_tasks as usize;
    let full = |limit: &str| {
        let (target, limit) = (agent.spec.id.clone(), limit.to_owned());
        Verdict::Reject(Rejected::Full { target, busy, pending, limit })
    };
    match state.config.settings.limits.delegation_when_full {
        WhenFull::Reject if !is_free => return full("limits.delegation_when_full: reject"),
        WhenFull::Queue if !is_free && !agent.has_room() => {
            return full("max_pending_queue");
        }
        WhenFull::Queue | WhenFull::Reject => {}
    }
    if let Some(rejected) = over_total(state, &agent.spec.id) {
        return Verdict::Reject(rejected);
    }
    match provider {
        Some(reason) => Verdict::BackOff { reason: reason.to_owned() },
        None if is_free => Verdict::Start,
        None => Verdict::Queue,
    }
}

/// The limit of the whole home that work for `target` would pass.
fn over_total(state: &State, target: &AgentId) -> Option<Rejected> {
    let limits = &state.config.settings.limits;
    let is_under_way = |id: &SessionId| state.sessions.get(id).is_some_and(|session| !session.rests());
    let mut tasks = 0;
    let mut agents = 0;
    let mut works = false;
    for (id, agent) in &state.team.agents {
        let here = agent.sessions.iter().filter(|id| is_under_way(id)).count();
        tasks += here;
        agents += usize::from(here > 0);
        works |= here > 0 && id == target;
    }
    if tasks >= limits.max_total_tasks as usize {
        return Some(Rejected::TotalTasks { active: tasks, most: limits.max_total_tasks });
    }
    let is_over = !works && agents >= limits.max_total_agents as usize;
    is_over.then_some(Rejected::TotalAgents { active: agents, most: limits.max_total_agents })
}
