//! The team as it is in force. A file that does not read leaves the last good version in force, which the journal has;
//! it is opened only for that.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use domain::agent;
use domain::event::Event;
use domain::event::{AgentEvent, SystemEvent};
use domain::id::AgentId;
use domain::layout;
use domain::settings::Settings;
use domain::state::State;
use formats::diagnostic::Severity;
use formats::{Diagnostic, Read, agent as agent_file};
use policy::Policy;

use super::{files, spent};
use crate::failure::{Exit, fail};
use crate::out::Out;
use crate::text;

const POLICY: &str = layout::COMMANDS;

/// Who there is.
#[derive(Debug, Default)]
pub struct Team {
    /// Those that work, by id: as their files say or, while one does not read, as it last did.
    pub agents: Vec<agent::Spec>,
    /// Whose file does not read, and why, with the place.
    pub unread: BTreeMap<AgentId, String>,
}

impl Team {
    /// An agent that works.
    pub fn find(&self, id: &AgentId) -> Option<&agent::Spec> {
        self.agents.iter().find(|spec| spec.id == *id)
    }

    /// Why an agent cannot work; nothing if it can.
    pub fn lacks(&self, id: &AgentId) -> Option<String> {
        match self.find(id) {
            Some(_) => None,
            None if self.unread.contains_key(id) => Some(format!("the file of agent {id} does not read")),
            None => Some(format!("agent {id} does not exist")),
        }
    }

    /// The agent, if it works; else why it does not.
    pub fn employed(&self, home: &Path, id: &str) -> anyhow::Result<&agent::Spec> {
        self.check(home, id)?;
        let ids = self.agents.iter().map(|spec| spec.id.as_str());
        self.find(&AgentId::new(id)).ok_or_else(|| super::unknown("agent", id, ids))
    }

    /// Refuses a name with better words than that nobody has it: it is empty, its file does not read, its agent is over.
    pub fn check(&self, home: &Path, name: &str) -> anyhow::Result<()> {
        let help = "`synod agent list` shows who there is";
        if name.trim().is_empty() {
            return Err(fail(Exit::Usage, "the name of the agent is empty", help));
        }
        let (id, shown) = (AgentId::new(name), text::line(name));
        // `human` and `broadcast` are no agents, whatever a file is called.
        if self.find(&id).is_some() || agent::check_name(name).is_err() {
            return Ok(());
        }
        if let Some(why) = self.unread.get(&id) {
            let message = format!("the file of {shown} does not read: {why}");
            return Err(fail(Exit::Failed, message, "see `synod check`"));
        }
        match spent::known(home).team.agents.get(&id).and_then(|agent| agent.terminated.as_ref()) {
            Some(by) => Err(fail(Exit::Failed, format!("{shown} was terminated by {by}"), help)),
            None => Ok(()),
        }
    }

    /// As much of the state as the rules look at that say who gets a piece of work.
    pub fn rules(&self, settings: Settings) -> State {
        let mut state = State::new();
        let agents =
            self.agents.iter().map(|spec| Event::Agent(AgentEvent::Defined { spec: Box::new(spec.clone()) }));
        let settings = Event::System(SystemEvent::SettingsChanged { settings: Box::new(settings) });
        for event in std::iter::once(settings).chain(agents) {
            state.apply(super::now(), &event);
        }
        state
    }

    /// Tells of files that do not read, for people and programs alike.
    pub fn tell_unread(&self, out: &Out) {
        for (id, why) in &self.unread {
            let meanwhile = match self.find(id) {
                Some(_) => "what it said last holds",
                None => "until it does, there is no such agent",
            };
            let id = text::line(id.as_str());
            out.say(format!("the file of {id} does not read: {why}; {meanwhile} (`synod check` shows more)"));
        }
    }
}

/// Reads the files of agents.
pub fn read(home: &Path) -> Team {
    let mut team = Team::default();
    let known = OnceCell::new();
    let mut seen = BTreeSet::new();
    for path in files::agents(home) {
        // A name that no agent can have is one to complain of.
        let named = agent_file::named(&path).map(AgentId::new);
        // Of two files that may define an agent, the first does.
        if named.as_ref().is_some_and(|id| !seen.insert(id.clone())) {
            continue;
        }
        match value(home, &path, agent_file::read) {
            Ok(spec) => team.agents.push(spec),
            Err(why) => {
                let Some(id) = named else { continue };
                let state: &State = known.get_or_init(|| spent::known(home));
                team.agents.extend(state.employed(&id).map(|agent| agent.spec.clone()));
                team.unread.insert(id, why);
            }
        }
    }
    team.agents.sort_by(|a, b| a.id.cmp(&b.id));
    team.agents.dedup_by(|a, b| a.id == b.id);
    team
}

/// The settings, and why `synod.yaml` does not read if that is so: then they are what it said last.
pub fn settings(home: &Path) -> (Settings, Option<String>) {
    let [first, second] = layout::SETTINGS_FILES;
    let is_there = |path: &str| home.join(path).symlink_metadata().is_ok();
    let path = if !is_there(first) && is_there(second) { second } else { first };
    match value(home, path, formats::settings::read) {
        Ok(settings) => (settings, None),
        Err(why) => (spent::known(home).config.settings, is_there(path).then_some(why)),
    }
}

/// Tells that the settings do not read.
pub fn tell_settings(unread: Option<&str>, out: &Out) {
    if let Some(why) = unread {
        out.say(format!(
            "synod.yaml does not read: {why}; what it said last holds (`synod check` shows more)"
        ));
    }
}

/// The policy likewise; without one, nothing is allowed unasked.
pub fn policy(home: &Path) -> Policy {
    value(home, POLICY, formats::policy::read).unwrap_or_else(|_| spent::known(home).config.policy)
}

/// What a file says, or why it does not read, with the place.
fn value<T>(home: &Path, path: &str, read: impl Fn(&str, &str) -> Read<T>) -> Result<T, String> {
    let text = files::read(home, path).map_err(|error| format!("{path}: {error}"))?;
    let Read { value, diagnostics } = read(path, &text);
    let is_error = |d: &&Diagnostic| d.severity == Severity::Error;
    value.ok_or_else(|| {
        let first = diagnostics.iter().find(is_error);
        first.map_or_else(|| path.to_owned(), place)
    })
}

/// What is wrong, behind its place.
pub fn place(d: &Diagnostic) -> String {
    text::line(&format!("{}:{}:{}: {}", d.path, d.line, d.column, d.message))
}

/// Who made an agent, for a column; its parent, of those through whose hands the wish came.
pub fn spawned_by(agent: &agent::Spec) -> String {
    match &agent.spawned_by {
        Some(origin) => text::line(&origin.parent().map_or_else(|| origin.to_string(), ToString::to_string)),
        None => "-".to_owned(),
    }
}
