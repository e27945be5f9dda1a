//! The tool `write_file`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Locked, Reach, Shown, Tool, Words};
use crate::topics::role::Permission;
use policy::Nature;

/// Write a whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteFile {
    /// Path in your workspace, such as src/main.rs
    #[schemars(length(min = 1))]
    pub path: String,
    /// The whole new text
    pub content: String,
}

impl Tool for WriteFile {
    const NAME: &'static str = "write_file";
    const DESCRIPTION: &'static str = "Write a whole text file and its missing folders.";
    const NEEDS: Option<Permission> = Some(Permission::WriteFiles);
    const NATURE: Nature = Nature::Idempotent;
    const WRITES_WHOLE: bool = true;
    const MAKES: bool = true;

    fn paths(&mut self) -> Vec<&mut String> {
        vec![&mut self.path]
    }

    fn reach(&self) -> Reach<'_> {
        Reach { writes: vec![&self.path], ..Reach::default() }
    }

    fn locks(&self) -> Vec<Locked<'_>> {
        vec![Locked::Path(&self.path)]
    }

    fn words(&self) -> Words {
        Words::new(format!("write {}", self.path), format!("wrote {}", self.path))
    }

    fn shown(&self) -> Option<Shown> {
        let (title, label) = (format!("writing: {}", self.path), format!("New text of {}", self.path));
        Some(Shown::text("file_write", title, label, &self.content))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.places(|path| Self { path, content: String::new() })
    }
}
