//! One call on its way: through the gate, to a person, to its locks and its budget, and out.

use crate::approval::Request;
use crate::delegation::{self, Hands};
use crate::event::{Event, Finish};
use crate::evidence::Evidence;
use crate::gate::{self, Asker, Ruling, Verdict};
use crate::id::{ApprovalId, SessionId, Time};
use crate::kernel::draft::Draft;
use crate::lifecycle::Lifecycle;
use crate::rules::moves::{move_to, settle};
use crate::rules::say::result;
use crate::rules::tasks::outcome;
use crate::rules::{budget, delegate, locks, plan, review, send, spawn, tasks};
use crate::state::{Agent, Pending, Requester, Session, Stage, State, Step, TASK_DEPTH_MAX, spoiled_by};
use crate::tool::{self, Act, Call, Permit, Want};
use policy::Risk;

/// Takes the call at `index` of the current turn as far as it can go now.
pub(super) fn advance(d: &mut Draft<'_>, id: &SessionId, index: usize) {
    move_to(d, id, Lifecycle::Working, "the gate looks at a call");
    let Some(session) = d.sessions.get(id) else { return };
    let Stage::Acting { said, calls } = &session.stage else { return };
    let (pending, said) = (calls[index].clone(), said.clone());
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
    let judged =
        known(d, session, &pending, index).map(|(act, agent)| judge(d, session, &pending, act, agent));
    let (ruling, hands) = match judged {
        Ok(judged) => judged,
        Err((rule, text)) => return refuse(d, id, &pending.call, rule, text),
    };
    let Want::Act(act) = &pending.call.want else { return };
    let approved_by = pending.step.approval();
    let accepts = matches!(act, Act::Check { evidence: Evidence::Approval, .. });
    let is_inside = accepts || tool::facts(act.tool()).is_some_and(|f| f.inside);
    match (ruling.verdict, approved_by) {
        (Verdict::Deny { advice }, _) => {
            let text = format!("denied by the rule: {}\n{advice}", ruling.rule);
            refuse(d, id, &pending.call, ruling.rule, text);
        }
        (Verdict::Ask { risk, factors }, None) => {
            let factors = factors.into_iter().chain([format!("rule: {}", ruling.rule)]).collect();
            let blank = request(d, d.at, id, &pending.call, act, ruling.permit);
            let request = Request { why: said, risk, factors, ..blank };
            d.emit(Event::CallAsked { request: Box::new(request) });
            settle(d, id);
        }
        (Verdict::Allow, _) | (Verdict::Ask { .. }, Some(_)) if is_inside => {
            d.on_behalf(id, |d| carry_out(d, id, (&pending.call, index), act, &hands));
            settle(d, id);
        }
        (Verdict::Allow, _) | (Verdict::Ask { .. }, Some(_)) => {
            if !locks::guard(d, id, &pending) || !reserve(d, id, &pending.call, act) {
                return;
            }
            let (rule, permit) = match approved_by {
                None => (ruling.rule, ruling.permit),
                // What the person saw, and no more than the policy still gives.
                Some((approval, shown)) => (format!("approved in {approval}"), shown.both(ruling.permit)),
            };
            let (session, call, nature) = (id.clone(), pending.call.id.clone(), ruling.nature);
            let approval = approved_by.map(|(approval, _)| approval.clone());
            d.emit(Event::CallCleared { session, call, rule, nature, permit, approval });
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
    let expects = session.expects;
    match budget::reserve_call(d, d.at, id, session, call, act) {
        Ok(reserved) => {
            reserved.into_iter().for_each(|event| d.emit(event));
            true
        }
        // Others of this turn are under way: it cannot stand still for this one.
        Err(short) if runs => {
            refuse(d, id, call, short.limit, format!("not carried out: {}", short.reason));
            false
        }
        Err(short) => {
            budget::park(d, id, short, expects);
            false
        }
    }
}

/// What the gate says of a call, and through whose hands its work came.
fn judge(state: &State, session: &Session, pending: &Pending, act: &Act, agent: &Agent) -> (Ruling, Hands) {
    let spec = state.spec_of(session).unwrap_or(&agent.spec);
    let role = state.terms(session).role(&spec.role);
    let hands = delegation::chain(state, session);
    let approval_required = hands.approval_required;
    let asker =
        Asker { spec, role, approval_required, label: &session.label, now: state.rights_now(session) };
    (rule(state, &asker, session, &pending.call, act), hands)
}

/// What a call asks for and who asks, or the rule that refuses it before anybody judges it, with words for the agent.
fn known<'a>(
    state: &'a State,
    session: &Session,
    pending: &'a Pending,
    index: usize,
) -> Result<(&'a Act, &'a Agent), (String, String)> {
    let act = match &pending.call.want {
        Want::Act(act) => act,
        Want::Invalid { tool, error } => return Err((format!("schema of {tool}"), error.clone())),
    };
    if let Some((rule, text)) = over_limit(state, session, pending, index) {
        return Err((rule.to_owned(), text));
    }
    let agent = state.agents.get(&session.agent).ok_or_else(|| {
        let text = format!("refused: there is no agent {} any more", session.agent);
        ("the agent is gone".to_owned(), text)
    })?;
    Ok((act, agent))
}

/// Does what the domain itself can do.
fn carry_out(d: &mut Draft<'_>, id: &SessionId, (call, index): (&Call, usize), act: &Act, hands: &Hands) {
    let (finish, text) = match act {
        Act::Delegate { .. } => return delegate::perform(d, id, call, hands),
        Act::Lock { name, wait_ms } => return locks::take(d, id, call, name, *wait_ms),
        Act::Unlock { name } => return locks::give_back(d, id, call, name),
        Act::SendMessage { .. } => match send::send(d, id, (call, index), act) {
            Ok(None) => return,
            Ok(Some(text)) => (Finish::Done, text),
            Err(text) => (Finish::Failed, text),
        },
        Act::CreatePlan { tasks } => outcome(plan::create(d, id, tasks)),
        Act::ApproveWork { approved, issues } => review::perform(d, id, *approved, issues),
        Act::SpawnAgent { .. } => spawn::perform(d, id, index, act, &hands.chain),
        Act::TerminateAgent { .. } => spawn::perform_end(d, id, act),
        Act::CreateTask { .. } => outcome(tasks::create(d, id, act)),
        Act::UpdateTask { .. } => outcome(tasks::update(d, id, act)),
        Act::Check { evidence: Evidence::Approval, .. } => {
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

/// What the gate says of an act.
fn rule(state: &State, asker: &Asker<'_>, session: &Session, call: &Call, act: &Act) -> Ruling {
    match act {
        Act::Check { task, evidence, .. } => {
            let by = state.tasks.get(task).map(|t| &t.by);
            gate::judge_evidence(asker, &state.policy, evidence, by)
        }
        act => {
            let ruling = gate::judge(asker, &state.policy, act, call.seen.as_ref());
            review::narrow(state, session, act, ruling)
        }
    }
}

/// A limit that refuses the call before anybody judges it.
fn over_limit(
    state: &State,
    session: &Session,
    pending: &Pending,
    index: usize,
) -> Option<(&'static str, String)> {
    let limits = &state.terms(session).limits;
    if index >= limits.calls_max as usize {
        let text = format!("refused by limits.calls_max: at most {} calls in one turn", limits.calls_max);
        return Some(("limits.calls_max", text));
    }
    let again = session.repeated.as_ref().filter(|(last, _)| pending.call.is_act(last));
    let is_over = again.is_some_and(|(_, times)| *times >= limits.same_call_max);
    (pending.step == Step::New && is_over).then(|| {
        let text = format!(
            "refused by limits.same_call_max: this exact call was made {} times in a row; do something else or say what is in the way",
            limits.same_call_max
        );
        ("limits.same_call_max", text)
    })
}

/// What a person is asked about a call, but for why and how bad it is.
fn request(state: &State, at: Time, id: &SessionId, call: &Call, act: &Act, permit: Permit) -> Request {
    let session = &state.sessions[id];
    Request {
        id: ApprovalId::new(format!("approval-{:04}", state.next_approval)),
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
        expires: state.settings.approvals.expire_ms.map(|ms| at.plus_ms(ms)),
    }
}

/// How what a session does came to it: where it began, and whose hands it went through.
fn chain(state: &State, session: &Session) -> Vec<String> {
    let mut steps = Vec::new();
    let mut task = session.task.as_ref().and_then(|id| state.tasks.get(id));
    for _ in 0..TASK_DEPTH_MAX {
        let Some(at) = task else { break };
        let who = at.spec.assignee.as_ref().map_or_else(String::new, |agent| format!(" of {agent}"));
        steps.push(format!("{}{who}", at.spec.id));
        task = match &at.by {
            Requester::Session { session } => {
                let asked = state.sessions.get(session).and_then(|s| s.task.as_ref());
                asked.and_then(|id| state.tasks.get(id)).filter(|next| next.spec.id != at.spec.id)
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
