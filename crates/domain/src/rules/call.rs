//! One call on its way: through the gate, to a person, to its locks and its budget, and out.

use crate::kernel::chains;
use crate::kernel::draft::Draft;
use crate::kernel::event::Finish;
use crate::kernel::event::{ApprovalEvent, CallEvent};
use crate::kernel::state::State;
use crate::rules::gate;
use crate::rules::gate::Verdict;
use crate::rules::moves::{move_to, settle};
use crate::rules::say::result;
use crate::rules::tasks::outcome;
use crate::rules::{budget, delegate, finish, locks, look_up, plan, review, send, spawn, tasks};
use crate::topics::approval::Request;
use crate::topics::evidence::Evidence;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::session::{Session, Stage, Step, is_outdated, spoiled_by};
use crate::topics::task::{Requester, TASK_DEPTH_MAX};
use crate::topics::tool;
use crate::topics::tool::{
    Act, ApproveWork, Call, Check, CreatePlan, Delegate, GetTask, ListAgents, Lock, Permit, SpawnAgent,
    TerminateAgent, Unlock, Want,
};
use crate::words::id::{ApprovalId, SessionId, Time};
use policy::Risk;

/// Takes the call at `index` of the current turn as far as it can go now.
pub(super) fn advance(d: &mut Draft<'_>, id: &SessionId, index: usize) {
    move_to(d, id, Lifecycle::Working, "the gate looks at a call");
    let Some(session) = d.sessions.get(id) else { return };
    let Stage::Acting { said, calls } = &session.stage else { return };
    let pending = calls[index].clone();
    if let Some(failed) = spoiled_by(calls, index) {
        let text = format!(
            "not run: {} before it in this answer did not work out, and what comes behind it changes something; \
             look at that result first",
            failed.call.want.tool()
        );
        let message = result(d.at, &pending.call.id, text);
        d.finish_call(id, Finish::Dropped, message);
        return settle(d, id);
    }
    let ruling = gate::judge_call(d, session, &pending, index);
    let why = if matches!(ruling.verdict, Verdict::Ask { .. }) { said.clone() } else { String::new() };
    let act = match (&pending.call.want, ruling.refusal()) {
        (Want::Act(act), None) => act,
        (_, refusal) => {
            return refuse(d, id, &pending.call, ruling.named_rule(), refusal.unwrap_or_default());
        }
    };
    let rule = ruling.named_rule();
    let approved_by = pending.step.approval();
    let accepts = matches!(act, Act::Check(Check { evidence: Evidence::Approval, .. }));
    let is_inside = accepts || tool::facts(act.tool()).is_some_and(|f| f.inside);
    match (ruling.verdict, approved_by) {
        // It was refused above.
        (Verdict::Deny { .. }, _) => {}
        (Verdict::Ask { .. }, None) if is_outdated(calls, index) => {
            d.emit(CallEvent::LookWanted { session: id.clone(), call: pending.call.id.clone() });
        }
        (Verdict::Ask { risk, factors }, None) => {
            let factors = factors.into_iter().chain([format!("rule: {rule}")]).collect();
            let blank = request(d, d.at, id, &pending.call, act, ruling.permit);
            let request = Request { why, risk, factors, ..blank };
            d.emit(ApprovalEvent::Asked { request: Box::new(request) });
            settle(d, id);
        }
        (Verdict::Allow, _) | (Verdict::Ask { .. }, Some(_)) if is_inside => {
            d.on_behalf(id, |d| carry_out(d, id, (&pending.call, index), act));
            settle(d, id);
        }
        (Verdict::Allow, _) | (Verdict::Ask { .. }, Some(_)) => {
            if !locks::guard(d, id, &pending) || !reserve(d, id, &pending.call, act) {
                return;
            }
            let (rule, permit) = match approved_by {
                None => (rule, ruling.permit),
                // What the person saw, and no more than the policy still gives.
                Some((approval, shown)) => (format!("approved in {approval}"), shown.both(ruling.permit)),
            };
            let (session, call, nature) = (id.clone(), pending.call.id.clone(), ruling.nature);
            let approval = approved_by.map(|(approval, _)| approval.clone());
            d.emit(CallEvent::Cleared { session, call, rule, nature, permit, approval });
        }
    }
}

fn refuse(d: &mut Draft<'_>, id: &SessionId, call: &Call, rule: String, text: String) {
    let message = result(d.at, &call.id, text);
    d.finish_call(id, Finish::Refused { rule }, message);
    settle(d, id);
}

/// Reserves for a call that asks a model; whether it may run now.
fn reserve(d: &mut Draft<'_>, id: &SessionId, call: &Call, act: &Act) -> bool {
    let Some(session) = d.sessions.get(id) else { return false };
    let runs = match &session.stage {
        Stage::Acting { calls, .. } => calls.iter().any(|p| matches!(p.step, Step::Running { .. })),
        _ => false,
    };
    let expects = session.purse.expects;
    match budget::reserve_call(d, d.at, id, session, call, act) {
        Ok(reserved) => {
            reserved.into_iter().for_each(|event| d.emit(event));
            true
        }
        Err(short) => {
            match gate::budget::judge(&short, runs) {
                Some(denied) => {
                    refuse(d, id, call, denied.named_rule(), denied.refusal().unwrap_or_default())
                }
                None => budget::park(d, id, short, expects),
            }
            false
        }
    }
}

/// Does what the domain itself can do.
fn carry_out(d: &mut Draft<'_>, id: &SessionId, (call, index): (&Call, usize), act: &Act) {
    let hands =
        |d: &Draft<'_>| d.sessions.get(id).map(|session| chains::chain(d, session)).unwrap_or_default();
    let (finish, text) = match act {
        Act::Delegate(Delegate { .. }) => return delegate::perform(d, id, call, &hands(d)),
        Act::Lock(Lock { name, wait_ms }) => return locks::take(d, id, call, name, *wait_ms),
        Act::Unlock(Unlock { name }) => return locks::give_back(d, id, call, name),
        Act::SendMessage(wish) => match send::send(d, id, (call, index), wish).transpose() {
            Some(done) => outcome(done),
            None => return,
        },
        Act::AskAgent(wish) => match send::ask(d, id, (call, index), wish).transpose() {
            Some(done) => outcome(done),
            None => return,
        },
        Act::ListAgents(ListAgents {}) => (Finish::Done, look_up::agents(d, id)),
        Act::GetTask(GetTask { id: task }) => return look_up::task(d, id, call, task),
        Act::CreatePlan(CreatePlan { tasks }) => outcome(plan::create(d, id, tasks)),
        Act::ApproveWork(ApproveWork { approved, issues }) => review::perform(d, id, *approved, issues),
        Act::SpawnAgent(SpawnAgent { .. }) => spawn::perform(d, id, index, act, &hands(d).chain),
        Act::TerminateAgent(TerminateAgent { .. }) => spawn::perform_end(d, id, act),
        Act::FinishTask(wish) => return finish::perform(d, id, (call, index), wish),
        Act::CreateTask(wish) => outcome(tasks::create(d, id, wish)),
        Act::UpdateTask(wish) => outcome(tasks::update(d, id, wish)),
        Act::Check(Check { evidence: Evidence::Approval, .. }) => {
            (Finish::Done, "a person says that it is done".to_owned())
        }
        act => (Finish::Failed, format!("{} is not carried out inside", act.tool())),
    };
    // A call that ended its own conversation has its result.
    if d.sessions.get(id).is_some_and(|session| !session.is_over()) {
        let message = result(d.at, &call.id, text);
        d.finish_call(id, finish, message);
    }
}

/// What a person is asked about a call, but for why and how bad it is.
fn request(state: &State, at: Time, id: &SessionId, call: &Call, act: &Act, permit: Permit) -> Request {
    let session = &state.sessions[id];
    Request {
        id: ApprovalId::new(format!("approval-{:04}", state.people.next_approval)),
        agent: session.agent.clone(),
        session: id.clone(),
        call: call.id.clone(),
        task: session.task.clone(),
        act: act.clone(),
        seen: call.seen.clone(),
        permit,
        digest: act.digest(call.seen.as_ref(), permit),
        why: String::new(),
        risk: Risk::Low,
        factors: Vec::new(),
        label: session.label.clone(),
        chain: chain(state, session),
        escalates: None,
        created: at,
        expires: state.config.settings.approvals.expire_ms.map(|ms| at.plus_ms(ms)),
    }
}

/// How what a session does came to it: where it began, and whose hands it went through.
fn chain(state: &State, session: &Session) -> Vec<String> {
    let mut steps = Vec::new();
    let mut task = session.task.as_ref().and_then(|id| state.work.tasks.get(id));
    for _ in 0..TASK_DEPTH_MAX {
        let Some(at) = task else { break };
        let who = at.spec.assignee.as_ref().map_or_else(String::new, |agent| format!(" of {agent}"));
        steps.push(format!("{}{who}", at.spec.id));
        task = match &at.by {
            Requester::Session { session } => {
                let asked = state.sessions.get(session).and_then(|s| s.task.as_ref());
                asked.and_then(|id| state.work.tasks.get(id)).filter(|next| next.spec.id != at.spec.id)
            }
            Requester::Person { name } if name.is_empty() => {
                steps.push("a person".to_owned());
                None
            }
            Requester::Person { name } => {
                steps.push(name.clone());
                None
            }
            Requester::Inbox { source } => {
                steps.push(source.clone());
                None
            }
        };
    }
    steps.reverse();
    steps
}
