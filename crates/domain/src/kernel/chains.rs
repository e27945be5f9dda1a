//! The chain of a conversation, and the contexts that go along with it.

use std::collections::BTreeMap;

use crate::kernel::state::State;
use crate::topics::chain::{Hands, ON_BEHALF, shown};
use crate::topics::context::{Link, Pass};
use crate::topics::delegation::Delegation;
use crate::topics::session::Session;
use crate::topics::task::{Requester, TASK_DEPTH_MAX, Task};
use crate::words::id::{AgentId, SessionId};

/// Whose hands the work of a conversation went through, its own agent last.
pub fn chain(state: &State, session: &Session) -> Hands {
    let mut hands = above(state, session);
    hands.reach(&session.agent);
    hands
}

/// Whose hands the work of a conversation went through before it: of its task, of the work that its task was made for, or
/// without a task of those whose words it acts on. Empty if nobody delegated it. With it goes whether a yes is demanded for
/// what is done.
pub(crate) fn above(state: &State, session: &Session) -> Hands {
    let Some(task) = &session.task else { return session.ties.hands.clone() };
    let task = state.work.tasks.get(task);
    let approval_required = task.is_some_and(|task| task.spec.approval_required);
    Hands { approval_required, ..of_task(state, task) }
}

fn of_task<'a>(state: &'a State, mut task: Option<&'a Task>) -> Hands {
    for _ in 0..TASK_DEPTH_MAX {
        let Some(at) = task else { break };
        if let Some(hands) = Hands::read(&at.spec.properties) {
            return hands;
        }
        let asked = match &at.by {
            Requester::Session { session } => state.sessions.get(session).and_then(|s| s.task.as_ref()),
            Requester::Person { .. } | Requester::Inbox { .. } => None,
        };
        let next = asked.or(at.spec.parent.as_ref()).and_then(|id| state.work.tasks.get(id));
        task = next.filter(|next| next.spec.id != at.spec.id);
    }
    Hands::default()
}

/// What the file of a task says that a conversation makes: without a task of its own, nothing else would tell later for
/// whom that was.
pub(crate) fn bind(session: &Session, properties: &mut BTreeMap<String, String>) {
    if session.task.is_none() && !session.ties.hands.chain.is_empty() {
        properties.insert(ON_BEHALF.to_owned(), shown(&session.ties.hands.chain));
    }
}

/// Those through whose hands the work of a conversation went, with the contexts that went along, as long as it is under
/// way; nobody if none did. What was made for delegated work by `create_task` gets nothing along.
pub fn line(state: &State, id: &SessionId) -> Vec<Link> {
    let mut at = under_way(state, id).filter(|own| !own.contexts.is_empty());
    let Some(own) = at else { return Vec::new() };
    let link = |agent: &AgentId, passed: Vec<Pass>| {
        Link::new(agent, state.team.agents.get(agent).map(|agent| &agent.spec), passed)
    };
    let mut links = Vec::new();
    for agent in own.chain.iter().rev() {
        let here = at.filter(|delegation| delegation.target == *agent);
        let passed = here.map(|delegation| delegation.contexts.clone()).unwrap_or_default();
        links.push(link(agent, passed));
        at = here.and_then(|delegation| under_way(state, &delegation.session));
    }
    links.reverse();
    links
}

/// The delegation that a conversation is the work of.
fn under_way<'a>(state: &'a State, id: &SessionId) -> Option<&'a Delegation> {
    let session = state.sessions.get(id)?;
    let task = session.task.as_ref()?;
    let is_its = state.work.tasks.get(task).is_some_and(|task| task.session() == Some(id));
    // Who was given the work since then was not trusted with what went along.
    let is_meant = |delegation: &&Delegation| delegation.target == session.agent;
    let found = state.delegations.of_task(task).filter(is_meant);
    found.filter(|delegation| is_its && !delegation.status.is_over())
}
