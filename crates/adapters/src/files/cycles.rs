//! Task files in which a person lets tasks wait for each other. Such an edit is taken as it is, because the file is the
//! person's; the tasks stay where they are, and the person is told which they are and where it says so.

use domain::event::Event;
use domain::event::TaskEvent;
use domain::task::Change;
use domain::waits;
use formats::task::TaskFile;

use super::cabinet::Cabinet;
use crate::disk;

/// Tells of the cycle that an edit has closed. The state has the edit by now, and so those before it, in any file.
pub(super) fn note_cycle(cabinet: &Cabinet, event: &Event) {
    let (id, asks) = match event {
        Event::Task(TaskEvent::Added { spec, in_file: true, .. }) => (&spec.id, true),
        Event::Task(TaskEvent::Edited { task, change, in_file: true }) => {
            (task, matches!(change, Change::DependsOn(_) | Change::Parent(_)))
        }
        _ => return,
    };
    let Some(task) = cabinet.state.work.tasks.get(id).filter(|_| asks) else { return };
    let Some(cycle) = waits::would_close(&cabinet.state, &task.spec) else { return };
    let path = &task.spec.file;
    let Ok(Some(found)) = disk::read(&cabinet.home.join(path)) else { return };
    let (file, _) = TaskFile::parse(path, &found.text);
    // A task that has just got its id may not show it yet.
    let by_title = || file.tasks().iter().position(|item| item.title == task.spec.title);
    let Some(index) = file.find(id).or_else(by_title) else { return };
    for diagnostic in file.cycle(index, &cycle.to_string()) {
        cabinet.reports.send(diagnostic, Some(found.text.clone()));
    }
}
