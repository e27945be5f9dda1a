//! Who is in the team: agents that files define, that are spawned, and that end.

use crate::words::actor::Actor;
use std::collections::BTreeSet;

use crate::kernel::event::AgentEvent;
use crate::kernel::state::State;
use crate::topics::agent;
use crate::topics::agent::Agent;
use crate::topics::session::Session;
use crate::words::id::{AgentId, SessionId};
use crate::words::table::Table;

impl State {
    pub(super) fn change_team(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Defined { spec } | AgentEvent::Spawned { spec, .. } => self.define_agent(spec),
            AgentEvent::Retired { agent } => self.retire_agent(agent),
            AgentEvent::Terminated { agent, by, session, .. } => {
                self.terminate_agent(agent, by);
                self.team.cleaning.insert(agent.clone(), session.clone());
            }
            AgentEvent::Cleaned { agent, .. } => _ = self.team.cleaning.remove(agent),
            AgentEvent::CleaningResumed { .. } => {}
        }
    }

    fn define_agent(&mut self, spec: &agent::Spec) {
        match self.team.agents.get_mut(&spec.id) {
            Some(agent) => {
                agent.retired = false;
                if agent.spec != *spec {
                    let old = std::mem::replace(&mut agent.spec, spec.clone());
                    agent.past.insert(agent.version, old);
                    agent.version += 1;
                    forget_past(agent, &self.sessions);
                }
            }
            None => {
                let agent = Agent {
                    spec: spec.clone(),
                    version: 0,
                    past: Default::default(),
                    retired: false,
                    terminated: None,
                    busy: 0,
                    sessions_begun: 0,
                    sessions: Default::default(),
                    queue: Default::default(),
                    backlog: Default::default(),
                    waiting: 0,
                    head: None,
                };
                self.team.agents.insert(spec.id.clone(), agent);
            }
        }
        self.refresh_spawned(&spec.id);
        self.refresh_lines_of(&spec.id);
    }

    fn retire_agent(&mut self, id: &AgentId) {
        if let Some(agent) = self.team.agents.get_mut(id) {
            agent.retired = true;
        }
        self.refresh_spawned(id);
        self.refresh_lines_of(id);
    }

    /// Keeps `spawned` true for one agent.
    fn refresh_spawned(&mut self, id: &AgentId) {
        let is_over = |agent: &Agent| agent.retired && agent.terminated.is_some();
        match self.team.agents.get(id) {
            Some(agent) if agent.spec.spawned_by.is_some() && !is_over(agent) => {
                _ = self.team.spawned.insert(id.clone());
            }
            Some(_) | None => _ = self.team.spawned.remove(id),
        }
    }

    fn terminate_agent(&mut self, id: &AgentId, by: &Actor) {
        if let Some(agent) = self.team.agents.get_mut(id) {
            agent.terminated = Some(by.clone());
        }
        self.retire_agent(id);
    }
}

/// Forgets what an agent was when no session began with it that goes on.
pub(super) fn forget_past(agent: &mut Agent, sessions: &Table<SessionId, Session>) {
    if !agent.past.is_empty() {
        let used: BTreeSet<u32> = agent
            .sessions
            .iter()
            .filter_map(|id| sessions.get(id))
            .map(|session| session.began.version)
            .collect();
        agent.past.retain(|version, _| used.contains(version));
    }
}
