//! The tools by which agents make and change tasks.

use crate::kernel::chains;
use crate::kernel::draft::Draft;
use crate::kernel::event::Finish;
use crate::kernel::event::TaskEvent;
use crate::kernel::holds;
use crate::kernel::refused::Refused;
use crate::kernel::state::State;
use crate::kernel::waits;
use crate::rules::end::end_task;
use crate::rules::route::route;
use crate::rules::say::title_of;
use crate::rules::talk::{OutOfTurns, check_turns, no_agent, team};
use crate::rules::tree::{depth, fresh_task, is_within};
use crate::topics::delegation;
use crate::topics::evidence;
use crate::topics::session::Session;
use crate::topics::task;
use crate::topics::task::{Change, End, Mark};
use crate::topics::task::{Requester, TASK_DEPTH_MAX, Task};
use crate::topics::tool::{CreateTask, UpdateTask};
use crate::words::actor::Actor;
use crate::words::id::{AgentId, SessionId, TaskId};
use crate::words::label::{Label, Readers};
use policy::glob;
use std::fmt::Display;

/// Why a task is not made or not changed, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Rejected {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Turns(#[from] OutOfTurns),
    #[error(transparent)]
    Tag(#[from] delegation::BadTag),
    #[error("the title must be one line that is not empty")]
    Title,
    #[error("there is no task {0}; query_tasks shows which there are")]
    NoTask(TaskId),
    #[error("{0} is already {TASK_DEPTH_MAX} levels deep; make the task beside it")]
    TooDeep(TaskId),
    #[error("the tasks would wait for each other: {0}; take one of them out of depends_on")]
    Cycle(waits::Cycle),
    #[error("done_when: {0}")]
    DoneWhen(#[from] evidence::BadEvidence),
    #[error(
        "refused by the rule that only who works on a task, asked for it or has it as a part may change it: {task} is none of these for {agent}"
    )]
    NotYours { task: TaskId, agent: AgentId },
    #[error("{0} is for a person to answer; all you can do is to give the plan up: cancelled")]
    Hold(TaskId),
    #[error(
        "refused by trust.secret: what was read here is not for all who see {task} ({label}); leave out title and result"
    )]
    Secret { task: TaskId, label: Label },
    #[error("a task is set to done, failed or cancelled, not to {}", .0.as_str())]
    NotAnEnd(Mark),
    #[error(
        "{0} is done when Synod has seen its evidence (done_when); say what came of it as your last words"
    )]
    Unproven(TaskId),
    #[error("{0} has open parts; it is done when they are")]
    OpenParts(TaskId),
    #[error("a result of {bytes} bytes came without a status; say done, failed or cancelled")]
    NoStatus { bytes: usize },
    #[error("{task} is being worked on; cancel it and make a new one for {agent}")]
    WorkedOn { task: TaskId, agent: AgentId },
    #[error("{task} was handed on by a call; cancel it and ask {agent} by a call of its own")]
    HandedOn { task: TaskId, agent: AgentId },
    #[error("nobody takes this: name an assignee, or a tag that somebody answers for. The team: {0}")]
    NobodyTakes(String),
    #[error("with_results: there is no task {0}; query_tasks shows which there are")]
    NoResults(String),
    #[error(
        "with_results: no result yet of {0}; name it in depends_on of create_task instead, and its result goes along when it ends"
    )]
    NotEnded(String),
    #[error("with_results: {agent} may not see the result of {task} ({label})")]
    NotForAll { task: TaskId, agent: AgentId, label: Label },
    #[error("{0} is being worked on; it no longer waits for anything")]
    Begun(TaskId),
}

/// How a call ended, and what the agent sees.
pub(super) type Outcome = (Finish, String);

/// What was done, or why it was not.
pub(super) fn outcome(done: Result<String, impl Display>) -> Outcome {
    match done {
        Ok(text) => (Finish::Done, text),
        Err(refused) => (Finish::Failed, refused.to_string()),
    }
}

/// Carries out `create_task`.
pub(super) fn create(d: &mut Draft<'_>, id: &SessionId, wish: &CreateTask) -> Result<String, Rejected> {
    let Some(session) = d.sessions.get(id) else { return Err(Refused::ConversationOver.into()) };
    let spec = new_spec(d, id, session, wish)?;
    let who = spec.assignee.as_ref().map(ToString::to_string).unwrap_or_default();
    if let Some(made) = already_made(d, id, session, &spec) {
        return Ok(format!("{made} is created for {who}"));
    }
    check_queue(d, &spec)?;
    let text = format!("{} is created for {who}", spec.id);
    add(d, spec, id);
    Ok(text)
}

/// Adds a task that a conversation asks for.
pub(super) fn add(d: &mut Draft<'_>, spec: task::Spec, id: &SessionId) {
    let by = Requester::Session { session: id.clone() };
    d.emit(TaskEvent::Added { spec: Box::new(spec), by, in_file: false });
}

fn new_spec(
    state: &State,
    id: &SessionId,
    session: &Session,
    wish: &CreateTask,
) -> Result<task::Spec, Rejected> {
    let CreateTask {
        title,
        description,
        assignee,
        depends_on,
        parent,
        tags,
        tag,
        priority,
        approval_required,
        done_when,
        with_results,
    } = wish;
    check_room(state)?;
    check_turns(state, id, session)?;
    if title.trim().is_empty() || title.contains('\n') {
        return Err(Rejected::Title);
    }
    tags.iter().chain(tag).try_for_each(|tag| delegation::check_tag(tag))?;
    if let Some(agent) = assignee.as_ref().filter(|a| a.as_str() != "human")
        && state.employed(agent).is_none()
    {
        return Err(no_agent(state, agent.as_str()).into());
    }
    let parent = parent.clone().or_else(|| session.task.clone());
    if let Some(missing) = depends_on.iter().chain(&parent).find(|id| !state.work.tasks.contains_key(*id)) {
        return Err(Rejected::NoTask(missing.clone()));
    }
    if let Some(parent) = &parent
        && depth(state, parent) >= TASK_DEPTH_MAX
    {
        return Err(Rejected::TooDeep(parent.clone()));
    }
    let file = parent
        .as_ref()
        .and_then(|p| state.work.tasks.get(p))
        .map_or_else(|| format!("tasks/{}.task.md", session.agent), |p| p.spec.file.clone());
    let mut spec = task::Spec::new(fresh_task(state), file, title_of(title));
    spec.text.clone_from(description);
    spec.assignee.clone_from(assignee);
    spec.priority = *priority;
    spec.tags.clone_from(tags);
    spec.tag.clone_from(tag);
    spec.parent = parent;
    spec.depends_on.clone_from(depends_on);
    spec.approval_required = *approval_required || chains::above(state, session).approval_required;
    check_cycle(state, &spec)?;
    spec.properties.insert("requested_by".to_owned(), id.to_string());
    chains::bind(session, &mut spec.properties);
    if let Some(text) = done_when {
        evidence::parse(text)?;
        spec.properties.insert("done_when".to_owned(), text.clone());
    }
    if session.label.counts() {
        spec.properties.insert("label".to_owned(), session.label.to_string());
    }
    if spec.assignee.is_none() {
        let taker = route(state, &spec, None).map(|(agent, _)| agent);
        // Work for others that only its maker would get is work that nobody takes.
        let comes_back = |agent: &AgentId| *agent == session.agent && !answers_for(state, agent, &spec);
        let Some(agent) = taker.filter(|agent| !comes_back(agent)) else {
            return Err(Rejected::NobodyTakes(team(state, &session.agent)));
        };
        spec.assignee = Some(agent);
    }
    take_along(state, session, with_results, &mut spec)?;
    Ok(spec)
}

/// Whether an agent answers for the tag of a task; it does if the task has none.
fn answers_for(state: &State, agent: &AgentId, spec: &task::Spec) -> bool {
    let Some(tag) = &spec.tag else { return true };
    let able = state.employed(agent).map(|agent| agent.spec.responsibilities.as_slice()).unwrap_or_default();
    let routed = &state.config.settings.routing.tags;
    let routed = routed.iter().filter(|(_, to)| to == agent).map(|(pattern, _)| pattern);
    able.iter().chain(routed).any(|pattern| glob(pattern, tag))
}

/// Lets the results of tasks go along with a new one, whose label becomes that of what it takes along.
pub(super) fn take_along(
    state: &State,
    session: &Session,
    ids: &[TaskId],
    spec: &mut task::Spec,
) -> Result<(), Rejected> {
    if ids.is_empty() {
        return Ok(());
    }
    let named = |lacks: &dyn Fn(&TaskId) -> bool| {
        let found: Vec<&str> = ids.iter().filter(|id| lacks(id)).map(TaskId::as_str).collect();
        (!found.is_empty()).then(|| found.join(", "))
    };
    if let Some(unknown) = named(&|id| !state.work.tasks.contains_key(id)) {
        return Err(Rejected::NoResults(unknown));
    }
    if let Some(open) = named(&|id| !state.work.tasks[id].is_ended()) {
        return Err(Rejected::NotEnded(open));
    }
    let mut label = session.label.clone();
    for task in ids.iter().filter_map(|id| state.work.tasks.get(id)) {
        for agent in [&session.agent].into_iter().chain(&spec.assignee) {
            if !task.label.readers.include(agent) {
                let (task, agent, label) = (task.spec.id.clone(), agent.clone(), task.label.clone());
                return Err(Rejected::NotForAll { task, agent, label });
            }
        }
        label.join(&task.label);
    }
    spec.take_along(ids);
    if label.counts() {
        spec.properties.insert("label".to_owned(), label.to_string());
    }
    Ok(())
}

/// The task that this very call made before the journal was lost: it was printed, and the call's result was not.
pub(super) fn already_made<'a>(
    state: &'a State,
    id: &SessionId,
    session: &Session,
    spec: &task::Spec,
) -> Option<&'a TaskId> {
    // Calls of a session that took no turn since were found in its file.
    if session.pace.turns_total > 0 {
        return None;
    }
    // Two calls may ask for the same: what one of them waits for is not the other's.
    let is_same = |task: &crate::topics::task::Task| {
        matches!(&task.by, Requester::Session { session } if session == id)
            && state.delegations.of_task(&task.spec.id).is_none()
            && (&task.spec.title, &task.spec.assignee, &task.spec.text, &task.spec.depends_on)
                == (&spec.title, &spec.assignee, &spec.text, &spec.depends_on)
    };
    let made = state.work.tasks.iter().filter(|(_, task)| is_same(task));
    made.min_by_key(|(_, task)| task.is_ended()).map(|(made, _)| made)
}

/// Carries out `update_task`.
pub(super) fn update(d: &mut Draft<'_>, id: &SessionId, wish: &UpdateTask) -> Result<String, Rejected> {
    let UpdateTask { id: which, status, result, title, assignee, priority, depends_on } = wish;
    let Some(session) = d.sessions.get(id) else { return Err(Refused::ConversationOver.into()) };
    let state: &State = d;
    let task = state.work.tasks.get(which).ok_or_else(|| Refused::NoTask(which.clone()))?;
    // A task that was given to somebody else in the meantime is no longer its own.
    let works_on =
        |task: &&TaskId| state.work.tasks.get(*task).is_some_and(|t| t.is_ended() || t.session() == Some(id));
    let mine = session.task.as_ref().filter(works_on);
    let own = mine == Some(which);
    let asked = task.by == Requester::Session { session: id.clone() };
    let above = mine.is_some_and(|mine| is_within(state, which, mine));
    if !(own || asked || above) {
        return Err(Rejected::NotYours { task: which.clone(), agent: session.agent.clone() });
    }
    if task.is_ended() {
        return Err(Refused::Ended(which.to_string()).into());
    }
    let only_ends = title.is_none() && assignee.is_none() && priority.is_none() && depends_on.is_none();
    if holds::is_hold(state, task) && !(only_ends && matches!(status, Some(Mark::Failed | Mark::Cancelled))) {
        return Err(Rejected::Hold(which.clone()));
    }
    // The file of its own task gets the label with the result; a title, and what others work on, has none.
    let tells = title.is_some() || (result.is_some() && !own);
    if tells && session.label.readers != Readers::Home {
        return Err(Rejected::Secret { task: which.clone(), label: session.label.clone() });
    }
    let mut changes = Vec::new();
    if let Some(title) = title {
        changes.push(Change::Title(title_of(title)));
    }
    if let Some(agent) = assignee {
        check_given(state, task, agent)?;
        changes.push(Change::Assignee(Some(agent.clone())));
    }
    if let Some(priority) = priority {
        changes.push(Change::Priority(Some(*priority)));
    }
    if let Some(ids) = depends_on {
        changes.push(Change::DependsOn(waiting_for(state, task, ids)?));
    }
    let end = match status {
        None => None,
        Some(Mark::Done) => Some(End::Done),
        Some(Mark::Failed) => Some(End::Failed),
        Some(Mark::Cancelled) => Some(End::Cancelled),
        Some(other @ (Mark::Open | Mark::Running | Mark::Asking)) => {
            return Err(Rejected::NotAnEnd(*other));
        }
    };
    if end == Some(End::Done) && task.spec.properties.contains_key("done_when") {
        return Err(Rejected::Unproven(which.clone()));
    }
    if own && end == Some(End::Done) && state.open_children(task).next().is_some() {
        return Err(Rejected::OpenParts(which.clone()));
    }
    if let (None, Some(result)) = (end, result) {
        return Err(Rejected::NoStatus { bytes: result.len() });
    }
    let by = Actor::from(&session.agent);
    for change in changes {
        d.emit(TaskEvent::Edited { task: which.clone(), change, in_file: false });
    }
    if let Some(end) = end {
        end_task(d, which, end, result.as_deref().unwrap_or_default(), &by);
    }
    Ok(format!("{which} is changed"))
}

/// Whether there is room for one more task.
pub(super) fn check_room(state: &State) -> Result<(), Refused> {
    let most = state.config.settings.limits.tasks_max;
    if state.work.open_tasks >= most {
        return Err(Refused::Limit { limit: "limits.tasks_max", value: u64::from(most) });
    }
    Ok(())
}

/// Work that an agent asks of another whose queue is full is refused; work that people ask for waits in its file.
pub(super) fn check_queue(state: &State, spec: &task::Spec) -> Result<(), Refused> {
    let is_open = |id: &TaskId| state.work.tasks.get(id).is_none_or(|task| !task.is_ended());
    if spec.depends_on.iter().any(is_open) {
        return Ok(());
    }
    match spec.assignee.as_ref().and_then(|agent| state.team.agents.get(agent)) {
        Some(agent) if !agent.has_room() => {
            Err(Refused::QueueFull { agent: agent.spec.id.clone(), waiting: agent.waiting() })
        }
        Some(_) | None => Ok(()),
    }
}

/// Whether an agent may give a task to this one.
fn check_given(state: &State, task: &Task, agent: &AgentId) -> Result<(), Rejected> {
    let which = &task.spec.id;
    if agent.as_str() != "human" && state.employed(agent).is_none() {
        return Err(no_agent(state, agent.as_str()).into());
    }
    if task.session().is_some() {
        return Err(Rejected::WorkedOn { task: which.clone(), agent: agent.clone() });
    }
    // To whom it may go was looked at when it was handed on.
    if state.delegations.of_task(which).is_some() || state.reviews.of_task(which).is_some() {
        return Err(Rejected::HandedOn { task: which.clone(), agent: agent.clone() });
    }
    if task.spec.assignee.as_ref() == Some(agent) {
        return Ok(());
    }
    let given = task::Spec { assignee: Some(agent.clone()), ..task.spec.clone() };
    Ok(check_queue(state, &given)?)
}

/// The dependencies that an agent gives a task in place of its own.
fn waiting_for(state: &State, task: &Task, ids: &[TaskId]) -> Result<Vec<TaskId>, Rejected> {
    if task.session().is_some() {
        return Err(Rejected::Begun(task.spec.id.clone()));
    }
    if let Some(missing) = ids.iter().find(|id| !state.work.tasks.contains_key(*id)) {
        return Err(Rejected::NoTask(missing.clone()));
    }
    // Whatever else it waits for, it waits for a person's yes to its plan.
    let hold = holds::hold_of(task).filter(|hold| task.spec.depends_on.contains(hold) && !ids.contains(hold));
    let ids: Vec<TaskId> = ids.iter().cloned().chain(hold).collect();
    check_cycle(state, &task::Spec { depends_on: ids.clone(), ..task.spec.clone() })?;
    Ok(ids)
}

fn check_cycle(state: &State, spec: &task::Spec) -> Result<(), Rejected> {
    match waits::would_close(state, spec) {
        Some(cycle) => Err(Rejected::Cycle(cycle)),
        None => Ok(()),
    }
}
