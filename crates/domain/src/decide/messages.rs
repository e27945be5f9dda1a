//! Messages that agents send: to one or to all, asking or answering, and waiting for the answer.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::intake::conversation_with;
use crate::decide::turn::result;
use crate::decide::{delegate, finish, intake, said, spawn};
use crate::delegation;
use crate::event::{Event, Finish};
use crate::id::{AgentId, CallId, SessionId, TaskId, Time};
use crate::label::Label;
use crate::lifecycle::Lifecycle;
use crate::message::{self, BROADCAST, CHANNEL_SIGN, Envelope, Kind, OPEN_MAX, Urgency};
use crate::refused::Refused;
use crate::session::Message;
use crate::state::{Agent, Session, State, Step};
use crate::task::End;
use crate::tool::{Act, Call};
use crate::waits::{self, Node};

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

/// The events, how the call ended, and what the agent sees.
pub(super) fn send(
    state: &State,
    at: Time,
    sender: Named<'_>,
    index: usize,
    act: &Act,
) -> (Vec<Event>, Finish, String) {
    let done = letter(state, sender, index, act).and_then(|letter| {
        check(state, sender, &letter)?;
        match letter.envelope.kind.answers() {
            true => respond(state, at, sender, &letter),
            false if is_to_many(letter.to) => broadcast(state, at, sender, &letter),
            false => tell(state, at, sender, &letter),
        }
    });
    match done {
        Ok((events, text)) => (events, Finish::Done, text),
        Err(text) => (Vec::new(), Finish::Failed, text),
    }
}

/// A request whose sender stands still until the answer is there: the events, and for what it waits. `None` if the
/// call has its result at once, also because it cannot be sent.
pub(super) fn wait(
    state: &State,
    at: Time,
    sender: Named<'_>,
    (call, index): (&Call, usize),
    act: &Act,
) -> Option<(Vec<Event>, String)> {
    let letter = letter(state, sender, index, act).ok()?;
    let wait_ms = letter.wait_ms?;
    check(state, sender, &letter).ok()?;
    let (mut events, _) = tell(state, at, sender, &letter).ok()?;
    let correlation = letter.envelope.correlation_id?;
    let reason = waits_for(&correlation);
    let due = at.plus_ms(wait_ms.min(message::WAIT_MS_MAX));
    let (session, call) = (sender.0.clone(), call.id.clone());
    events.push(Event::CallAwaited { session, call, correlation, due });
    Some((events, reason))
}

/// What was asked by those whom these events stop is given up too, with all that was made for it, unless somebody else
/// wants to hear of it.
pub(super) fn stop_asked(
    state: &State,
    at: Time,
    mut events: Vec<Event>,
    acting: Option<&SessionId>,
) -> Vec<Event> {
    let mut seen: BTreeSet<SessionId> = acting.into_iter().cloned().collect();
    loop {
        let stopped = spawn::stopped_by(&events);
        let asked = stopped.iter().filter_map(|id| state.sessions.get(id)).flat_map(|session| {
            session.asked.values().flat_map(|asked| asked.values().map(|id| (id, &session.agent)))
        });
        let hears = |asker: &SessionId| {
            let is_over = |asker: &Session| asker.lifecycle == Lifecycle::Complete;
            !stopped.contains(asker) && state.sessions.get(asker).is_some_and(|asker| !is_over(asker))
        };
        let mut more = Vec::new();
        for (id, asker) in asked {
            let Some(session) = state.sessions.get(id).filter(|session| works_for_others(state, id, session))
            else {
                continue;
            };
            if stopped.contains(id) || session.askers.iter().any(hears) || !seen.insert(id.clone()) {
                continue;
            }
            let reason = format!("{asker}, who asked, was stopped");
            more.extend(delegate::give_up(state, at, session, &reason));
            let is_for_it = |task: &&TaskId| state.tasks[*task].cause == session.cause;
            for task in state.open.asked_by(id).filter(is_for_it) {
                let by = format!("agent:{}", session.agent);
                more.extend(finish::end_parts_too(state, at, task, End::Cancelled, &reason, &by, Some(id)));
            }
            more.extend(finish::stop_session(state, at, id, &reason, false));
        }
        if more.is_empty() {
            return events;
        }
        events.extend(more);
        events = spawn::once(events);
    }
}

/// Whether all that a conversation does now is to answer other agents.
fn works_for_others(state: &State, id: &SessionId, session: &Session) -> bool {
    let task = session.task.as_ref().and_then(|task| state.tasks.get(task));
    let has_own = task.is_some_and(|task| task.session() == Some(id) && !task.is_ended());
    !session.rests() && !has_own && session.cause.is_some()
}

/// Whether a call stands still until an answer is there.
pub(super) fn is_awaited(act: &Act) -> bool {
    matches!(act, Act::SendMessage { wait_ms: Some(_), .. })
}

/// Why a session is blocked.
pub(super) fn waits_for(correlation: &str) -> String {
    format!("waits for the answer to {correlation}")
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
    act: &'a Act,
) -> Result<Letter<'a>, String> {
    let Act::SendMessage { to, content, kind, priority, reply_to, wait_ms, approved, issues } = act else {
        return Err("not a send_message".to_owned());
    };
    let kind = kind.unwrap_or(if reply_to.is_some() { Kind::Response } else { Kind::Request });
    let kind = kind.on(message::channel_of(to));
    let (broadcast, to_many) = (to.as_str() == BROADCAST, is_to_many(to));
    let refused = match (kind.answers(), reply_to) {
        (true, None) => Some("a response needs reply_to, the id of the request that it answers"),
        (true, Some(_)) if to_many => Some("a response goes to who asked, not to all"),
        (false, Some(_)) => Some("reply_to is for a response; leave out the type"),
        (true, Some(_)) | (false, None) => None,
    };
    let misplaced = if wait_ms.is_some() && (!kind.asks() || to_many) {
        Some("wait_ms is for a request to one agent")
    } else if !kind.answers() && (approved.is_some() || !issues.is_empty()) {
        Some("approved and issues are for a response")
    } else {
        None
    };
    if let Some(why) = refused.or(misplaced) {
        return Err(why.to_owned());
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
        hands: delegation::above(state, session),
    };
    Ok(Letter { to, content, reply_to: reply_to.as_deref(), wait_ms: *wait_ms, envelope })
}

/// The conversation in which the request came up that a session works for.
pub(super) fn root<'a>(id: &'a SessionId, session: &'a Session) -> &'a SessionId {
    session.cause.as_ref().unwrap_or(id)
}

/// Whether agents may begin something new for the request that a conversation is at.
pub(super) fn check_turns(state: &State, (id, session): Named<'_>) -> Result<(), String> {
    let root = root(id, session);
    let most = state.terms_of(root).limits.request_turns_max;
    match state.sessions.get(root).is_some_and(|root| root.caused >= most) {
        true => Err(format!(
            "limits.request_turns_max: agents took {most} turns for this request already; say what came of it, or what is in the way"
        )),
        false => Ok(()),
    }
}

/// What holds for every message.
fn check(state: &State, (id, session): Named<'_>, letter: &Letter<'_>) -> Result<(), String> {
    if *letter.to == session.agent {
        return Err("an agent does not send messages to itself".to_owned());
    }
    if letter.content.trim().is_empty() {
        return Err(Refused::EmptyMessage.to_string());
    }
    if !is_to_many(letter.to) && state.employed(letter.to).is_none() {
        return Err(no_agent(state, letter.to.as_str()));
    }
    // An answer ends something; only what begins something new is counted.
    if !letter.envelope.kind.answers() {
        check_turns(state, (id, session))?;
    }
    if letter.envelope.kind.asks() && session.asked.len() >= OPEN_MAX {
        return Err(format!("{OPEN_MAX} requests are without an answer; wait for some of them"));
    }
    if letter.wait_ms.is_some()
        && let Some(chain) = circle(state, id, letter.to)
    {
        return Err(format!(
            "waiting would never end: {}; answer first, or ask without wait_ms",
            chain.join(" waits for ")
        ));
    }
    if letter.wait_ms.is_some()
        && let Some(asked) = state.employed(letter.to)
        && let Some(other) = conversation_with(state, asked, session.task.as_ref())
        && let Some(cycle) = waits::would_stand_still(state, id, vec![Node::Session(other.clone())])
    {
        return Err(format!(
            "waiting would never end: {cycle}; give back what others wait for, or ask without wait_ms"
        ));
    }
    Ok(())
}

/// The agents that stand still for each other if `from` also waits for `to`. Where a conversation waits for one that
/// stands still itself, it goes on from there; each is seen once.
fn circle(state: &State, from: &SessionId, to: &AgentId) -> Option<Vec<String>> {
    let own = state.sessions.get(from)?;
    let mut chain = vec![own.agent.to_string(), to.to_string()];
    let mut seen = std::collections::BTreeSet::new();
    let mut next: Vec<&SessionId> = own.askers.iter().filter(|id| waits_on(state, id, from)).collect();
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
        next.extend(session.askers.iter().filter(|other| waits_on(state, other, id)));
    }
    None
}

/// Whether the conversation `asker` stands still for an answer of the conversation `of`.
fn waits_on(state: &State, asker: &SessionId, of: &SessionId) -> bool {
    let Some(session) = state.sessions.get(asker) else { return false };
    let asked = session.asked.iter().filter(|(_, asked)| asked.values().any(|id| id == of));
    asked.into_iter().any(|(name, _)| session.awaiting(name).is_some())
}

fn tell(
    state: &State,
    at: Time,
    (id, session): Named<'_>,
    letter: &Letter<'_>,
) -> Result<(Vec<Event>, String), String> {
    let receiver = state.employed(letter.to).ok_or_else(|| no_agent(state, letter.to.as_str()))?;
    let wants_answer = letter.envelope.kind.asks();
    let about = session.task.as_ref();
    let message = write(at, session, letter.content, letter.envelope.clone());
    let events = intake::tell_agent(state, at, receiver, about, message, wants_answer.then_some(id));
    let next = if wants_answer { "; an answer comes as a message" } else { "" };
    Ok((events, format!("sent to {}{next}", letter.to)))
}

fn broadcast(
    state: &State,
    at: Time,
    (id, session): Named<'_>,
    letter: &Letter<'_>,
) -> Result<(Vec<Event>, String), String> {
    let channel = message::channel_of(letter.to);
    let others = state.agents.values().filter(|a| a.spec.id != session.agent && listens(a, channel));
    let wants_answer = letter.envelope.kind.asks();
    let mut events = Vec::new();
    let mut count = 0_usize;
    for agent in others {
        let message = write(at, session, letter.content, letter.envelope.clone());
        let asker = wants_answer.then_some(id);
        events.extend(intake::tell_agent(state, at, agent, session.task.as_ref(), message, asker));
        count += 1;
    }
    if count == 0 {
        return Err(match channel {
            Some(name) => no_channel(state, name, Some(&session.agent)),
            None => "there is no other agent".to_owned(),
        });
    }
    let next = if wants_answer { "; answers come as messages" } else { "" };
    Ok((events, format!("sent to {count} agents{next}")))
}

fn respond(
    state: &State,
    at: Time,
    (_, session): Named<'_>,
    letter: &Letter<'_>,
) -> Result<(Vec<Event>, String), String> {
    let name = letter.reply_to.unwrap_or_default();
    let asker = name.split_once('/').map(|(session, _)| SessionId::new(session));
    let asker = asker.as_ref().and_then(|id| state.sessions.get_key_value(id));
    let Some((asker_id, asker)) = asker else {
        return Err(format!("there is no request {name}; its id stands above its words"));
    };
    if asker.agent != *letter.to {
        return Err(format!("{name} is a request of {}, not of {}", asker.agent, letter.to));
    }
    if asker.lifecycle == Lifecycle::Complete {
        return Err(format!("{} no longer waits for it: its conversation is over", asker.agent));
    }
    let Some(asked) = asker.asked.get(name) else {
        return Err(format!("{name} has its answer already, or was never asked"));
    };
    if !asked.contains_key(&session.agent) {
        let whom: Vec<&str> = asked.keys().map(AgentId::as_str).collect();
        return Err(format!("a response comes from who was asked: {name} was asked of {}", whom.join(", ")));
    }
    let envelope = Envelope { kind: asker.answer_to(name), ..letter.envelope.clone() };
    let message = write(at, session, letter.content, envelope);
    let event = deliver(asker_id, asker.awaiting(name), &Finish::Done, message);
    Ok((vec![event], format!("sent to {}", letter.to)))
}

fn write(at: Time, session: &Session, content: &str, envelope: Envelope) -> Message {
    let from = format!("agent:{}", session.agent);
    let message = said(at, &from, content.to_owned(), session.label.clone());
    Message { envelope: Some(Box::new(envelope)), ..message }
}

/// An answer is the result of the call that waits for it, else a message.
fn deliver(asker: &SessionId, call: Option<&CallId>, finish: &Finish, message: Message) -> Event {
    match call {
        Some(call) => Event::CallFinished {
            session: asker.clone(),
            finish: finish.clone(),
            message: Message {
                speaker: result(message.at, call, String::new()).speaker,
                call: Some(call.clone()),
                ..message
            },
            wrote: Vec::new(),
        },
        None => Event::MessageAdded { session: asker.clone(), message, asker: None, in_file: false },
    }
}

/// The request that an event answers.
pub(super) fn answers(event: &Event) -> Option<&String> {
    let (Event::MessageAdded { message, .. } | Event::CallFinished { message, .. }) = event else {
        return None;
    };
    let envelope = message.envelope.as_ref().filter(|envelope| envelope.kind.answers());
    envelope.and_then(|envelope| envelope.correlation_id.as_ref())
}

/// The last words of a session for one that asked in it, but for `later` requests: the result of each call that waits, and a
/// response to each other request. Who hears of it in another way gets no message, but a call that waits must end.
pub(super) fn last_words(
    at: Time,
    (id, session): Named<'_>,
    (asker_id, asker): Named<'_>,
    (is_told, later): (bool, &[&String]),
    finish: &Finish,
    text: &str,
) -> Vec<Event> {
    let open = asker.asked.iter().filter(|(_, asked)| asked.get(&session.agent) == Some(id));
    let open: Vec<&String> = open.map(|(name, _)| name).collect();
    let names: Vec<&String> = open.iter().filter(|name| !later.contains(name)).copied().collect();
    let answer = |name: Option<&String>, text: &str| {
        let envelope = Envelope {
            kind: name.map_or(Kind::Response, |name| asker.answer_to(name)),
            correlation_id: name.cloned(),
            in_reply_to: name.cloned(),
            cause: Some(root(id, session).clone()),
            ..Envelope::default()
        };
        write(at, session, text, envelope)
    };
    let (waiting, others): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|name| asker.awaiting(name).is_some());
    let mut events: Vec<Event> = waiting
        .iter()
        .map(|name| deliver(asker_id, asker.awaiting(name), finish, answer(Some(name), text)))
        .collect();
    if is_told {
        return events;
    }
    // Said once in full: the last of the calls that wait has it, else the last response.
    let full = waiting.last().or(others.last());
    for name in &others {
        let said = match full {
            Some(full) if full != name => &format!("answered with {full}"),
            Some(_) | None => text,
        };
        events.push(deliver(asker_id, None, finish, answer(Some(name), said)));
    }
    if open.is_empty() {
        events.push(deliver(asker_id, None, finish, answer(None, text)));
    }
    events
}

/// Nobody answered in time.
pub(super) fn time_out(state: &State, at: Time, id: &SessionId, call: &CallId) -> Vec<Event> {
    let Some(session) = state.sessions.get(id) else { return Vec::new() };
    let Some(Step::Awaiting { correlation, .. }) = session.pending(call).map(|pending| &pending.step) else {
        return Vec::new();
    };
    let whom: Vec<&str> = session
        .asked
        .get(correlation)
        .into_iter()
        .flat_map(|asked| asked.keys())
        .map(AgentId::as_str)
        .collect();
    let text = format!(
        "time-out: {} did not answer {correlation} in time; an answer that still comes arrives as a message",
        whom.join(", ")
    );
    let message = result(at, call, text);
    let finished =
        Event::CallFinished { session: id.clone(), finish: Finish::Failed, message, wrote: Vec::new() };
    vec![finished]
}

/// Who told one of these conversations something that it has not read hears that it never will. Who asked hears so anyway, and
/// who has no conversation left that goes on is not woken for it.
pub(super) fn give_back(state: &State, at: Time, stopped: &BTreeMap<SessionId, String>) -> Vec<Event> {
    let mut unread: BTreeMap<&SessionId, BTreeMap<&AgentId, Named<'_>>> = BTreeMap::new();
    for (id, session) in stopped.keys().filter_map(|id| state.sessions.get_key_value(id)) {
        for sender in session.not_read().filter_map(|sender| state.employed(sender)) {
            let goes_on = |id: &&SessionId| !stopped.contains_key(*id);
            let about = conversation_with(state, sender, session.task.as_ref()).filter(goes_on);
            let there = about.or_else(|| sender.sessions.iter().find(goes_on));
            if let Some(there) = there.filter(|there| !session.askers.contains(*there)) {
                unread.entry(there).or_default().insert(&session.agent, (id, session));
            }
        }
    }
    let tell = |(there, whom): (&SessionId, BTreeMap<&AgentId, Named<'_>>)| {
        let names: Vec<&str> = whom.keys().map(|agent| agent.as_str()).collect();
        let (id, session) = whom.into_values().next()?;
        let text = format!("{} has not read what you wrote: {}", names.join(", "), stopped.get(id)?);
        let cause = Some(root(id, session).clone());
        let envelope = Envelope { kind: Kind::Notification, cause, ..Envelope::default() };
        let message = said(at, "synod", text, Label::team());
        let message = Message { envelope: Some(Box::new(envelope)), ..message };
        Some(Event::MessageAdded { session: there.clone(), message, asker: None, in_file: false })
    };
    unread.into_iter().filter_map(tell).collect()
}

/// What a person says.
pub(super) fn of_person(at: Time, text: &str, priority: Urgency, by: &str) -> Message {
    let message = said(at, &format!("person:{by}"), text.to_owned(), Label::owner());
    let envelope = Envelope { priority, ..Envelope::default() };
    Message { envelope: (!priority.is_normal()).then(|| Box::new(envelope)), ..message }
}

/// A person speaks to all agents, or to those that listen to a channel.
pub(super) fn to_many(
    state: &State,
    at: Time,
    to: &AgentId,
    message: &Message,
) -> Result<Vec<Event>, Refused> {
    let channel = message::channel_of(to);
    let envelope = message.envelope.as_deref().cloned().unwrap_or_default();
    let to_all = channel.is_none();
    let kind = envelope.kind.on(channel);
    let envelope = Envelope { kind, broadcast: to_all, channel: channel.map(str::to_owned), ..envelope };
    let message = Message { envelope: Some(Box::new(envelope)), ..message.clone() };
    let agents = state.agents.values().filter(|agent| listens(agent, channel));
    let events: Vec<Event> =
        agents.flat_map(|agent| intake::tell_agent(state, at, agent, None, message.clone(), None)).collect();
    match channel {
        _ if !events.is_empty() => Ok(events),
        Some(name) => Err(Refused::NoReceiver(no_channel(state, name, None))),
        None => Err(Refused::NoAgent(to.clone())),
    }
}

/// Says that nobody, or only who sends, listens to a channel, and which there are.
fn no_channel(state: &State, name: &str, sender: Option<&AgentId>) -> String {
    let others = state.agents.values().filter(|a| !a.retired && Some(&a.spec.id) != sender);
    let known: BTreeSet<&String> = others.flat_map(|agent| &agent.spec.channels).collect();
    let known: Vec<String> = known.into_iter().take(20).map(|name| format!("{CHANNEL_SIGN}{name}")).collect();
    let there_are = match known.is_empty() {
        true => "no agent's file names `channels`".to_owned(),
        false => format!("there are: {}", known.join(", ")),
    };
    format!("nobody else listens to {CHANNEL_SIGN}{name}; {there_are}")
}

/// Says that there is no such agent, and who was probably meant.
pub(super) fn no_agent(state: &State, name: &str) -> String {
    let employed = || state.agents.values().filter(|a| !a.retired).map(|a| &a.spec.id);
    let known: Vec<&str> = employed().map(AgentId::as_str).take(20).collect();
    let what = match state.agents.get(&AgentId::new(name)) {
        Some(Agent { terminated: Some(by), .. }) => format!("{name} was terminated by {by}"),
        Some(Agent { retired: true, .. }) => format!("{name} is no longer in the team"),
        Some(_) | None => format!("there is no agent {name}"),
    };
    match message::near(name, employed()) {
        Some(near) => format!("{what}; did you mean {near}? There are: {}", known.join(", ")),
        None => format!("{what}; there are: {}", known.join(", ")),
    }
}
