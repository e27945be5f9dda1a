//! The tool `search_files`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Reach, Tool, Use, Words};
use crate::topics::role::Permission;
use policy::Nature;

/// Find text in files, the best first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchFiles {
    /// Words; "in quotes" they must stand beside each other
    #[schemars(length(min = 1, max = 1000))]
    pub query: String,
    /// Folder or file to search, such as src or home:inbox; memory and your own workspace if left out
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub path: Option<String>,
}

impl Tool for SearchFiles {
    const NAME: &'static str = "search_files";
    const DESCRIPTION: &'static str =
        "Full-text search for words in any form, the best files first, as file:line: line.";
    const NEEDS: Option<Permission> = Some(Permission::ReadFiles);
    const NATURE: Nature = Nature::Read;

    fn paths(&mut self) -> Vec<&mut String> {
        self.path.iter_mut().collect()
    }

    fn reach(&self) -> Reach<'_> {
        match &self.path {
            Some(path) => Reach { reads: vec![path], ..Reach::default() },
            None => Reach { workspace: Some(Use::Looks), ..Reach::default() },
        }
    }

    fn words(&self) -> Words {
        let rest =
            format!("{} for \"{}\"", self.path.as_deref().unwrap_or("memory and workspace"), self.query);
        Words::new(format!("search {rest}"), format!("searched {rest}"))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { query: "word".to_owned(), path: None })
    }
}
