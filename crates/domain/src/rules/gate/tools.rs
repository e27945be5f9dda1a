//! Tools: which ones an agent has. Deny wins, then the list that its file gives, then its role.

use super::{Case, Opinion};
use crate::kernel::terms::Rights;
use crate::topics::agent;
use crate::topics::delegation;
use crate::topics::role::{COORDINATION_TOOLS, Role};
use crate::topics::tool;
use crate::topics::tool::foreign;
use crate::topics::tool::{FinishTask, Tool as _};
use policy::glob;

pub(super) fn inspect(case: &Case<'_>) -> Opinion {
    let name = case.act.tool();
    let has = |(spec, role): Rights<'_>| {
        not_denied(spec, name)?;
        role.map_or(Ok(()), |role| granted(spec, role, name))
    };
    let asker = case.asker;
    let checked = has((asker.spec, asker.role)).and_then(|()| asker.now.map_or(Ok(()), has));
    Opinion::of(checked.and_then(|()| match (case.traits(), case.act.reach().server) {
        (Some(_), _) => Ok(()),
        (None, Some(_)) => Err((
            format!("no server offers {name}"),
            format!("there is no tool {name}; no server offers it now"),
        )),
        (None, None) => Err((format!("{name} is Synod's own"), format!("there is no tool {name}"))),
    }))
}

/// What the agent's file takes from it.
pub(super) fn not_denied(spec: &agent::Spec, name: &str) -> Result<(), (String, String)> {
    let id = &spec.id;
    match spec.permissions.tools.deny.iter().find(|pattern| glob(pattern, name)) {
        None => Ok(()),
        Some(pattern) => Err((
            format!("permissions.tools.deny of {id} has {pattern}"),
            format!("{id} may not use {name}: its file denies {pattern}"),
        )),
    }
}

/// What its file, else its role, gives it.
pub(super) fn granted(spec: &agent::Spec, role: &Role, name: &str) -> Result<(), (String, String)> {
    let (id, tools) = (&spec.id, &spec.permissions.tools);
    let is_tool = |word: &String| tool::facts(word).is_some() || foreign::server_of(word).is_some();
    let listed = spec.capabilities.iter().any(is_tool);
    let (granted, whose): (bool, &str) = match &tools.allow {
        Some(allow) => (allow.iter().any(|p| gives(p, name)), "permissions.tools.allow"),
        None if listed => (spec.capabilities.iter().any(|c| c == name), "capabilities"),
        None => (role.tools.iter().any(|p| gives(p, name)), "the role's tools"),
    };
    // To say how one's own task ended needs no right.
    let own = name == FinishTask::NAME;
    // Moving work about is open to all whose lists do not say otherwise in so many words, and `can_delegate` says it in
    // so many words.
    let coordination = COORDINATION_TOOLS.contains(&name) && tools.allow.is_none();
    if granted || own || coordination || name == delegation::TOOL {
        return Ok(());
    }
    Err((
        format!("{whose} of {id} lacks {name}"),
        format!("{id} does not have the tool {name}: {whose} does not list it"),
    ))
}

/// Whether a pattern gives a tool. One of a foreign server is given only by a pattern that names the server: `*_file` was
/// written for the tools of Synod.
fn gives(pattern: &str, name: &str) -> bool {
    let names_server =
        |server: &str| pattern.strip_prefix(server).is_some_and(|rest| rest.starts_with(foreign::SEPARATOR));
    glob(pattern, name) && foreign::server_of(name).is_none_or(names_server)
}
