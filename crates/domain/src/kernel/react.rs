//! What an event demands of the world. `react` only lists; the engine has it done.

use std::sync::Arc;

use crate::kernel::effect::Effect;
use crate::kernel::event::Event;
use crate::kernel::event::{AgentEvent, CallEvent, LockEvent, SessionEvent, TurnEvent};
use crate::kernel::state::State;
use crate::kernel::workspaces;
use crate::topics::budget::Held;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::session::{Session, Stage, Step};
use crate::topics::tool::Want;
use crate::words::id::{AgentId, CallId, SessionId};

/// The effects of `event`, given the state right after it.
pub fn react(state: &State, event: &Event) -> Option<Effect> {
    match event {
        Event::Turn(TurnEvent::Begun { session, .. })
        | Event::Turn(TurnEvent::Retried { session, .. })
        | Event::Turn(TurnEvent::Summarised { session, .. }) => {
            state.sessions.get_key_value(session).and_then(|(id, s)| model_call(state, id, s))
        }
        Event::Call(CallEvent::Cleared { session, call, .. })
        | Event::Call(CallEvent::Retried { session, call }) => {
            state.sessions.get_key_value(session).and_then(|(id, s)| tool_call(state, id, s, call))
        }
        Event::Call(CallEvent::LookWanted { session, call }) => {
            state.sessions.get_key_value(session).and_then(|(id, s)| look(id, s, call))
        }
        Event::Agent(AgentEvent::Terminated { agent, .. })
        | Event::Agent(AgentEvent::CleaningResumed { agent }) => Some(clean_up(state, agent)),
        Event::Session(SessionEvent::Moved { session, to: Lifecycle::Complete, .. })
        | Event::Session(SessionEvent::Cut { session, .. }) => {
            Some(Effect::Stop { session: session.clone() })
        }
        Event::Lock(LockEvent::Granted { grant, .. }) => Some(Effect::Fence(grant.clone())),
        Event::System(_)
        | Event::Agent(_)
        | Event::Task(_)
        | Event::Notice(_)
        | Event::Session(_)
        | Event::Turn(_)
        | Event::Call(_)
        | Event::Approval(_)
        | Event::Delegation(_)
        | Event::Review(_)
        | Event::Lock(_)
        | Event::Budget(_)
        | Event::Outage(_)
        | Event::Trust(_) => None,
    }
}

/// What is under way and has no outcome: what a restart must take up.
pub fn pending(state: &State) -> Vec<Effect> {
    let mut effects: Vec<Effect> = state.team.cleaning.keys().map(|agent| clean_up(state, agent)).collect();
    for (id, session) in state.sessions_in_flight() {
        effects.extend(model_call(state, id, session));
        if let Stage::Acting { calls, .. } = &session.stage {
            effects.extend(calls.iter().filter_map(|p| tool_call(state, id, session, &p.call.id)));
            effects.extend(calls.iter().filter_map(|p| look(id, session, &p.call.id)));
        }
    }
    effects
}

fn clean_up(state: &State, agent: &AgentId) -> Effect {
    let workspace = state.team.agents.get(agent).and_then(|agent| agent.spec.workspace.clone());
    Effect::CleanUp { agent: agent.clone(), workspace }
}

fn model_call(state: &State, id: &SessionId, session: &Session) -> Option<Effect> {
    let Stage::Thinking { ticket } = session.stage else { return None };
    Some(Effect::CallModel {
        ticket,
        session: id.clone(),
        agent: session.agent.clone(),
        turn: session.pace.turns_total,
        reserved: state.ledger.held(id, "").map(Held::tokens),
    })
}

fn look(id: &SessionId, session: &Session, call: &CallId) -> Option<Effect> {
    let pending = session.pending(call)?;
    let Step::Looking { ticket } = pending.step else { return None };
    let (session, agent) = (id.clone(), session.agent.clone());
    Some(Effect::Look { ticket, session, agent, call: Arc::clone(&pending.call) })
}

fn tool_call(state: &State, id: &SessionId, session: &Session, call: &CallId) -> Option<Effect> {
    let pending = session.pending(call)?;
    let Step::Running { ticket, permit, .. } = pending.step else { return None };
    let works = match &pending.call.want {
        Want::Act(act) => workspaces::needed(state, session, act),
        Want::Invalid { .. } => None,
    };
    Some(Effect::RunTool {
        ticket,
        session: id.clone(),
        agent: session.agent.clone(),
        call: pending.call.clone(),
        permit,
        locks: state.locks.of_call(id, call),
        hold: works.and_then(|_| workspaces::hold(state, id, session)),
    })
}
