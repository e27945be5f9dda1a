//! The tool `delete_file`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Locked, Reach, Shown, Tool, Words};
use crate::topics::role::Permission;
use policy::Nature;

/// Delete a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteFile {
    /// Path in your workspace, such as src/main.rs
    #[schemars(length(min = 1))]
    pub path: String,
}

impl Tool for DeleteFile {
    const NAME: &'static str = "delete_file";
    const DESCRIPTION: &'static str = "Delete a file.";
    const NEEDS: Option<Permission> = Some(Permission::WriteFiles);
    const NATURE: Nature = Nature::Idempotent;
    const FOLLOWS_LINKS: bool = false;

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
        Words::new(format!("delete {}", self.path), format!("deleted {}", self.path))
    }

    fn shown(&self) -> Option<Shown> {
        Some(Shown::text("file_delete", format!("deleting: {}", self.path), "File to delete", &self.path))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.places(|path| Self { path })
    }
}
