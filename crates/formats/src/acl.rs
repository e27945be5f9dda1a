//! `contexts/<id>.acl.yaml`: who may see a shared context, and what of it. Without a grant nobody does.

use domain::context::{Access, Acl, Grant, Grantee};
use domain::id::AgentId;

use crate::diagnostic::{Diagnostic, Notes, Read};
use crate::document::{Document, Refused, Value};
use crate::modeline::modeline;
use crate::scalar::{self, Around};
use crate::shape::{Shape, TEXTS, may, must};
use crate::time;
use crate::yaml::{self, Node, Style};

/// All that a file with grants may say.
pub(crate) const SHAPE: Shape = Shape::Record(&[
    may("owner", Shape::Id, "the agent that made the context; it has no rights beyond the grants"),
    must(
        "grants",
        Shape::List(&Shape::Record(&[
            may("agent", Shape::Id, "to this agent"),
            may("role", Shape::Text, "to every agent with this role"),
            may("access", Shape::Word(&["read", "read_write"]), "what for (read)"),
            may("redact", TEXTS, "fields of the JSON that are not shown, such as customer.email"),
            may("expires", Shape::Time, "when the grant ends; never if left out"),
        ])),
        "each to one agent or one role",
    ),
]);

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
        let owner = root.get_text("owner").map(AgentId::new);
        Some(Acl { owner, grants: grants.iter().map(grant).collect::<Option<_>>()? })
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

/// Why grants are not changed; the file is as it was.
#[derive(Debug, Clone, PartialEq)]
pub enum Unchanged {
    /// The file, or what would come of it, does not read.
    Broken(Vec<Diagnostic>),
    /// It is written in a way in which the change would touch more than was asked.
    Refused(Refused),
}

impl From<Refused> for Unchanged {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

/// A whole file with these grants.
pub fn print(acl: &Acl) -> String {
    let mut text = modeline("acl", 1);
    if let Some(owner) = &acl.owner {
        text.push_str(&format!("owner: {owner}\n"));
    }
    text.push_str(if acl.grants.is_empty() { "grants: []\n" } else { "grants:\n" });
    acl.grants.iter().for_each(|grant| text.push_str(&format!("  - {}\n", item(grant))));
    text
}

/// One grant on one line.
fn item(grant: &Grant) -> String {
    let word = |text: &str| scalar::print_inline(text, Style::Plain, Around::Brackets);
    let mut parts = vec![match &grant.to {
        Grantee::Agent(id) => format!("agent: {}", word(id.as_str())),
        Grantee::Role(role) => format!("role: {}", word(role)),
    }];
    parts.push(format!("access: {}", grant.access.as_str()));
    if !grant.redact.is_empty() {
        let fields: Vec<String> = grant.redact.iter().map(|field| word(field)).collect();
        parts.push(format!("redact: [{}]", fields.join(", ")));
    }
    if let Some(end) = grant.expires {
        parts.push(format!("expires: '{}'", time::print(end)));
    }
    format!("{{{}}}", parts.join(", "))
}

/// The text with a grant: the one that its grantee has becomes this one, further ones go, and if there is none it is
/// added at the end. Everything else stays as it is written.
pub fn give(path: &str, text: &str, grant: &Grant) -> Result<String, Unchanged> {
    let (mut document, acl) = open(path, text)?;
    let mut own = positions(&acl, &grant.to);
    let mut expected = acl.clone();
    match own.len() {
        0 => {
            document.push(&["grants"], "grant")?;
            let last = acl.grants.len().to_string();
            let found = document.get(&["grants", &last]).ok_or(Refused::NoPath)?;
            let (start, end) = (found.node.span.start, found.node.span.end);
            let text = document.text();
            let text = format!("{}{}{}", &text[..start], item(grant), &text[end..]);
            document = open(path, &text)?.0;
            expected.grants.push(grant.clone());
        }
        _ => {
            let first = own.remove(0);
            let index = first.to_string();
            document.set(&["grants", &index, "access"], grant.access.as_str())?;
            let end = grant.expires.map(time::print);
            set_or_remove(&mut document, &index, "expires", end.map(Value::from))?;
            let fields = (!grant.redact.is_empty()).then(|| Value::from(grant.redact.clone()));
            set_or_remove(&mut document, &index, "redact", fields)?;
            expected.grants[first] = grant.clone();
            for index in own.into_iter().rev() {
                document.remove(&["grants", &index.to_string()])?;
                expected.grants.remove(index);
            }
        }
    }
    as_expected(path, document.text(), &expected)
}

/// The text without any grant to `to`.
pub fn take(path: &str, text: &str, to: &Grantee) -> Result<String, Unchanged> {
    let (mut document, acl) = open(path, text)?;
    let own = positions(&acl, to);
    if own.len() == acl.grants.len() {
        // A list that is left without items is written as one.
        document.set(&["grants"], Value::List(Vec::new()))?;
    } else {
        for index in own.iter().rev() {
            document.remove(&["grants", &index.to_string()])?;
        }
    }
    let left = acl.grants.into_iter().filter(|grant| grant.to != *to).collect();
    as_expected(path, document.text(), &Acl { grants: left, ..acl })
}

fn open(path: &str, text: &str) -> Result<(Document, Acl), Unchanged> {
    let read = read(path, text);
    let Some(acl) = read.value else { return Err(Unchanged::Broken(read.diagnostics)) };
    let (document, diagnostics) = Document::parse(path, text);
    Ok((document.ok_or(Unchanged::Broken(diagnostics))?, acl))
}

fn positions(acl: &Acl, to: &Grantee) -> Vec<usize> {
    acl.grants.iter().enumerate().filter(|(_, grant)| grant.to == *to).map(|(index, _)| index).collect()
}

fn set_or_remove(
    document: &mut Document,
    index: &str,
    key: &str,
    value: Option<Value>,
) -> Result<(), Refused> {
    let path = ["grants", index, key];
    match value {
        Some(value) => document.set(&path, value),
        None if document.get(&path).is_some() => document.remove(&path),
        None => Ok(()),
    }
}

/// The text, if it grants what it should and nothing else.
fn as_expected(path: &str, text: &str, expected: &Acl) -> Result<String, Unchanged> {
    let read = read(path, text);
    match read.value {
        Some(acl) if acl == *expected => Ok(text.to_owned()),
        Some(_) => Err(Unchanged::Refused(Refused::NotReadBack { path: "grants".to_owned() })),
        None => Err(Unchanged::Broken(read.diagnostics)),
    }
}
