//! Making a plan: a task for each step, in a file of its own that a person can edit before and while it runs.

use std::collections::BTreeMap;

use crate::kernel::chains;
use crate::kernel::draft::Draft;
use crate::kernel::event::TaskEvent;
use crate::kernel::holds;
use crate::kernel::refused::Refused;
use crate::kernel::state::State;
use crate::rules::may_plan;
use crate::rules::say::title_of;
use crate::rules::talk::{OutOfTurns, check_turns};
use crate::rules::tasks::{add, check_queue};
use crate::topics::plan;
use crate::topics::plan::Step;
use crate::topics::session::Session;
use crate::topics::task;
use crate::topics::task::Change;
use crate::topics::task::{Requester, Task};
use crate::words::id::{AgentId, SessionId, TaskId};
use crate::words::label::Label;
use crate::words::layout;

/// Why a plan is not made, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Rejected {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Turns(#[from] OutOfTurns),
    #[error("no task was made, because the plan is wrong:{}", listed(.0))]
    Wrong(Vec<may_plan::Wrong>),
    #[error("{agent} may not see what was read here ({label}); leave it to who may")]
    Secret { agent: AgentId, label: Label },
    #[error("limits.tasks_max: there is room for {room} more tasks, the plan has {steps}")]
    NoRoom { room: usize, steps: usize },
}

fn listed(wrong: &[may_plan::Wrong]) -> String {
    wrong.iter().map(|wrong| format!("\n- {wrong}")).collect()
}

/// Carries out `create_plan`.
pub(super) fn create(d: &mut Draft<'_>, id: &SessionId, steps: &[Step]) -> Result<String, Rejected> {
    let Some(session) = d.sessions.get(id) else { return Err(Refused::ConversationOver.into()) };
    let (specs, text) = make(d, id, session, steps)?;
    for spec in specs {
        add(d, spec, id);
    }
    Ok(text)
}

fn make(
    state: &State,
    id: &SessionId,
    session: &Session,
    steps: &[Step],
) -> Result<(Vec<task::Spec>, String), Rejected> {
    check_turns(state, id, session)?;
    let who = may_plan::check(state, steps).map_err(Rejected::Wrong)?;
    let hidden = who.iter().find(|agent| !session.label.readers.include(agent));
    if let Some(agent) = hidden {
        return Err(Rejected::Secret { agent: agent.clone(), label: session.label.clone() });
    }
    let name = session.task.as_ref().map_or_else(|| session.agent.to_string(), ToString::to_string);
    let file = layout::plan_file(&name);
    let is_made = |task: &Task| {
        task.spec.file == file && matches!(&task.by, Requester::Session { session } if session == id)
    };
    // This very call made it before the journal was lost.
    if session.pace.turns_total == 0 && state.work.tasks.values().any(is_made) {
        return Ok((Vec::new(), format!("the plan stands in {file}")));
    }
    let room = state.config.settings.limits.tasks_max.saturating_sub(state.work.open_tasks) as usize;
    if steps.len() >= room {
        return Err(Rejected::NoRoom { room, steps: steps.len() });
    }
    let mut number = state.work.next_task;
    let mut fresh = || {
        let id = TaskId::new(format!("task-{number:03}"));
        number += 1;
        id
    };
    let mut specs = Vec::new();
    let held_by = state.config.settings.planning.hold.then(&mut fresh);
    let approval_required = chains::above(state, session).approval_required;
    let blank = |task: TaskId, title: &str| {
        let mut spec = task::Spec::new(task, file.clone(), title_of(title));
        spec.parent.clone_from(&session.task);
        spec.approval_required = approval_required;
        spec.properties.insert("requested_by".to_owned(), id.to_string());
        chains::bind(session, &mut spec.properties);
        if session.label.counts() {
            spec.properties.insert("label".to_owned(), session.label.to_string());
        }
        spec
    };
    if let Some(hold) = &held_by {
        let mut spec = blank(hold.clone(), &format!("Say yes to the plan of {name}"));
        spec.assignee = Some(AgentId::new("human"));
        spec.text = "Edit the tasks below as you like. [x] lets them begin, [-] cancels them.".to_owned();
        specs.push(spec);
    }
    let ids: BTreeMap<&str, TaskId> = steps.iter().map(|step| (step.id.as_str(), fresh())).collect();
    let mut made = Vec::new();
    for (step, agent) in steps.iter().zip(&who) {
        let mut spec = blank(ids[step.id.as_str()].clone(), &step.title);
        spec.text.clone_from(&step.description);
        spec.assignee = Some(agent.clone());
        spec.tag = Some(step.tag.clone());
        spec.priority = step.priority;
        spec.depends_on = step.after.iter().filter_map(|on| ids.get(on.as_str()).cloned()).collect();
        if let Some(hold) = &held_by {
            // Each of them, since what a step comes after may be taken out before anybody said yes.
            spec.properties.insert(plan::HELD_BY.to_owned(), hold.to_string());
            spec.depends_on.push(hold.clone());
        }
        if let Some(text) = &step.done_when {
            spec.properties.insert("done_when".to_owned(), text.clone());
        }
        check_queue(state, &spec)?;
        made.push(format!("{} is {} for {agent}", step.id, spec.id));
        specs.push(spec);
    }
    let waits = held_by.map_or_else(String::new, |hold| format!("; it waits for a person to mark {hold}"));
    Ok((specs, format!("the plan stands in {file}{waits}:\n{}", made.join("\n"))))
}

/// Makes a task that a person added to the file of a plan a part of the plan's task. If the plan is on hold, the task waits
/// for the yes, and ends with a no.
pub(super) fn join(d: &mut Draft<'_>, spec: &task::Spec) {
    for change in joining(d, spec) {
        d.emit(TaskEvent::Edited { task: spec.id.clone(), change, in_file: false });
    }
}

fn joining(state: &State, spec: &task::Spec) -> Vec<Change> {
    if !layout::is_plan(&spec.file) || spec.properties.contains_key(plan::HELD_BY) {
        return Vec::new();
    }
    let there = state.work.open.in_plan(&spec.file).filter(|id| **id != spec.id);
    let hold = there.filter_map(|id| state.work.tasks.get(id)).find(|task| holds::is_hold(state, task));
    let planned = layout::task_of_plan(&spec.file).and_then(|id| state.work.tasks.get(&id));
    let planned = planned.filter(|task| !task.is_ended()).map(|task| task.spec.id.clone());
    let whole = hold.and_then(|hold| hold.spec.parent.clone()).or(planned);
    let parent = whole.filter(|whole| spec.parent.is_none() && *whole != spec.id);
    let mut changes = Vec::new();
    if let Some(hold) = hold {
        let mut properties = spec.properties.clone();
        properties.insert(plan::HELD_BY.to_owned(), hold.spec.id.to_string());
        let depends_on = spec.depends_on.iter().cloned().chain([hold.spec.id.clone()]).collect();
        changes.extend([Change::DependsOn(depends_on), Change::Properties(properties)]);
    }
    changes.extend(parent.map(|parent| Change::Parent(Some(parent))));
    changes
}
