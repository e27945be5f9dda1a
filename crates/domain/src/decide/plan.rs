//! Making a plan: a task for each step, in a file of its own that a person can edit before and while it runs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::decide::{finish, intake, messages};
use crate::delegation;
use crate::event::{Event, Finish};
use crate::id::{AgentId, SessionId, TaskId, Time};
use crate::plan::{self, Step};
use crate::state::{Requester, Session, State, Task};
use crate::task::{self, Change, End};

/// The events, how the call ended, and what the agent sees.
pub(super) fn perform(
    state: &State,
    (id, session): (&SessionId, &Session),
    steps: &[Step],
) -> (Vec<Event>, Finish, String) {
    match make(state, id, session, steps) {
        Ok((events, text)) => (events, Finish::Done, text),
        Err(text) => (Vec::new(), Finish::Failed, text),
    }
}

fn make(
    state: &State,
    id: &SessionId,
    session: &Session,
    steps: &[Step],
) -> Result<(Vec<Event>, String), String> {
    messages::check_turns(state, (id, session))?;
    let who = plan::check(state, steps)
        .map_err(|wrong| format!("no task was made, because the plan is wrong:\n- {}", wrong.join("\n- ")))?;
    let hidden = who.iter().find(|agent| !session.label.readers.include(agent));
    if let Some(agent) = hidden {
        return Err(format!(
            "{agent} may not see what was read here ({}); leave it to who may",
            session.label
        ));
    }
    let name = session.task.as_ref().map_or_else(|| session.agent.to_string(), ToString::to_string);
    let file = plan::file_of(&name);
    let is_made = |task: &Task| {
        task.spec.file == file && matches!(&task.by, Requester::Session { session } if session == id)
    };
    // This very call made it before the journal was lost.
    if session.turns_total == 0 && state.tasks.values().any(is_made) {
        return Ok((Vec::new(), format!("the plan stands in {file}")));
    }
    let room = state.settings.limits.tasks_max.saturating_sub(state.open_tasks) as usize;
    if steps.len() >= room {
        return Err(format!(
            "limits.tasks_max: there is room for {room} more tasks, the plan has {}",
            steps.len()
        ));
    }
    let mut number = state.next_task;
    let mut fresh = || {
        let id = TaskId::new(format!("task-{number:03}"));
        number += 1;
        id
    };
    let by = Requester::Session { session: id.clone() };
    let mut events = Vec::new();
    let mut add = |spec: task::Spec| {
        events.push(Event::TaskAdded { spec: Box::new(spec), by: by.clone(), in_file: false });
    };
    let held_by = state.settings.planning.hold.then(&mut fresh);
    let approval_required = delegation::above(state, session).approval_required;
    let blank = |task: TaskId, title: &str| {
        let mut spec = task::Spec::new(task, file.clone(), intake::title_of(title));
        spec.parent.clone_from(&session.task);
        spec.approval_required = approval_required;
        spec.properties.insert("requested_by".to_owned(), id.to_string());
        delegation::bind(session, &mut spec.properties);
        if session.label.counts() {
            spec.properties.insert("label".to_owned(), session.label.to_string());
        }
        spec
    };
    if let Some(hold) = &held_by {
        let mut spec = blank(hold.clone(), &format!("Say yes to the plan of {name}"));
        spec.assignee = Some(AgentId::new("human"));
        spec.text = "Edit the tasks below as you like. [x] lets them begin, [-] cancels them.".to_owned();
        add(spec);
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
        intake::check_queue(state, &spec).map_err(|refused| refused.to_string())?;
        made.push(format!("{} is {} for {agent}", step.id, spec.id));
        add(spec);
    }
    let waits = held_by.map_or_else(String::new, |hold| format!("; it waits for a person to mark {hold}"));
    Ok((events, format!("the plan stands in {file}{waits}:\n{}", made.join("\n"))))
}

/// What a person adds to the file of a plan is of the plan: a part of the task that it is for. If the plan is on hold, it waits
/// for the yes, and ends with a no.
pub(super) fn joined(state: &State, spec: &task::Spec) -> Vec<Event> {
    if !plan::is_file(&spec.file) || spec.properties.contains_key(plan::HELD_BY) {
        return Vec::new();
    }
    let mut there = state.open.in_plan(&spec.file).filter_map(|id| state.tasks.get(id));
    let hold = there.find(|task| plan::is_hold(state, task));
    let planned = plan::task_of(&spec.file).and_then(|id| state.tasks.get(&id));
    let planned = planned.filter(|task| !task.is_ended()).map(|task| task.spec.id.clone());
    let whole = hold.and_then(|hold| hold.spec.parent.clone()).or(planned);
    let parent = whole.filter(|whole| spec.parent.is_none() && *whole != spec.id);
    let held = hold.map(|hold| {
        let mut properties = spec.properties.clone();
        properties.insert(plan::HELD_BY.to_owned(), hold.spec.id.to_string());
        let depends_on = spec.depends_on.iter().cloned().chain([hold.spec.id.clone()]).collect();
        [Change::DependsOn(depends_on), Change::Properties(properties)]
    });
    held.into_iter()
        .flatten()
        .chain(parent.map(|parent| Change::Parent(Some(parent))))
        .map(|change| Event::TaskEdited { task: spec.id.clone(), change, in_file: false })
        .collect()
}

/// Steps that wait for a yes to a plan which is among these tasks and ends with them, and are not among them themselves: a person
/// made them a part of something else. Without a yes they do not begin.
pub(super) fn steps_elsewhere<'a>(state: &'a State, tasks: &[TaskId]) -> Vec<&'a TaskId> {
    let is_hold = |id: &&TaskId| {
        state.tasks.get(*id).is_some_and(|task| !task.is_ended() && plan::is_hold(state, task))
    };
    let holds: Vec<&TaskId> = tasks.iter().filter(is_hold).collect();
    if holds.is_empty() {
        return Vec::new();
    }
    let is_held = |task: &&Task| {
        !task.is_ended()
            && plan::hold_of(task).is_some_and(|hold| holds.contains(&&hold))
            && !tasks.contains(&task.spec.id)
    };
    state.tasks.values().filter(is_held).map(|task| &task.spec.id).collect()
}

/// A plan does not get its yes: what waits for it never begins. Also what is so by then. Who planned is told once for all of
/// it, by the last; if `hold` itself ends only now, by that.
pub(super) fn turned_down<'a>(
    state: &'a State,
    at: Time,
    hold: &Task,
    by: &str,
    acting: Option<&SessionId>,
) -> (Vec<Event>, Cow<'a, State>) {
    let id = &hold.spec.id;
    let held = |task: &&Task| !task.is_ended() && plan::hold_of(task).as_ref() == Some(id);
    let held: Vec<&TaskId> = state.tasks.values().filter(held).map(|task| &task.spec.id).collect();
    let reason = format!("the plan was turned down ({id})");
    let planner = finish::asker_of(state, hold);
    let is_for_planner =
        |event: &Event| matches!(event, Event::MessageAdded { session, .. } if Some(session) == planner);
    let mut after = Cow::Borrowed(state);
    let mut events = Vec::new();
    for (place, task) in held.iter().enumerate() {
        let mut ended = finish::end_parts_too(&after, at, task, End::Cancelled, &reason, by, acting);
        let is_told = place + 1 == held.len() && hold.is_ended();
        ended.retain(|event| is_told || !is_for_planner(event));
        ended.iter().for_each(|event| after.to_mut().apply(at, event));
        events.extend(ended);
    }
    (events, after)
}
