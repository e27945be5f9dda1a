//! Making agents while the team works, and ending them with all that they do.

use crate::words::actor::Actor;
use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::kernel::draft::Draft;
use crate::kernel::event::AgentEvent;
use crate::kernel::event::Finish;
use crate::kernel::lineage;
use crate::kernel::refused::Refused;
use crate::kernel::state::State;
use crate::rules::end::{end_task, stop_session};
use crate::rules::intake::take_left;
use crate::rules::may_spawn;
use crate::rules::say::{notification, title_of};
use crate::rules::tasks::Outcome;
use crate::rules::tree::topmost;
use crate::topics::agent;
use crate::topics::agent::{Model, Permissions, Tools, Workspace};
use crate::topics::spawn::{MADE_IN, Order, Origin, Rejected};
use crate::topics::task::End;
use crate::topics::tool::{Act, SpawnAgent, TerminateAgent};
use crate::words::id::{AgentId, SessionId, TaskId, Time};

/// The longest part of an id that comes from the role, so that ids of its sessions are file names too.
const STEM_BYTES_MAX: usize = 40;

/// A person wants a new agent.
pub(super) fn spawn(d: &mut Draft<'_>, order: &Order, by: &str) -> Result<(), Refused> {
    let origin = Origin::Person(by.to_owned());
    may_spawn::check_new(d, order, &origin)?;
    let spec = spec_of(d, d.at, order, origin, None)?;
    d.emit(AgentEvent::Spawned { spec: Box::new(spec), session: None });
    take_left(d);
    Ok(())
}

/// Carries out `spawn_agent`, for work that came through the hands of `chain`.
pub(super) fn perform(
    d: &mut Draft<'_>,
    id: &SessionId,
    index: usize,
    act: &Act,
    chain: &[AgentId],
) -> Outcome {
    let (Act::SpawnAgent(SpawnAgent { role, name, goal, responsibilities }), Some(session)) =
        (act, d.sessions.get(id))
    else {
        return (Finish::Failed, "not a spawn_agent".to_owned());
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
            "{id} is there, with the rights of the role {role}; give it work with delegate, create_task or send_message, and end it with terminate_agent"
        )
    };
    if let Some(made) = lineage::there(d).find(|agent| !agent.retired && is_it(&agent.spec)) {
        return (Finish::Done, told(&made.spec.id));
    }
    let made = may_spawn::check_new(d, &order, &origin)
        .and_then(|()| spec_of(d, d.at, &order, origin.clone(), Some(place)));
    match made {
        Ok(spec) => {
            let text = told(&spec.id);
            d.emit(AgentEvent::Spawned { spec: Box::new(spec), session: Some(id.clone()) });
            take_left(d);
            (Finish::Done, text)
        }
        Err(rejected) => refuse(&rejected),
    }
}

fn refuse(rejected: &Rejected) -> Outcome {
    (Finish::Refused { rule: rejected.rule().to_owned() }, rejected.to_string())
}

/// The new agent. It has the tools of its role; how much it does at once, to whom it delegates and whom it may spawn is as
/// its parent's file says.
fn spec_of(
    state: &State,
    at: Time,
    order: &Order,
    origin: Origin,
    place: Option<String>,
) -> Result<agent::Spec, Rejected> {
    let parent = origin.parent().and_then(|id| state.team.agents.get(id)).map(|agent| &agent.spec);
    let id = fresh(state, at, &order.role, &origin);
    let model = match (parent, &order.model) {
        (Some(parent), _) => parent.model.clone(),
        (None, Some(alias)) => Model::alias(alias.as_str()),
        (None, None) => usual_model(state, &order.role)?,
    };
    let mut spec = agent::Spec::new(id, order.role.as_str(), String::new());
    spec.model = model;
    spec.name.clone_from(&order.name);
    spec.description = title_of(&order.goal);
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
    let same = state.team.agents.values().find(|agent| !agent.retired && agent.spec.role == role);
    let aliases = &state.config.settings.models;
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
        if !state.team.agents.contains_key(&id) {
            return id;
        }
        number += 1;
    }
}

/// A person ends an agent.
pub(super) fn terminate(d: &mut Draft<'_>, agent: &AgentId, reason: &str, by: &str) -> Result<(), Refused> {
    may_spawn::check_end(d, agent, None)?;
    end(d, agent, reason, &Actor::person(by));
    Ok(())
}

/// Carries out `terminate_agent`.
pub(super) fn perform_end(d: &mut Draft<'_>, id: &SessionId, act: &Act) -> Outcome {
    let (Act::TerminateAgent(TerminateAgent { agent, reason }), Some(session)) = (act, d.sessions.get(id))
    else {
        return (Finish::Failed, "not a terminate_agent".to_owned());
    };
    if let Err(rejected) = may_spawn::check_end(d, agent, Some(&session.agent)) {
        return refuse(&rejected);
    }
    let by = Actor::from(&session.agent);
    end(d, agent, reason, &by);
    (Finish::Done, format!("{agent} is terminated, with all that it did and all that it spawned"))
}

/// Ends an agent and all that it spawned: their tasks with all that is below them, their conversations, and them.
fn end(d: &mut Draft<'_>, agent: &AgentId, reason: &str, by: &Actor) {
    let below: Vec<AgentId> = lineage::below(d, agent).into_iter().cloned().collect();
    let gone: BTreeSet<&AgentId> = below.iter().chain([agent]).collect();
    let why = if reason.trim().is_empty() { String::new() } else { format!(": {}", reason.trim()) };
    let result = |whose: &AgentId| format!("{whose} was terminated by {by}{why}");
    for task in topmost(d, &tasks_of(d, &gone)) {
        let whose = d.work.tasks[&task].spec.assignee.clone().unwrap_or_else(|| agent.clone());
        end_task(d, &task, End::Cancelled, &result(&whose), by);
    }
    let sessions = gone.iter().filter_map(|id| d.team.agents.get(*id)).flat_map(|agent| &agent.sessions);
    for id in sessions.cloned().collect::<BTreeSet<SessionId>>() {
        if let Some(session) = d.sessions.get(&id) {
            let reason = result(&session.agent);
            stop_session(d, &id, &reason, false);
        }
    }
    let session = d.acting().cloned();
    for id in below {
        let reason = format!("{agent}, which spawned it, was terminated");
        d.emit(AgentEvent::Terminated { agent: id, by: Actor::Synod, reason, session: None });
    }
    let (agent, by, reason) = (agent.clone(), by.to_owned(), reason.trim().to_owned());
    d.emit(AgentEvent::Terminated { agent, by, reason, session });
}

/// Open tasks on which these agents work, or which are theirs to do.
fn tasks_of(state: &State, agents: &BTreeSet<&AgentId>) -> BTreeSet<TaskId> {
    let is_theirs = |task: &&TaskId| {
        let task = &state.work.tasks[*task];
        let worker = task.session().and_then(|id| state.sessions.get(id)).map(|session| &session.agent);
        [worker, task.spec.assignee.as_ref()].into_iter().flatten().any(|id| agents.contains(id))
    };
    state.work.open.all().filter(is_theirs).cloned().collect()
}

/// A workspace was taken away; whoever ended the agent hears what was kept.
pub(super) fn cleaned_up(d: &mut Draft<'_>, agent: &AgentId, kept: &[String]) {
    let Some(by) = d.team.cleaning.get(agent).cloned() else { return };
    d.emit(AgentEvent::Cleaned { agent: agent.clone(), kept: kept.to_vec() });
    let open = by.filter(|id| d.sessions.get(id).is_some_and(|session| !session.is_over()));
    if let Some(session) = open.filter(|_| !kept.is_empty()) {
        let text = format!("of what {agent} did, something is kept: {}", kept.join("; "));
        let message = notification(d.at, text);
        d.say(&session, message, None);
    }
}
