//! Plans: a request split into tagged tasks that wait for each other. Here is what must be so before one is made; all that
//! is wrong is told at once, so that whoever plans can mend it in one go.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{AgentId, TaskId};
use crate::route;
use crate::state::{State, Task};
use crate::task::{self, Priority};
use policy::glob;

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
    /// A short name inside this plan, for `after`
    #[schemars(regex(pattern = r"^[a-z][a-z0-9-]{0,62}$"))]
    pub id: String,
    /// What is to be done, in one line
    #[schemars(length(min = 1, max = 500), regex(pattern = r"^[^\r\n]+$"))]
    pub title: String,
    /// All that whoever does it needs: they see nothing else of your conversation
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 20000))]
    pub description: String,
    /// The kind of work, such as code:feature; an agent must answer for it
    #[schemars(length(min = 1, max = 200))]
    pub tag: String,
    /// Id of the agent that shall do it; the tag decides if left out
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = r"^[a-z][a-z0-9-]{0,62}$"))]
    pub assignee: Option<AgentId>,
    /// Ids of tasks of this plan that must end first
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50), inner(length(min = 1, max = 63)))]
    pub after: Vec<String>,
    /// A is first, F is last
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("enum" = ["A", "B", "C", "D", "E", "F"]))]
    pub priority: Option<Priority>,
    /// The evidence that must be seen before it counts as done, as in create_task
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

/// The file of a plan for a task, or for an agent that has none.
pub fn file_of(name: &str) -> String {
    format!("tasks/plan-{name}.task.md")
}

/// The task whose plan stands in a file, by its name.
pub fn task_of(path: &str) -> Option<TaskId> {
    let name = path.strip_prefix("tasks/plan-")?.strip_suffix(".task.md")?;
    Some(TaskId::new(name))
}

/// Whether a plan may stand there.
pub fn is_file(path: &str) -> bool {
    path.starts_with("tasks/plan-")
}

/// The task whose yes a task of a plan waits for.
pub fn hold_of(task: &Task) -> Option<TaskId> {
    task.spec.properties.get(HELD_BY).map(|id| TaskId::new(id.as_str()))
}

/// Whether a plan waits for a person's yes to this task.
pub fn is_hold(state: &State, task: &Task) -> bool {
    let waits = |id: &TaskId| state.tasks.get(id).and_then(hold_of).as_ref() == Some(&task.spec.id);
    task.dependents.iter().any(waits)
}

/// Who does each step, in the order of `steps`; or all that is wrong, one thing a line.
pub fn check(state: &State, steps: &[Step]) -> Result<Vec<AgentId>, Vec<String>> {
    let mut wrong = Vec::new();
    if steps.is_empty() || steps.len() > STEPS_MAX {
        wrong.push(format!("a plan has 1 to {STEPS_MAX} tasks, this one has {}", steps.len()));
    }
    let mut names = BTreeSet::new();
    for step in steps {
        if !names.insert(step.id.as_str()) {
            wrong.push(format!("two tasks have the id {}; give each its own", step.id));
        }
        if step.title.trim().is_empty() || step.title.contains('\n') {
            wrong.push(format!("{}: the title must be one line that is not empty", step.id));
        }
        if let Some(Err(why)) = step.done_when.as_deref().map(crate::evidence::parse) {
            wrong.push(format!("{}: done_when: {why}", step.id));
        }
    }
    for step in steps {
        for on in step.after.iter().filter(|on| !names.contains(on.as_str())) {
            wrong.push(format!("{}: it comes after {on}, which is no id of this plan", step.id));
        }
    }
    if let Some(cycle) = cycle(steps) {
        wrong.push(format!("tasks wait for each other: {}; take one `after` out", cycle.join(" → ")));
    }
    let mut who = Vec::new();
    for step in steps {
        match assignee(state, step) {
            Ok(agent) => who.push(agent),
            Err(why) => wrong.push(format!("{}: {why}", step.id)),
        }
    }
    if wrong.is_empty() { Ok(who) } else { Err(wrong) }
}

fn assignee(state: &State, step: &Step) -> Result<AgentId, String> {
    if !is_known(state, &step.tag) {
        let tags = known_tags(state);
        let known = if tags.is_empty() { "none".to_owned() } else { tags.join(", ") };
        return Err(format!("nobody answers for the tag {}; there are: {known}", step.tag));
    }
    if let Some(agent) = &step.assignee {
        return match agent.as_str() == "human" || state.employed(agent).is_some() {
            true => Ok(agent.clone()),
            false => Err(format!("there is no agent {agent}")),
        };
    }
    let mut spec = task::Spec::new(TaskId::new(""), "", step.title.clone());
    spec.tag = Some(step.tag.clone());
    let routed = route::route(state, &spec, None);
    routed.map(|(agent, _)| agent).ok_or_else(|| format!("nobody gets the tag {}", step.tag))
}

/// Whether somebody answers for a tag: by responsibility, or by a rule of the owner.
fn is_known(state: &State, tag: &str) -> bool {
    let by_rule = state.settings.routing.tags.iter();
    let by_rule = by_rule.filter(|(_, agent)| state.employed(agent).is_some()).map(|(pattern, _)| pattern);
    let able = state.agents.values().filter(|agent| !agent.retired);
    able.flat_map(|agent| &agent.spec.responsibilities).chain(by_rule).any(|pattern| glob(pattern, tag))
}

fn known_tags(state: &State) -> Vec<String> {
    let able =
        state.agents.values().filter(|agent| !agent.retired && !agent.spec.responsibilities.is_empty());
    let own = able.map(|agent| format!("{} ({})", agent.spec.responsibilities.join(", "), agent.spec.id));
    let rules = state.settings.routing.tags.iter().map(|(pattern, agent)| format!("{pattern} ({agent})"));
    own.chain(rules).collect()
}

/// Steps that wait for each other, the first again at the end; `None` if there are none.
fn cycle(steps: &[Step]) -> Option<Vec<String>> {
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
