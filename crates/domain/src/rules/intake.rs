//! Work that comes in: inbox lines, tasks in files, messages of people; and beginning it.

use crate::kernel::apply::{expected, expected_first};
use crate::kernel::draft::Draft;
use crate::kernel::event::{BudgetEvent, SessionEvent, SystemEvent, TaskEvent, TurnEvent};
use crate::kernel::refused::Refused;
use crate::rules::brief;
use crate::rules::budget;
use crate::rules::deliver::moved_away;
use crate::rules::end::{end_task, stop_session, turn_down};
use crate::rules::moves::move_to;
use crate::rules::outage;
use crate::rules::plan;
use crate::rules::route::route;
use crate::rules::say::{said, title_of};
use crate::rules::send;
use crate::rules::talk::{head_for, no_agent, tell_agent};
use crate::rules::tasks::check_room;
use crate::rules::tree::fresh_task;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::session::Message;
use crate::topics::task;
use crate::topics::task::{Change, End, Mark};
use crate::topics::task::{Requester, Task};
use crate::words::actor::Actor;
use crate::words::id::{AgentId, SessionId, TaskId};

/// The task file for what comes in from outside.
const INBOX_TASKS: &str = "tasks/inbox.task.md";

/// A line of an inbox file was read.
pub(super) fn read_line(
    d: &mut Draft<'_>,
    source: &str,
    line: u64,
    from: &str,
    channel: Option<&str>,
    text: &str,
) {
    if line <= d.trust.inbox.get(source).copied().unwrap_or(0) {
        return;
    }
    d.emit(SystemEvent::LineTaken { source: source.to_owned(), line });
    if text.trim().is_empty() {
        return;
    }
    let place = format!("{source}:{line}");
    let mut spec = task::Spec::new(fresh_task(d), INBOX_TASKS, title_of(text));
    spec.text = text.to_owned();
    spec.properties.insert("source".to_owned(), place.clone());
    if !from.is_empty() {
        spec.properties.insert("from".to_owned(), from.to_owned());
    }
    if let Some(channel) = channel {
        spec.properties.insert("channel".to_owned(), channel.to_owned());
    }
    let stem = source.rsplit('/').next().unwrap_or(source).trim_end_matches(".jsonl");
    spec.assignee = route(d, &spec, Some(stem)).map(|(agent, _)| agent);
    let (id, nobody) = (spec.id.clone(), spec.assignee.is_none());
    let by = Requester::Inbox { source: place };
    d.emit(TaskEvent::Added { spec: Box::new(spec), by, in_file: false });
    if nobody {
        let (result, by) = (Refused::NoRoute.to_string(), Actor::Synod);
        let (end, session, found) = (End::Failed, None, false);
        d.emit(TaskEvent::Ended { task: id, end, result, by, session, found });
    }
}

/// A file says something about a task: it is new, or a person changed it.
pub(super) fn read_task(d: &mut Draft<'_>, spec: &task::Spec, mark: Mark, result: &str) {
    if spec.id.as_str().is_empty() {
        let spec = task::Spec { id: fresh_task(d), ..spec.clone() };
        return adopt_task(d, &spec, mark, result);
    }
    let Some(known) = d.work.tasks.get(&spec.id) else { return adopt_task(d, spec, mark, result) };
    let changes = Change::between(&known.spec, spec);
    let left = if known.spec.parent == spec.parent { None } else { moved_away(d, known) };
    let reassigned = known.spec.assignee != spec.assignee;
    for change in changes {
        d.emit(TaskEvent::Edited { task: spec.id.clone(), change, in_file: true });
    }
    if let Some((parent, message)) = left {
        d.say(&parent, message, None);
    }
    // The file's assignee changed while somebody was at it: the work goes to the other agent, from the start.
    let worker = d.work.tasks.get(&spec.id).and_then(|task| task.session());
    if let Some(worker) = worker.filter(|_| reassigned).cloned() {
        stop_session(d, &worker, "the task was given to somebody else", false);
        d.emit(TaskEvent::Reopened { task: spec.id.clone(), by: Actor::person("") });
    }
    let is_open = |task: &Task| !task.is_ended() && task.session().is_none();
    let is_marked_open = matches!(mark, Mark::Open | Mark::Running | Mark::Asking);
    if is_marked_open && d.work.tasks.get(&spec.id).is_some_and(is_open) {
        take(d, spec);
    }
}

/// Gives a task that names nobody to an agent that takes it by the rules, if there is one.
fn take(d: &mut Draft<'_>, spec: &task::Spec) {
    if let Some((agent, _)) = route(d, spec, None).filter(|_| spec.assignee.is_none()) {
        let change = Change::Assignee(Some(agent));
        d.emit(TaskEvent::Edited { task: spec.id.clone(), change, in_file: false });
    }
}

/// The settings or the agents have changed: open tasks that nobody took are offered once more.
pub(super) fn take_left(d: &mut Draft<'_>) {
    let is_left = |task: &&Task| task.spec.assignee.is_none() && task.session().is_none();
    let open = d.work.open.all().filter_map(|id| d.work.tasks.get(id)).filter(is_left);
    let left: Vec<task::Spec> = open.map(|task| task.spec.clone()).collect();
    for spec in left {
        take(d, &spec);
    }
}

fn adopt_task(d: &mut Draft<'_>, spec: &task::Spec, mark: Mark, result: &str) {
    let by = match (spec.properties.get("source"), spec.properties.get("requested_by")) {
        (Some(source), _) => Requester::Inbox { source: source.clone() },
        (None, Some(session)) => Requester::Session { session: SessionId::new(session.as_str()) },
        (None, None) => Requester::Person { name: String::new() },
    };
    d.emit(TaskEvent::Added { spec: Box::new(spec.clone()), by, in_file: true });
    let end = match mark {
        Mark::Open | Mark::Running | Mark::Asking => {
            take(d, spec);
            return plan::join(d, spec);
        }
        Mark::Done => End::Done,
        Mark::Failed => End::Failed,
        Mark::Cancelled => End::Cancelled,
    };
    let (task, result, by) = (spec.id.clone(), result.to_owned(), Actor::person(""));
    d.emit(TaskEvent::Ended { task, end, result, by, session: None, found: true });
}

/// A person changed the mark of a task.
pub(super) fn mark_task(
    d: &mut Draft<'_>,
    id: &TaskId,
    mark: Mark,
    why: &str,
    by: &str,
) -> Result<(), Refused> {
    let task = d.work.tasks.get(id).ok_or_else(|| Refused::NoTask(id.clone()))?;
    if d.mark_of(task) == mark {
        return Ok(());
    }
    let is_ended = task.is_ended();
    let person = Actor::person(by);
    let why = if why.trim().is_empty() { String::new() } else { format!(": {}", why.trim()) };
    let (end, result) = match mark {
        Mark::Done => (End::Done, format!("marked done by {by}{why}")),
        Mark::Failed => (End::Failed, format!("marked failed by {by}{why}")),
        Mark::Cancelled => (End::Cancelled, format!("cancelled by {by}{why}")),
        Mark::Open if is_ended => {
            d.emit(TaskEvent::Reopened { task: id.clone(), by: person });
            return Ok(());
        }
        Mark::Open | Mark::Running | Mark::Asking => {
            return Err(Refused::MarkNotACommand { task: id.clone(), mark });
        }
    };
    if !is_ended {
        end_task(d, id, end, &result, &person);
        return Ok(());
    }
    // Everybody heard how it ended; this corrects what is kept.
    if end != End::Done {
        turn_down(d, id, &person);
    }
    d.emit(TaskEvent::Ended { task: id.clone(), end, result, by: person, session: None, found: false });
    Ok(())
}

/// A person took a task out of its file.
pub(super) fn lose_task(d: &mut Draft<'_>, id: &TaskId) -> Result<(), Refused> {
    if !d.work.tasks.contains_key(id) {
        return Err(Refused::NoTask(id.clone()));
    }
    end_task(d, id, End::Cancelled, "it was taken out of its file", &Actor::person(""));
    Ok(())
}

/// A person adds a task by a command.
pub(super) fn add_task(d: &mut Draft<'_>, spec: &task::Spec, by: &str) -> Result<(), Refused> {
    let mut spec = spec.clone();
    check_room(d)?;
    spec.id = fresh_task(d);
    if spec.assignee.is_none() {
        let (agent, _) = route(d, &spec, None).ok_or(Refused::NoRoute)?;
        spec.assignee = Some(agent);
    }
    if let Some(missing) =
        spec.depends_on.iter().chain(&spec.parent).find(|id| !d.work.tasks.contains_key(*id))
    {
        return Err(Refused::NoTask(missing.clone()));
    }
    let unknown = |agent: &&AgentId| agent.as_str() != "human" && d.employed(agent).is_none();
    if let Some(agent) = spec.assignee.as_ref().filter(unknown) {
        return Err(Refused::NoAgent(agent.clone()));
    }
    if let Some(cycle) = crate::kernel::waits::would_close(d, &spec) {
        return Err(Refused::Cycle(cycle));
    }
    let by = Requester::Person { name: by.to_owned() };
    d.emit(TaskEvent::Added { spec: Box::new(spec), by, in_file: false });
    Ok(())
}

/// A task has waited for a slot as long as it may.
pub(super) fn time_out(d: &mut Draft<'_>, id: &TaskId) {
    let place = d.work.tasks.get(id).and_then(|task| task.place());
    let Some(agent) = place.and_then(|place| d.team.agents.get(&place.agent)) else { return };
    let concurrency = &agent.spec.permissions.concurrency;
    let (setting, ms) = match concurrency.queue_timeout_ms {
        Some(ms) => ("queue_timeout_ms", ms),
        None => ("task_timeout_ms", concurrency.task_timeout_ms),
    };
    let who = &agent.spec.id;
    let reason = format!("Timeout waiting for slot on agent {who}: {setting} of {who} is {ms}");
    end_task(d, id, End::Failed, &reason, &Actor::Synod);
}

/// A person speaks to an agent.
pub(super) fn hear_person(
    d: &mut Draft<'_>,
    session: Option<&SessionId>,
    agent: &AgentId,
    message: Message,
    in_file: bool,
) -> Result<(), Refused> {
    if message.content.trim().is_empty() {
        return Err(Refused::EmptyMessage);
    }
    let Some(id) = session else {
        if send::is_to_many(agent) {
            return send::to_many(d, agent, &message);
        }
        if d.employed(agent).is_none() {
            return Err(no_agent(d, agent.as_str()));
        }
        tell_agent(d, agent, None, message, None);
        return Ok(());
    };
    let session = d.sessions.get(id).ok_or_else(|| Refused::NoSession(id.clone()))?;
    if d.team.agents.get(&session.agent).is_some_and(|agent| agent.terminated.is_some()) {
        return Err(no_agent(d, session.agent.as_str()));
    }
    if session.is_over() {
        d.emit(SessionEvent::Reopened { session: id.clone() });
    }
    match in_file {
        true => d.take_over(id, message),
        false => d.say(id, message, None),
    }
    Ok(())
}

/// A task gets a slot: open its session, say what is to be done, begin the first turn.
pub(super) fn start_task(d: &mut Draft<'_>, id: &TaskId) {
    let Some(task) = d.work.tasks.get(id) else { return };
    let Some(agent) = task.spec.assignee.as_ref().and_then(|a| d.team.agents.get(a)) else { return };
    let head = head_for(d, d.at, agent, Some(id));
    let session = head.session.clone();
    let from = match &task.by {
        Requester::Person { name } => Actor::person(name),
        Requester::Session { session } => {
            d.sessions.get(session).map_or_else(|| Actor::Synod, |s| Actor::from(&s.agent))
        }
        Requester::Inbox { source } => Actor::Outside(source.clone()),
    };
    let along = task.spec.with_results();
    let on = task.spec.depends_on.iter().chain(&along).filter_map(|id| d.work.tasks.get(id));
    let label = on.fold(task.label.clone(), |label, other| label.joined(&other.label));
    let message = said(d.at, Some(from), brief::task(d, task), label);
    let expects = expected_first(&head.system_prompt).saturating_add(expected(&message));
    let reserved = match budget::first_turn(d, d.at, agent, id, &session, expects) {
        Ok(reserved) => reserved,
        Err(short) => return d.emit(BudgetEvent::TaskParked { task: id.clone(), parked: short.into() }),
    };
    d.emit(TaskEvent::Started { task: id.clone(), session: session.clone() });
    d.emit(SessionEvent::Opened { head: Box::new(head) });
    d.say(&session, message, None);
    move_to(d, &session, Lifecycle::Working, &format!("begins with {id}"));
    outage::switch(d, &session);
    if let Some(reserved) = reserved {
        d.emit(reserved);
    }
    outage::ask(d, &session);
    d.emit(TurnEvent::Begun { session, turn: 1 });
}
