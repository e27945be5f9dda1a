//! The tool `summarize`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Reach, Tool, Words};
use crate::topics::role::Permission;
use policy::Nature;

/// Let a model without tools sum up a text or files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Summarize {
    /// Files to sum up
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10), inner(length(min = 1, max = 4096)))]
    pub paths: Vec<String>,
    /// Text to sum up
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200000))]
    pub text: Option<String>,
    /// What matters in it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2000))]
    pub focus: Option<String>,
}

impl Tool for Summarize {
    const NAME: &'static str = "summarize";
    const DESCRIPTION: &'static str = "Have a model without tools sum up files or a text.";
    const NEEDS: Option<Permission> = Some(Permission::ReadFiles);
    const NATURE: Nature = Nature::Read;

    fn paths(&mut self) -> Vec<&mut String> {
        self.paths.iter_mut().collect()
    }

    fn reach(&self) -> Reach<'_> {
        Reach { reads: self.paths.iter().map(String::as_str).collect(), ..Reach::default() }
    }

    fn words(&self) -> Words {
        let what = if self.paths.is_empty() { "a text".to_owned() } else { self.paths.join(", ") };
        Words::new(format!("sum up {what}"), format!("summed up {what}"))
            .about(self.focus.clone().unwrap_or_default())
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { paths: vec![Examples::PATH.to_owned()], text: None, focus: None })
    }
}
