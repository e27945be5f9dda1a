//! Which files of a home the desk reads, and where they are.

use std::collections::BTreeSet;
use std::path::Path;

use domain::id::{AgentId, SessionId};
use domain::layout::{self, Decided};
use domain::state::State;

/// Every file that a person may have changed, in the order in which they build on each other.
pub(super) fn all_files(home: &Path, state: &State) -> Vec<String> {
    let mut all: Vec<String> = layout::SETTINGS_FILES.map(str::to_owned).to_vec();
    all.push(layout::COMMANDS.to_owned());
    all.extend(list(home, layout::AGENTS, layout::AGENT_END));
    all.extend(agent_json(home));
    let mut tasks = list(home, layout::TASKS, layout::TASK_END);
    let known_files: BTreeSet<String> =
        state.work.tasks.values().filter(|t| !t.is_ended()).map(|t| t.spec.file.clone()).collect();
    tasks.extend(known_files);
    tasks.sort();
    tasks.dedup();
    tasks.retain(|path| path != layout::QUEUE);
    all.extend(tasks);
    all.push(layout::QUEUE.to_owned());
    let mut pending = list(home, Decided::Pending.folder(), layout::APPROVAL_END);
    pending.extend(state.people.approvals.keys().map(|id| layout::approval_file(Decided::Pending, id)));
    pending.sort();
    pending.dedup();
    all.extend(pending);
    all.extend(list(home, layout::SESSIONS, layout::SESSION_END));
    all.extend(
        list(home, layout::INBOX, layout::LINES_END)
            .into_iter()
            .filter(|path| !path.ends_with(layout::OUTBOX_END)),
    );
    all
}

fn agent_json(home: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(home.join(layout::AGENTS)) else { return Vec::new() };
    let folders = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<String> =
        folders.map(|folder| layout::agent_json(&folder)).filter(|path| home.join(path).is_file()).collect();
    found.sort();
    found
}

/// The files of a folder whose names end so, sorted, relative to the home.
pub(super) fn list(home: &Path, folder: &str, ending: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(home.join(folder)) else { return Vec::new() };
    let mut found: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(ending) && !name.starts_with('.'))
        .map(|name| format!("{folder}/{name}"))
        .collect();
    found.sort();
    found
}

pub(super) fn session_of(path: &str) -> Option<SessionId> {
    SessionId::parse(layout::session_of(path)?).ok()
}

/// Whether the desk reads the file at this path.
pub(super) fn is_ours(path: &str) -> bool {
    match path.split_once('/') {
        None => layout::SETTINGS_FILES.contains(&path),
        Some((layout::AGENTS, _)) => agent_of(path).is_some(),
        Some((layout::TASKS, name)) => name.ends_with(layout::TASK_END) && !name.contains('/'),
        Some((layout::SESSIONS, _)) => session_of(path).is_some(),
        Some((layout::APPROVALS, _)) => {
            layout::is_inside(path, Decided::Pending.folder()) && path.ends_with(layout::APPROVAL_END)
        }
        Some((layout::INBOX, name)) => {
            name.ends_with(layout::LINES_END) && !name.ends_with(layout::OUTBOX_END)
        }
        Some((layout::POLICY, _)) => path == layout::COMMANDS,
        Some(_) => false,
    }
}

/// The agent that a file at this path defines, by its name.
pub(super) fn agent_of(path: &str) -> Option<AgentId> {
    AgentId::parse(layout::agent_of(path)?).ok()
}
