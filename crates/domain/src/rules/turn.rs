//! The turn machine: ask the model, take each call on its way, collect results, ask again.

use crate::kernel::draft::Draft;
use crate::kernel::event::{Bill, Finish};
use crate::kernel::event::{BudgetEvent, CallEvent, OutageEvent, TurnEvent};
use crate::kernel::input::Failure;
use crate::kernel::outages::{place_of, provider_of};
use crate::kernel::places;
use crate::kernel::refused::Refused;
use crate::kernel::state::State;
use crate::rules::call::advance;
use crate::rules::conclude::{conclude, proven};
use crate::rules::end::fail;
use crate::rules::moves::settle;
use crate::rules::next::next_turn;
use crate::rules::outage::Heard;
use crate::rules::say::{result, said};
use crate::rules::{budget, outage, review};
use crate::topics::outage::Place;
use crate::topics::review::Finding;
use crate::topics::session::{Message, Speaker};
use crate::topics::session::{Pending, Session, Stage, Step, next_call};
use crate::topics::settings;
use crate::topics::tool::{Call, Seen, Want};
use crate::words::actor::Actor;
use crate::words::id::{CallId, MessageId, SessionId, Ticket};
use crate::words::label::Label;
use crate::words::usage::Usage;

/// How long to wait before a failed model call is tried again, doubled each time.
const RETRY_MS: u64 = 500;
/// Nobody waits longer than this for a model, whatever its provider asks for.
const RETRY_MS_MAX: u64 = 3_600_000;
/// A provider that asks for a longer wait than this is passed over if there is a fallback.
const FALLBACK_AFTER_MS: u64 = 30_000;

/// A session that has something to answer, or calls to go on with, gets a slot.
pub(super) fn wake(d: &mut Draft<'_>, id: &SessionId) {
    let Some(session) = d.sessions.get(id) else { return };
    match &session.stage {
        // Only words of agents leave the turns as they are; between two of them somebody must stop.
        Stage::Resting if session.pace.turns >= d.terms(session).limits.turns_max => next_turn(d, id),
        Stage::Resting => budget::begin(d, id, "there is something to answer"),
        Stage::Thinking { .. }
        | Stage::Retrying { .. }
        | Stage::Acting { .. }
        | Stage::Concluding { .. }
        | Stage::Over => attend(d, id),
    }
}

/// The next step in a session that needs nothing from outside.
pub(super) fn attend(d: &mut Draft<'_>, id: &SessionId) {
    let Some(session) = d.sessions.get(id) else { return };
    match &session.stage {
        Stage::Concluding { said } => {
            let said = said.clone();
            conclude(d, id, &said);
        }
        Stage::Acting { calls, .. } => match (next_call(calls), session.proof.proving.clone()) {
            (Some(index), _) => advance(d, id, index),
            (None, Some(proving)) => proven(d, id, &proving),
            (None, None) => next_turn(d, id),
        },
        Stage::Resting | Stage::Thinking { .. } | Stage::Retrying { .. } | Stage::Over => {}
    }
}

/// A model's answer.
pub(super) struct Reply<'a> {
    pub(super) text: &'a str,
    pub(super) calls: &'a [Call],
    pub(super) model: &'a str,
    pub(super) usage: Usage,
    pub(super) read: &'a [String],
}

/// A model answered.
pub(super) fn replied(
    d: &mut Draft<'_>,
    id: &SessionId,
    ticket: Ticket,
    reply: &Reply<'_>,
) -> Result<(), Refused> {
    let session = thinking(d, id, ticket)?;
    let bill = bill(d, id, reply.model, reply.usage);
    let Usage { tokens_in, tokens_out, .. } = reply.usage;
    let label = match usable(d, session, reply) {
        Ok(label) => label,
        Err(unusable) => {
            // An answer that cannot be used costs what every answer costs.
            if reply.usage != Usage::default() {
                let session = id.clone();
                d.emit(BudgetEvent::Spent { session, tokens_in, tokens_out, spent: bill, call: None });
            }
            return failed(d, id, ticket, &unusable.to_string(), Failure::Retry { after_ms: 0 });
        }
    };
    let mut calls = reply.calls.to_vec();
    unique_ids(calls.iter_mut());
    let is_late = session.talk.unread && session.talk.unread_from > 0;
    let read_through = is_late.then(|| MessageId::numbered(session.talk.unread_from - 1));
    let answer = said(d.at, None, reply.text.to_owned(), label);
    let message = Message { speaker: Speaker::Assistant, calls, read_through, ..answer };
    let message = d.placed(id, message);
    d.emit(TurnEvent::Replied { session: id.clone(), message, tokens_in, tokens_out, spent: Some(bill) });
    outage::answers(d, id, Heard::Model);
    Ok(())
}

/// Why an answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Unusable {
    #[error("the model gave an empty answer")]
    Empty,
    #[error("{place} became a secret of others while the model was asked")]
    Secret { place: String },
}

/// The origin of an answer: all that the model was given. An answer that is empty, or made of what the agent may not see
/// any more, cannot be used.
fn usable(state: &State, session: &Session, reply: &Reply<'_>) -> Result<Label, Unusable> {
    if reply.text.trim().is_empty() && reply.calls.is_empty() {
        return Err(Unusable::Empty);
    }
    let mut label = session.label.clone().joined(&Label::team());
    for place in reply.read {
        let of = places::of_place(state, place);
        if !of.readers.include(&session.agent) {
            return Err(Unusable::Secret { place: place.clone() });
        }
        label.join(&of);
    }
    Ok(label)
}

/// A model was asked beside the conversation, for one of its calls.
pub(super) fn spent(
    d: &mut Draft<'_>,
    id: &SessionId,
    call: Option<&CallId>,
    model: &str,
    usage: Usage,
) -> Result<(), Refused> {
    if !d.sessions.contains_key(id) {
        return Err(Refused::NoSession(id.clone()));
    }
    let (Usage { tokens_in, tokens_out, .. }, spent) = (usage, bill(d, id, model, usage));
    d.emit(BudgetEvent::Spent { session: id.clone(), tokens_in, tokens_out, spent, call: call.cloned() });
    Ok(())
}

fn bill(state: &State, id: &SessionId, model: &str, usage: Usage) -> Bill {
    let Usage { cache_read, cache_write, reasoning, .. } = usage;
    let cost = settings::cost(state.terms_of(id), model, &usage);
    Bill { model: model.to_owned(), cache_read, cache_write, reasoning, cost }
}

/// Older messages were summarised: kept first, then the model is asked again, with the summary in their place.
pub(super) fn summarised(
    d: &mut Draft<'_>,
    id: &SessionId,
    ticket: Ticket,
    (through, text): (&MessageId, &str),
    (model, usage): (&str, Usage),
) -> Result<(), Refused> {
    let session = thinking(d, id, ticket)?;
    // A summary is made of all that the session has read, and of nothing better.
    let label = session.label.clone().joined(&Label::team());
    let message = Message {
        speaker: Speaker::System,
        summary_through: Some(through.clone()),
        ..said(d.at, Some(Actor::Synod), text.to_owned(), label)
    };
    let Usage { tokens_in, tokens_out, .. } = usage;
    let spent = bill(d, id, model, usage);
    budget::pay_summary(d, id, usage, spent.cost);
    let message = d.placed(id, message);
    d.emit(TurnEvent::Summarised { session: id.clone(), message, tokens_in, tokens_out, spent });
    Ok(())
}

/// A summary that was paid for is of no use.
pub(super) fn unsummarised(d: &mut Draft<'_>, id: &SessionId, ticket: Ticket) -> Result<(), Refused> {
    thinking(d, id, ticket)?;
    budget::unsummarised(d, id);
    Ok(())
}

/// A request is larger than what was reserved for it.
pub(super) fn outgrown(
    d: &mut Draft<'_>,
    id: &SessionId,
    ticket: Ticket,
    tokens_in: u64,
) -> Result<(), Refused> {
    thinking(d, id, ticket)?;
    budget::outgrown(d, id, tokens_in);
    Ok(())
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

/// A model did not answer: ask again later, ask another one, wait for its provider, or give up.
pub(super) fn failed(
    d: &mut Draft<'_>,
    id: &SessionId,
    ticket: Ticket,
    reason: &str,
    failure: Failure,
) -> Result<(), Refused> {
    let session = thinking(d, id, ticket)?;
    let most = d.terms(session).limits.model_attempts_max;
    let (failures, expects) = (session.pace.failures + 1, session.purse.expects);
    let (place, other) = (place(d, session, failure), fallback(d, session, failure));
    let is_out = place.as_ref().is_some_and(|place| d.outages.by_name.contains_key(&place.to_string()));
    match failure {
        Failure::Limited { .. } | Failure::Down | Failure::Denied => outage::answers(d, id, Heard::Provider),
        Failure::Outage { .. } | Failure::Retry { .. } | Failure::GiveUp => {}
    }
    let (wait_ms, reason, fallback) = match (failure, other) {
        (Failure::Retry { after_ms }, Some(other)) if after_ms > FALLBACK_AFTER_MS => {
            let reason = format!("{reason}; {other} is asked, because that is too long to wait");
            (0, reason, Some(other))
        }
        (Failure::Retry { after_ms }, _) if failures < most => {
            (again_ms(failures, after_ms, jitter(id, ticket)), reason.to_owned(), None)
        }
        (Failure::Limited { after_ms } | Failure::Outage { after_ms }, _)
            if !is_out && failures < most && after_ms <= FALLBACK_AFTER_MS =>
        {
            (again_ms(failures, after_ms, jitter(id, ticket)), reason.to_owned(), None)
        }
        (Failure::Limited { after_ms } | Failure::Outage { after_ms }, other) => {
            let Some(place) = place else { return Ok(()) };
            let wait = (after_ms.min(RETRY_MS_MAX), jitter(id, ticket));
            outage::fails(d, id, &place, reason, wait);
            match other {
                Some(other) => {
                    (0, format!("{reason}; {other} is asked after {failures} failures"), Some(other))
                }
                None => {
                    if let Some(outage) = d.outages.by_name.get(&place.to_string()) {
                        let short = outage::short(outage);
                        budget::park(d, id, short, expects);
                    }
                    return Ok(());
                }
            }
        }
        (Failure::Retry { .. }, Some(other)) => {
            let reason = format!("{reason}; {other} is asked after {failures} failures");
            (0, reason, Some(other))
        }
        (Failure::Down | Failure::Denied, Some(other)) => {
            (0, format!("{reason}; {other} is asked"), Some(other))
        }
        (Failure::Retry { .. }, None) => {
            let reason = format!(
                "limits.model_attempts_max: the model failed {failures} times, the last time: {reason}"
            );
            fail(d, id, &reason);
            return Ok(());
        }
        (Failure::Down | Failure::GiveUp | Failure::Denied, None) | (Failure::GiveUp, Some(_)) => {
            if failure == Failure::Denied {
                let provider = asked(d, id).provider;
                let (session, error) = (id.clone(), reason.to_owned());
                d.emit(OutageEvent::Denied { session, provider, error });
            }
            fail(d, id, &format!("the model cannot answer: {reason}"));
            return Ok(());
        }
    };
    let due = d.at.plus_ms(wait_ms);
    d.emit(TurnEvent::Failed { session: id.clone(), reason, due, fallback });
    Ok(())
}

/// How long to wait before the same model is asked again: as long as the provider wants, at least twice as long each time.
/// Many fail at the same time and must not come back at the same time.
fn again_ms(failures: u32, after_ms: u64, spread: u64) -> u64 {
    let back_off = RETRY_MS << failures.min(6);
    after_ms.clamp(back_off / 2, RETRY_MS_MAX) + spread % (back_off / 2 + 1)
}

/// What does not answer, if it may answer later.
fn place(state: &State, session: &Session, failure: Failure) -> Option<Place> {
    let (model, terms) = (state.model_asked(session)?, state.terms(session));
    match failure {
        Failure::Limited { .. } => Some(place_of(terms, model)),
        Failure::Outage { .. } => Some(provider_of(terms, model)),
        Failure::Retry { .. } | Failure::Down | Failure::Denied | Failure::GiveUp => None,
    }
}

/// The provider that a conversation asks.
fn asked(state: &State, id: &SessionId) -> Place {
    let session = state.sessions.get(id);
    let model = session.and_then(|session| state.model_asked(session)).unwrap_or_default();
    provider_of(state.terms_of(id), model)
}

/// The model that can be asked in place of the one that is asked now. Where a whole provider does not serve, none of its other
/// models does.
fn fallback(state: &State, session: &Session, failure: Failure) -> Option<String> {
    let model = &state.spec_of(session)?.model;
    let other = model.fallback.as_ref().filter(|_| session.pace.fallback_until.is_none())?;
    let terms = state.terms(session);
    let is_same = provider_of(terms, other) == provider_of(terms, &model.primary);
    let serves = match failure {
        Failure::Outage { .. } | Failure::Denied => !is_same,
        Failure::Limited { .. } | Failure::Down | Failure::Retry { .. } | Failure::GiveUp => true,
    };
    let is_out = |place: Place| state.outages.by_name.contains_key(&place.to_string());
    let is_there = !is_out(place_of(terms, other)) && (is_same || !is_out(provider_of(terms, other)));
    (serves && is_there).then(|| other.clone())
}

/// A number that differs from session to session and from try to try, and is the same in every replay (FNV-1a).
fn jitter(id: &SessionId, ticket: Ticket) -> u64 {
    let ticket = [ticket.effect.0.to_le_bytes(), u64::from(ticket.attempt).to_le_bytes()];
    let bytes = id.as_str().bytes().chain(ticket.into_iter().flatten());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The session whose model was asked by this ticket.
fn thinking<'a>(state: &'a State, id: &SessionId, ticket: Ticket) -> Result<&'a Session, Refused> {
    let session = state.sessions.get(id).ok_or_else(|| Refused::NoSession(id.clone()))?;
    match session.stage {
        Stage::Thinking { ticket: current } if current == ticket => Ok(session),
        _ => Err(Refused::Stale { session: id.clone() }),
    }
}

/// What a call depends on was looked at.
pub(super) fn looked(
    d: &mut Draft<'_>,
    id: &SessionId,
    call: &CallId,
    ticket: Ticket,
    seen: Option<Seen>,
) -> Result<(), Refused> {
    let session = d.sessions.get(id).ok_or_else(|| Refused::NoSession(id.clone()))?;
    match session.pending(call).map(|pending| &pending.step) {
        Some(Step::Looking { ticket: current }) if *current == ticket => {
            d.emit(CallEvent::Looked { session: id.clone(), call: call.clone(), seen });
            Ok(())
        }
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

/// A tool is finished.
pub(super) fn tool_finished(
    d: &mut Draft<'_>,
    id: &SessionId,
    call: &CallId,
    ticket: Ticket,
    outcome: &Finished<'_>,
) -> Result<(), Refused> {
    let session = d.sessions.get(id).ok_or_else(|| Refused::NoSession(id.clone()))?;
    let stale = || Refused::Stale { session: id.clone() };
    let Stage::Acting { calls, .. } = &session.stage else { return Err(stale()) };
    let running = |p: &&Pending| {
        p.call.id == *call && matches!(p.step, Step::Running { ticket: current, .. } if current == ticket)
    };
    let pending = calls.iter().find(running).ok_or_else(stale)?.call.clone();
    let places = outcome.read.iter().map(|place| places::of_place(d, place));
    let server = match &pending.want {
        Want::Act(act) => act.reach().server.map(|server| Label::outside(format!("tool:{server}"))),
        Want::Invalid { .. } => None,
    };
    let label = places.chain(server).fold(Label::owner(), |label, of| label.joined(&of));
    let (finish, text, label) = if label.readers.include(&session.agent) {
        let finish = if outcome.ok { Finish::Done } else { Finish::Failed };
        (finish, outcome.text.to_owned(), label)
    } else {
        // Found only once it was read, behind a link or in a search: it still does not reach the agent.
        let text = format!("withheld: {} is for others to see ({label})", outcome.read.join(", "));
        (Finish::Refused { rule: "trust.secret".to_owned() }, text, Label::owner())
    };
    let is_taken = outcome.finding.is_some_and(|finding| review::found(d, id, &pending, finding));
    if !is_taken {
        let message = Message { label, ..result(d.at, call, text) };
        d.finish_written(id, finish, message, outcome.wrote.to_vec());
    }
    settle(d, id);
    Ok(())
}
