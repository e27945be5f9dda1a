//! Work that comes in: inbox lines, tasks in files, messages of people; and beginning it.

use std::collections::BTreeSet;

use crate::apply::{cut, expected, expected_first};
use crate::brief;
use crate::decide::{budget, delegate, finish, inside, messages, plan, said};
use crate::event::Event;
use crate::id::{AgentId, SessionId, TaskId, Time};
use crate::lifecycle::Lifecycle;
use crate::refused::Refused;
use crate::route::route;
use crate::session::{Head, Message};
use crate::state::{Agent, Requester, State, Task};
use crate::task::{self, Change, End, Mark};

/// The longest title that is made of a message.
const TITLE_BYTES_MAX: usize = 100;
/// The task file for what comes in from outside.
const INBOX_TASKS: &str = "tasks/inbox.task.md";

pub(super) fn line(
    state: &State,
    source: &str,
    line: u64,
    from: &str,
    channel: Option<&str>,
    text: &str,
) -> Vec<Event> {
    if line <= state.inbox.get(source).copied().unwrap_or(0) {
        return Vec::new();
    }
    let mut events = vec![Event::LineTaken { source: source.to_owned(), line }];
    if text.trim().is_empty() {
        return events;
    }
    let place = format!("{source}:{line}");
    let mut spec = task::Spec::new(fresh_task(state), INBOX_TASKS, title_of(text));
    spec.text = text.to_owned();
    spec.properties.insert("source".to_owned(), place.clone());
    if !from.is_empty() {
        spec.properties.insert("from".to_owned(), from.to_owned());
    }
    if let Some(channel) = channel {
        spec.properties.insert("channel".to_owned(), channel.to_owned());
    }
    let stem = source.rsplit('/').next().unwrap_or(source).trim_end_matches(".jsonl");
    let routed = route(state, &spec, Some(stem));
    let id = spec.id.clone();
    spec.assignee = routed.map(|(agent, _)| agent);
    let nobody = spec.assignee.is_none();
    events.push(Event::TaskAdded {
        spec: Box::new(spec),
        by: Requester::Inbox { source: place },
        in_file: false,
    });
    if nobody {
        let result = Refused::NoRoute.to_string();
        events.push(Event::TaskEnded { task: id, end: End::Failed, result, by: "synod".to_owned() });
    }
    events
}

/// A file says something about a task: it is new, or a person changed it.
pub(super) fn task_read(
    state: &State,
    at: Time,
    spec: &task::Spec,
    mark: Mark,
    result: &str,
) -> Result<Vec<Event>, Refused> {
    if spec.id.as_str().is_empty() {
        let spec = task::Spec { id: fresh_task(state), ..spec.clone() };
        return Ok(adopt_task(state, &spec, mark, result));
    }
    let Some(known) = state.tasks.get(&spec.id) else { return Ok(adopt_task(state, spec, mark, result)) };
    let mut events: Vec<Event> = Change::between(&known.spec, spec)
        .into_iter()
        .map(|change| Event::TaskEdited { task: spec.id.clone(), change, in_file: true })
        .collect();
    if known.spec.parent != spec.parent {
        events.extend(finish::moved_away(state, at, known));
    }
    // The file's assignee changed while somebody was at it: the work goes to the other agent, from the start.
    let reassigned = known.spec.assignee != spec.assignee;
    if reassigned && let Some(session) = known.session() {
        let reason = "the task was given to somebody else";
        let waits = state.sessions.get(session);
        // What it waits for is stopped too: who is stopped with it is not told of it.
        let mut stopped = waits.map(|s| delegate::give_up(state, at, s, reason)).unwrap_or_default();
        stopped.extend(finish::stop_session(state, at, session, reason, false));
        events.extend(finish::tell_left_behind(state, at, stopped, None));
        events.push(Event::TaskReopened { task: spec.id.clone(), by: "person".to_owned() });
    }
    let is_open = matches!(mark, Mark::Open | Mark::Running | Mark::Asking) && !known.is_ended();
    if is_open && (reassigned || known.session().is_none()) {
        events.extend(taken(state, spec));
    }
    Ok(events)
}

/// A task that names nobody is given to who takes it by the rules, if somebody does.
fn taken(state: &State, spec: &task::Spec) -> Option<Event> {
    let (agent, _) = route(state, spec, None).filter(|_| spec.assignee.is_none())?;
    let change = Change::Assignee(Some(agent));
    Some(Event::TaskEdited { task: spec.id.clone(), change, in_file: false })
}

/// Open tasks that nobody took.
fn left(state: &State) -> impl Iterator<Item = &Task> {
    let open = state.open.all().filter_map(|id| state.tasks.get(id));
    open.filter(|task| task.spec.assignee.is_none() && task.session().is_none())
}

/// Those that somebody would take by the rules of now, but for what is stopped with one of `given_up`.
pub(super) fn left_behind(state: &State, given_up: &BTreeSet<TaskId>) -> Vec<Event> {
    let stays = |task: &&Task| !inside::is_within_one(state, &task.spec.id, given_up);
    left(state).filter(stays).filter_map(|task| taken(state, &task.spec)).collect()
}

/// The settings or an agent change: with that, tasks may be taken that nobody took before.
pub(super) fn with_takers(state: &State, at: Time, event: Event) -> Vec<Event> {
    let left: Vec<&Task> = left(state).collect();
    if left.is_empty() {
        return vec![event];
    }
    // As far as the rules look, what will be.
    let (settings, agents) = (state.settings.clone(), state.agents.clone());
    let mut after = State { settings, agents, ..State::new() };
    after.apply(at, &event);
    let found = left.into_iter().filter_map(|task| taken(&after, &task.spec));
    [event].into_iter().chain(found).collect()
}

fn adopt_task(state: &State, spec: &task::Spec, mark: Mark, result: &str) -> Vec<Event> {
    let by = match (spec.properties.get("source"), spec.properties.get("requested_by")) {
        (Some(source), _) => Requester::Inbox { source: source.clone() },
        (None, Some(session)) => Requester::Session { session: SessionId::new(session.as_str()) },
        (None, None) => Requester::Person { name: String::new() },
    };
    let mut events = vec![Event::TaskAdded { spec: Box::new(spec.clone()), by, in_file: true }];
    let end = match mark {
        Mark::Open | Mark::Running | Mark::Asking => {
            events.extend(taken(state, spec));
            events.extend(plan::joined(state, spec));
            return events;
        }
        Mark::Done => End::Done,
        Mark::Failed => End::Failed,
        Mark::Cancelled => End::Cancelled,
    };
    events.push(Event::TaskEnded {
        task: spec.id.clone(),
        end,
        result: result.to_owned(),
        by: "file".to_owned(),
    });
    events
}

pub(super) fn task_marked(
    state: &State,
    at: Time,
    id: &TaskId,
    mark: Mark,
    why: &str,
    by: &str,
) -> Result<Vec<Event>, Refused> {
    let task = state.tasks.get(id).ok_or_else(|| Refused::NoTask(id.clone()))?;
    if state.mark_of(task) == mark {
        return Ok(Vec::new());
    }
    let person = format!("person:{by}");
    let end = |end: End, result: String| match task.is_ended() {
        // Everybody was told how it ended; this corrects what is kept.
        true => {
            let down = match end {
                End::Done => Vec::new(),
                End::Failed | End::Cancelled => plan::turned_down(state, at, task, &person, None).0,
            };
            let ended = Event::TaskEnded { task: id.clone(), end, result, by: person.clone() };
            down.into_iter().chain([ended]).collect()
        }
        false => finish::end(state, at, id, end, &result, &person),
    };
    let why = if why.trim().is_empty() { String::new() } else { format!(": {}", why.trim()) };
    match mark {
        Mark::Done => Ok(end(End::Done, format!("marked done by {by}{why}"))),
        Mark::Failed => Ok(end(End::Failed, format!("marked failed by {by}{why}"))),
        Mark::Cancelled => Ok(end(End::Cancelled, format!("cancelled by {by}{why}"))),
        Mark::Open if task.is_ended() => Ok(vec![Event::TaskReopened { task: id.clone(), by: person }]),
        Mark::Open | Mark::Running | Mark::Asking => Err(Refused::MarkNotACommand { task: id.clone(), mark }),
    }
}

pub(super) fn task_wanted(state: &State, spec: &task::Spec, by: &str) -> Result<Vec<Event>, Refused> {
    let mut spec = spec.clone();
    check_room(state)?;
    spec.id = fresh_task(state);
    if spec.assignee.is_none() {
        let (agent, _) = route(state, &spec, None).ok_or(Refused::NoRoute)?;
        spec.assignee = Some(agent);
    }
    if let Some(missing) =
        spec.depends_on.iter().chain(&spec.parent).find(|id| !state.tasks.contains_key(*id))
    {
        return Err(Refused::NoTask(missing.clone()));
    }
    if let Some(agent) =
        spec.assignee.as_ref().filter(|a| a.as_str() != "human" && state.employed(a).is_none())
    {
        return Err(Refused::NoAgent(agent.clone()));
    }
    if let Some(cycle) = crate::waits::would_close(state, &spec) {
        return Err(Refused::Cycle(cycle));
    }
    Ok(vec![Event::TaskAdded {
        spec: Box::new(spec),
        by: Requester::Person { name: by.to_owned() },
        in_file: false,
    }])
}

pub(super) fn check_room(state: &State) -> Result<(), Refused> {
    let most = state.settings.limits.tasks_max;
    if state.open_tasks >= most {
        return Err(Refused::Limit { limit: "limits.tasks_max", value: u64::from(most) });
    }
    Ok(())
}

/// What an agent asks of another whose queue is full is refused; what people ask for waits in its file.
pub(super) fn check_queue(state: &State, spec: &task::Spec) -> Result<(), Refused> {
    let is_open = |id: &TaskId| state.tasks.get(id).is_none_or(|task| !task.is_ended());
    if spec.depends_on.iter().any(is_open) {
        return Ok(());
    }
    match spec.assignee.as_ref().and_then(|agent| state.agents.get(agent)) {
        Some(agent) if !agent.has_room() => {
            Err(Refused::QueueFull { agent: agent.spec.id.clone(), waiting: agent.waiting() })
        }
        Some(_) | None => Ok(()),
    }
}

/// A task has waited for a slot as long as it may.
pub(super) fn waited_too_long(state: &State, at: Time, id: &TaskId) -> Vec<Event> {
    let place = state.tasks.get(id).and_then(|task| task.place());
    let Some(agent) = place.and_then(|place| state.agents.get(&place.agent)) else { return Vec::new() };
    let concurrency = &agent.spec.permissions.concurrency;
    let (setting, ms) = match concurrency.queue_timeout_ms {
        Some(ms) => ("queue_timeout_ms", ms),
        None => ("task_timeout_ms", concurrency.task_timeout_ms),
    };
    let who = &agent.spec.id;
    let reason = format!("Timeout waiting for slot on agent {who}: {setting} of {who} is {ms}");
    finish::end(state, at, id, End::Failed, &reason, "synod")
}

/// A person speaks to an agent.
pub(super) fn message(
    state: &State,
    at: Time,
    session: Option<&SessionId>,
    agent: &AgentId,
    message: Message,
    in_file: bool,
) -> Result<Vec<Event>, Refused> {
    if message.content.trim().is_empty() {
        return Err(Refused::EmptyMessage);
    }
    let Some(id) = session else {
        if messages::is_to_many(agent) {
            return messages::to_many(state, at, agent, &message);
        }
        let unknown = || Refused::NoReceiver(messages::no_agent(state, agent.as_str()));
        let known = state.employed(agent).ok_or_else(unknown)?;
        return Ok(tell_agent(state, at, known, None, message, None));
    };
    let session = state.sessions.get(id).ok_or_else(|| Refused::NoSession(id.clone()))?;
    if state.agents.get(&session.agent).is_some_and(|agent| agent.terminated.is_some()) {
        return Err(Refused::NoReceiver(messages::no_agent(state, session.agent.as_str())));
    }
    let mut events = Vec::new();
    if session.lifecycle == Lifecycle::Complete {
        events.push(Event::SessionReopened { session: id.clone() });
    }
    events.push(Event::MessageAdded { session: id.clone(), message, asker: None, in_file });
    Ok(events)
}

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
    state: &State,
    at: Time,
    agent: &Agent,
    about: Option<&TaskId>,
    message: Message,
    asker: Option<&SessionId>,
) -> Vec<Event> {
    if let Some(id) = conversation_with(state, agent, about) {
        return vec![Event::MessageAdded {
            session: id.clone(),
            message,
            asker: asker.cloned(),
            in_file: false,
        }];
    }
    let head = head_for(state, at, agent, None);
    let session = head.session.clone();
    vec![
        Event::SessionOpened { head: Box::new(head) },
        Event::MessageAdded { session, message, asker: asker.cloned(), in_file: false },
    ]
}

/// A task gets a slot: open its session, say what is to be done, begin the first turn.
pub(super) fn start_task(state: &State, at: Time, id: &TaskId) -> Vec<Event> {
    let Some(task) = state.tasks.get(id) else { return Vec::new() };
    let Some(agent) = task.spec.assignee.as_ref().and_then(|a| state.agents.get(a)) else {
        return Vec::new();
    };
    let head = head_for(state, at, agent, Some(id));
    let session = head.session.clone();
    let from = match &task.by {
        Requester::Person { name } if name.is_empty() => "person".to_owned(),
        Requester::Person { name } => format!("person:{name}"),
        Requester::Session { session } => {
            state.sessions.get(session).map_or_else(|| "synod".to_owned(), |s| format!("agent:{}", s.agent))
        }
        Requester::Inbox { source } => source.clone(),
    };
    let on = task.spec.depends_on.iter().filter_map(|id| state.tasks.get(id));
    let label = on.fold(task.label.clone(), |label, other| label.joined(&other.label));
    let message = said(at, &from, brief::task(state, task), label);
    let expects = expected_first(&head.system_prompt).saturating_add(expected(&message));
    let first_turn = match budget::begin_first(state, at, agent, id, &session, expects) {
        Ok(begun) => begun,
        Err(parked) => return parked,
    };
    let mut events = vec![
        Event::TaskStarted { task: id.clone(), session: session.clone() },
        Event::SessionOpened { head: Box::new(head) },
        Event::MessageAdded { session: session.clone(), message, asker: None, in_file: false },
        Event::Moved {
            session: session.clone(),
            task: Some(id.clone()),
            to: Lifecycle::Working,
            failed: false,
            reason: format!("begins with {id}"),
        },
    ];
    events.extend(first_turn);
    events
}

fn head_for(state: &State, at: Time, agent: &Agent, task: Option<&TaskId>) -> Head {
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

pub(super) fn fresh_task(state: &State) -> TaskId {
    TaskId::new(format!("task-{:03}", state.next_task))
}

/// `<agent>-<6 hex>`, scattered so that two homes rarely share one, and the same again in a replay.
fn fresh_session(state: &State, agent: &Agent) -> SessionId {
    let mut number = agent.sessions_begun;
    loop {
        let scattered = agent
            .spec
            .id
            .as_str()
            .bytes()
            .fold(number.wrapping_add(1).wrapping_mul(0x9e37_79b1), |hash, byte| {
                (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
            });
        let id = SessionId::new(format!(
            "{}-{:06x}",
            agent.spec.id,
            (scattered ^ (scattered >> 24)) & 0x00ff_ffff
        ));
        if !state.sessions.contains_key(&id) {
            return id;
        }
        number = number.wrapping_add(0x0001_0001);
    }
}

pub(super) fn title_of(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let short = cut(line, TITLE_BYTES_MAX);
    let shown: String = short.chars().map(|c| if c == '"' || c.is_control() { '\'' } else { c }).collect();
    if short.len() < line.len() { format!("{shown}…") } else { shown }
}
