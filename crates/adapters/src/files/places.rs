//! Which files of a home the desk reads, and where they are.

use std::collections::BTreeSet;
use std::path::Path;

use domain::id::{AgentId, SessionId};
use domain::state::State;

use crate::layout::QUEUE;

/// Every file that a person may have changed, in the order in which they build on each other.
pub(super) fn all_files(home: &Path, state: &State) -> Vec<String> {
    let mut all = vec!["synod.yaml".to_owned(), "policy/commands.yaml".to_owned()];
    all.extend(list(home, "agents", ".agent.yaml"));
    all.extend(agent_json(home));
    let mut tasks = list(home, "tasks", ".task.md");
    let known_files: BTreeSet<String> =
        state.tasks.values().filter(|t| !t.is_ended()).map(|t| t.spec.file.clone()).collect();
    tasks.extend(known_files);
    tasks.sort();
    tasks.dedup();
    tasks.retain(|path| path != QUEUE);
    all.extend(tasks);
    all.push(QUEUE.to_owned());
    let mut pending = list(home, "approvals/pending", ".approval.md");
    pending.extend(state.approvals.keys().map(|id| format!("approvals/pending/{id}.approval.md")));
    pending.sort();
    pending.dedup();
    all.extend(pending);
    all.extend(list(home, "sessions", ".session.yaml"));
    all.extend(list(home, "inbox", ".jsonl").into_iter().filter(|path| !path.ends_with("-outbox.jsonl")));
    all
}

fn agent_json(home: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(home.join("agents")) else { return Vec::new() };
    let folders = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<String> = folders
        .map(|folder| format!("agents/{folder}/agent.json"))
        .filter(|path| home.join(path).is_file())
        .collect();
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
    let name = path.strip_prefix("sessions/")?.strip_suffix(".session.yaml")?;
    SessionId::parse(name).ok()
}

/// Whether the desk reads the file at this path.
pub(super) fn is_ours(path: &str) -> bool {
    match path.split_once('/') {
        None => path == "synod.yaml",
        Some(("agents", _)) => agent_of(path).is_some(),
        Some(("tasks", name)) => name.ends_with(".task.md") && !name.contains('/'),
        Some(("sessions", _)) => session_of(path).is_some(),
        Some(("approvals", rest)) => rest.starts_with("pending/") && rest.ends_with(".approval.md"),
        Some(("inbox", name)) => name.ends_with(".jsonl") && !name.ends_with("-outbox.jsonl"),
        Some(("policy", name)) => name == "commands.yaml",
        Some(_) => false,
    }
}

/// The agent that a file at this path defines, by its name.
pub(super) fn agent_of(path: &str) -> Option<AgentId> {
    AgentId::parse(formats::agent::named(path)?).ok()
}

/// The files that may define an agent; the first that is there does.
pub(super) fn agent_files(id: &AgentId) -> [String; 2] {
    [format!("agents/{id}.agent.yaml"), format!("agents/{id}/agent.json")]
}
