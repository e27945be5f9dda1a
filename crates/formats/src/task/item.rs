//! A task as the domain knows it.

use std::ops::Range;

use domain::id::TaskId;
use domain::task::Spec;

use super::TaskItem;
use crate::diagnostic::Notes;

/// The properties that have a place of their own in a spec.
const KNOWN: [&str; 6] = ["id", "tag", "parent", "depends_on", "approval_required", "description"];

impl TaskItem {
    /// The value of a property.
    pub fn property(&self, key: &str) -> Option<&str> {
        self.properties.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// Where the value of a property stands; the title, if there is none.
    pub(crate) fn property_span(&self, key: &str) -> Range<usize> {
        let at = self.properties.iter().position(|(k, _)| k == key);
        let parts = at.and_then(|i| self.parts.properties.get(i));
        parts.map_or(self.parts.title.clone(), |p| (p.value.start + 1).min(p.value.end)..p.value.end)
    }

    /// Says that the task and others wait for each other.
    pub(crate) fn note_cycle(&self, names: &str, notes: &mut Notes<'_>) {
        let message = format!("the tasks wait for each other: {names}");
        let help = Some("take one `depends_on` out".to_owned());
        notes.error_with(self.property_span("depends_on"), message, help);
    }

    /// What the item itself says; see [`super::TaskFile::spec`] for a parent that is only shown by indentation.
    pub fn spec(&self, file: &str, fallback_id: TaskId) -> Spec {
        let text = |key: &str| self.property(key).filter(|v| !v.is_empty()).map(str::to_owned);
        let others = self.properties.iter().filter(|(k, _)| !KNOWN.contains(&k.as_str()));
        Spec {
            id: self.id.clone().unwrap_or(fallback_id),
            file: file.to_owned(),
            title: self.title.clone(),
            text: text("description").unwrap_or_default(),
            assignee: self.assignee.clone(),
            priority: self.priority,
            tags: self.tags.clone(),
            tag: text("tag"),
            parent: text("parent").and_then(|t| TaskId::parse(&t).ok()),
            depends_on: ids(self.property("depends_on").unwrap_or_default())
                .filter_map(|t| TaskId::parse(t).ok())
                .collect(),
            approval_required: self.property("approval_required") == Some("true"),
            properties: others.cloned().collect(),
        }
    }
}

/// The ids of `a, b`, `[a, b]` or `a b`.
pub(crate) fn ids(value: &str) -> impl Iterator<Item = &str> {
    let inner = value.trim().strip_prefix('[').and_then(|v| v.strip_suffix(']')).unwrap_or(value);
    inner
        .split(|c: char| c == ',' || c.is_whitespace())
        .map(|t| t.trim_matches(['"', '\'', '`']))
        .filter(|t| !t.is_empty())
}
