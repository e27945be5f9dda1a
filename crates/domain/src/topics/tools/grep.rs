//! The tool `grep`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Reach, Tool, Use, Words};
use crate::topics::role::Permission;
use policy::Nature;

/// Find lines by a regular expression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grep {
    /// Such as (?i)todo
    #[schemars(length(min = 1, max = 1000))]
    pub pattern: String,
    /// Such as src or home:memory; your workspace if left out
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub path: Option<String>,
    /// Such as *.rs or src/**/*.rs
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub glob: Option<String>,
    /// Lines around each
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 20))]
    pub context: Option<u32>,
    /// Only count
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count: bool,
}

impl Tool for Grep {
    const NAME: &'static str = "grep";
    const DESCRIPTION: &'static str = "Find lines by a regular expression.";
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
        let rest = format!("{} for /{}/", self.path.as_deref().unwrap_or("workspace"), self.pattern);
        Words::new(format!("search {rest}"), format!("searched {rest}"))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { pattern: "word".to_owned(), path: None, glob: None, context: None, count: false })
    }
}
