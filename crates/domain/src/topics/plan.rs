//! Plans: a request split into tagged tasks that wait for each other. Here is what must be so before one is made; all that
//! is wrong is told at once, so that whoever plans can mend it in one go.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::topics::task::Priority;
use crate::words::id::AgentId;

/// The tool by which a plan is made.
pub const TOOL: &str = "create_plan";
/// The property of a task that names the task whose yes its plan waits for.
pub const HELD_BY: &str = "held_by";
/// The most tasks of one plan.
pub const STEPS_MAX: usize = 50;

/// One task of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Short name in this plan, for `after`
    #[schemars(regex(pattern = r"^[a-z][a-z0-9-]{0,62}$"))]
    pub id: String,
    /// One line
    #[schemars(length(min = 1, max = 500), regex(pattern = r"^[^\r\n]+$"))]
    pub title: String,
    /// All that is needed for it: nothing else of this conversation is seen
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 20000))]
    pub description: String,
    /// Kind of work, such as code:feature; decides who does it
    #[schemars(length(min = 1, max = 200))]
    pub tag: String,
    /// Id of the agent, in place of what the tag decides
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = r"^[a-z][a-z0-9-]{0,62}$"))]
    pub assignee: Option<AgentId>,
    /// Tasks of this plan that must end first
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50), inner(length(min = 1, max = 63)))]
    pub after: Vec<String>,
    /// A is first
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("enum" = ["A", "B", "C", "D", "E", "F"]))]
    pub priority: Option<Priority>,
    /// As in create_task
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2000))]
    pub done_when: Option<String>,
}

/// `planning:` in `synod.yaml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Whether a plan waits for a person before it runs.
    pub hold: bool,
}

impl Settings {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Steps that wait for each other, the first again at the end; `None` if there are none.
pub(crate) fn cycle(steps: &[Step]) -> Option<Vec<String>> {
    let after: BTreeMap<&str, &[String]> =
        steps.iter().map(|s| (s.id.as_str(), s.after.as_slice())).collect();
    let mut cleared: BTreeSet<&str> = BTreeSet::new();
    for start in after.keys() {
        let mut way: Vec<(&str, usize)> = vec![(start, 0)];
        while let Some((at, next)) = way.last_mut() {
            let on = after.get(at).and_then(|after| after.get(*next));
            *next += 1;
            let Some(on) = on.map(String::as_str) else {
                cleared.insert(at);
                way.pop();
                continue;
            };
            if let Some(from) = way.iter().position(|(id, _)| *id == on) {
                let names = way[from..].iter().map(|(id, _)| (*id).to_owned());
                return Some(names.chain([on.to_owned()]).collect());
            }
            if after.contains_key(on) && !cleared.contains(on) {
                way.push((on, 0));
            }
        }
    }
    None
}
