//! The tool `git_diff`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Reach, Tool, Use, Words};
use crate::topics::role::Permission;
use policy::Nature;

/// Show what changed in the agent's workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GitDiff {
    /// Only this file or folder of your workspace
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub path: Option<String>,
    /// Another commit or branch, such as main
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub against: Option<String>,
}

impl Tool for GitDiff {
    const NAME: &'static str = "git_diff";
    const DESCRIPTION: &'static str = "Show what differs from your last commit.";
    const NEEDS: Option<Permission> = Some(Permission::ExecuteTools);
    const NATURE: Nature = Nature::Read;

    fn paths(&mut self) -> Vec<&mut String> {
        self.path.iter_mut().collect()
    }

    fn reach(&self) -> Reach<'_> {
        Reach { workspace: Some(Use::Looks), ..Reach::default() }
    }

    fn words(&self) -> Words {
        let rest = "at what changed in its workspace";
        Words::new(format!("look {rest}"), format!("looked {rest}"))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { path: None, against: None })
    }
}
