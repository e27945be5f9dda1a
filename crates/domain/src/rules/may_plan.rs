//! Whether a plan can be carried out, and by whom.

use crate::kernel::state::State;
use crate::rules::route;
use crate::topics::evidence;
use crate::topics::plan::{STEPS_MAX, Step, cycle};
use crate::topics::task;
use crate::words::id::{AgentId, TaskId};
use policy::glob;
use std::collections::BTreeSet;

/// One thing that is wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Wrong {
    #[error("a plan has 1 to {STEPS_MAX} tasks, this one has {0}")]
    Length(usize),
    #[error("two tasks have the id {0}; give each its own")]
    Twice(String),
    #[error("tasks wait for each other: {}; take one `after` out", .0.join(" → "))]
    Cycle(Vec<String>),
    #[error("{id}: {flaw}")]
    Step { id: String, flaw: Flaw },
}

/// What is wrong with one step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Flaw {
    #[error("the title must be one line that is not empty")]
    Title,
    #[error("done_when: {0}")]
    DoneWhen(evidence::BadEvidence),
    #[error("it comes after {0}, which is no id of this plan")]
    After(String),
    #[error("nobody answers for the tag {tag}; there are: {}", list(.known))]
    UnknownTag { tag: String, known: Vec<String> },
    #[error("there is no agent {0}")]
    NoAgent(AgentId),
    #[error("nobody gets the tag {0}")]
    NoRoute(String),
}

fn list(words: &[String]) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// Who does each step, in the order of `steps`; or all that is wrong.
pub(super) fn check(state: &State, steps: &[Step]) -> Result<Vec<AgentId>, Vec<Wrong>> {
    let of = |step: &Step, flaw: Flaw| Wrong::Step { id: step.id.clone(), flaw };
    let mut wrong = Vec::new();
    if steps.is_empty() || steps.len() > STEPS_MAX {
        wrong.push(Wrong::Length(steps.len()));
    }
    let mut names = BTreeSet::new();
    for step in steps {
        if !names.insert(step.id.as_str()) {
            wrong.push(Wrong::Twice(step.id.clone()));
        }
        if step.title.trim().is_empty() || step.title.contains('\n') {
            wrong.push(of(step, Flaw::Title));
        }
        if let Some(Err(why)) = step.done_when.as_deref().map(evidence::parse) {
            wrong.push(of(step, Flaw::DoneWhen(why)));
        }
    }
    for step in steps {
        for on in step.after.iter().filter(|on| !names.contains(on.as_str())) {
            wrong.push(of(step, Flaw::After(on.clone())));
        }
    }
    wrong.extend(cycle(steps).map(Wrong::Cycle));
    let mut who = Vec::new();
    for step in steps {
        match assignee(state, step) {
            Ok(agent) => who.push(agent),
            Err(flaw) => wrong.push(of(step, flaw)),
        }
    }
    if wrong.is_empty() { Ok(who) } else { Err(wrong) }
}

fn assignee(state: &State, step: &Step) -> Result<AgentId, Flaw> {
    if !is_known(state, &step.tag) {
        return Err(Flaw::UnknownTag { tag: step.tag.clone(), known: known_tags(state) });
    }
    if let Some(agent) = &step.assignee {
        return match agent.as_str() == "human" || state.employed(agent).is_some() {
            true => Ok(agent.clone()),
            false => Err(Flaw::NoAgent(agent.clone())),
        };
    }
    let mut spec = task::Spec::new(TaskId::new(""), "", step.title.clone());
    spec.tag = Some(step.tag.clone());
    let routed = route::route(state, &spec, None);
    routed.map(|(agent, _)| agent).ok_or_else(|| Flaw::NoRoute(step.tag.clone()))
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
