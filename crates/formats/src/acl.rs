//! `contexts/<id>.acl.yaml`: who may see a shared context, and what of it. Without a grant nobody does.

use domain::context::{Access, Acl, Grant, Grantee};
use domain::id::AgentId;

use crate::diagnostic::{Notes, Read};
use crate::shape::{Shape, TEXTS, may, must};
use crate::time;
use crate::yaml::{self, Node};

/// All that a file with grants may say.
pub(crate) const SHAPE: Shape = Shape::Record(&[must(
    "grants",
    Shape::List(&Shape::Record(&[
        may("agent", Shape::Id, "to this agent"),
        may("role", Shape::Text, "to every agent with this role"),
        may("access", Shape::Word(&["read", "read_write"]), "what for (read)"),
        may("redact", TEXTS, "fields of the JSON that are not shown, such as customer.email"),
        may("expires", Shape::Time, "when the grant ends; never if left out"),
    ])),
    "each to one agent or one role",
)]);

/// Reads a file with grants. An empty one grants nothing.
pub fn read(path: &str, text: &str) -> Read<Acl> {
    let mut notes = Notes::new(path, text);
    let value = yaml::parse(text, &mut notes).and_then(|root| {
        if root.is_null() {
            return Some(Acl::default());
        }
        SHAPE.check(&root, &mut notes);
        let grants = root.get("grants").map(Node::items).unwrap_or_default();
        grants.iter().for_each(|node| check(node, &mut notes));
        if notes.failed() {
            return None;
        }
        Some(Acl { grants: grants.iter().map(grant).collect::<Option<_>>()? })
    });
    notes.finish(value)
}

fn check(node: &Node, notes: &mut Notes<'_>) {
    if node.get("agent").is_some() == node.get("role").is_some() && !node.entries().is_empty() {
        let at = node.span.start..node.span.start;
        notes.error(at, "a grant names either `agent` or `role`");
    }
    for field in node.get("redact").map(Node::items).unwrap_or_default() {
        if field.text().is_some_and(|text| text.split('.').any(str::is_empty)) {
            let help = "write the names of fields with a dot in between, such as customer.email";
            notes.error_with(field.span.clone(), "a field has a name", Some(help.to_owned()));
        }
    }
}

fn grant(node: &Node) -> Option<Grant> {
    let agent = node.get_text("agent").map(|id| Grantee::Agent(AgentId::new(id)));
    Some(Grant {
        to: agent.or_else(|| node.get_text("role").map(Grantee::Role))?,
        access: match node.get("access").and_then(Node::text) {
            Some("read_write") => Access::ReadWrite,
            _ => Access::Read,
        },
        redact: node.get_texts("redact").unwrap_or_default(),
        expires: node.get("expires").and_then(Node::text).and_then(time::parse),
    })
}
