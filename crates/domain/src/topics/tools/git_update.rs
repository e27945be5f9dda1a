//! The tool `git_update`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Locked, Reach, Tool, Use, Words};
use crate::topics::role::Permission;
use policy::Nature;

/// Bring what others merged meanwhile into the agent's branch, in its workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GitUpdate {
    /// Instead, undo a merge that is not committed: your files become what they were before it
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub take_back: bool,
}

impl Tool for GitUpdate {
    const NAME: &'static str = "git_update";
    const DESCRIPTION: &'static str = "Bring what others merged meanwhile into your branch and your files: merges the branch that your \
        work shall go into (such as main) into your own. Use it when merge_branch found conflicts. \
        Commit your own work first. Without conflicts it makes the merge commit; with conflicts it names \
        the files, in which you then decide, run_tests, and git_commit makes the merge commit.";
    const NEEDS: Option<Permission> = Some(Permission::WriteFiles);
    /// A merge that is made, or under way, is found as such.
    const NATURE: Nature = Nature::Idempotent;

    fn reach(&self) -> Reach<'_> {
        Reach { workspace: Some(Use::Branch), ..Reach::default() }
    }

    fn locks(&self) -> Vec<Locked<'_>> {
        vec![Locked::Repository]
    }

    fn words(&self) -> Words {
        match self.take_back {
            false => Words::new("bring its branch up to date", "brought its branch up to date"),
            true => Words::new("take a merge back", "took a merge back"),
        }
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { take_back: false })
    }
}
