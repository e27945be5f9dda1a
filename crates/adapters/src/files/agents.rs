//! Files of agents that Synod makes and takes away. All others are a person's.

use domain::agent;
use domain::event::AgentEvent;
use domain::event::Event;
use domain::id::AgentId;
use domain::layout;

use super::cabinet::Cabinet;

/// An edit in `agents/`.
#[derive(Debug, Clone)]
pub(super) enum AgentOp {
    /// There is a new one.
    Write(Box<agent::Spec>),
    /// It was ended.
    Remove(AgentId),
}

impl AgentOp {
    /// What an event changes in `agents/`.
    pub(super) fn of(event: &Event) -> Option<Self> {
        match event {
            Event::Agent(AgentEvent::Spawned { spec, .. }) => Some(Self::Write(spec.clone())),
            Event::Agent(AgentEvent::Terminated { agent, .. }) => Some(Self::Remove(agent.clone())),
            _ => None,
        }
    }

    pub(super) fn path(&self) -> String {
        let id = match self {
            Self::Write(spec) => &spec.id,
            Self::Remove(agent) => agent,
        };
        layout::agent_file(id)
    }
}

/// Makes these edits, and gives back those that could not be made.
pub(super) fn settle_agents(cabinet: &mut Cabinet, mut ops: Vec<AgentOp>) -> Vec<AgentOp> {
    ops.retain(|op| {
        let done = settle_agent(cabinet, op);
        !cabinet.reports.note(&op.path(), done)
    });
    ops
}

fn settle_agent(cabinet: &mut Cabinet, op: &AgentOp) -> std::io::Result<()> {
    let path = op.path();
    match op {
        AgentOp::Write(spec) => {
            std::fs::create_dir_all(cabinet.home.join(layout::AGENTS))?;
            // One that is there already was printed before a crash, and a person may have edited it since.
            cabinet.rewrite(&path, false, |_, text, _| match text {
                Some(_) => None,
                None => Some(formats::agent::print(spec)),
            })
        }
        AgentOp::Remove(agent) => {
            cabinet.known.remove(&path);
            let json = layout::agent_json(agent);
            for path in [path, json] {
                match std::fs::remove_file(cabinet.home.join(path)) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                    Ok(()) | Err(_) => {}
                }
            }
            Ok(())
        }
    }
}
