//! What files name and the home does not have: an agent that a task is for, anybody who takes it, the role of an agent. Such a file is taken as
//! it is; the person is told where it says so, or a task would wait for ever and nobody would know why.

use domain::agent::PERSON;
use domain::event::Event;
use domain::event::{AgentEvent, TaskEvent};
use domain::id::{AgentId, TaskId};
use domain::layout;
use domain::task::Change;
use formats::check::SourceFile;
use formats::task::TaskFile;

use super::cabinet::Cabinet;
use crate::disk;

/// Tells of a name that nobody has. The state has the edit by now, and so those before it, in any file.
pub(super) fn note_stranger(cabinet: &Cabinet, event: &Event) {
    match event {
        Event::Task(TaskEvent::Added { spec, in_file: true, .. }) => note_assignee(cabinet, &spec.id),
        Event::Task(TaskEvent::Edited { task, change: Change::Assignee(_), in_file: true }) => {
            note_assignee(cabinet, task)
        }
        Event::Agent(AgentEvent::Defined { spec }) if cabinet.state.role(&spec.role).is_none() => {
            note_role(cabinet, &spec.id, &spec.role);
        }
        _ => {}
    }
}

fn note_assignee(cabinet: &Cabinet, id: &TaskId) {
    let Some(task) = cabinet.state.work.tasks.get(id).filter(|task| !task.is_ended()) else { return };
    match &task.spec.assignee {
        Some(agent) if agent.as_str() == PERSON || cabinet.state.employed(agent).is_some() => return,
        None if domain::route(&cabinet.state, &task.spec, None).is_some() => return,
        Some(_) | None => {}
    }
    let path = &task.spec.file;
    let Ok(Some(found)) = disk::read(&cabinet.home.join(path)) else { return };
    let (file, _) = TaskFile::parse(path, &found.text);
    // A task that has just got its id may not show it yet.
    let by_title = || file.tasks().iter().position(|item| item.title == task.spec.title);
    let Some(index) = file.find(id).or_else(by_title) else { return };
    let Some(agent) = &task.spec.assignee else {
        let help = "name somebody, or set routing.fallback in synod.yaml";
        for diagnostic in file.nobody(index, "nobody takes this task", help) {
            cabinet.reports.send(diagnostic, Some(found.text.clone()));
        }
        return;
    };
    let message = match cabinet.reports.is_broken(&layout::agent_file(agent)) {
        true => format!("the file of agent `{agent}` does not read"),
        false => format!("there is no agent `{agent}`"),
    };
    let employed = cabinet.state.team.agents.iter().filter(|(_, agent)| !agent.retired);
    let known = employed.map(|(id, _)| id.as_str());
    for diagnostic in file.stranger(index, message, known) {
        cabinet.reports.send(diagnostic, Some(found.text.clone()));
    }
}

fn note_role(cabinet: &Cabinet, id: &AgentId, role: &str) {
    for path in layout::agent_files(id) {
        let Ok(Some(found)) = disk::read(&cabinet.home.join(&path)) else { continue };
        let file = SourceFile { path: &path, text: &found.text };
        let builtin = domain::role::builtin();
        let roles = builtin.keys().chain(cabinet.state.config.settings.roles.keys()).map(String::as_str);
        for diagnostic in formats::check::no_role(&file, role, roles) {
            cabinet.reports.send(diagnostic, Some(found.text.clone()));
        }
        return;
    }
}
