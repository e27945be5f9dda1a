//! Handing work on: a task for another agent, and a call that waits for what comes of it.

use crate::kernel::apply::expected_first;
use crate::kernel::draft::Draft;
use crate::kernel::event::DelegationEvent;
use crate::kernel::event::Finish;
use crate::kernel::state::State;
use crate::rules::answer::outcome_of_delegation;
use crate::rules::budget;
use crate::rules::end::end_task;
use crate::rules::may_delegate;
use crate::rules::moves::settle_for;
use crate::rules::say::{result, title_of};
use crate::rules::tasks::{Outcome, add, already_made, check_room, take_along};
use crate::rules::tree::{fresh_task, is_within};
use crate::topics::chain;
use crate::topics::chain::Hands;
use crate::topics::context;
use crate::topics::context::{Denied, Pass};
use crate::topics::delegation;
use crate::topics::delegation::{Delegation, Request, Status, Verdict};
use crate::topics::session::{Pending, Session, Stage, Step};
use crate::topics::task;
use crate::topics::task::End;
use crate::topics::tool::{Act, Call, Delegate, Want};
use crate::words::actor::Actor;
use crate::words::id::{AgentId, DelegationId, SessionId, TaskId, Time};
use policy::Nature;

/// Carries out `delegate`: the call waits from then on, or has its result.
pub(super) fn perform(d: &mut Draft<'_>, id: &SessionId, call: &Call, hands: &Hands) {
    let Some(session) = d.sessions.get(id) else { return };
    match make(d, d.at, (id, session), call, hands) {
        Ok(Made { spec, delegation, backs_off }) => {
            if let Some(spec) = spec {
                add(d, spec, id);
            }
            let mut reason = format!("waits for {}", delegation.id);
            let told = told_at_once(&delegation);
            d.emit(DelegationEvent::Made { delegation: Box::new(delegation) });
            if let Some(told) = told {
                let message = result(d.at, &call.id, told);
                return d.finish_call(id, Finish::Done, message);
            }
            if let Some(why) = backs_off {
                reason.push_str(&format!("; Backoff and retry: {why}"));
            }
            settle_for(d, id, Some(reason));
        }
        Err((finish, text)) => {
            let message = result(d.at, &call.id, text);
            d.finish_call(id, finish, message);
        }
    }
}

/// What the caller of a delegation hears that it does not wait for.
fn told_at_once(delegation: &Delegation) -> Option<String> {
    let Delegation { id, task, target, chain, callback, .. } = delegation;
    let chain = chain::shown(chain);
    (!callback).then(|| format!("{id}: {target} has {task}, and you hear no more of it\nchain: {chain}"))
}

/// What a delegation makes: its task, unless the files have it already, and why it begins later than at once.
struct Made {
    spec: Option<task::Spec>,
    delegation: Delegation,
    backs_off: Option<String>,
}

fn make(
    state: &State,
    at: Time,
    (id, session): (&SessionId, &Session),
    call: &Call,
    hands: &Hands,
) -> Result<Made, Outcome> {
    let failed = |text: String| (Finish::Failed, text);
    let Want::Act(Act::Delegate(Delegate {
        to,
        tag,
        task: text,
        payload,
        callback,
        deadline_ms,
        contexts,
        with_results,
    })) = &call.want
    else {
        return Err(failed("not a delegate".to_owned()));
    };
    if text.trim().is_empty() {
        return Err(failed("the task is empty; say what is to be done".to_owned()));
    }
    delegation::check_tag(tag).map_err(|bad| failed(bad.to_string()))?;
    let chain = &hands.chain;
    let chain_on: Vec<AgentId> = chain.iter().chain([to]).cloned().collect();
    let on = Hands { chain: chain_on.clone(), ..hands.clone() };
    if let Some((rule, why)) = impassable(state, &on.chain, contexts) {
        return Err((Finish::Refused { rule }, why));
    }
    let callback = callback.unwrap_or(true);
    let text = &match payload {
        Some(payload) => format!("{text}\n\npayload: {payload}"),
        None => text.clone(),
    };
    let mut spec = spec_of(state, (id, session), to, tag, text, &on);
    take_along(state, session, with_results, &mut spec).map_err(|rejected| failed(rejected.to_string()))?;
    if !callback {
        // Nobody waits for it, so it is no part of what the caller must bring to an end.
        spec.parent = None;
    }
    let made = already_made(state, id, session, &spec).and_then(|made| state.work.tasks.get(made));
    let mut backs_off = None;
    if made.is_none() {
        check_room(state).map_err(|refused| failed(refused.to_string()))?;
        let short = state.employed(to).and_then(|agent| {
            let expects = expected_first(&agent.spec.system_prompt).saturating_add(text.len() as u64 / 3);
            budget::short_of(state, at, agent, &state.run_of_session(id), expects)
        });
        let provider = short.as_ref().map(|short| short.reason.as_str());
        match may_delegate::check(state, &Request { chain, target: to, tag, provider }) {
            Verdict::Start | Verdict::Queue => {}
            Verdict::BackOff { reason } => backs_off = Some(reason),
            Verdict::Reject(rejected) => {
                let rule = rejected.rule().to_owned();
                return Err((Finish::Refused { rule }, rejected.to_string()));
            }
        }
    }
    let Some((work_ms_max, worked_before_ms)) = time_left(state, at, session, to) else {
        let rule = "delegation: remaining time".to_owned();
        let text = "Parent task timeout: no working time is left to hand on; say what you have".to_owned();
        return Err((Finish::Refused { rule }, text));
    };
    // Found in the files, without a journal: the other agent went on, and may have come to an end.
    if let Some((made, end)) = made.and_then(|task| Some((task, task.end()?))) {
        let doer = made.spec.assignee.as_ref().unwrap_or(to);
        return Err(outcome_of_delegation(doer, &made.spec.id, end, &made.result, &on.chain));
    }
    let task = made.map_or_else(|| spec.id.clone(), |made| made.spec.id.clone());
    let own = session.task.as_ref();
    let above = own.and_then(|task| state.delegations.of_task(task)).and_then(|above| above.deadline);
    let asked = deadline_ms.map(|ms| at.plus_ms(ms));
    let has_begun = made.is_some_and(|made| made.session().is_some());
    let delegation = Delegation {
        id: state.delegations.fresh(),
        source: session.agent.clone(),
        target: to.clone(),
        tag: tag.clone(),
        chain: chain_on,
        request: request_of(state, id).unwrap_or_else(|| task.clone()),
        parent: own.or_else(|| asked_for(state, session)).cloned(),
        task,
        session: id.clone(),
        call: call.id.clone(),
        created: at,
        deadline: [above, asked].into_iter().flatten().min(),
        callback,
        contexts: contexts.iter().map(|pass| pass.begun(at)).collect(),
        work_ms_max,
        worked_before_ms,
        status: if has_begun { Status::Running } else { Status::Pending },
        started: None,
        completed: None,
        error: None,
    };
    Ok(Made { spec: made.is_none().then_some(spec), delegation, backs_off })
}

/// The task with which all of a conversation's work began, if it was one.
fn request_of(state: &State, id: &SessionId) -> Option<TaskId> {
    let run = TaskId::new(state.run_of_session(id).as_str());
    state.work.tasks.contains_key(&run).then_some(run)
}

/// The task for which a conversation about none was asked.
fn asked_for<'a>(state: &'a State, session: &Session) -> Option<&'a TaskId> {
    session.ties.cause.as_ref().and_then(|cause| state.sessions.get(cause)?.task.as_ref())
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
        let spec = state.team.agents.get(*id).map(|agent| &agent.spec);
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
    let own = session.task.as_ref().and_then(|task| state.work.tasks.get(task));
    let file = own.map_or_else(|| format!("tasks/{}.task.md", session.agent), |own| own.spec.file.clone());
    let mut spec = task::Spec::new(fresh_task(state), file, title_of(text));
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
    let own = state.team.agents.get(&session.agent)?;
    let most = state.delegations.work_ms_max(session.task.as_ref(), own);
    let worked = session.clock.worked_ms + session.clock.working_since.map_or(0, |since| at.ms_since(since));
    let left = most.checked_sub(worked).filter(|left| *left > 0)?;
    let theirs = state.team.agents.get(to).map_or(left, |a| a.spec.permissions.concurrency.task_timeout_ms);
    Some((left.min(theirs), worked))
}

/// Delegated work that took longer than `deadline_ms`.
pub(super) fn time_out(d: &mut Draft<'_>, id: &DelegationId) {
    let Some(delegation) = d.delegations.by_id.get(id) else { return };
    let (task, took) = (delegation.task.clone(), d.at.ms_since(delegation.created));
    let reason = format!("deadline_ms: {id} timed out after {took} ms");
    end_task(d, &task, End::Failed, &reason, &Actor::Synod);
}

/// Delegated work in which a call that must not be repeated was under way when Synod stopped: it goes on, knowing that the
/// outcome is unknown, if the settings say so; else it ends, and its caller hears of it.
pub(super) fn take_up_crashed(d: &mut Draft<'_>) {
    let retried = d.config.settings.limits.delegation_retry;
    let mut found: Vec<(Delegation, String)> =
        d.sessions_in_flight().filter_map(|(id, session)| unknown(d, id, session)).collect();
    // Those above first: they take what is below along.
    found.sort_by_key(|(delegation, _)| delegation.depth());
    let mut ended: Vec<TaskId> = Vec::new();
    for (delegation, reason) in found {
        if ended.iter().any(|above| is_within(d, &delegation.task, above)) {
            continue;
        }
        d.emit(DelegationEvent::Crashed { delegation: delegation.id, reason: reason.clone(), retried });
        if !retried {
            end_task(d, &delegation.task, End::Failed, &reason, &Actor::Synod);
            ended.push(delegation.task);
        }
    }
}

fn unknown(state: &State, id: &SessionId, session: &Session) -> Option<(Delegation, String)> {
    let task = session.task.as_ref().and_then(|task| state.work.tasks.get(task))?;
    let delegation = state.delegations.of_task(&task.spec.id).filter(|d| !d.status.is_over())?;
    let Stage::Acting { calls, .. } = &session.stage else { return None };
    let once = |pending: &&Pending| matches!(pending.step, Step::Running { nature: Nature::Once, .. });
    let call = calls.iter().find(once).filter(|_| task.session() == Some(id))?;
    let tool = call.call.want.tool();
    let reason = format!("crashed: {tool} was under way when Synod stopped, and its outcome is unknown");
    Some((delegation.clone(), reason))
}
