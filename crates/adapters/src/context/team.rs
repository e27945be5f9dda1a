//! The roster: who else is in the team, what they are for and what they may do. A model that does not know its colleagues
//! guesses their names.

use std::fmt::Write as _;

use domain::agent;
use domain::id::AgentId;
use domain::role::{Permission, Role};
use domain::state::State;

/// So many colleagues are listed.
const LISTED_MAX: usize = 40;
/// So many characters of a description are shown.
const DESCRIPTION_CHARS_MAX: usize = 160;

/// One line for each colleague, by name; empty if there is none.
pub(super) fn roster(state: &State, own: &AgentId) -> String {
    let employed = || state.team.agents.values().filter(|agent| !agent.retired && agent.spec.id != *own);
    let mut text = String::new();
    for agent in employed().take(LISTED_MAX) {
        line(&mut text, &agent.spec, state.role(&agent.spec.role));
    }
    let more = employed().count().saturating_sub(LISTED_MAX);
    if more > 0 {
        _ = writeln!(text, "- and {more} more");
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
