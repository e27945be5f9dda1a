//! Making a plan: a task for each step, in a file of its own that a person can edit before and while it runs.

use std::collections::BTreeMap;

use crate::decide::{finish, intake};
use crate::event::{Event, Finish};
use crate::id::{AgentId, SessionId, TaskId, Time};
use crate::plan::{self, Step};
use crate::state::{Requester, Session, State, Task};
use crate::task::{self, End};

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
    let file = format!("tasks/plan-{name}.task.md");
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
    let blank = |task: TaskId, title: &str| {
        let mut spec = task::Spec::new(task, file.clone(), intake::title_of(title));
        spec.parent.clone_from(&session.task);
        spec.properties.insert("requested_by".to_owned(), id.to_string());
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

/// A plan does not get its yes: what waits for it never begins.
pub(super) fn turned_down(
    state: &State,
    at: Time,
    hold: &TaskId,
    by: &str,
    acting: Option<&SessionId>,
) -> Vec<Event> {
    let held = |task: &&Task| !task.is_ended() && plan::hold_of(task).as_ref() == Some(hold);
    let reason = format!("the plan was turned down ({hold})");
    let tasks = state.tasks.values().filter(held);
    tasks
        .flat_map(|task| finish::end_parts_too(state, at, &task.spec.id, End::Cancelled, &reason, by, acting))
        .collect()
}
