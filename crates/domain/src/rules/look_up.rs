//! What agents can ask of the state: who does what, and what is known of a task. Nothing here changes anything but the call.

use std::fmt::Write as _;

use crate::kernel::draft::Draft;
use crate::kernel::event::Finish;
use crate::kernel::state::State;
use crate::rules::say::result;
use crate::rules::tree::label_of_result;
use crate::topics::agent::Agent;
use crate::topics::task::Task;
use crate::topics::tool::Call;
use crate::words::id::{SessionId, TaskId};
use crate::words::redact::redact;

/// So many agents, tasks of an agent or parts of a task are listed.
const LISTED_MAX: usize = 40;

/// Carries out `list_agents`. It names tasks by id only: a title may be for others to see.
pub(super) fn agents(state: &State, id: &SessionId) -> String {
    let own = state.sessions.get(id).map(|session| &session.agent);
    let others = || state.team.agents.values().filter(|a| !a.retired && Some(&a.spec.id) != own);
    let mut text = String::new();
    for agent in others().take(LISTED_MAX) {
        _ = writeln!(text, "- {} ({}): {}", agent.spec.id, agent.spec.role, doing(state, agent));
    }
    match others().count() {
        0 => text.push_str("there is no other agent"),
        all if all > LISTED_MAX => _ = write!(text, "and {} more", all - LISTED_MAX),
        _ => text.truncate(text.trim_end().len()),
    }
    text
}

fn doing(state: &State, agent: &Agent) -> String {
    let sessions = agent.sessions.iter().filter_map(|id| state.sessions.get(id));
    let tasks = sessions.filter_map(|session| Some((session.task.as_ref()?, session.lifecycle.as_str())));
    let tasks: Vec<String> = tasks.take(LISTED_MAX).map(|(task, at)| format!("{task} ({at})")).collect();
    let slots = agent.spec.permissions.concurrency.max_parallel_tasks;
    let mut text = match agent.busy {
        0 => "free".to_owned(),
        busy if busy < slots => format!("busy, {} of {slots} slots free", slots - busy),
        busy => format!("busy, all {busy} slots taken"),
    };
    if !tasks.is_empty() {
        _ = write!(text, "; has {}", tasks.join(", "));
    }
    match agent.pending() {
        0 => {}
        pending => _ = write!(text, "; queue: {pending}"),
    }
    text
}

/// Carries out `get_task`.
pub(super) fn task(d: &mut Draft<'_>, id: &SessionId, call: &Call, which: &TaskId) {
    let Some(session) = d.sessions.get(id) else { return };
    let found = d.work.tasks.get(which).map(|task| (task, label_of_result(d, task)));
    let (finish, message) = match found {
        None => {
            let text = format!("there is no task {which}; query_tasks shows which there are");
            (Finish::Failed, result(d.at, &call.id, text))
        }
        Some((_, label)) if !label.readers.include(&session.agent) => {
            let text = format!("{which} is for others to see ({label})");
            (Finish::Failed, result(d.at, &call.id, text))
        }
        Some((task, label)) => {
            let mut message = result(d.at, &call.id, redact(&shown(d, task)).into_owned());
            message.label = label;
            (Finish::Done, message)
        }
    };
    d.finish_call(id, finish, message);
}

fn shown(state: &State, task: &Task) -> String {
    let spec = &task.spec;
    let mut text = format!("{} \"{}\"\nstate: {}", spec.id, spec.title, state.mark_of(task).as_str());
    if let Some(agent) = &spec.assignee {
        _ = write!(text, "\nassignee: {agent}");
    }
    if let Some(parent) = &spec.parent {
        _ = write!(text, "\npart of: {parent}");
    }
    for (words, ids) in [
        ("depends on", spec.depends_on.iter().collect::<Vec<_>>()),
        ("parts", task.children.iter().collect()),
    ] {
        if !ids.is_empty() {
            let mut named: Vec<String> =
                ids.iter().take(LISTED_MAX).map(|id| with_state(state, id)).collect();
            named.extend((ids.len() > LISTED_MAX).then(|| format!("{} more", ids.len() - LISTED_MAX)));
            _ = write!(text, "\n{words}: {}", named.join(", "));
        }
    }
    if !spec.text.trim().is_empty() {
        _ = write!(text, "\ntext:\n{}", spec.text.trim_end());
    }
    if task.is_ended() && !task.result.is_empty() {
        _ = write!(text, "\nresult:\n{}", task.result.trim_end());
    }
    text
}

fn with_state(state: &State, id: &TaskId) -> String {
    let task = state.work.tasks.get(id);
    task.map_or_else(|| format!("{id} (unknown)"), |task| format!("{id} ({})", state.mark_of(task).as_str()))
}
