//! The turn machine: ask the model, pass each call through the gate, collect results, ask again.

use crate::approval::{Request, Risk};
use crate::decide::{
    budget, delegate, finish, inside, locks, messages, moves, moves_from, plan, review, said, spawn,
};
use crate::delegation::{self, Hands};
use crate::event::{Bill, Event, Finish};
use crate::evidence::Evidence;
use crate::gate::{self, Asker, Ruling, Verdict};
use crate::id::{ApprovalId, CallId, MessageId, SessionId, Ticket, Time};
use crate::input::Failure;
use crate::label::{self, Label};
use crate::lifecycle::Lifecycle;
use crate::refused::Refused;
use crate::review::Finding;
use crate::session::{Message, Speaker};
use crate::state::{Agent, Pending, Requester, Session, Stage, State, Step, TASK_DEPTH_MAX};
use crate::tool::{self, Act, Call, Permit, Want};
use crate::usage::{self, Usage};

/// How long to wait before a failed model call is tried again, doubled each time.
const RETRY_MS: u64 = 500;
/// Nobody waits longer than this for a model, whatever its provider asks for.
const RETRY_MS_MAX: u64 = 3_600_000;
/// A provider that asks for a longer wait than this is passed over if there is a fallback.
const FALLBACK_AFTER_MS: u64 = 30_000;

/// Who a summary is from.
const SUMMARY_FROM: &str = "synod";

/// A session that has something to answer, or calls to go on with, gets a slot.
pub(super) fn wake(state: &State, at: Time, id: &SessionId) -> Vec<Event> {
    let Some(session) = state.sessions.get(id) else { return Vec::new() };
    match &session.stage {
        // Only words of agents leave the turns as they are; between two of them somebody must stop.
        Stage::Resting if session.turns >= state.terms(session).limits.turns_max => {
            next_turn(state, at, id, session)
        }
        Stage::Resting => budget::begin(state, at, id, session, "there is something to answer"),
        Stage::Thinking { .. }
        | Stage::Retrying { .. }
        | Stage::Acting { .. }
        | Stage::Concluding { .. }
        | Stage::Over => attend(state, at, id, session),
    }
}

/// The next step in a session that needs nothing from outside.
pub(super) fn attend(state: &State, at: Time, id: &SessionId, session: &Session) -> Vec<Event> {
    match &session.stage {
        Stage::Concluding { said } => finish::conclude(state, at, id, session, said),
        Stage::Acting { said, calls } => {
            let next = calls
                .iter()
                .position(|p| matches!(p.step, Step::New | Step::Approved { .. } | Step::Locked { .. }));
            match next {
                Some(index) => gate_call(state, at, id, session, said, calls, index),
                None => match &session.proving {
                    Some(proving) => finish::proven(state, at, id, session, proving),
                    None => next_turn(state, at, id, session),
                },
            }
        }
        Stage::Resting | Stage::Thinking { .. } | Stage::Retrying { .. } | Stage::Over => Vec::new(),
    }
}

/// All results are there: ask the model again, unless it was asked often enough.
pub(super) fn next_turn(state: &State, at: Time, id: &SessionId, session: &Session) -> Vec<Event> {
    let most = state.terms(session).limits.turns_max;
    if session.turns >= most {
        let reason = format!("limits.turns_max: the agent took {most} turns without coming to an end");
        return finish::fail(state, at, id, session, &reason);
    }
    budget::begin(state, at, id, session, "all results are there")
}

fn gate_call(
    state: &State,
    at: Time,
    id: &SessionId,
    session: &Session,
    said: &str,
    calls: &[Pending],
    index: usize,
) -> Vec<Event> {
    let pending = &calls[index];
    let rest = others(calls, index);
    let mut events = moves(id, session, Lifecycle::Working, false, "the gate looks at a call");
    let refuse = |rule: String, text: String| Event::CallFinished {
        session: id.clone(),
        finish: Finish::Refused { rule },
        message: result(at, &pending.call.id, text),
        wrote: Vec::new(),
    };
    let (act, agent) = match known(state, session, pending, index) {
        Ok(known) => known,
        Err((rule, text)) => {
            events.push(refuse(rule, text));
            return settle(events, id, session, rest, None);
        }
    };
    let spec = state.spec_of(session).unwrap_or(&agent.spec);
    let role = state.terms(session).role(&spec.role);
    let hands = delegation::chain(state, session);
    let approval_required = hands.approval_required;
    let all = hands.all();
    let mut above = delegation::members(state, &all);
    if spec != &agent.spec || role != state.role(&spec.role) {
        // It goes on as it began, but what was taken from the agent since is taken from it too.
        above.push(delegation::member(state, &session.agent));
    }
    let asker = Asker { spec, role, approval_required, label: &session.label, above: &above };
    let ruling = rule(state, &asker, session, &pending.call, act);
    let approved_by = pending.step.approval();
    let accepts = matches!(act, Act::Check { evidence: Evidence::Approval, .. });
    let is_inside = accepts || tool::facts(act.tool()).is_some_and(|f| f.inside);
    let is_open = ruling.verdict == Verdict::Allow || approved_by.is_some();
    if is_open && !is_inside && !matches!(ruling.verdict, Verdict::Deny { .. }) {
        events = match locks::guard(state, at, (id, session), pending, rest.clone(), events) {
            Ok(events) => events,
            Err(waits) => return waits,
        };
    }
    match (ruling.verdict, approved_by) {
        (Verdict::Deny { advice }, _) => {
            events
                .push(refuse(ruling.rule.clone(), format!("denied by the rule: {}\n{advice}", ruling.rule)));
            settle(events, id, session, rest, None)
        }
        (Verdict::Allow, None) | (Verdict::Allow | Verdict::Ask { .. }, Some(_)) if is_inside => {
            let (more, waits) = carry_out(state, at, (id, session), (&pending.call, index), act, &hands);
            events.extend(more);
            // Who ends what it works for itself has ended with it.
            if spawn::stopped_by(&events).contains(id) {
                return events;
            }
            settle(events, id, session, rest, waits)
        }
        (Verdict::Allow, None) | (Verdict::Allow | Verdict::Ask { .. }, Some(_)) => {
            match budget::reserve_call(state, at, id, session, &pending.call, act) {
                Ok(reserved) => events.extend(reserved),
                // Others of this turn are under way: it cannot stand still for this one.
                Err(short) if rest.clone().any(|step| matches!(step, Step::Running { .. })) => {
                    events.push(refuse(short.limit, format!("not carried out: {}", short.reason)));
                    return settle(events, id, session, rest, None);
                }
                Err(short) => {
                    events.extend(budget::park_call(id, session, short));
                    return events;
                }
            }
            let (rule, permit) = match approved_by {
                None => (ruling.rule, ruling.permit),
                // What the person saw, and no more than the policy still gives.
                Some((approval, shown)) => (format!("approved in {approval}"), shown.both(ruling.permit)),
            };
            let (session, call, nature) = (id.clone(), pending.call.id.clone(), ruling.nature);
            let approval = approved_by.map(|(approval, _)| approval.clone());
            events.push(Event::CallCleared { session, call, rule, nature, permit, approval });
            events
        }
        (Verdict::Ask { risk, factors }, None) => {
            let factors = factors.into_iter().chain([format!("rule: {}", ruling.rule)]).collect();
            let request = Request {
                why: said.to_owned(),
                risk,
                factors,
                ..request(state, at, (id, session), &pending.call, act, ruling.permit)
            };
            let waits = for_person(&request.id);
            events.push(Event::CallAsked { request: Box::new(request) });
            settle(events, id, session, rest, Some(waits))
        }
    }
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

/// Does what the domain itself can do; and what the session waits for since then.
fn carry_out(
    state: &State,
    at: Time,
    (id, session): (&SessionId, &Session),
    (call, index): (&Call, usize),
    act: &Act,
    hands: &Hands,
) -> (Vec<Event>, Option<String>) {
    if act.tool() == delegation::TOOL {
        return delegate::perform(state, at, (id, session), call, hands);
    }
    if let Some(done) = locks::perform(state, at, id, call, act) {
        return done;
    }
    if let Some((events, reason)) = messages::wait(state, at, (id, session), (call, index), act) {
        return (events, Some(reason));
    }
    let (mut events, finish, text) = match act {
        Act::SendMessage { .. } => messages::send(state, at, (id, session), index, act),
        Act::CreatePlan { tasks } => plan::perform(state, (id, session), tasks),
        Act::ApproveWork { approved, issues } => review::perform(state, at, (id, session), *approved, issues),
        Act::SpawnAgent { .. } => spawn::perform(state, at, (id, session), index, act, &hands.all()),
        Act::TerminateAgent { .. } => spawn::end_asked(state, at, (id, session), act),
        act => inside::perform(state, at, id, session, act),
    };
    if !spawn::stopped_by(&events).contains(id) {
        let message = result(at, &call.id, text);
        events.push(Event::CallFinished { session: id.clone(), finish, message, wrote: Vec::new() });
    }
    (events, None)
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
fn request(
    state: &State,
    at: Time,
    (id, session): (&SessionId, &Session),
    call: &Call,
    act: &Act,
    permit: Permit,
) -> Request {
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

/// If, with its calls at these `steps` and perhaps one that `waits` since now, only people or other agents can bring
/// the session on, it is blocked.
pub(super) fn settle<'a>(
    mut events: Vec<Event>,
    id: &SessionId,
    session: &Session,
    mut steps: impl Iterator<Item = &'a Step> + Clone,
    waits: Option<String>,
) -> Vec<Event> {
    let busy = steps
        .clone()
        .any(|s| matches!(s, Step::New | Step::Approved { .. } | Step::Locked { .. } | Step::Running { .. }));
    let waits = waits.or_else(|| {
        steps.find_map(|step| match step {
            Step::Asking { approval } => Some(for_person(approval)),
            Step::Delegated { delegation } => Some(delegate::waits_for(delegation)),
            Step::Reviewing { review } => Some(review::waits_for(review)),
            Step::Awaiting { correlation, .. } => Some(messages::waits_for(correlation)),
            Step::Locking { name, .. } => Some(locks::waits_for(name)),
            Step::New
            | Step::Approved { .. }
            | Step::Locked { .. }
            | Step::Running { .. }
            | Step::Finished => None,
        })
    });
    if let Some(reason) = waits.filter(|_| !busy) {
        // The session is working by now: the gate has just looked at a call, or a tool has just finished.
        events.extend(moves_from(id, session, Lifecycle::Working, Lifecycle::Blocked, false, &reason));
    }
    events
}

fn for_person(approval: &ApprovalId) -> String {
    format!("waits for a person to decide {approval}")
}

/// How far all calls but the one at `index` are.
fn others(calls: &[Pending], index: usize) -> impl Iterator<Item = &Step> + Clone {
    calls.iter().enumerate().filter(move |(i, _)| *i != index).map(|(_, p)| &p.step)
}

/// A tool's result as a message.
pub(super) fn result(at: Time, call: &CallId, text: String) -> Message {
    Message { speaker: Speaker::ToolResult, call: Some(call.clone()), ..said(at, "", text, Label::owner()) }
}

#[expect(clippy::too_many_arguments, reason = "the parts of one input")]
pub(super) fn replied(
    state: &State,
    at: Time,
    id: &SessionId,
    ticket: Ticket,
    text: &str,
    calls: &[Call],
    (model, usage): (&str, Usage),
    read: &[String],
) -> Result<Vec<Event>, Refused> {
    let session = thinking(state, id, ticket)?;
    let again = Failure::Retry { after_ms: 0 };
    if text.trim().is_empty() && calls.is_empty() {
        let failed = failed(state, at, id, ticket, "the model gave an empty answer", again)?;
        return Ok(paid(state, id, (model, usage), failed));
    }
    let mut calls = calls.to_vec();
    unique_ids(calls.iter_mut());
    // What a model says is made of all it was given.
    let mut label = session.label.clone().joined(&Label::team());
    for place in read {
        let of = label::of_place(state, place);
        if !of.readers.include(&session.agent) {
            // Somebody wrote there while the model was asked: whatever it says now is not for this agent.
            let reason = format!("{place} became a secret of others while the model was asked");
            let failed = failed(state, at, id, ticket, &reason, again)?;
            return Ok(paid(state, id, (model, usage), failed));
        }
        label.join(&of);
    }
    let is_late = session.unread && session.unread_from > 0;
    let read_through = is_late.then(|| MessageId::new(format!("m-{:04}", session.unread_from - 1)));
    let answer = said(at, "", text.to_owned(), label);
    let message = Message { speaker: Speaker::Assistant, calls, read_through, ..answer };
    let (Usage { tokens_in, tokens_out, .. }, spent) = (usage, Some(bill(state, id, model, usage)));
    Ok(vec![Event::Replied { session: id.clone(), message, tokens_in, tokens_out, spent }])
}

/// A model was asked beside the conversation, for one of its calls.
pub(super) fn spent(
    state: &State,
    id: &SessionId,
    call: Option<&CallId>,
    model: &str,
    usage: Usage,
) -> Result<Vec<Event>, Refused> {
    if !state.sessions.contains_key(id) {
        return Err(Refused::NoSession(id.clone()));
    }
    let (Usage { tokens_in, tokens_out, .. }, spent) = (usage, bill(state, id, model, usage));
    Ok(vec![Event::Spent { session: id.clone(), tokens_in, tokens_out, spent, call: call.cloned() }])
}

fn bill(state: &State, id: &SessionId, model: &str, usage: Usage) -> Bill {
    let Usage { cache_read, cache_write, reasoning, .. } = usage;
    let cost = usage::cost(state.terms_of(id), model, &usage);
    Bill { model: model.to_owned(), cache_read, cache_write, reasoning, cost }
}

/// Older messages were summarised: kept first, then the model is asked again, with the summary in their place.
pub(super) fn summarised(
    state: &State,
    at: Time,
    id: &SessionId,
    ticket: Ticket,
    through: &MessageId,
    text: &str,
    (model, usage): (&str, Usage),
) -> Result<Vec<Event>, Refused> {
    let session = thinking(state, id, ticket)?;
    // A summary is made of all that the session has read, and of nothing better.
    let label = session.label.clone().joined(&Label::team());
    let message = Message {
        speaker: Speaker::System,
        summary_through: Some(through.clone()),
        ..said(at, SUMMARY_FROM, text.to_owned(), label)
    };
    let Usage { tokens_in, tokens_out, .. } = usage;
    let spent = bill(state, id, model, usage);
    let mut events = budget::ask_again(state, at, id, session, usage, spent.cost);
    events.push(Event::Summarised { session: id.clone(), message, tokens_in, tokens_out, spent });
    Ok(events)
}

/// Some models use one id for two calls of a turn, and people copy lines: results would then go to the wrong one.
pub(super) fn unique_ids<'a>(calls: impl Iterator<Item = &'a mut Call>) {
    let mut seen = std::collections::BTreeSet::new();
    for (index, call) in calls.enumerate() {
        let named = call.id.clone();
        let mut number = index;
        while !seen.insert(call.id.clone()) {
            number += 1;
            call.id = CallId::new(format!("{named}-{number}"));
        }
    }
}

/// An answer that cannot be used costs what every answer costs.
fn paid(state: &State, id: &SessionId, (model, usage): (&str, Usage), mut events: Vec<Event>) -> Vec<Event> {
    if usage != Usage::default() {
        let (Usage { tokens_in, tokens_out, .. }, spent) = (usage, bill(state, id, model, usage));
        let call = None;
        events.insert(0, Event::Spent { session: id.clone(), tokens_in, tokens_out, spent, call });
    }
    events
}

pub(super) fn failed(
    state: &State,
    at: Time,
    id: &SessionId,
    ticket: Ticket,
    reason: &str,
    failure: Failure,
) -> Result<Vec<Event>, Refused> {
    let session = thinking(state, id, ticket)?;
    let most = state.terms(session).limits.model_attempts_max;
    let fallback = fallback(state, session);
    let again = |wait_ms: u64, reason: String, fallback: Option<String>| {
        let due = at.plus_ms(wait_ms);
        vec![Event::TurnFailed { session: id.clone(), reason, due, fallback }]
    };
    let wait_ms = |after_ms: u64| {
        let back_off = RETRY_MS << (session.failures + 1).min(6);
        // Many fail at the same time and must not come back at the same time.
        after_ms.clamp(back_off / 2, RETRY_MS_MAX) + jitter(id, ticket) % (back_off / 2 + 1)
    };
    Ok(match (failure, fallback) {
        (Failure::Retry { after_ms }, Some(other)) if after_ms > FALLBACK_AFTER_MS => {
            let reason = format!("{reason}; {other} is asked, because that is too long to wait");
            again(0, reason, Some(other))
        }
        (Failure::Retry { after_ms }, _) if session.failures + 1 < most => {
            again(wait_ms(after_ms), reason.to_owned(), None)
        }
        (Failure::Retry { .. }, Some(other)) => {
            let reason = format!("{reason}; {other} is asked after {} failures", session.failures + 1);
            again(0, reason, Some(other))
        }
        (Failure::Down, Some(other)) => again(0, format!("{reason}; {other} is asked"), Some(other)),
        (Failure::Retry { .. }, None) => {
            let reason = format!(
                "limits.model_attempts_max: the model failed {} times, the last time: {reason}",
                session.failures + 1
            );
            finish::fail(state, at, id, session, &reason)
        }
        (Failure::Down | Failure::GiveUp, None) | (Failure::GiveUp, Some(_)) => {
            finish::fail(state, at, id, session, &format!("the model cannot answer: {reason}"))
        }
    })
}

/// The model that can be asked in place of the one that is asked now.
fn fallback(state: &State, session: &Session) -> Option<String> {
    let model = &state.spec_of(session)?.model;
    model.fallback.clone().filter(|_| session.fallback_until.is_none())
}

/// A number that differs from session to session and from try to try, and is the same in every replay (FNV-1a).
fn jitter(id: &SessionId, ticket: Ticket) -> u64 {
    let ticket = [ticket.effect.0.to_le_bytes(), u64::from(ticket.attempt).to_le_bytes()];
    let bytes = id.as_str().bytes().chain(ticket.into_iter().flatten());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

pub(super) fn thinking<'a>(state: &'a State, id: &SessionId, ticket: Ticket) -> Result<&'a Session, Refused> {
    let session = state.sessions.get(id).ok_or_else(|| Refused::NoSession(id.clone()))?;
    match session.stage {
        Stage::Thinking { ticket: current } if current == ticket => Ok(session),
        _ => Err(Refused::Stale { session: id.clone() }),
    }
}

/// What came of a tool call.
pub(super) struct Finished<'a> {
    pub(super) ok: bool,
    pub(super) text: &'a str,
    pub(super) read: &'a [String],
    pub(super) wrote: &'a [String],
    pub(super) finding: Option<&'a Finding>,
}

pub(super) fn tool_finished(
    state: &State,
    at: Time,
    id: &SessionId,
    call: &CallId,
    ticket: Ticket,
    outcome: &Finished<'_>,
) -> Result<Vec<Event>, Refused> {
    let session = state.sessions.get(id).ok_or_else(|| Refused::NoSession(id.clone()))?;
    let stale = || Refused::Stale { session: id.clone() };
    let Stage::Acting { calls, .. } = &session.stage else { return Err(stale()) };
    let running = |p: &Pending| {
        p.call.id == *call && matches!(p.step, Step::Running { ticket: current, .. } if current == ticket)
    };
    let index = calls.iter().position(running).ok_or_else(stale)?;
    let places = outcome.read.iter().map(|place| label::of_place(state, place));
    let label = places.fold(Label::owner(), |label, of| label.joined(&of));
    let (finish, text, label) = if label.readers.include(&session.agent) {
        let finish = if outcome.ok { Finish::Done } else { Finish::Failed };
        (finish, outcome.text.to_owned(), label)
    } else {
        // Found only once it was read, behind a link or in a search: it still does not reach the agent.
        let text = format!("withheld: {} is for others to see ({label})", outcome.read.join(", "));
        (Finish::Refused { rule: "trust.secret".to_owned() }, text, Label::owner())
    };
    let message = Message { label, ..result(at, call, text) };
    let wrote = outcome.wrote.to_vec();
    let finished = Event::CallFinished { session: id.clone(), finish, message, wrote };
    let pending = &calls[index];
    let (events, waits) = review::found(state, at, (id, session), &pending.call, outcome.finding, finished);
    Ok(settle(events, id, session, others(calls, index), waits))
}

/// What a call that was under way at a crash leaves behind.
pub(super) fn unknown_text(act: Option<&Act>) -> String {
    let what = act.map_or("this call", Act::tool);
    format!(
        "outcome unknown: {what} was under way when Synod stopped and must not run twice. \
         It may or may not have taken effect; check before you repeat it."
    )
}
