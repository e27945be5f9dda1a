//! Making agents while the team works, and ending them with all that they do.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use crate::agent::{self, Model, Permissions, Tools, Workspace};
use crate::decide::{delegate, finish, inside, intake, said};
use crate::event::{Event, Finish};
use crate::id::{AgentId, ApprovalId, CallId, SessionId, TaskId, Time};
use crate::label::Label;
use crate::lifecycle::Lifecycle;
use crate::message::{Envelope, Kind};
use crate::refused::Refused;
use crate::session::Message;
use crate::spawn::{self, MADE_IN, Order, Origin, Rejected};
use crate::state::{Agent, Session, State};
use crate::task::End;
use crate::tool::Act;

/// The longest part of an id that comes from the role, so that ids of its sessions are file names too.
const STEM_BYTES_MAX: usize = 40;

/// A person wants a new agent.
pub(super) fn wanted(state: &State, at: Time, order: &Order, by: &str) -> Result<Vec<Event>, Refused> {
    let origin = Origin::Person(by.to_owned());
    spawn::check_new(state, order, &origin)?;
    let spec = spec_of(state, at, order, origin, None)?;
    Ok(intake::with_takers(state, at, Event::AgentSpawned { spec: Box::new(spec), session: None }))
}

/// An agent wants one, for work that came through the hands of `chain`.
pub(super) fn perform(
    state: &State,
    at: Time,
    (id, session): (&SessionId, &Session),
    index: usize,
    act: &Act,
    chain: &[AgentId],
) -> (Vec<Event>, Finish, String) {
    let Act::SpawnAgent { role, name, goal, responsibilities } = act else {
        return (Vec::new(), Finish::Failed, "not a spawn_agent".to_owned());
    };
    let order = Order {
        role: role.clone(),
        name: name.clone(),
        goal: goal.clone(),
        responsibilities: responsibilities.clone(),
        model: None,
    };
    let origin = Origin::Agents(chain.to_vec());
    // Messages of a session are numbered for good, so the place is known again also when the journal is lost.
    let place = format!("{id}/m-{:04}.{}", session.next_number(), index + 1);
    let is_it = |spec: &agent::Spec| {
        spec.spawned_by.as_ref() == Some(&origin) && spec.metadata.get(MADE_IN) == Some(&place)
    };
    let told = |id: &AgentId| {
        format!(
            "{id} is there, a {role} with at most your rights; give it work with delegate, create_task or send_message, and end it with terminate_agent"
        )
    };
    if let Some(made) = spawn::there(state).find(|agent| !agent.retired && is_it(&agent.spec)) {
        return (Vec::new(), Finish::Done, told(&made.spec.id));
    }
    let made = spawn::check_new(state, &order, &origin)
        .and_then(|()| spec_of(state, at, &order, origin.clone(), Some(place)));
    match made {
        Ok(spec) => {
            let text = told(&spec.id);
            let spawned = Event::AgentSpawned { spec: Box::new(spec), session: Some(id.clone()) };
            (intake::with_takers(state, at, spawned), Finish::Done, text)
        }
        Err(rejected) => refuse(&rejected),
    }
}

fn refuse(rejected: &Rejected) -> (Vec<Event>, Finish, String) {
    let finish = Finish::Refused { rule: rejected.rule().to_owned() };
    (Vec::new(), finish, rejected.to_string())
}

/// The new agent. What the gate does not bound by itself is no more than its parent has.
fn spec_of(
    state: &State,
    at: Time,
    order: &Order,
    origin: Origin,
    place: Option<String>,
) -> Result<agent::Spec, Rejected> {
    let parent = origin.parent().and_then(|id| state.agents.get(id)).map(|agent| &agent.spec);
    let id = fresh(state, at, &order.role, &origin);
    let model = match (parent, &order.model) {
        (Some(parent), _) => parent.model.clone(),
        (None, Some(alias)) => Model::alias(alias.as_str()),
        (None, None) => usual_model(state, &order.role)?,
    };
    let mut spec = agent::Spec::new(id, order.role.as_str(), String::new());
    spec.model = model;
    spec.name.clone_from(&order.name);
    spec.description = intake::title_of(&order.goal);
    if !order.goal.trim().is_empty() {
        let by = origin.parent().map_or_else(|| origin.to_string(), ToString::to_string);
        spec.system_prompt = format!(
            "You are {}, a {}, spawned by {by}.\n\nYour goal:\n{}\n",
            spec.id,
            order.role,
            order.goal.trim()
        );
    }
    spec.responsibilities.clone_from(&order.responsibilities);
    if let Some(parent) = parent {
        // Its own list of tools is its role's; the gate leaves of it what its parent has.
        spec.permissions = Permissions { tools: Tools::default(), ..parent.permissions.clone() };
        spec.priority = parent.priority;
        spec.workspace = parent.workspace.as_ref().map(|own| Workspace { branch: None, ..own.clone() });
    }
    spec.spawned_by = Some(origin);
    spec.metadata.extend(place.map(|place| (MADE_IN.to_owned(), place)));
    Ok(spec)
}

/// The model that another agent of this role has, else the only one that there is.
fn usual_model(state: &State, role: &str) -> Result<Model, Rejected> {
    let same = state.agents.values().find(|agent| !agent.retired && agent.spec.role == role);
    let aliases = &state.settings.models;
    let only = || {
        if aliases.len() == 1 {
            aliases.keys().next().map(|alias| Model::alias(alias.as_str()))
        } else {
            None
        }
    };
    let model = same.map(|agent| agent.spec.model.clone()).or_else(only);
    model.ok_or_else(|| Rejected::NoModel { role: role.to_owned(), known: aliases.keys().cloned().collect() })
}

/// `<role>-<8 hex>`: the same again in a replay, and another one in any other place of the journal or at another time.
fn fresh(state: &State, at: Time, role: &str, origin: &Origin) -> AgentId {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let stem: String = role.chars().map(plain).take(STEM_BYTES_MAX).collect();
    let stem =
        if stem.starts_with(|c: char| c.is_ascii_lowercase()) { stem } else { format!("agent-{stem}") };
    let mut number = 0_u32;
    loop {
        let from = format!("{} {} {role} {origin} {number}", state.next_seq().0, at.0);
        let digest = Sha256::digest(from.as_bytes());
        let hex: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let id = AgentId::new(format!("{stem}-{hex}"));
        // Those that were terminated stay known, so an id is given once.
        if !state.agents.contains_key(&id) {
            return id;
        }
        number += 1;
    }
}

/// A person ends an agent.
pub(super) fn end_wanted(
    state: &State,
    at: Time,
    agent: &AgentId,
    reason: &str,
    by: &str,
) -> Result<Vec<Event>, Refused> {
    spawn::check_end(state, agent, None)?;
    Ok(end(state, at, agent, reason, &format!("person:{by}"), None))
}

/// An agent ends one that it made.
pub(super) fn end_asked(
    state: &State,
    at: Time,
    (id, session): (&SessionId, &Session),
    act: &Act,
) -> (Vec<Event>, Finish, String) {
    let Act::TerminateAgent { agent, reason } = act else {
        return (Vec::new(), Finish::Failed, "not a terminate_agent".to_owned());
    };
    if let Err(rejected) = spawn::check_end(state, agent, Some(&session.agent)) {
        return refuse(&rejected);
    }
    let events = end(state, at, agent, reason, &format!("agent:{}", session.agent), Some(id));
    (events, Finish::Done, format!("{agent} is terminated, with all that it did and all that it spawned"))
}

/// Ends an agent and all that it spawned: their tasks with all that is below them, their conversations, and them.
fn end(
    state: &State,
    at: Time,
    agent: &AgentId,
    reason: &str,
    by: &str,
    acting: Option<&SessionId>,
) -> Vec<Event> {
    let below = spawn::below(state, agent);
    let gone: BTreeSet<&AgentId> = below.iter().copied().chain([agent]).collect();
    let why = if reason.trim().is_empty() { String::new() } else { format!(": {}", reason.trim()) };
    let result = |whose: &AgentId| format!("{whose} was terminated by {by}{why}");
    let mut events = Vec::new();
    let is_theirs = |task: &&TaskId| {
        let task = &state.tasks[*task];
        let worker = task.session().and_then(|id| state.sessions.get(id)).map(|session| &session.agent);
        [worker, task.spec.assignee.as_ref()].into_iter().flatten().any(|id| gone.contains(id))
    };
    let theirs: BTreeSet<&TaskId> = state.open.all().filter(is_theirs).collect();
    for task in inside::topmost(state, &theirs) {
        let whose = state.tasks[task].spec.assignee.as_ref().unwrap_or(agent);
        events.extend(finish::end_parts_too(state, at, task, End::Cancelled, &result(whose), by, acting));
    }
    let stopped = stopped_by(&events);
    for (id, session) in open_sessions(state, &gone).filter(|(id, _)| !stopped.contains(*id)) {
        let reason = result(&session.agent);
        events.extend(delegate::give_up(state, at, session, &reason));
        events.extend(finish::stop_session(state, at, id, &reason, false));
    }
    let mut events = finish::tell_left_behind(state, at, once(events), acting);
    events.extend(give_back(state, at, &gone, &result(agent)));
    for id in below {
        let (agent, by, reason) =
            (id.clone(), "synod".to_owned(), format!("{agent}, which spawned it, was terminated"));
        events.push(Event::AgentTerminated { agent, by, reason, session: None });
    }
    let (agent, by, reason) = (agent.clone(), by.to_owned(), reason.trim().to_owned());
    events.push(Event::AgentTerminated { agent, by, reason, session: acting.cloned() });
    events
}

/// The conversations of these agents that are not over, by id.
fn open_sessions<'a>(
    state: &'a State,
    agents: &BTreeSet<&AgentId>,
) -> impl Iterator<Item = (&'a SessionId, &'a Session)> {
    let theirs = agents.iter().filter_map(|id| state.agents.get(*id)).flat_map(|agent| &agent.sessions);
    let ids: BTreeSet<&SessionId> = theirs.collect();
    ids.into_iter().filter_map(|id| state.sessions.get_key_value(id))
}

/// Who told one of these agents something that it has not read is told so, also if that begins a new conversation; in one
/// that goes on it stands already.
fn give_back(state: &State, at: Time, gone: &BTreeSet<&AgentId>, why: &str) -> Vec<Event> {
    let mut unread: BTreeMap<&AgentId, BTreeSet<&AgentId>> = BTreeMap::new();
    // What was not read in one that is over was given back when it ended.
    for (_, session) in open_sessions(state, gone) {
        let rests = |sender: &&AgentId| {
            !gone.contains(sender) && state.agents.get(*sender).is_some_and(|agent| agent.sessions.is_empty())
        };
        for sender in session.not_read().filter(rests) {
            unread.entry(sender).or_default().insert(&session.agent);
        }
    }
    let told = unread.into_iter().filter_map(|(sender, whom)| Some((state.employed(sender)?, whom)));
    let tell = |(sender, whom): (&Agent, BTreeSet<&AgentId>)| {
        let whom: Vec<&str> = whom.into_iter().map(AgentId::as_str).collect();
        let text = format!("{} has not read what you wrote: {why}", whom.join(", "));
        intake::tell_agent(state, at, sender, None, notice(at, text), None)
    };
    told.flat_map(tell).collect()
}

/// What came of taking a workspace away; whoever ended the agent is told what was kept.
pub(super) fn cleaned_up(state: &State, at: Time, agent: &AgentId, kept: &[String]) -> Vec<Event> {
    let Some(by) = state.cleaning.get(agent) else { return Vec::new() };
    let mut events = vec![Event::WorkspaceCleaned { agent: agent.clone(), kept: kept.to_vec() }];
    let open = by
        .as_ref()
        .filter(|id| state.sessions.get(*id).is_some_and(|session| session.lifecycle != Lifecycle::Complete));
    if let Some(session) = open.filter(|_| !kept.is_empty()).cloned() {
        let text = format!("of what {agent} did, something is kept: {}", kept.join("; "));
        let message = notice(at, text);
        events.push(Event::MessageAdded { session, message, asker: None, in_file: false });
    }
    events
}

fn notice(at: Time, text: String) -> Message {
    let envelope = Envelope { kind: Kind::Notification, ..Envelope::default() };
    Message { envelope: Some(Box::new(envelope)), ..said(at, "synod", text, Label::team()) }
}

/// The conversations that are over by these events.
pub(super) fn stopped_by(events: &[Event]) -> BTreeSet<SessionId> {
    let stopped = events.iter().filter_map(|event| match event {
        Event::Moved { session, to: Lifecycle::Complete, .. } => Some(session.clone()),
        _ => None,
    });
    stopped.collect()
}

/// Several endings in one decision do not know of each other: nobody who is stopped is told anything, no call has two
/// results, and nothing ends twice.
pub(super) fn once(events: Vec<Event>) -> Vec<Event> {
    let stopped = stopped_by(&events);
    let mut results: BTreeSet<(SessionId, CallId)> = BTreeSet::new();
    let mut ended: BTreeSet<TaskId> = BTreeSet::new();
    let mut over: BTreeSet<SessionId> = BTreeSet::new();
    let mut withdrawn: BTreeSet<ApprovalId> = BTreeSet::new();
    let mut kept = Vec::with_capacity(events.len());
    for event in events {
        let is_new = match &event {
            Event::MessageAdded { session, .. } => !stopped.contains(session),
            Event::CallFinished { session, message, .. } => match &message.call {
                Some(call) => results.insert((session.clone(), call.clone())),
                None => true,
            },
            Event::TaskEnded { task, .. } => ended.insert(task.clone()),
            Event::ApprovalEnded { approval, .. } => withdrawn.insert(approval.clone()),
            Event::Moved { session, .. } if over.contains(session) => false,
            Event::Moved { session, to: Lifecycle::Complete, .. } => over.insert(session.clone()),
            _ => true,
        };
        if is_new {
            kept.push(event);
        }
    }
    kept
}
