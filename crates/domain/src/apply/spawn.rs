//! Who is in the team: agents that files define, that are spawned, and that end.

use crate::agent;
use crate::event::Event;
use crate::id::AgentId;
use crate::state::{Agent, State};

impl State {
    pub(super) fn change_team(&mut self, event: &Event) {
        match event {
            Event::AgentDefined { spec } | Event::AgentSpawned { spec, .. } => self.define_agent(spec),
            Event::AgentRetired { agent } => self.retire_agent(agent),
            Event::AgentTerminated { agent, by, .. } => self.terminate_agent(agent, by),
            _ => {}
        }
    }

    fn define_agent(&mut self, spec: &agent::Spec) {
        match self.agents.get_mut(&spec.id) {
            Some(agent) => {
                agent.spec = spec.clone();
                agent.retired = false;
            }
            None => {
                let agent = Agent {
                    spec: spec.clone(),
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
                self.agents.insert(spec.id.clone(), agent);
            }
        }
        self.refresh_lines_of(&spec.id);
    }

    fn retire_agent(&mut self, id: &AgentId) {
        if let Some(agent) = self.agents.get_mut(id) {
            agent.retired = true;
        }
        self.refresh_lines_of(id);
    }

    fn terminate_agent(&mut self, id: &AgentId, by: &str) {
        if let Some(agent) = self.agents.get_mut(id) {
            agent.terminated = Some(by.to_owned());
        }
        self.retire_agent(id);
    }
}
