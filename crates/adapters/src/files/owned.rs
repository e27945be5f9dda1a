//! Files that only people write: settings, policy, agents. A file that does not read keeps its last good version.

use domain::id::AgentId;
use domain::input::FileInput;
use domain::input::Input;
use domain::layout;
use domain::settings::Settings;

use super::cabinet::Cabinet;
use super::places::agent_of;
use crate::disk::Found;

pub(super) fn look_at_settings(cabinet: &mut Cabinet, path: &str, found: Option<&Found>) {
    // Of two files of settings the first counts, whichever was saved last.
    let is_second = path == layout::EVE;
    if is_second && (found.is_none() || cabinet.home.join(layout::SETTINGS).exists()) {
        return;
    }
    let Some(found) = found else { return cabinet.reports.hold.note(&[]) };
    // A save that truncates, or a full disk, leaves nothing for a moment: that is no wish.
    if says_nothing(&found.text) && cabinet.state.config.settings != Settings::default() {
        let what = "there are no settings any more; those of before stay until some are written";
        return cabinet.reports.complain_text(path, what.to_owned());
    }
    if let Some(settings) = cabinet.reports.take(path, formats::settings::read(path, &found.text)) {
        cabinet.outbox.say(Input::File(FileInput::SettingsRead(Box::new(settings))));
    }
}

pub(super) fn look_at_policy(cabinet: &mut Cabinet, path: &str, found: Option<&Found>) {
    let text = found.map_or("", |found| &found.text);
    if found.is_none() {
        // Without a policy nothing is allowed unasked.
        cabinet.outbox.say(Input::File(FileInput::PolicyRead(policy::Policy::default())));
    } else if let Some(policy) = cabinet.reports.take(path, formats::policy::read(path, text)) {
        cabinet.outbox.say(Input::File(FileInput::PolicyRead(policy)));
    }
}

pub(super) fn look_at_agent(cabinet: &mut Cabinet, path: &str, found: Option<&Found>, confirmed: bool) {
    let Some((id, [first, second])) = agent_of(path).map(|id| (id.clone(), layout::agent_files(&id))) else {
        return;
    };
    let is_there = |path: &String| cabinet.home.join(path).exists();
    let (has_first, has_second) = (is_there(&first), is_there(&second));
    match found {
        // Of two files for one agent the first counts, whichever was saved last.
        Some(_) if path == second && has_first => {
            cabinet.reports.complain_text(path, format!("the agent id `{id}` is already used in {first}"));
        }
        Some(found) => {
            if path == first && has_second {
                cabinet.looks.soon(&second);
            }
            if let Some(spec) = cabinet.reports.take(path, formats::agent::read(path, &found.text)) {
                if cabinet.state.team.agents.get(&spec.id).is_some_and(|agent| agent.terminated.is_some()) {
                    let what =
                        format!("{} was terminated and does not come back; give it another id", spec.id);
                    return cabinet.reports.complain_text(path, what);
                }
                cabinet.outbox.say(Input::File(FileInput::AgentRead(Box::new(spec))));
            }
        }
        None if confirmed && path == first && has_second => cabinet.looks.soon(&second),
        None if confirmed => {
            if cabinet.state.team.agents.contains_key(&id) && !has_first && !has_second {
                cabinet.outbox.say(Input::File(FileInput::AgentGone(id)));
            }
        }
        None => cabinet.looks.confirm_later(path),
    }
}

/// Agents whose files went away while nobody watched.
pub(super) fn miss_agents(cabinet: &mut Cabinet) {
    let has_file = |id: &AgentId| layout::agent_files(id).iter().any(|path| cabinet.home.join(path).exists());
    let employed = cabinet.state.team.agents.iter().filter(|(_, agent)| !agent.retired).map(|(id, _)| id);
    let gone: Vec<AgentId> = employed.filter(|id| !has_file(id)).cloned().collect();
    for id in gone {
        cabinet.outbox.say(Input::File(FileInput::AgentGone(id)));
    }
}

/// Whether a file of YAML has comments at most.
fn says_nothing(text: &str) -> bool {
    let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    lines.all(|line| line.is_empty() || line == "---" || line.starts_with('#'))
}
