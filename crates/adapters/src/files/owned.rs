//! Files that only people write: settings, policy, agents. A file that does not read keeps its last good version.

use domain::id::AgentId;
use domain::input::Input;
use domain::settings::Settings;
use formats::diagnostic::Read;

use super::desk::Desk;
use crate::disk::Found;

impl Desk {
    pub(super) fn look_at_settings(&mut self, path: &str, found: Option<&Found>) {
        let Some(found) = found else { return self.hold.note(&[]) };
        // A save that truncates, or a full disk, leaves nothing for a moment: that is no wish.
        if says_nothing(&found.text) && self.state.settings != Settings::default() {
            let what = "there are no settings any more; those of before stay until some are written";
            return self.complain_text(path, what.to_owned());
        }
        if let Some(settings) = self.take(path, formats::settings::read(path, &found.text)) {
            self.say(Input::SettingsRead(Box::new(settings)));
        }
    }

    pub(super) fn look_at_policy(&mut self, path: &str, found: Option<&Found>) {
        let text = found.map_or("", |found| &found.text);
        if found.is_none() {
            // Without a policy nothing is allowed unasked.
            self.say(Input::PolicyRead(policy::Policy::default()));
        } else if let Some(policy) = self.take(path, formats::policy::read(path, text)) {
            self.say(Input::PolicyRead(policy));
        }
    }

    pub(super) fn look_at_agent(&mut self, path: &str, found: Option<&Found>, confirmed: bool) {
        let Some((id, [first, second])) = agent_of(path).map(|id| (id.clone(), places(&id))) else { return };
        let is_there = |path: &String| self.home.join(path).exists();
        let (has_first, has_second) = (is_there(&first), is_there(&second));
        match found {
            // Of two files for one agent the first counts, whichever was saved last.
            Some(_) if path == second && has_first => {
                self.complain_text(path, format!("the agent id `{id}` is already used in {first}"));
            }
            Some(found) => {
                if path == first && has_second {
                    self.look_soon(&second);
                }
                if let Some(spec) = self.take(path, formats::agent::read(path, &found.text)) {
                    if self.state.agents.get(&spec.id).is_some_and(|agent| agent.terminated.is_some()) {
                        let what =
                            format!("{} was terminated and does not come back; give it another id", spec.id);
                        return self.complain_text(path, what);
                    }
                    self.say(Input::AgentRead(Box::new(spec)));
                }
            }
            None if confirmed && path == first && has_second => self.look_soon(&second),
            None if confirmed => {
                if self.state.agents.contains_key(&id) && !has_first && !has_second {
                    self.say(Input::AgentGone(id));
                }
            }
            None => self.confirm_later(path),
        }
    }

    /// Agents whose files went away while nobody watched.
    pub(super) fn miss_agents(&mut self) {
        let has_file = |id: &AgentId| places(id).iter().any(|path| self.home.join(path).exists());
        let employed = self.state.agents.iter().filter(|(_, agent)| !agent.retired).map(|(id, _)| id);
        let gone: Vec<AgentId> = employed.filter(|id| !has_file(id)).cloned().collect();
        for id in gone {
            self.say(Input::AgentGone(id));
        }
    }

    /// The value of a file that reads; what is wrong with it is told.
    pub(super) fn take<T>(&mut self, path: &str, read: Read<T>) -> Option<T> {
        self.complain(path, read.diagnostics);
        read.value
    }
}

/// Whether a file of YAML has comments at most.
fn says_nothing(text: &str) -> bool {
    let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    lines.all(|line| line.is_empty() || line == "---" || line.starts_with('#'))
}

/// The agent that a file at this path defines, by its name.
pub(super) fn agent_of(path: &str) -> Option<AgentId> {
    AgentId::parse(formats::agent::named(path)?).ok()
}

/// The files that may define an agent; the first that is there does.
fn places(id: &AgentId) -> [String; 2] {
    [format!("agents/{id}.agent.yaml"), format!("agents/{id}/agent.json")]
}
