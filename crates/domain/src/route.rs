//! Who gets a piece of work: explicit assignee, routing rules, responsibilities, the planner, the fallback.

use crate::id::AgentId;
use crate::role::glob;
use crate::state::State;
use crate::task;

/// The agent for a task, and the rule that chose it.
pub fn route(state: &State, spec: &task::Spec, inbox: Option<&str>) -> Option<(AgentId, String)> {
    let usable = |id: &AgentId| state.employed(id).is_some();
    if let Some(assignee) = &spec.assignee {
        return Some((assignee.clone(), "it names its assignee".to_owned()));
    }
    let routing = &state.settings.routing;
    if let Some((source, agent)) = inbox.and_then(|source| routing.inbox.get_key_value(source))
        && usable(agent)
    {
        return Some((agent.clone(), format!("routing.inbox has {source}")));
    }
    let tags: Vec<&str> = spec.tag.iter().chain(&spec.tags).map(String::as_str).collect();
    let fits = |pattern: &str| tags.iter().any(|tag| glob(pattern, tag));
    if let Some((pattern, agent)) =
        routing.tags.iter().find(|(pattern, agent)| fits(pattern) && usable(agent))
    {
        return Some((agent.clone(), format!("routing.tags has {pattern}")));
    }
    let mut able: Vec<_> = state.agents.values().filter(|a| !a.retired).collect();
    able.sort_by(|a, b| (a.spec.priority, &a.spec.id).cmp(&(b.spec.priority, &b.spec.id)));
    if let Some((agent, pattern)) =
        able.iter().find_map(|a| a.spec.responsibilities.iter().find(|p| fits(p)).map(|p| (a, p)))
    {
        return Some((agent.spec.id.clone(), format!("it is responsible for {pattern}")));
    }
    if let Some(planner) = able.iter().find(|a| a.spec.role == "planner") {
        return Some((planner.spec.id.clone(), "the planner gets what nobody else does".to_owned()));
    }
    let fallback = routing.fallback.as_ref().filter(|id| usable(id))?;
    Some((fallback.clone(), "routing.fallback".to_owned()))
}
