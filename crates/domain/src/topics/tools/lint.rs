//! The tool `lint`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Reach, Runs, Tool, Use, Words};
use crate::topics::review::Check;
use crate::topics::role::Permission;
use policy::Nature;

/// Run the checks that the owner set for the agent's workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lint {}

impl Tool for Lint {
    const NAME: &'static str = "lint";
    const DESCRIPTION: &'static str = "Run the checks of your workspace.";
    const NEEDS: Option<Permission> = Some(Permission::ExecuteTools);
    const NATURE: Nature = Nature::Idempotent;

    fn reach(&self) -> Reach<'_> {
        Reach { workspace: Some(Use::Changes), ..Reach::default() }
    }

    fn runs(&self) -> Runs<'_> {
        Runs::OwnersCommand(Check::Lint)
    }

    fn words(&self) -> Words {
        Words::new("run the checks", "ran the checks")
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self {})
    }
}
