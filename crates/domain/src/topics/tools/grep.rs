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
    /// A regular expression that a line must match, such as fn \\w+_file or (?i)todo
    #[schemars(length(min = 1, max = 1000))]
    pub pattern: String,
    /// Folder or file to search, such as src or home:memory; your own workspace if left out
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub path: Option<String>,
    /// Only files whose name matches, such as *.rs or *.{c,h}; with a slash, the path must match, such as src/**/*.rs
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub glob: Option<String>,
    /// Show so many lines before and after each line
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 20))]
    pub context: Option<u32>,
    /// Show how many lines match in each file, and no lines
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count: bool,
}

impl Tool for Grep {
    const NAME: &'static str = "grep";
    const DESCRIPTION: &'static str = "Find lines by a regular expression, as path:line: text; lines of context are path-line- text. \
        There are no look-arounds or back-references. What is left out is said at the end of a file and of the result.";
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
