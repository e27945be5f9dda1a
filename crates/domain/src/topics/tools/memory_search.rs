//! The tool `memory_search`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Reach, Tool, Words};
use crate::topics::role::Permission;
use crate::words::layout;
use policy::Nature;

/// Find text in memory, the best first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemorySearch {
    /// Words; "in quotes" they must stand beside each other
    #[schemars(length(min = 1, max = 1000))]
    pub query: String,
    /// Most files; 20 if left out
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub limit: Option<u32>,
}

impl Tool for MemorySearch {
    const NAME: &'static str = "memory_search";
    const DESCRIPTION: &'static str = "Full-text search in the team's memory, the best files first.";
    const NEEDS: Option<Permission> = Some(Permission::ReadFiles);
    const NATURE: Nature = Nature::Read;

    fn reach(&self) -> Reach<'_> {
        Reach { reads: vec![layout::MEMORY], ..Reach::default() }
    }

    fn words(&self) -> Words {
        Words::new(
            format!("search memory for \"{}\"", self.query),
            format!("searched memory for \"{}\"", self.query),
        )
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { query: "word".to_owned(), limit: None })
    }
}
