//! Whether a plan can be carried out, and by whom.

use crate::kernel::state::State;
use crate::rules::route;
use crate::topics::plan::{STEPS_MAX, Step, cycle};
use crate::topics::task;
use crate::words::id::{AgentId, TaskId};
use policy::glob;
use std::collections::BTreeSet;

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
        if let Some(Err(why)) = step.done_when.as_deref().map(crate::topics::evidence::parse) {
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
    let by_rule = state.config.settings.routing.tags.iter();
    let by_rule = by_rule.filter(|(_, agent)| state.employed(agent).is_some()).map(|(pattern, _)| pattern);
    let able = state.team.agents.values().filter(|agent| !agent.retired);
    able.flat_map(|agent| &agent.spec.responsibilities).chain(by_rule).any(|pattern| glob(pattern, tag))
}

fn known_tags(state: &State) -> Vec<String> {
    let able =
        state.team.agents.values().filter(|agent| !agent.retired && !agent.spec.responsibilities.is_empty());
    let own = able.map(|agent| format!("{} ({})", agent.spec.responsibilities.join(", "), agent.spec.id));
    let rules =
        state.config.settings.routing.tags.iter().map(|(pattern, agent)| format!("{pattern} ({agent})"));
    own.chain(rules).collect()
}
