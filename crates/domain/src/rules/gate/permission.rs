//! Permission: what the agent's file and its role allow at all, whichever tools they list.

use super::{Case, Opinion, tools};
use crate::kernel::terms::Rights;
use crate::topics::agent;
use crate::topics::context;
use crate::topics::delegation;
use crate::topics::role::{CONTEXT_TOOLS, Permission, Role};

pub(super) fn inspect(case: &Case<'_>) -> Opinion {
    let name = case.act.tool();
    let needs = case.traits().and_then(|traits| traits.needs);
    let check_rights = |(spec, role): Rights<'_>| {
        // Of a tool that the file denies, that is the reason to name.
        match tools::not_denied(spec, name) {
            Ok(()) => check(spec, role, name, needs).map(|_| ()),
            Err(_) => Ok(()),
        }
    };
    let asker = case.asker;
    let checked = check_rights((asker.spec, asker.role));
    Opinion::of(checked.and_then(|()| asker.now.map_or(Ok(()), check_rights)))
}

/// The role, if it and the file allow the tool.
pub(super) fn check<'a>(
    spec: &agent::Spec,
    role: Option<&'a Role>,
    name: &str,
    needs: Option<Permission>,
) -> Result<&'a Role, (String, String)> {
    let id = &spec.id;
    if name == delegation::TOOL && !spec.permissions.delegation.can_delegate {
        let rejected = delegation::Rejected::Source(id.clone());
        return Err((rejected.rule().to_owned(), rejected.to_string()));
    }
    if CONTEXT_TOOLS.contains(&name) && context::role_for_grants(spec).is_none() {
        let denied = context::Denied::Closed;
        let rule = denied.rule(id, "");
        return Err((rule.clone(), format!("{id} may not use {name}: {rule}; {}", denied.advice(id, ""))));
    }
    let Some(role) = role else {
        return Err((
            format!("role {} does not exist", spec.role),
            format!("{id} has the role {}, which does not exist; it may use nothing", spec.role),
        ));
    };
    match needs.filter(|needed| !role.permissions.contains(needed)) {
        None => Ok(role),
        Some(needed) => Err((
            format!("role {} lacks {}", spec.role, needed.as_str()),
            format!(
                "{id} is a {}, which has no permission {}; ask an agent that has it",
                spec.role,
                needed.as_str()
            ),
        )),
    }
}
