//! Shared contexts that were granted to the agent: what `context_get` would give it in this conversation, and nothing
//! else.

use domain::context::{self, Access, is_name};
use domain::label;
use domain::layout;

use super::piece::{Asker, Piece, names};
use crate::contexts::{Store, view};
use crate::redact::redacted;

/// The ending of the file with the grants.
const ACL: &str = layout::GRANTS_END;

/// The contexts that the agent may see, by name.
pub(super) fn contexts(asker: &Asker<'_>) -> Vec<Piece> {
    if asker.grants_role.is_none() {
        return Vec::new();
    }
    let Ok(store) = Store::open(asker.root.path()) else { return Vec::new() };
    let found = names(asker.root, "contexts", ACL);
    let stems = found.iter().filter_map(|name| name.strip_suffix(ACL)).filter(|stem| is_name(stem));
    stems.filter_map(|stem| piece(asker, &store, stem)).collect()
}

fn piece(asker: &Asker<'_>, store: &Store, name: &str) -> Option<Piece> {
    let who = context::Asker { agent: &asker.agent.id, role: asker.grants_role, line: asker.line };
    // Grants that do not read grant nothing; `synod check` says what is wrong with them.
    let acl = store.grants(name).ok()??.acl;
    let granted = acl.judge(who, name, Access::Read, asker.now).ok()?;
    let content = store.content(name).ok()??;
    if !label::of_place(asker.labels, &content.path).readers.include(&asker.agent.id) {
        return None;
    }
    // What cannot be hidden is not shown.
    let shown = redacted(view(&granted, &content).ok()?);
    let path = content.path;
    let words = format!("A shared context, granted to you for {}: {path}.", granted.access.as_str());
    Some(Piece { read: vec![path.clone()], path, words, content: shown })
}
