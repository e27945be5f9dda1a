//! The tool `create_directory`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Locked, Reach, Shown, Tool, Words};
use crate::topics::role::Permission;
use policy::Nature;

/// Make a folder and those above it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateDirectory {
    /// Path in your workspace; home: and a path names the rest
    #[schemars(length(min = 1))]
    pub path: String,
}

impl Tool for CreateDirectory {
    const NAME: &'static str = "create_directory";
    const DESCRIPTION: &'static str = "Make a folder and those above it.";
    const NEEDS: Option<Permission> = Some(Permission::WriteFiles);
    const NATURE: Nature = Nature::Idempotent;
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
        Words::new(format!("make the folder {}", self.path), format!("made the folder {}", self.path))
    }

    fn shown(&self) -> Option<Shown> {
        Some(Shown::text("directory", format!("folder: {}", self.path), "Folder", &self.path))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.places(|path| Self { path })
    }
}
