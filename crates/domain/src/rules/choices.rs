//! Which ids an agent may write where a tool asks for one. A model that sees them guesses none.

use std::collections::BTreeSet;

use policy::glob;
use serde_json::{Value, json};

use crate::kernel::state::State;
use crate::topics::agent;
use crate::topics::message::{BROADCAST, CHANNEL_SIGN};
use crate::topics::role;
use crate::topics::spawn::Origin;
use crate::topics::tool::{
    AskAgent, CreateTask, Delegate, SendMessage, SpawnAgent, TerminateAgent, Tool as _, UpdateTask,
};
use crate::words::id::AgentId;

/// Of more ids, none is listed.
pub const IDS_MAX: usize = 40;

/// The ids that fit one argument of a tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Choice {
    /// The tool.
    pub tool: &'static str,
    /// Its argument.
    pub argument: &'static str,
    /// At least one, in their order.
    pub ids: Vec<String>,
}

impl Choice {
    /// Lists the ids in the schema of the tool's arguments.
    pub fn put_into(&self, schema: &mut Value) {
        let Some(argument) = schema.pointer_mut(&format!("/properties/{}", self.argument)) else { return };
        if let Value::Object(argument) = argument {
            argument.retain(|key, _| !matches!(key.as_str(), "pattern" | "minLength" | "maxLength"));
            argument.insert("enum".to_owned(), json!(self.ids));
        }
    }
}

/// All that is known for an agent, as its team is now.
pub fn of(state: &State, own: &agent::Spec) -> Vec<Choice> {
    let employed = || state.team.agents.values().filter(|agent| !agent.retired).map(|agent| &agent.spec);
    let ids = |fits: &dyn Fn(&agent::Spec) -> bool| -> BTreeSet<String> {
        employed().filter(|spec| fits(spec)).map(|spec| spec.id.to_string()).collect()
    };
    let maker = |spec: &agent::Spec| spec.spawned_by.as_ref().and_then(Origin::parent).cloned();
    let is_made_by = |spec: &agent::Spec, id: &AgentId| maker(spec).as_ref() == Some(id);
    let is_other = |spec: &agent::Spec| spec.id != own.id;
    let rules = &own.permissions.delegation;
    let targets = rules.allowed_targets.as_ref().filter(|list| !list.is_empty());
    let is_target = |spec: &agent::Spec| {
        let is_listed = targets.is_none_or(|list| list.iter().any(|name| name == spec.id.as_str()));
        is_other(spec) && (is_listed || is_made_by(spec, &own.id))
    };
    let tags = rules.allowed_tags.iter().flatten();
    let tags: BTreeSet<String> = tags.cloned().collect();
    // A pattern stands for tags that nobody can list.
    let tags = if tags.iter().any(|tag| tag.contains('*')) { BTreeSet::new() } else { tags };
    let others = ids(&is_other);
    let channels = employed().filter(|spec| is_other(spec)).flat_map(|spec| &spec.channels);
    let channels = channels.map(|name| format!("{CHANNEL_SIGN}{name}"));
    let receivers = others.iter().cloned().chain([BROADCAST.to_owned()]).chain(channels).collect();
    let patterns = own.permissions.spawn.patterns();
    let roles = state
        .config
        .settings
        .roles
        .keys()
        .map(String::as_str)
        .chain(role::BUILTIN.keys().map(String::as_str));
    let roles = roles.filter(|name| patterns.iter().any(|pattern| glob(pattern, name))).map(str::to_owned);
    [
        (Delegate::NAME, "to", ids(&is_target)),
        (Delegate::NAME, "tag", tags),
        (CreateTask::NAME, "assignee", ids(&|_| true)),
        (UpdateTask::NAME, "assignee", ids(&|_| true)),
        (AskAgent::NAME, "to", others),
        (SendMessage::NAME, "to", receivers),
        (SpawnAgent::NAME, "role", roles.collect()),
        (TerminateAgent::NAME, "agent", ids(&|spec| is_other(spec) && maker(spec).is_some())),
    ]
    .into_iter()
    .filter(|(.., ids)| !ids.is_empty() && ids.len() <= IDS_MAX)
    .map(|(tool, argument, ids)| Choice { tool, argument, ids: ids.into_iter().collect() })
    .collect()
}
