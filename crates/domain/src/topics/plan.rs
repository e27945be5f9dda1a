//! Plans: a request split into tagged tasks that wait for each other. Here is what must be so before one is made; all that
//! is wrong is told at once, so that whoever plans can mend it in one go.

use std::collections::{BTreeMap, BTreeSet};

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its name inside the plan.
    pub id: String,
    /// One line.
    pub title: String,
    /// Details.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The kind of work; it says who does it.
    pub tag: String,
    /// Who shall do it, in place of who the tag says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<AgentId>,
    /// The names of steps that must end first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// A to F.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The evidence that Synod must see before it is done, one piece a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
