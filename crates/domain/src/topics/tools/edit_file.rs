//! The tool `edit_file`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Locked, Reach, Shown, Tool, Words};
use crate::topics::role::Permission;
use policy::Nature;

/// Replace text in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditFile {
    /// Path in your workspace, such as src/main.rs
    #[schemars(length(min = 1))]
    pub path: String,
    /// Exact text of the file, without line numbers
    pub old: String,
    /// Text in its place
    pub new: String,
    /// Replace every occurrence
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

impl Tool for EditFile {
    const NAME: &'static str = "edit_file";
    const DESCRIPTION: &'static str =
        "Replace text in a file. old must occur exactly once: give enough lines around it.";
    const NEEDS: Option<Permission> = Some(Permission::WriteFiles);
    // A repeated edit could change its own result: `old` may be part of `new`. The performer therefore compares a
    // repeated attempt with the file: it reports an edit that was made, makes one that was not, and fails if it cannot
    // know. It never edits twice, so a crash needs no person.
    const NATURE: Nature = Nature::Idempotent;

    fn paths(&mut self) -> Vec<&mut String> {
        vec![&mut self.path]
    }

    // An edit that fails shows lines of the file, and an edited file keeps most of what it held.
    fn reach(&self) -> Reach<'_> {
        Reach { reads: vec![&self.path], writes: vec![&self.path], ..Reach::default() }
    }

    fn locks(&self) -> Vec<Locked<'_>> {
        vec![Locked::Path(&self.path)]
    }

    fn words(&self) -> Words {
        Words::new(format!("edit {}", self.path), format!("edited {}", self.path))
    }

    fn shown(&self) -> Option<Shown> {
        let (title, label) = (format!("editing: {}", self.path), format!("Change of {}", self.path));
        let times = if self.all { "every occurrence" } else { "the only occurrence" };
        let mut text = format!("@@ {times} @@\n");
        for (sign, side) in [('-', &self.old), ('+', &self.new)] {
            for line in side.split_inclusive('\n') {
                text.push(sign);
                text.push_str(line.trim_end_matches('\n'));
                text.push('\n');
            }
        }
        text.truncate(text.trim_end_matches('\n').len());
        Some(Shown { language: "diff", ..Shown::text("file_edit", title, label, &text) })
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.places(|path| Self { path, old: "old".to_owned(), new: "new".to_owned(), all: false })
    }
}
