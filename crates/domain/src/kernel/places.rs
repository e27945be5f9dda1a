//! The label of a place: what is known of its files, and what the owner says of them.

use policy::Nature;
use policy::path::{self, Pattern};

use crate::kernel::state::State;
use crate::topics::context;
use crate::topics::settings::Trust;
use crate::topics::tool;
use crate::topics::tool::Act;
use crate::words::id::AgentId;
use crate::words::label::{Label, Readers};

/// The label of what stands at `place`: a path relative to the home, `names:` and a folder for the names in it, `all:`
/// and a folder for everything that may be beneath it, or something like `net:` that is not in the home at all.
///
/// A plain path may be a folder, too. Then it has the labels of all files beneath it, and of rules that begin beneath it;
/// only `all:` counts every rule whose stars may stand for something in it.
pub fn of_place(state: &State, place: &str) -> Label {
    if let Some(folder) = place.strip_prefix("names:") {
        let folder = clean(folder);
        let rules = of_rules(&state.config.settings.trust, &folder, |pattern| pattern.covers(&folder));
        return of_files(state, &folder).joined(&rules).joined(&Label::team());
    }
    if let Some(folder) = place.strip_prefix("all:") {
        let path = clean(folder);
        let rules = of_rules(&state.config.settings.trust, &path, |pattern| pattern.may_cover_beneath(&path));
        return of_place(state, &path).joined(&rules);
    }
    if place.contains(':') && !place.contains('/') {
        return Label::outside(place);
    }
    let path = clean(place);
    let path = path.as_str();
    let mut label = of_files(state, path);
    let concerns = |pattern: &Pattern| pattern.covers(path) || pattern.begins_beneath(path);
    label.join(&of_rules(&state.config.settings.trust, path, concerns));
    match path.split('/').next().unwrap_or_default() {
        "inbox" | "approvals" | "log" => label.join(&Label::outside(path)),
        "workspaces" => label.join(&Label::team()),
        "sessions" => {
            let sessions = state
                .sessions
                .iter()
                .filter(|(id, _)| path == "sessions" || path == format!("sessions/{id}.session.yaml"));
            sessions.for_each(|(_, session)| label.join(&session.label));
        }
        "tasks" => {
            let tasks = state.work.tasks.values().filter(|t| path == "tasks" || t.spec.file == path);
            tasks.for_each(|task| label.join(&task.label));
        }
        "" => {
            label.join(&of_place(state, "tasks"));
            label.join(&of_place(state, "sessions"));
            label.join(&Label::outside("inbox"));
        }
        _ => {}
    }
    label
}

/// The files and folders beneath a folder whose recorded label leaves an agent out.
pub fn hidden_from(state: &State, agent: &AgentId, folder: &str) -> Vec<String> {
    let known = state.trust.files.range(folder.to_owned()..);
    let known = known.take_while(|(path, _)| path.starts_with(folder));
    let hidden = known.filter(|(path, label)| !label.readers.include(agent) && path::beneath(path, folder));
    hidden.map(|(path, _)| path.clone()).collect()
}

/// The places that an act names and changes.
pub fn written_by(act: &Act) -> Vec<String> {
    let reach = act.reach();
    let writes = tool::facts(act.tool()).is_some_and(|facts| facts.nature != Nature::Read);
    let context = reach.context.filter(|_| writes).map(context::places);
    reach.writes.into_iter().map(str::to_owned).chain(context.into_iter().flatten()).collect()
}

/// The folder whose label stands for a file's when there are too many files.
pub fn folder_for(place: &str) -> &str {
    place.match_indices('/').nth(1).map_or(place, |(end, _)| &place[..end])
}

/// What is known of files by who wrote them: the path itself, the folders above it and all beneath it.
fn of_files(state: &State, path: &str) -> Label {
    let mut label = Label::owner();
    if state.trust.files.is_empty() {
        return label;
    }
    if path.is_empty() {
        state.trust.files.values().for_each(|l| label.join(l));
        return label;
    }
    for (end, _) in path.match_indices('/').chain([(path.len(), "")]) {
        if let Some(found) = state.trust.files.get(&path[..end]) {
            label.join(found);
        }
    }
    let beneath = format!("{path}/");
    for (name, found) in state.trust.files.range(beneath.clone()..) {
        if !name.starts_with(&beneath) {
            break;
        }
        label.join(found);
    }
    label
}

/// What the owner says in `trust:` about a path, by the rules that concern it.
fn of_rules(trust: &Trust, path: &str, concerns: impl Fn(&Pattern) -> bool) -> Label {
    let mut label = Label::owner();
    if trust.outside.iter().any(|pattern| concerns(&Pattern::new(pattern))) {
        label.join(&Label::outside(path));
    }
    for (pattern, readers) in &trust.secret {
        if concerns(&Pattern::new(pattern)) {
            let readers = Readers::Only(readers.iter().cloned().collect());
            label.join(&Label { readers, ..Label::owner() });
        }
    }
    label
}

/// The plain form of a path; one that leads out of the home stays as it is and has no rule.
fn clean(path: &str) -> String {
    let relative = path.trim_matches('/');
    path::normal(relative).unwrap_or_else(|| relative.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::label::Integrity;

    #[test]
    fn a_place_is_as_bad_as_the_worst_in_it() {
        let mut state = State::new();
        state.config.settings.trust.outside = vec!["workspaces/*/vendor/*".to_owned()];
        state.config.settings.trust.secret =
            std::collections::BTreeMap::from([("memory/pay/*".to_owned(), vec![AgentId::new("finance")])]);
        state.trust.files.insert("workspaces/a/notes".to_owned(), Label::outside("inbox/x.jsonl:1"));
        for (place, integrity) in [
            ("memory/a.md", Integrity::Owner),
            ("workspaces/a/main.rs", Integrity::Team),
            ("workspaces/a/notes", Integrity::Outside),
            ("workspaces/a/notes/deep.md", Integrity::Outside),
            ("workspaces/a", Integrity::Outside),
            ("names:workspaces/a", Integrity::Outside),
            ("names:workspaces/b", Integrity::Team),
            ("workspaces/ab", Integrity::Team),
            ("workspaces/b/vendor/x.c", Integrity::Outside),
            ("workspaces/b/vendor/deep/x.c", Integrity::Outside),
            ("workspaces/b/Vendor/./x.c", Integrity::Outside),
            ("workspaces/b/vendor", Integrity::Outside),
            ("names:workspaces/b/vendor", Integrity::Outside),
            ("names:workspaces/b/vendor/deep", Integrity::Outside),
            ("all:workspaces/b", Integrity::Outside),
            ("all:workspaces/b/vendor", Integrity::Outside),
            ("all:memory", Integrity::Owner),
            ("inbox/x.jsonl", Integrity::Outside),
            ("net:", Integrity::Outside),
            (".", Integrity::Outside),
        ] {
            assert_eq!(of_place(&state, place).integrity, integrity, "{place}");
        }
        assert!(!of_place(&state, "memory/pay/june.md").readers.include(&AgentId::new("coder")));
        assert!(!of_place(&state, "memory/pay").readers.include(&AgentId::new("coder")));
        assert!(!of_place(&state, "memory").readers.include(&AgentId::new("coder")));
        assert!(!of_place(&state, "Memory/Pay/june.md").readers.include(&AgentId::new("coder")));
        assert!(!of_place(&state, "names:memory/pay").readers.include(&AgentId::new("coder")));
        assert!(!of_place(&state, "all:memory").readers.include(&AgentId::new("coder")));
        assert!(of_place(&state, "names:memory").readers.include(&AgentId::new("coder")));
        assert!(of_place(&state, "memory/pay/june.md").readers.include(&AgentId::new("finance")));
        assert!(of_place(&state, "memory/play.md").readers.include(&AgentId::new("coder")));
    }
}
