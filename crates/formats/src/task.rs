//! `tasks/*.task.md`: tasks as a list that people write by hand. A lossless document: every line that is not
//! a task is kept and not read.

mod add;
mod apart;
mod edit;
mod head;
mod item;
mod line;
mod parse;
mod print;

use std::ops::Range;

use domain::id::{AgentId, TaskId};
use domain::task::{Mark, Priority, Spec};

pub use add::New;
pub use parse::bytes_read;

use crate::diagnostic::{Diagnostic, Notes, suggest};
use crate::shape::{Shape, may};

/// The file whose open boxes are printed as `[_]`: people look for the box there.
pub(crate) const QUEUE_FILE: &str = "approvals.task.md";

/// A task file: its text and the tasks in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFile {
    path: String,
    // `items` always is the parse of `text`.
    text: String,
    items: Vec<TaskItem>,
}

/// One task of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskItem {
    /// `id:`, if it has a good one.
    pub id: Option<TaskId>,
    /// The box.
    pub mark: Mark,
    /// One line, without its quotes.
    pub title: String,
    /// The letter.
    pub priority: Option<Priority>,
    /// `@agent`.
    pub assignee: Option<AgentId>,
    /// `#words`, without the `#`.
    pub tags: Vec<String>,
    /// All properties in the order of the file, those that Synod knows included.
    pub properties: Vec<(String, String)>,
    /// Where it starts, from 1.
    pub line: usize,
    /// Where it starts, from 1, in characters.
    pub column: usize,
    /// The bytes of its lines, without those of its children.
    pub span: Range<usize>,
    /// The task it is indented below, as an index of [`TaskFile::tasks`].
    pub parent: Option<usize>,
    /// Where its parts stand.
    pub parts: Parts,
}

/// Where the parts of a task stand, as bytes of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parts {
    /// The first line without its end.
    pub head: Range<usize>,
    /// The white space before the bullet.
    pub indent: Range<usize>,
    /// What stands between the brackets.
    pub mark: Range<usize>,
    /// The letter.
    pub priority: Option<Range<usize>>,
    /// `@agent` with its `@`.
    pub assignee: Option<Range<usize>>,
    /// Each `#tag` with its `#`.
    pub tags: Vec<Range<usize>>,
    /// The title with its quotes.
    pub title: Range<usize>,
    /// The parts of each property, in the order of [`TaskItem::properties`].
    pub properties: Vec<PropertyParts>,
    /// The end of the last line of the task and everything below it.
    pub subtree_end: usize,
}

/// Where a property stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PropertyParts {
    /// White space and bullet before the key.
    pub prefix: Range<usize>,
    /// The key.
    pub key: Range<usize>,
    /// From behind the colon to the end of the value, a block's lines included, without the last line end.
    pub value: Range<usize>,
    /// All its lines with their ends.
    pub lines: Range<usize>,
}

impl TaskFile {
    /// Reads a task file. It always gives a document; lines that look like tasks but are none are among the
    /// diagnostics.
    pub fn parse(path: &str, text: &str) -> (Self, Vec<Diagnostic>) {
        let (items, diagnostics) = parse::parse(path, text);
        (Self { path: path.to_owned(), text: text.to_owned(), items }, diagnostics)
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The path it was read from.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The tasks in the order of the file.
    pub fn tasks(&self) -> &[TaskItem] {
        &self.items
    }

    /// The place of a task among [`Self::tasks`].
    pub fn find(&self, id: &TaskId) -> Option<usize> {
        self.items.iter().position(|t| t.id.as_ref() == Some(id))
    }

    /// The complaint that the task at `index` and others wait for each other, where it says so.
    pub fn cycle(&self, index: usize, names: &str) -> Vec<Diagnostic> {
        let mut notes = Notes::new(&self.path, &self.text);
        if let Some(item) = self.items.get(index) {
            item.note_cycle(names, &mut notes);
        }
        notes.into_list()
    }

    /// The complaint that the agent of the task at `index` cannot work, where it is named.
    pub fn stranger<'a>(
        &self,
        index: usize,
        message: String,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Vec<Diagnostic> {
        let mut notes = Notes::new(&self.path, &self.text);
        let item = self.items.get(index);
        if let Some((item, agent)) = item.and_then(|item| Some((item, item.assignee.as_ref()?))) {
            let help = suggest(agent.as_str(), known);
            notes.error_with(item.parts.assignee.clone().unwrap_or_default(), message, help);
        }
        notes.into_list()
    }

    /// The complaint that nobody takes the task at `index`.
    pub fn nobody(&self, index: usize, message: &str, help: &str) -> Vec<Diagnostic> {
        let mut notes = Notes::new(&self.path, &self.text);
        if let Some(item) = self.items.get(index) {
            notes.error_with(item.parts.title.clone(), message.to_owned(), Some(help.to_owned()));
        }
        notes.into_list()
    }

    /// What the file says of the task at `index`. Without an `id:` it gets `fallback_id`; without a `parent:`
    /// it is a part of the task that it is indented below.
    pub fn spec(&self, index: usize, fallback_id: TaskId) -> Option<Spec> {
        let item = self.items.get(index)?;
        let mut spec = item.spec(&self.path, fallback_id);
        if spec.parent.is_none() {
            spec.parent = item.parent.and_then(|p| self.items.get(p)).and_then(|p| p.id.clone());
        }
        Some(spec)
    }
}

/// The properties that Synod reads; there may be others.
pub(crate) const SHAPE: Shape = Shape::Open(&[
    may("id", Shape::Id, "unique in the home; added if left out"),
    may("tag", Shape::Text, "the kind of work, such as ops:check"),
    may("parent", Shape::Id, "the task it is a part of"),
    may("depends_on", Shape::Either(&[Shape::List(&Shape::Id), Shape::Text]), "tasks that must end first"),
    may("approval_required", Shape::Bool, "every call with an effect is asked for"),
    may(
        "done_when",
        Shape::Text,
        "evidence that Synod must see, one piece a line: `command: …`, `file: …`, `schema: <schema> <file>`, `approval`",
    ),
    may("description", Shape::Text, "details"),
    may("result", Shape::Text, "what came of it; written by Synod"),
]);
