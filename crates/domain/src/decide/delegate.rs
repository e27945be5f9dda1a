//! Handing work on: a task for another agent, and a call that waits for what comes of it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::apply::expected_first;
use crate::context::{self, Denied, Pass};
use crate::decide::turn::result;
use crate::decide::{budget, finish, inside, intake, review};
use crate::delegation::{self, Delegation, Hands, Request, Status, Verdict};
use crate::event::{Event, Finish};
use crate::id::{AgentId, DelegationId, SessionId, TaskId, Time};
use crate::lifecycle::Lifecycle;
use crate::session::Message;
use crate::state::{Requester, Session, Stage, State, Step, Task, TaskStage};
use crate::task::{self, End};
use crate::tool::{Act, Call, Want};

/// The reason for which a session that has delegated is blocked.
pub(super) fn waits_for(delegation: &DelegationId) -> String {
    format!("waits for {delegation}")
}

/// Hands on what `call` says, or says why not; and what the session waits for since then.
pub(super) fn perform(
    state: &State,
    at: Time,
    (id, session): (&SessionId, &Session),
    call: &Call,
    hands: &Hands,
) -> (Vec<Event>, Option<String>) {
    let ended = |finish: Finish, text: String| {
        let message = result(at, &call.id, text);
        (vec![Event::CallFinished { session: id.clone(), finish, message, wrote: Vec::new() }], None)
    };
    let Want::Act(Act::Delegate { to, tag, task: text, deadline_ms, contexts }) = &call.want else {
        return ended(Finish::Failed, "not a delegate".to_owned());
    };
    if text.trim().is_empty() {
        return ended(Finish::Failed, "the task is empty; say what is to be done".to_owned());
    }
    if let Err(why) = delegation::check_tag(tag) {
        return ended(Finish::Failed, why);
    }
    let Hands { chain, beside, approval_required: _ } = hands;
    let chain_on: Vec<AgentId> = chain.iter().chain([to]).cloned().collect();
    let on = Hands { chain: chain_on.clone(), ..hands.clone() };
    if let Some((rule, why)) = impassable(state, &on.all(), contexts) {
        return ended(Finish::Refused { rule }, why);
    }
    let spec = spec_of(state, (id, session), to, tag, text, &on);
    let made = inside::already_made(state, id, session, &spec).and_then(|made| state.tasks.get(made));
    let mut backs_off = None;
    if made.is_none() {
        if let Err(refused) = intake::check_room(state) {
            return ended(Finish::Failed, refused.to_string());
        }
        let short = state.employed(to).and_then(|agent| {
            let run = state.run_of(id, session.task.as_ref());
            let expects = expected_first(&agent.spec.system_prompt).saturating_add(text.len() as u64 / 3);
            budget::short_of(state, at, agent, run, expects)
        });
        let provider = short.as_ref().map(|short| short.reason.as_str());
        match delegation::check(state, &Request { chain, beside, target: to, tag, provider }) {
            Verdict::Start | Verdict::Queue => {}
            Verdict::BackOff { reason } => backs_off = Some(reason),
            Verdict::Reject(rejected) => {
                let rule = rejected.rule().to_owned();
                return ended(Finish::Refused { rule }, rejected.to_string());
            }
        }
    }
    let Some((work_ms_max, worked_before_ms)) = time_left(state, at, session, to) else {
        let rule = "delegation: remaining time".to_owned();
        let text = "Parent task timeout: no working time is left to hand on; say what you have".to_owned();
        return ended(Finish::Refused { rule }, text);
    };
    // Found in the files, without a journal: the other agent went on, and may have come to an end.
    if let Some((made, end)) = made.and_then(|task| Some((task, task.end()?))) {
        let (finish, text) =
            words(made.spec.assignee.as_ref().unwrap_or(to), &made.spec.id, end, &made.result);
        return ended(finish, text);
    }
    let task = made.map_or_else(|| spec.id.clone(), |made| made.spec.id.clone());
    let own = session.task.as_ref();
    let above = own.and_then(|task| state.delegations.of_task(task)).and_then(|above| above.deadline);
    let asked = deadline_ms.map(|ms| at.plus_ms(ms));
    let delegation = Delegation {
        id: state.delegations.fresh(),
        source: session.agent.clone(),
        target: to.clone(),
        tag: tag.clone(),
        chain: chain_on,
        request: request_of(state, id, own).unwrap_or_else(|| task.clone()),
        parent: own.or_else(|| asked_for(state, session)).cloned(),
        task,
        session: id.clone(),
        call: call.id.clone(),
        created: at,
        deadline: [above, asked].into_iter().flatten().min(),
        contexts: contexts.clone(),
        work_ms_max,
        worked_before_ms,
        status: if made.is_some_and(|made| made.session().is_some()) {
            Status::Running
        } else {
            Status::Pending
        },
        started: None,
        completed: None,
        error: None,
    };
    let mut waits = waits_for(&delegation.id);
    if let Some(reason) = backs_off {
        waits.push_str(&format!("; Backoff and retry: {reason}"));
    }
    let mut events = Vec::new();
    if made.is_none() {
        let by = Requester::Session { session: id.clone() };
        events.push(Event::TaskAdded { spec: Box::new(spec), by, in_file: false });
    }
    events.push(Event::Delegated { delegation: Box::new(delegation) });
    (events, Some(waits))
}

/// The task with which all of a conversation's work began, if it was one.
fn request_of(state: &State, id: &SessionId, own: Option<&TaskId>) -> Option<TaskId> {
    let run = TaskId::new(state.run_of(id, own));
    state.tasks.contains_key(&run).then_some(run)
}

/// The task for which a conversation about none was asked.
fn asked_for<'a>(state: &'a State, session: &Session) -> Option<&'a TaskId> {
    session.cause.as_ref().and_then(|cause| state.sessions.get(cause)?.task.as_ref())
}

/// Why contexts cannot go along: the rule, and words for who asks. What is granted stands in files, so whether everybody
/// in the chain may see them is judged when the other looks at them, each time.
fn impassable(state: &State, chain: &[AgentId], contexts: &[Pass]) -> Option<(String, String)> {
    let rule = "delegation: contexts".to_owned();
    if let Some(pass) = contexts.iter().find(|pass| !context::is_name(&pass.context)) {
        let name = &pass.context;
        return Some((
            rule,
            format!("{name:?} is no name of a context: use the name under which you read it"),
        ));
    }
    if contexts.is_empty() {
        return None;
    }
    let is_closed = |id: &&AgentId| {
        let spec = state.agents.get(*id).map(|agent| &agent.spec);
        spec.is_some_and(|spec| context::role_for_grants(spec).is_none())
    };
    let closed = chain.iter().find(is_closed)?;
    let words = Denied::Closed.rule(closed, "");
    Some((words.clone(), format!("no context can go along: {words}; leave `contexts` out")))
}

/// The task for the other agent. What bounds the one who asks bounds it too.
fn spec_of(
    state: &State,
    (id, session): (&SessionId, &Session),
    to: &AgentId,
    tag: &str,
    text: &str,
    hands: &Hands,
) -> task::Spec {
    let own = session.task.as_ref().and_then(|task| state.tasks.get(task));
    let file = own.map_or_else(|| format!("tasks/{}.task.md", session.agent), |own| own.spec.file.clone());
    let mut spec = task::Spec::new(intake::fresh_task(state), file, intake::title_of(text));
    spec.text = text.to_owned();
    spec.assignee = Some(to.clone());
    spec.tag = Some(tag.to_owned());
    spec.parent.clone_from(&session.task);
    spec.priority = own.and_then(|own| own.spec.priority);
    spec.approval_required = hands.approval_required;
    spec.properties.insert("requested_by".to_owned(), id.to_string());
    hands.write(&mut spec.properties);
    if session.label.counts() {
        spec.properties.insert("label".to_owned(), session.label.to_string());
    }
    spec
}

/// How long the other may work, and how long the one who asks has worked. `None` if it has no time left.
fn time_left(state: &State, at: Time, session: &Session, to: &AgentId) -> Option<(u64, u64)> {
    let own = state.agents.get(&session.agent)?;
    let most = state.delegations.work_ms_max(session.task.as_ref(), own);
    let worked = session.worked_ms + session.working_since.map_or(0, |since| at.ms_since(since));
    let left = most.checked_sub(worked).filter(|left| *left > 0)?;
    let theirs = state.agents.get(to).map_or(left, |a| a.spec.permissions.concurrency.task_timeout_ms);
    Some((left.min(theirs), worked))
}

/// The end of a delegated task as the result of the call that waits for it; `None` if none does.
pub(super) fn answer(state: &State, at: Time, task: &Task, end: End, result_text: &str) -> Option<Event> {
    answer_to(state, at, state.delegations.of_task(&task.spec.id)?, task, (end, result_text))
}

fn answer_to(
    state: &State,
    at: Time,
    delegation: &Delegation,
    task: &Task,
    (end, result_text): (End, &str),
) -> Option<Event> {
    let session = state.sessions.get(&delegation.session)?;
    let pending = session.pending(&delegation.call)?;
    if pending.step != (Step::Delegated { delegation: delegation.id.clone() }) {
        return None;
    }
    let label = finish::label_of_result(state, task);
    // A person may have given the work to somebody else meanwhile.
    let doer = task.spec.assignee.as_ref().unwrap_or(&delegation.target);
    let (finish, text) = words(doer, &task.spec.id, end, result_text);
    let message = Message { label, ..result(at, &delegation.call, text) };
    Some(Event::CallFinished { session: delegation.session.clone(), finish, message, wrote: Vec::new() })
}

fn words(doer: &AgentId, task: &TaskId, end: End, text: &str) -> (Finish, String) {
    let (finish, word) = match end {
        End::Done => (Finish::Done, "has done"),
        End::Failed => (Finish::Failed, "could not do"),
        End::Cancelled => (Finish::Failed, "no longer does, because it was cancelled,"),
    };
    let said = if text.is_empty() { "nothing was said about it" } else { text };
    (finish, format!("{doer} {word} {task}: {said}"))
}

/// Tasks that the calls of a session wait for.
pub(super) fn waited<'a>(state: &'a State, session: &'a Session) -> impl Iterator<Item = &'a TaskId> {
    let calls = match &session.stage {
        Stage::Acting { calls, .. } => calls.as_slice(),
        _ => &[],
    };
    calls.iter().filter_map(|pending| match &pending.step {
        Step::Delegated { delegation } => state.delegations.by_id.get(delegation).map(|d| &d.task),
        Step::Reviewing { review } => state.reviews.by_id.get(review).map(|review| &review.task),
        Step::New
        | Step::Asking { .. }
        | Step::Approved { .. }
        | Step::Running { .. }
        | Step::Awaiting { .. }
        | Step::Locking { .. }
        | Step::Locked { .. }
        | Step::Finished => None,
    })
}

/// Ends what the calls of a session wait for: nobody will hear of it any more.
pub(super) fn give_up(state: &State, at: Time, session: &Session, reason: &str) -> Vec<Event> {
    let end =
        |task: &TaskId| finish::abandon(state, at, task, &format!("{} gave it up: {reason}", session.agent));
    waited(state, session).flat_map(end).collect()
}

/// Delegated work that took longer than `deadline_ms`.
pub(super) fn too_late(state: &State, at: Time, id: &DelegationId) -> Vec<Event> {
    let Some(delegation) = state.delegations.by_id.get(id) else { return Vec::new() };
    let took = at.ms_since(delegation.created);
    let reason = format!("deadline_ms: {id} timed out after {took} ms");
    finish::end(state, at, &delegation.task, End::Failed, &reason, "synod")
}

/// Work of an agent who leaves before beginning it, however it was asked for: a conversation that waits for it would wait
/// for ever. What people asked for stays open, so that they can give it to somebody else.
pub(super) fn left_alone(state: &State, at: Time, agent: &AgentId) -> Vec<Event> {
    let goes_on = |id: &SessionId| {
        state.sessions.get(id).is_some_and(|session| session.lifecycle != Lifecycle::Complete)
    };
    let is_left = |task: &&Task| {
        task.stage == TaskStage::Open
            && task.spec.assignee.as_ref() == Some(agent)
            && finish::asker_of(state, task).is_some_and(goes_on)
    };
    let left: Vec<&TaskId> = state.tasks.values().filter(is_left).map(|task| &task.spec.id).collect();
    let reason = format!("{agent} is no longer in the team and had not begun");
    let mut after = Cow::Borrowed(state);
    let mut events = Vec::new();
    for (place, task) in left.iter().enumerate() {
        let ended = finish::end(&after, at, task, End::Failed, &reason, "synod");
        // Who asked for several is told of the last that no other goes on.
        if place + 1 < left.len() {
            ended.iter().for_each(|event| after.to_mut().apply(at, event));
        }
        events.extend(ended);
    }
    events
}

/// Calls that wait although what they wait for has ended; the sweep on start tells them.
pub(super) fn missed(state: &State, at: Time) -> Vec<Event> {
    let ended = state.delegations.by_id.values().filter_map(|delegation| {
        let task = state.tasks.get(&delegation.task)?;
        answer_to(state, at, delegation, task, (task.end()?, &task.result))
    });
    let reviewed = state.reviews.by_id.values().filter_map(|review| {
        let task = state.tasks.get(&review.task)?;
        review::answer(state, at, task, task.end()?, &task.result)
    });
    ended.chain(reviewed).collect()
}

/// Delegated work in which a call that must not be repeated was under way when Synod stopped: it goes on, knowing that the
/// outcome is unknown, if the settings say so, else it is given up and who asked is told. Also the tasks that end so.
pub(super) fn crashed(state: &State, at: Time) -> (Vec<Event>, BTreeSet<TaskId>) {
    let mut events = Vec::new();
    let mut given_up: BTreeSet<TaskId> = BTreeSet::new();
    let retried = state.settings.limits.delegation_retry;
    let mut found: Vec<(&Delegation, String)> =
        state.sessions_in_flight().filter_map(|(id, session)| unknown(state, id, session)).collect();
    // Those above first: they take what is below along.
    found.sort_by_key(|(delegation, _)| delegation.depth());
    for (delegation, reason) in found {
        if inside::is_within_one(state, &delegation.task, &given_up) {
            continue;
        }
        let id = delegation.id.clone();
        events.push(Event::DelegationCrashed { delegation: id, reason: reason.clone(), retried });
        if !retried {
            given_up.insert(delegation.task.clone());
            events.extend(finish::end(state, at, &delegation.task, End::Failed, &reason, "synod"));
        }
    }
    (events, given_up)
}

fn unknown<'a>(state: &'a State, id: &SessionId, session: &Session) -> Option<(&'a Delegation, String)> {
    let task = session.task.as_ref().and_then(|task| state.tasks.get(task))?;
    let delegation = state.delegations.of_task(&task.spec.id).filter(|d| !d.status.is_over())?;
    let Stage::Acting { calls, .. } = &session.stage else { return None };
    let once = |pending: &&crate::state::Pending| {
        matches!(pending.step, Step::Running { nature: crate::tool::Nature::Once, .. })
    };
    let call = calls.iter().find(once).filter(|_| task.session() == Some(id))?;
    let tool = call.call.want.tool();
    Some((
        delegation,
        format!("crashed: {tool} was under way when Synod stopped, and its outcome is unknown"),
    ))
}
