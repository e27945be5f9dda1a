//! The tool `read_file`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Reach, Tool, Words};
use crate::topics::role::Permission;
use policy::Nature;

/// Read a text file beneath the home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadFile {
    /// Path in your workspace, such as src/main.rs; the rest of the home is home:memory/redis.md
    #[schemars(length(min = 1))]
    pub path: String,
    /// First line
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000000000))]
    pub from_line: Option<u64>,
    /// Most lines
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000000))]
    pub lines: Option<u64>,
}

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    const DESCRIPTION: &'static str = "Read a text file, with line numbers.";
    const NEEDS: Option<Permission> = Some(Permission::ReadFiles);
    const NATURE: Nature = Nature::Read;

    fn paths(&mut self) -> Vec<&mut String> {
        vec![&mut self.path]
    }

    fn reach(&self) -> Reach<'_> {
        Reach { reads: vec![&self.path], ..Reach::default() }
    }

    fn words(&self) -> Words {
        Words::same(format!("read {}", self.path))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { path: Examples::PATH.to_owned(), from_line: None, lines: None })
    }
}
