//! The tool `move_file`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Locked, Reach, Shown, Tool, Words};
use crate::topics::role::Permission;
use policy::Nature;

/// Move or rename a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveFile {
    /// Path of the file in your workspace
    #[schemars(length(min = 1))]
    pub from: String,
    /// Its new path
    #[schemars(length(min = 1))]
    pub to: String,
    /// Replace what is there
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
}

impl Tool for MoveFile {
    const NAME: &'static str = "move_file";
    const DESCRIPTION: &'static str = "Move or rename a file.";
    const NEEDS: Option<Permission> = Some(Permission::WriteFiles);
    const NATURE: Nature = Nature::Idempotent;
    const FOLLOWS_LINKS: bool = false;
    const MAKES: bool = true;

    fn paths(&mut self) -> Vec<&mut String> {
        vec![&mut self.from, &mut self.to]
    }

    fn reach(&self) -> Reach<'_> {
        Reach { reads: vec![&self.from], writes: vec![&self.from, &self.to], ..Reach::default() }
    }

    fn locks(&self) -> Vec<Locked<'_>> {
        vec![Locked::Path(&self.from), Locked::Path(&self.to)]
    }

    fn words(&self) -> Words {
        let rest = format!("{} to {}", self.from, self.to);
        Words::new(format!("move {rest}"), format!("moved {rest}"))
    }

    fn shown(&self) -> Option<Shown> {
        let replaces = if self.replace { "\nreplaces what is there" } else { "" };
        let text = format!("{}\nto {}{replaces}", self.from, self.to);
        Some(Shown::text("file_move", format!("moving: {} to {}", self.from, self.to), "File to move", &text))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.places(|to| Self { from: format!("workspaces/{}/draft.md", at.agent), to, replace: false })
    }
}
