//! Whether an agent may be made or ended.

use policy::glob;

use crate::kernel::lineage::{depth, lineage, there};
use crate::kernel::state::State;
use crate::topics::role;
use crate::topics::spawn::{NAME_CHARS_MAX, Order, Origin, Rejected};
use crate::words::id::AgentId;

/// Whether an agent of this role may be made by `origin`.
pub fn check_new(state: &State, order: &Order, origin: &Origin) -> Result<(), Rejected> {
    if state.role(&order.role).is_none() {
        let own = state.config.settings.roles.keys().chain(role::BUILTIN.keys()).cloned();
        let known: std::collections::BTreeSet<String> = own.collect();
        return Err(Rejected::NoRole { role: order.role.clone(), known: known.into_iter().collect() });
    }
    if let Some(parent) = origin.parent().and_then(|id| state.team.agents.get(id)).map(|agent| &agent.spec) {
        let allowed = parent.permissions.spawn.patterns();
        if !allowed.iter().any(|pattern| glob(pattern, &order.role)) {
            let allowed = allowed.into_iter().map(str::to_owned).collect();
            return Err(Rejected::Role { parent: parent.id.clone(), role: order.role.clone(), allowed });
        }
    }
    let is_name = |name: &String| {
        !name.trim().is_empty()
            && !name.chars().any(char::is_control)
            && name.chars().count() <= NAME_CHARS_MAX
    };
    if order.name.as_ref().is_some_and(|name| !is_name(name)) {
        return Err(Rejected::BadName);
    }
    let models = &state.config.settings.models;
    // An agent's order does not say which: the new one has its parent's.
    let model = order.model.as_ref().filter(|_| origin.parent().is_none());
    if let Some(model) = model.filter(|model| !models.contains_key(*model)) {
        return Err(Rejected::UnknownModel { model: model.clone(), known: models.keys().cloned().collect() });
    }
    let is_pattern = |text: &&String| !text.trim().is_empty() && !text.chars().any(char::is_control);
    if let Some(bad) = order.responsibilities.iter().find(|text| !is_pattern(text)) {
        return Err(Rejected::BadResponsibility(bad.clone()));
    }
    let limits = &state.config.settings.limits;
    if let Some(parent) = origin.parent()
        && depth(state, parent) >= limits.spawn_depth_max as usize
    {
        return Err(Rejected::TooDeep { parent: parent.clone(), depth_max: limits.spawn_depth_max });
    }
    let spawned = there(state).filter(|agent| !agent.retired);
    if spawned.count() >= limits.spawned_max as usize {
        return Err(Rejected::TooMany { most: limits.spawned_max });
    }
    Ok(())
}

/// Whether an agent may be ended, by a person or by an agent that is named.
pub fn check_end(state: &State, id: &AgentId, by: Option<&AgentId>) -> Result<(), Rejected> {
    let agent = state.team.agents.get(id).ok_or_else(|| Rejected::NoAgent(id.clone()))?;
    if agent.terminated.is_some() {
        return Err(Rejected::Terminated(id.clone()));
    }
    let origin = agent.spec.spawned_by.as_ref().ok_or_else(|| Rejected::NotSpawned(id.clone()))?;
    match by {
        Some(by) if !lineage(state, id).any(|above| above == by) => {
            Err(Rejected::NotYours { agent: id.clone(), origin: origin.to_string() })
        }
        Some(_) | None => Ok(()),
    }
}
