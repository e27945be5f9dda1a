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
    /// Undo a merge that is not committed
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub take_back: bool,
}

impl Tool for GitUpdate {
    const NAME: &'static str = "git_update";
    const DESCRIPTION: &'static str = "Merge the branch that your work goes into, such as main, into yours. Commit your own work first. In \
        case of a conflict it names the files: decide in them, run_tests, then git_commit makes the merge commit.";
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
