//! Messages that agents send: to one or to all, asking or answering, and waiting for the answer.

use crate::words::actor::Actor;
use std::collections::BTreeSet;

use crate::kernel::chains;
use crate::kernel::draft::Draft;
use crate::kernel::event::CallEvent;
use crate::kernel::event::Finish;
use crate::kernel::refused::Refused;
use crate::kernel::state::State;
use crate::kernel::waits;
use crate::kernel::waits::{Node, Why};
use crate::rules::answer::{hand_over, write};
use crate::rules::say::{result, said};
use crate::rules::talk::{OutOfTurns, check_turns, conversation_with, no_agent, root, tell_agent};
use crate::topics::agent::Agent;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::message;
use crate::topics::message::{BROADCAST, CHANNEL_SIGN, Envelope, Kind, OPEN_MAX, Urgency};
use crate::topics::session::Message;
use crate::topics::session::{On, Session, Step};
use crate::topics::tool::{Act, AskAgent, Call, SendMessage};
use crate::words::id::{AgentId, CallId, SessionId};
use crate::words::label::Label;

/// Why a message is not sent, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Rejected {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Turns(#[from] OutOfTurns),
    #[error("a response needs reply_to, the id of the request that it answers")]
    NoReplyTo,
    #[error("a response goes to who asked, not to all")]
    ResponseToAll,
    #[error("reply_to is for a response; leave out the type")]
    StrayReplyTo,
    #[error("only one agent can be waited for; send_message reaches several")]
    StrayWait,
    #[error("approved and issues are for a response")]
    StrayVerdict,
    #[error("an agent does not send messages to itself")]
    ToItself,
    #[error("{OPEN_MAX} requests are without an answer; wait for some of them")]
    TooManyOpen,
    #[error("waiting would never end: {}; answer first, or ask with send_message, which does not wait", .0.join(" waits for "))]
    Circle(Vec<String>),
    #[error(
        "waiting would never end: {0}; give back what others wait for, or ask with send_message, which does not wait"
    )]
    StandsStill(waits::Cycle),
    #[error("there is no other agent")]
    Alone,
    #[error("there is no request {0}; its id stands above its words")]
    NoRequest(String),
    #[error("{request} is a request of {asker}, not of {to}")]
    OtherAsker { request: String, asker: AgentId, to: AgentId },
    #[error("{0} no longer waits for it: its conversation is over")]
    AskerOver(AgentId),
    #[error("{0} has its answer already, or was never asked")]
    NotOpen(String),
    #[error("a response comes from who was asked: {request} was asked of {whom}")]
    NotAsked { request: String, whom: String },
}

/// A conversation with its name.
type Named<'a> = (&'a SessionId, &'a Session);

/// What is to be sent.
struct Letter<'a> {
    to: &'a AgentId,
    content: &'a str,
    reply_to: Option<&'a str>,
    wait_ms: Option<u64>,
    envelope: Envelope,
}

/// Carries out `send_message`. `None` if the call waits for the answer.
pub(super) fn send(
    d: &mut Draft<'_>,
    id: &SessionId,
    (call, index): (&Call, usize),
    wish: &SendMessage,
) -> Result<Option<String>, Rejected> {
    let Some(session) = d.sessions.get(id) else { return Err(Refused::ConversationOver.into()) };
    let letter = letter(d, (id, session), index, wish)?;
    check(d, (id, session), &letter)?;
    if letter.envelope.kind.answers() {
        return respond(d, id, &letter).map(Some);
    }
    if is_to_many(letter.to) {
        return broadcast(d, id, &letter).map(Some);
    }
    tell(d, id, &letter)?;
    match (letter.wait_ms, letter.envelope.correlation_id) {
        (Some(wait_ms), Some(correlation)) => {
            let due = d.at.plus_ms(wait_ms.min(message::WAIT_MS_MAX));
            d.emit(CallEvent::Awaited { session: id.clone(), call: call.id.clone(), correlation, due });
            Ok(None)
        }
        (Some(_) | None, _) if letter.envelope.kind.asks() => {
            Ok(Some(format!("sent to {}; an answer comes as a message", letter.to)))
        }
        (Some(_) | None, _) => Ok(Some(format!("sent to {}", letter.to))),
    }
}

/// Carries out `ask_agent`: a request whose answer is the result of the call. `None` as long as there is no answer.
pub(super) fn ask(
    d: &mut Draft<'_>,
    id: &SessionId,
    at: (&Call, usize),
    wish: &AskAgent,
) -> Result<Option<String>, Rejected> {
    let AskAgent { to, question } = wish;
    let request = SendMessage {
        wait_ms: Some(message::ANSWER_MS_MAX),
        ..SendMessage::plain(to.clone(), question.clone())
    };
    send(d, id, at, &request)
}

/// Whether a call waits for an answer.
pub(super) fn is_awaited(act: &Act) -> bool {
    matches!(act, Act::AskAgent(_) | Act::SendMessage(SendMessage { wait_ms: Some(_), .. }))
}

/// Whether a receiver is not one agent.
pub(super) fn is_to_many(to: &AgentId) -> bool {
    to.as_str() == BROADCAST || message::channel_of(to).is_some()
}

/// Whether an agent gets what goes to all, or to this channel.
fn listens(agent: &Agent, channel: Option<&str>) -> bool {
    !agent.retired && channel.is_none_or(|name| agent.spec.channels.iter().any(|own| own == name))
}

fn letter<'a>(
    state: &State,
    (id, session): Named<'_>,
    index: usize,
    wish: &'a SendMessage,
) -> Result<Letter<'a>, Rejected> {
    let SendMessage { to, content, kind, priority, reply_to, wait_ms, approved, issues } = wish;
    let kind = kind.unwrap_or(if reply_to.is_some() { Kind::Response } else { Kind::Request });
    let kind = kind.on(message::channel_of(to));
    let (broadcast, to_many) = (to.as_str() == BROADCAST, is_to_many(to));
    let refused = match (kind.answers(), reply_to) {
        (true, None) => Some(Rejected::NoReplyTo),
        (true, Some(_)) if to_many => Some(Rejected::ResponseToAll),
        (false, Some(_)) => Some(Rejected::StrayReplyTo),
        (true, Some(_)) | (false, None) => None,
    };
    let misplaced = if wait_ms.is_some() && (!kind.asks() || to_many) {
        Some(Rejected::StrayWait)
    } else if !kind.answers() && (approved.is_some() || !issues.is_empty()) {
        Some(Rejected::StrayVerdict)
    } else {
        None
    };
    if let Some(rejected) = refused.or(misplaced) {
        return Err(rejected);
    }
    // Messages of a session are numbered for good, so the name is new also when the journal is lost.
    let new = || format!("{id}/m-{:04}.{}", session.next_number(), index + 1);
    let name = if kind.asks() { Some(new()) } else { reply_to.clone() };
    let envelope = Envelope {
        kind,
        broadcast,
        channel: message::channel_of(to).map(str::to_owned),
        priority: *priority,
        correlation_id: name,
        in_reply_to: reply_to.clone(),
        approved: *approved,
        issues: issues.clone(),
        awaited: wait_ms.is_some(),
        cause: Some(root(id, session).clone()),
        hands: chains::above(state, session),
    };
    Ok(Letter { to, content, reply_to: reply_to.as_deref(), wait_ms: *wait_ms, envelope })
}

/// What holds for every message.
fn check(state: &State, (id, session): Named<'_>, letter: &Letter<'_>) -> Result<(), Rejected> {
    if *letter.to == session.agent {
        return Err(Rejected::ToItself);
    }
    if letter.content.trim().is_empty() {
        return Err(Refused::EmptyMessage.into());
    }
    if !is_to_many(letter.to) && state.employed(letter.to).is_none() {
        return Err(no_agent(state, letter.to.as_str()).into());
    }
    // An answer ends something; only what begins something new is counted.
    if !letter.envelope.kind.answers() {
        check_turns(state, id, session)?;
    }
    if letter.envelope.kind.asks() && session.ties.asked.len() >= OPEN_MAX {
        return Err(Rejected::TooManyOpen);
    }
    if letter.wait_ms.is_some()
        && let Some(chain) = circle(state, id, letter.to)
    {
        return Err(Rejected::Circle(chain));
    }
    if letter.wait_ms.is_some()
        && let Some(asked) = state.employed(letter.to)
        && let Some(other) = conversation_with(state, asked, session.task.as_ref())
        && let Some(cycle) = waits::would_stand_still(state, id, vec![Node::Session(other.clone())])
    {
        return Err(Rejected::StandsStill(cycle));
    }
    Ok(())
}

/// The agents that stand still for each other if `from` also waits for `to`. Where a conversation waits for one that
/// stands still itself, it goes on from there; each is seen once.
fn circle(state: &State, from: &SessionId, to: &AgentId) -> Option<Vec<String>> {
    let own = state.sessions.get(from)?;
    let mut chain = vec![own.agent.to_string(), to.to_string()];
    let mut seen = std::collections::BTreeSet::new();
    let mut next: Vec<&SessionId> = standing_still_for(state, from).collect();
    // Backwards: who waits for this conversation, and who waits for them.
    while let Some(id) = next.pop() {
        let Some(session) = state.sessions.get(id) else { continue };
        if !seen.insert(id) {
            continue;
        }
        if session.agent == *to {
            chain.push(own.agent.to_string());
            return Some(chain);
        }
        next.extend(standing_still_for(state, id));
    }
    None
}

/// Conversations with a call that waits for an answer of this one. Those that rest meanwhile do not stand still.
fn standing_still_for<'a>(state: &'a State, id: &SessionId) -> impl Iterator<Item = &'a SessionId> + use<'a> {
    let acts = |id: &&SessionId| {
        state.sessions.get(*id).is_some_and(|session| session.lifecycle != Lifecycle::Waiting)
    };
    state.waits.waiters_for(&Node::from(id), Why::Answer).filter_map(Node::session).filter(acts)
}

fn tell(d: &mut Draft<'_>, id: &SessionId, letter: &Letter<'_>) -> Result<(), Rejected> {
    let Some(session) = d.sessions.get(id) else { return Err(Refused::ConversationOver.into()) };
    if d.employed(letter.to).is_none() {
        return Err(no_agent(d, letter.to.as_str()).into());
    }
    let (about, asker) = (session.task.clone(), letter.envelope.kind.asks().then_some(id));
    let message = write(d.at, session, letter.content, letter.envelope.clone());
    tell_agent(d, letter.to, about.as_ref(), message, asker);
    Ok(())
}

fn broadcast(d: &mut Draft<'_>, id: &SessionId, letter: &Letter<'_>) -> Result<String, Rejected> {
    let Some(session) = d.sessions.get(id) else { return Err(Refused::ConversationOver.into()) };
    let channel = message::channel_of(letter.to);
    let others = d.team.agents.values().filter(|a| a.spec.id != session.agent && listens(a, channel));
    let others: Vec<AgentId> = others.map(|agent| agent.spec.id.clone()).collect();
    if others.is_empty() {
        return Err(match channel {
            Some(name) => no_channel(d, name, Some(&session.agent)).into(),
            None => Rejected::Alone,
        });
    }
    let wants_answer = letter.envelope.kind.asks();
    let about = session.task.clone();
    let message = write(d.at, session, letter.content, letter.envelope.clone());
    for agent in &others {
        tell_agent(d, agent, about.as_ref(), message.clone(), wants_answer.then_some(id));
    }
    let next = if wants_answer { "; answers come as messages" } else { "" };
    Ok(format!("sent to {} agents{next}", others.len()))
}

fn respond(d: &mut Draft<'_>, id: &SessionId, letter: &Letter<'_>) -> Result<String, Rejected> {
    let Some(session) = d.sessions.get(id) else { return Err(Refused::ConversationOver.into()) };
    let name = letter.reply_to.unwrap_or_default();
    let asker = name.split_once('/').map(|(session, _)| SessionId::new(session));
    let asker = asker.as_ref().and_then(|id| d.sessions.get_key_value(id));
    let Some((asker_id, asker)) = asker else {
        return Err(Rejected::NoRequest(name.to_owned()));
    };
    if asker.agent != *letter.to {
        let (asker, to) = (asker.agent.clone(), letter.to.clone());
        return Err(Rejected::OtherAsker { request: name.to_owned(), asker, to });
    }
    if asker.is_over() {
        return Err(Rejected::AskerOver(asker.agent.clone()));
    }
    let Some(asked) = asker.ties.asked.get(name) else {
        return Err(Rejected::NotOpen(name.to_owned()));
    };
    if !asked.contains_key(&session.agent) {
        let whom: Vec<&str> = asked.keys().map(AgentId::as_str).collect();
        return Err(Rejected::NotAsked { request: name.to_owned(), whom: whom.join(", ") });
    }
    let envelope = Envelope { kind: asker.answer_to(name), ..letter.envelope.clone() };
    let message = write(d.at, session, letter.content, envelope);
    let (asker_id, call) = (asker_id.clone(), asker.awaiting(name).cloned());
    hand_over(d, &asker_id, call, &Finish::Done, message);
    Ok(format!("sent to {}", letter.to))
}

/// Nobody answered in time.
pub(super) fn time_out(d: &mut Draft<'_>, id: &SessionId, call: &CallId) {
    let Some(session) = d.sessions.get(id) else { return };
    let Some(Step::Waiting { on: On::Answer { correlation, .. } }) =
        session.pending(call).map(|pending| &pending.step)
    else {
        return;
    };
    let asked = session.ties.asked.get(correlation).into_iter().flat_map(|asked| asked.keys());
    let whom: Vec<&str> = asked.map(AgentId::as_str).collect();
    let text = format!(
        "time-out: {} did not answer {correlation} in time; an answer that still comes arrives as a message",
        whom.join(", ")
    );
    let message = result(d.at, call, text);
    d.finish_call(id, Finish::Failed, message);
}

/// What a person says.
pub(super) fn of_person(at: crate::words::id::Time, text: &str, priority: Urgency, by: &str) -> Message {
    let message = said(at, Some(Actor::person(by)), text.to_owned(), Label::owner());
    let envelope = Envelope { priority, ..Envelope::default() };
    Message { envelope: (!priority.is_normal()).then(|| Box::new(envelope)), ..message }
}

/// A person speaks to all agents, or to those that listen to a channel.
pub(super) fn to_many(d: &mut Draft<'_>, to: &AgentId, message: &Message) -> Result<(), Refused> {
    let channel = message::channel_of(to);
    let envelope = message.envelope.as_deref().cloned().unwrap_or_default();
    let kind = envelope.kind.on(channel);
    let (broadcast, name) = (channel.is_none(), channel.map(str::to_owned));
    let envelope = Envelope { kind, broadcast, channel: name, ..envelope };
    let message = Message { envelope: Some(Box::new(envelope)), ..message.clone() };
    let agents = d.team.agents.values().filter(|agent| listens(agent, channel));
    let agents: Vec<AgentId> = agents.map(|agent| agent.spec.id.clone()).collect();
    match channel {
        _ if !agents.is_empty() => {}
        Some(name) => return Err(no_channel(d, name, None)),
        None => return Err(Refused::NoAgent(to.clone())),
    }
    for agent in &agents {
        tell_agent(d, agent, None, message.clone(), None);
    }
    Ok(())
}

/// Says that nobody, or only who sends, listens to a channel, and which there are.
fn no_channel(state: &State, name: &str, sender: Option<&AgentId>) -> Refused {
    let others = state.team.agents.values().filter(|a| !a.retired && Some(&a.spec.id) != sender);
    let known: BTreeSet<&String> = others.flat_map(|agent| &agent.spec.channels).collect();
    let known: Vec<String> = known.into_iter().take(20).map(|name| format!("{CHANNEL_SIGN}{name}")).collect();
    let there_are = match known.is_empty() {
        true => "no agent's file names `channels`".to_owned(),
        false => format!("there are: {}", known.join(", ")),
    };
    Refused::NoReceiver(format!("nobody else listens to {CHANNEL_SIGN}{name}; {there_are}"))
}
