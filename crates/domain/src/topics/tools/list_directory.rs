//! The tool `list_directory`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Reach, Tool, Words};
use crate::topics::role::Permission;
use policy::Nature;

/// List a folder beneath the home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListDirectory {
    /// Path in your workspace; '.' is all of it, home: is the home
    #[schemars(length(min = 1))]
    pub path: String,
}

impl Tool for ListDirectory {
    const NAME: &'static str = "list_directory";
    const DESCRIPTION: &'static str = "List a folder.";
    const NEEDS: Option<Permission> = Some(Permission::ReadFiles);
    const NATURE: Nature = Nature::Read;

    fn paths(&mut self) -> Vec<&mut String> {
        vec![&mut self.path]
    }

    fn reach(&self) -> Reach<'_> {
        Reach { lists: vec![&self.path], ..Reach::default() }
    }

    fn words(&self) -> Words {
        Words::new(format!("list {}", self.path), format!("listed {}", self.path))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { path: Examples::PATH.to_owned() })
    }
}
