//! The tool `run_tests`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Reach, Runs, Tool, Use, Words};
use crate::topics::review::Check;
use crate::topics::role::Permission;
use policy::Nature;

/// Run the tests that the owner set for the agent's workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunTests {}

impl Tool for RunTests {
    const NAME: &'static str = "run_tests";
    const DESCRIPTION: &'static str = "Run the tests of your workspace.";
    const NEEDS: Option<Permission> = Some(Permission::ExecuteTools);
    const NATURE: Nature = Nature::Idempotent;

    fn reach(&self) -> Reach<'_> {
        Reach { workspace: Some(Use::Changes), ..Reach::default() }
    }

    fn runs(&self) -> Runs<'_> {
        Runs::OwnersCommand(Check::Test)
    }

    fn words(&self) -> Words {
        Words::new("run the tests", "ran the tests")
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self {})
    }
}
