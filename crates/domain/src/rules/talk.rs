//! Finding the conversation in which an agent is spoken to, or opening one.

use crate::kernel::draft::Draft;
use crate::kernel::event::SessionEvent;
use crate::kernel::refused::Refused;
use crate::kernel::state::State;
use crate::topics::agent::Agent;
use crate::topics::message;
use crate::topics::session::Session;
use crate::topics::session::{Head, Message};
use crate::words::id::{AgentId, SessionId, TaskId, Time};

/// The open conversation of an agent in which it is spoken to: about the same root task, else one about no task.
pub(super) fn conversation_with<'a>(
    state: &'a State,
    agent: &'a Agent,
    about: Option<&TaskId>,
) -> Option<&'a SessionId> {
    let root = about.map(|task| state.root_of(task));
    let open = agent.sessions.iter().filter_map(|id| state.sessions.get_key_value(id));
    let mut related = None;
    let mut conversation = None;
    for (id, session) in open {
        match &session.task {
            Some(task) if root.is_some_and(|root| state.root_of(task) == root) => related = Some(id),
            Some(_) => {}
            None => conversation = Some(id),
        }
    }
    related.or(conversation)
}

/// Says something to an agent in the conversation where it belongs, else in a new one. A sleeping agent is woken, never doubled.
pub(super) fn tell_agent(
    d: &mut Draft<'_>,
    agent: &AgentId,
    about: Option<&TaskId>,
    message: Message,
    asker: Option<&SessionId>,
) {
    let Some(known) = d.team.agents.get(agent) else { return };
    let session = match conversation_with(d, known, about) {
        Some(id) => id.clone(),
        None => {
            let head = head_for(d, d.at, known, None);
            let session = head.session.clone();
            d.emit(SessionEvent::Opened { head: Box::new(head) });
            session
        }
    };
    d.say(&session, message, asker);
}

/// The head of a new conversation.
pub(super) fn head_for(state: &State, at: Time, agent: &Agent, task: Option<&TaskId>) -> Head {
    Head {
        session: fresh_session(state, agent),
        agent: agent.spec.id.clone(),
        role: agent.spec.role.clone(),
        model: agent.spec.model.primary.clone(),
        system_prompt: agent.spec.system_prompt.clone(),
        task: task.cloned(),
        created: at,
    }
}

/// `<agent>-<6 hex>`, scattered so that two homes rarely share one, and the same again in a replay.
fn fresh_session(state: &State, agent: &Agent) -> SessionId {
    let mut number = agent.sessions_begun;
    loop {
        let bytes = agent.spec.id.as_str().bytes();
        let scattered = bytes.fold(number.wrapping_add(1).wrapping_mul(0x9e37_79b1), |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        let digits = (scattered ^ (scattered >> 24)) & 0x00ff_ffff;
        let id = SessionId::new(format!("{}-{digits:06x}", agent.spec.id));
        if !state.sessions.contains_key(&id) {
            return id;
        }
        number = number.wrapping_add(0x0001_0001);
    }
}

/// The conversation in which the request came up that a session works for.
pub(super) fn root<'a>(id: &'a SessionId, session: &'a Session) -> &'a SessionId {
    session.ties.cause.as_ref().unwrap_or(id)
}

/// Agents took so many turns for one request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "limits.request_turns_max: agents took {0} turns for this request already; say what came of it, or what is in the way"
)]
pub(super) struct OutOfTurns(u32);

/// Whether agents may begin something new for the request that a conversation is at.
pub(super) fn check_turns(state: &State, id: &SessionId, session: &Session) -> Result<(), OutOfTurns> {
    let root = root(id, session);
    let most = state.terms_of(root).limits.request_turns_max;
    match state.sessions.get(root).is_some_and(|root| root.ties.caused >= most) {
        true => Err(OutOfTurns(most)),
        false => Ok(()),
    }
}

/// The other agents of the team, each with its role and what it answers for.
pub(super) fn team(state: &State, own: &AgentId) -> String {
    let others = state.team.agents.values().filter(|agent| !agent.retired && agent.spec.id != *own);
    let one = |agent: &Agent| match agent.spec.responsibilities.as_slice() {
        [] => format!("{} ({})", agent.spec.id, agent.spec.role),
        tags => format!("{} ({}; tags {})", agent.spec.id, agent.spec.role, tags.join(" ")),
    };
    let named: Vec<String> = others.take(20).map(one).collect();
    if named.is_empty() { "there is nobody else".to_owned() } else { named.join(", ") }
}

/// Says that there is no such agent, and which one was probably meant.
pub(super) fn no_agent(state: &State, name: &str) -> Refused {
    let employed = || state.team.agents.values().filter(|a| !a.retired).map(|a| &a.spec.id);
    let known: Vec<&str> = employed().map(AgentId::as_str).take(20).collect();
    let what = match state.team.agents.get(&AgentId::new(name)) {
        Some(Agent { terminated: Some(by), .. }) => format!("{name} was terminated by {by}"),
        Some(Agent { retired: true, .. }) => format!("{name} is no longer in the team"),
        Some(_) | None => format!("there is no agent {name}"),
    };
    Refused::NoReceiver(match message::near(name, employed()) {
        Some(near) => format!("{what}; did you mean {near}? There are: {}", known.join(", ")),
        None => format!("{what}; there are: {}", known.join(", ")),
    })
}
