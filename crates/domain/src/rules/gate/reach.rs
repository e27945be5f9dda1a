//! Reach: which paths, contexts and people an act reaches.

use super::path::{readable, writable};
use super::{Asker, Case, Opinion};
use crate::topics::context;
use crate::topics::lock;
use crate::topics::role::Permission;
use crate::topics::tool::Reach;
use crate::words::id::{AgentId, LockName};
use crate::words::layout;
use policy::Risk;
use policy::path::beneath;

pub(super) fn inspect(case: &Case<'_>) -> Opinion {
    if let Some(advice) = case.seen.and_then(|seen| seen.refused.clone()) {
        return Opinion::Deny { rule: "the act is not offered here".to_owned(), advice };
    }
    let reach = case.act.reach();
    let writes = match check(case, &reach) {
        Ok(writes) => writes,
        Err((rule, advice)) => return Opinion::Deny { rule, advice },
    };
    let tool = case.act.tool();
    let writes = writes.iter().map(|path| of_writing(tool, path, &case.asker.spec.id));
    let speaks = reach.outward.map(|outward| Opinion::Ask {
        rule: format!("{tool} always asks"),
        risk: Risk::Medium,
        factors: vec![format!("speaks to people outside the home: {}", outward.to)],
    });
    let leaves = case.foreign().filter(|found| found.outward).map(|found| Opinion::Ask {
        rule: format!("{} always asks", found.name),
        risk: Risk::Medium,
        factors: vec!["reaches people or systems outside the home".to_owned()],
    });
    writes.chain(speaks).chain(leaves).reduce(Opinion::and).unwrap_or(Opinion::NONE)
}

/// Refuses what no agent reaches, whoever decides; else gives the plain form of the paths that the act writes.
fn check(case: &Case<'_>, reach: &Reach<'_>) -> Result<Vec<String>, (String, String)> {
    // A list has only names.
    for path in &reach.lists {
        readable(path)?;
    }
    for path in &reach.reads {
        open_to(case.asker, &readable(path)?)?;
    }
    let writes = reach.writes.iter().map(|path| writable(path)).collect::<Result<Vec<_>, _>>()?;
    for path in &writes {
        open_to(case.asker, path)?;
    }
    if let Some(name) = reach.lock {
        lockable(case, name)?;
    }
    match reach.context.filter(|name| !context::is_name(name)) {
        None => Ok(writes),
        Some(name) => Err((
            "contexts are named, not found by path".to_owned(),
            format!("{name:?} is no name of a context: use letters, digits, - and _ only"),
        )),
    }
}

/// Whether this agent may open the content of a path: credentials are for none, as in commands, and a conversation is for
/// its own agent.
pub(super) fn open_to(asker: &Asker<'_>, path: &str) -> Result<(), (String, String)> {
    if policy::command::is_secret(path) {
        return Err((
            "credentials are closed to agents".to_owned(),
            format!("{path} holds credentials, which no tool and no command opens"),
        ));
    }
    if layout::is_others_session(path, &asker.spec.id) {
        return Err((
            "conversations of others are closed to file tools".to_owned(),
            format!("{path} is not a conversation of {}; use list_sessions and read_session", asker.spec.id),
        ));
    }
    Ok(())
}

fn of_writing(tool: &str, path: &str, agent: &AgentId) -> Opinion {
    let own = format!("workspaces/{agent}");
    if beneath(path, &own) {
        return Opinion::Fine(Some("its own workspace".to_owned()));
    }
    Opinion::Ask {
        rule: format!("{tool} outside the workspace asks"),
        risk: Risk::Medium,
        factors: vec![format!("writes {path}, outside the agent's workspace {own}/")],
    }
}

/// An agent that locks a file keeps others from writing it, so it must be a file that it could write itself.
fn lockable(case: &Case<'_>, name: &str) -> Result<(), (String, String)> {
    let Some(path) = name.trim().strip_prefix(lock::FILE) else { return Ok(()) };
    let asker = case.asker;
    if !asker.role.is_some_and(|role| role.permissions.contains(&Permission::WriteFiles)) {
        let rule = format!("role {} lacks {}", asker.spec.role, Permission::WriteFiles.as_str());
        return Err((rule, "who may not write files does not lock them".to_owned()));
    }
    let plain = lock::name(name).unwrap_or_else(|_| LockName::new(path));
    writable(plain.as_str().trim_start_matches(lock::FILE)).map(|_| ())
}
