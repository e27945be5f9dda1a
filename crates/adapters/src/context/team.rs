//! The roster: who else is in the team, what they are for and what they may do. A model that does not know its colleagues
//! guesses their names. It lists only those whom the agent may address, and the roles of agents that it may make.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use domain::agent;
use domain::gate::{Asker, may_use};
use domain::id::AgentId;
use domain::label::Label;
use domain::role::{self, Permission, Role};
use domain::state::State;
use domain::tool::{self, Tool as _};
use policy::glob;

/// The tools by which an agent may speak or give work to any other.
const ADDRESSING: [&str; 5] = [
    tool::AskAgent::NAME,
    tool::SendMessage::NAME,
    tool::CreateTask::NAME,
    tool::CreatePlan::NAME,
    tool::RequestReview::NAME,
];

/// So many colleagues are listed.
const LISTED_MAX: usize = 40;
/// So many characters of a description are shown.
const DESCRIPTION_CHARS_MAX: usize = 160;

/// One line for each colleague, by name; empty if there is none.
pub(super) fn roster(state: &State, own: &AgentId) -> String {
    let Some(own) = state.team.agents.get(own).map(|agent| &agent.spec) else { return String::new() };
    let label = Label::owner();
    let asker = Asker::at_rest(own, state.role(&own.role), &label);
    let may = |name: &str| tool::facts(name).is_some_and(|facts| may_use(&asker, name, facts.needs).is_ok());
    let speaks = ADDRESSING.iter().any(|name| may(name));
    let targets = own.permissions.delegation.allowed_targets.as_deref().unwrap_or_default();
    let hands_on = may(tool::Delegate::NAME);
    let reaches = |id: &AgentId| {
        speaks || hands_on && (targets.is_empty() || targets.iter().any(|target| target == id.as_str()))
    };
    let employed = || {
        let others = state.team.agents.values().filter(|agent| !agent.retired && agent.spec.id != own.id);
        others.filter(|agent| reaches(&agent.spec.id))
    };
    let mut text = String::new();
    for agent in employed().take(LISTED_MAX) {
        line(&mut text, &agent.spec, state.role(&agent.spec.role));
    }
    let more = employed().count().saturating_sub(LISTED_MAX);
    if more > 0 {
        _ = writeln!(text, "- and {more} more");
    }
    let is_alone = employed().next().is_none();
    if may(tool::SpawnAgent::NAME) && (is_alone || own.permissions.spawn.roles.is_some()) {
        let patterns = own.permissions.spawn.patterns();
        let known = role::BUILTIN.keys().chain(state.config.settings.roles.keys());
        let roles: BTreeSet<&str> =
            known.map(String::as_str).filter(|role| patterns.iter().any(|p| glob(p, role))).collect();
        if !roles.is_empty() {
            let roles: Vec<&str> = roles.into_iter().collect();
            _ = writeln!(text, "You may spawn agents of the roles {}.", roles.join(", "));
        }
    }
    text
}

fn line(text: &mut String, spec: &agent::Spec, role: Option<&Role>) {
    _ = write!(text, "- {} ({}", spec.id, spec.role);
    let rights: Vec<&str> = [
        (Permission::WriteFiles, "writes files"),
        (Permission::ExecuteTools, "runs commands"),
        (Permission::ApproveWork, "approves work"),
        (Permission::SpawnAgents, "spawns agents"),
    ]
    .into_iter()
    .filter(|(right, _)| role.is_some_and(|role| role.permissions.contains(right)))
    .map(|(_, words)| words)
    .collect();
    if !rights.is_empty() {
        _ = write!(text, "; {}", rights.join(", "));
    }
    if !spec.responsibilities.is_empty() {
        _ = write!(text, "; tags {}", spec.responsibilities.join(" "));
    }
    text.push(')');
    let description: String = spec.description.split_whitespace().collect::<Vec<_>>().join(" ");
    if !description.is_empty() {
        _ = write!(text, ": {}", description.chars().take(DESCRIPTION_CHARS_MAX).collect::<String>());
    }
    text.push('\n');
}
