//! Reach: which paths, contexts and people an act reaches.

use super::path::{readable, writable};
use super::{Asker, Case, Opinion};
use crate::topics::context;
use crate::topics::lock;
use crate::topics::role::Permission;
use crate::topics::tool::{
    Act, ContextGet, ContextPut, CreateDirectory, EmailSend, Extract, ListDirectory, Lock, ReadFile,
    SearchFiles, SlackSend, WriteFile,
};
use crate::words::id::LockName;
use crate::words::layout;
use policy::Risk;
use policy::path::beneath;

pub(super) fn inspect(case: &Case<'_>) -> Opinion {
    if let Some(advice) = case.seen.and_then(|seen| seen.refused.clone()) {
        return Opinion::Deny { rule: "the act is not offered here".to_owned(), advice };
    }
    match case.act {
        // A list has only names.
        Act::ListDirectory(ListDirectory { path }) => Opinion::of(readable(path).map(|_| ())),
        Act::ReadFile(ReadFile { path, .. }) | Act::Extract(Extract { path, .. }) => {
            Opinion::of(openable(case, path))
        }
        Act::SearchFiles(SearchFiles { path, .. }) => {
            Opinion::of(openable(case, path.as_deref().unwrap_or("memory")))
        }
        Act::WriteFile(WriteFile { path, .. }) | Act::CreateDirectory(CreateDirectory { path }) => {
            match writable_by(case, path) {
                Ok(path) => of_writing(&path, &format!("workspaces/{}", case.asker.spec.id)),
                Err((rule, advice)) => Opinion::Deny { rule, advice },
            }
        }
        Act::Lock(Lock { name, .. }) => Opinion::of(lockable(case, name)),
        Act::ContextGet(ContextGet { context: name, .. })
        | Act::ContextPut(ContextPut { context: name, .. })
            if !context::is_name(name) =>
        {
            let advice = format!("{name:?} is no name of a context: use letters, digits, - and _ only");
            Opinion::Deny { rule: "contexts are named, not found by path".to_owned(), advice }
        }
        Act::SlackSend(SlackSend { channel: whom, .. }) | Act::EmailSend(EmailSend { to: whom, .. }) => {
            Opinion::Ask {
                rule: format!("{} always asks", case.act.tool()),
                risk: Risk::Medium,
                factors: vec![format!("speaks to people outside the home: {whom}")],
            }
        }
        _ => Opinion::NONE,
    }
}

fn openable(case: &Case<'_>, path: &str) -> Result<(), (String, String)> {
    open_to(case.asker, &readable(path)?)
}

fn writable_by(case: &Case<'_>, path: &str) -> Result<String, (String, String)> {
    let path = writable(path)?;
    open_to(case.asker, &path)?;
    Ok(path)
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

fn of_writing(path: &str, own: &str) -> Opinion {
    if beneath(path, own) {
        return Opinion::Fine(Some("its own workspace".to_owned()));
    }
    Opinion::Ask {
        rule: "write_file outside the workspace asks".to_owned(),
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
