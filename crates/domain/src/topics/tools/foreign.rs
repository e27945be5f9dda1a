//! Tools that are not known when Synod is built: those that a foreign server offers. Their facts come in by an input and are
//! kept in the state, so that a replay judges as the first run did. A call of a tool without facts is denied.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Reach, Tool, Words, facts};
use crate::topics::role::Permission;
use policy::Nature;

/// What stands between the name of a server and the name of its tool. No tool of Synod has it in its name.
pub const SEPARATOR: &str = "__";
/// The longest name that all providers of models take.
const NAME_BYTES_MAX: usize = 64;

/// Call a tool of a foreign server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Foreign {
    /// The server.
    pub server: String,
    /// The name by which models call the tool: `<server>__<name at the server>`.
    pub tool: String,
    /// As the server's schema wants them.
    pub arguments: Value,
}

impl Tool for Foreign {
    const NAME: &'static str = "foreign";
    const NATURE: Nature = Nature::Once;

    fn name(&self) -> &str {
        &self.tool
    }

    fn reach(&self) -> Reach<'_> {
        Reach { server: Some(&self.server), ..Reach::default() }
    }

    fn words(&self) -> Words {
        Words::new(format!("use {}", self.tool), format!("used {}", self.tool))
    }
}

/// The facts about one tool of a foreign server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The name by which models call it: `<server>__<name at the server>`.
    pub name: String,
    /// What it is for, for models.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Value,
    /// The permission that a role must have for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Permission>,
    /// What repeating it would do.
    pub nature: Nature,
    /// Whether it speaks to people or systems outside the home; then a person is always asked.
    pub outward: bool,
}

impl Offer {
    /// The act that calls it.
    pub fn call(&self, arguments: Value) -> Foreign {
        let server = server_of(&self.name).unwrap_or_default().to_owned();
        Foreign { server, tool: self.name.clone(), arguments }
    }
}

/// The facts about the tools of all foreign servers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Known(BTreeMap<String, Vec<Offer>>);

impl Known {
    /// Whether no server offers anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The tools of a server.
    pub fn of(&self, server: &str) -> &[Offer] {
        self.0.get(server).map_or(&[], Vec::as_slice)
    }

    /// The facts about the tool that an act calls.
    pub fn facts(&self, act: &Foreign) -> Option<&Offer> {
        self.of(&act.server).iter().find(|found| found.name == act.tool)
    }

    /// The facts about all tools.
    pub fn all(&self) -> impl Iterator<Item = &Offer> {
        self.0.values().flatten()
    }

    /// The facts about a tool by its name; `None` if no server offers it.
    pub fn find(&self, name: &str) -> Option<&Offer> {
        self.of(server_of(name)?).iter().find(|found| found.name == name)
    }

    /// A server offers exactly these tools from now on.
    pub(crate) fn replace(&mut self, server: &str, tools: &[Offer]) {
        match tools {
            [] => _ = self.0.remove(server),
            tools => _ = self.0.insert(server.to_owned(), tools.to_vec()),
        }
    }
}

/// The tools of a server that can be called: their names are such that models can write them, begin with the server's, and
/// none is the name of a tool of Synod.
pub(crate) fn usable(server: &str, tools: &[Offer]) -> Vec<Offer> {
    let is_own = |name: &str| {
        let rest = name.strip_prefix(server).and_then(|rest| rest.strip_prefix(SEPARATOR));
        !server.is_empty() && !server.contains(SEPARATOR) && rest.is_some_and(|rest| !rest.is_empty())
    };
    let is_writable = |name: &str| {
        name.len() <= NAME_BYTES_MAX && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
    };
    let is_usable = |found: &&Offer| {
        let name = found.name.as_str();
        is_own(name) && is_writable(name) && facts(name).is_none() && found.schema.is_object()
    };
    tools.iter().filter(is_usable).cloned().collect()
}

/// The server that a name of a tool names, if it is that of a foreign tool.
pub fn server_of(name: &str) -> Option<&str> {
    name.split_once(SEPARATOR).map(|(server, _)| server)
}
