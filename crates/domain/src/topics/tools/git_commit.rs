//! The tool `git_commit`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Locked, Reach, Tool, Use, Words};
use crate::topics::role::Permission;
use policy::Nature;

/// Commit what changed in the agent's workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GitCommit {
    /// What changes in one line, then why
    #[schemars(length(min = 1, max = 10000))]
    pub message: String,
    /// Only these files and folders of your workspace; everything if left out
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000), inner(length(min = 1, max = 4096)))]
    pub paths: Vec<String>,
}

impl Tool for GitCommit {
    const NAME: &'static str = "git_commit";
    const DESCRIPTION: &'static str = "Commit what changed in your workspace.";
    const NEEDS: Option<Permission> = Some(Permission::ExecuteTools);
    /// The commit carries the effect's id, and is looked for before it is made again.
    const NATURE: Nature = Nature::Idempotent;

    fn paths(&mut self) -> Vec<&mut String> {
        self.paths.iter_mut().collect()
    }

    fn reach(&self) -> Reach<'_> {
        Reach { workspace: Some(Use::Branch), ..Reach::default() }
    }

    fn locks(&self) -> Vec<Locked<'_>> {
        vec![Locked::Repository]
    }

    fn words(&self) -> Words {
        let rest = format!("in its workspace: {}", self.message.lines().next().unwrap_or_default());
        Words::new(format!("commit {rest}"), format!("committed {rest}"))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { message: "a change".to_owned(), paths: Vec::new() })
    }
}
