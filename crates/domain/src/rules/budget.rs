//! Before a model is asked: reserve what the call may take on every budget that it counts in, or park.

use crate::kernel::draft::Draft;
use crate::kernel::event::Event;
use crate::kernel::event::{BudgetEvent, TurnEvent};
use crate::kernel::state::State;
use crate::rules::moves::move_to;
use crate::rules::outage;
use crate::topics::agent;
use crate::topics::agent::Agent;
use crate::topics::budget;
use crate::topics::budget::{ANSWER_TOKENS, Hold, Payer, Short};
use crate::topics::lifecycle::Lifecycle;
use crate::topics::session::Session;
use crate::topics::settings::{CONTEXT_TOKENS, Settings};
use crate::topics::tool::{Act, Call, Extract, Summarize};
use crate::words::id::{RunId, SessionId, TaskId, Time};
use crate::words::usage::Usage;

/// A quarantined call asks so often, each time with the text and for a short answer.
const EXTRACT_ROUNDS: u64 = 3;
const EXTRACT_TOKENS_IN: u64 = 1_000;
/// What may be answered is said so often in each: to the model, again by who checks it, and to the provider.
const EXTRACT_SCHEMAS: usize = 3;
const EXTRACT_TOKENS_OUT: u64 = 256;
/// Tokens of the longest summary that `summarize` gives.
const SUMMARY_TOKENS_OUT: u64 = 1_024;
/// Bytes of a token, rather too few.
const TOKEN_BYTES: u64 = 3;

/// Begins the next turn of a session that has something to answer, or parks it.
pub(super) fn begin(d: &mut Draft<'_>, id: &SessionId, reason: &str) {
    outage::switch(d, id);
    let Some(session) = d.sessions.get(id) else { return };
    let (expects, turn) = (session.purse.expects, session.pace.turns_total + 1);
    match reserve_turn(d, d.at, (id, session), (expects, session.purse.outgrown)) {
        Ok(reserved) => {
            move_to(d, id, Lifecycle::Working, reason);
            emit_all(d, reserved);
            outage::ask(d, id);
            d.emit(TurnEvent::Begun { session: id.clone(), turn });
        }
        Err(short) => park(d, id, short, expects),
    }
}

fn emit_all(d: &mut Draft<'_>, events: impl IntoIterator<Item = Event>) {
    events.into_iter().for_each(|event| d.emit(event));
}

/// The room for the first turn of a session that is only being opened, or why there is none. Then the session is not opened
/// at all: many tasks may wait for a budget.
pub(super) fn first_turn(
    state: &State,
    at: Time,
    agent: &Agent,
    task: &TaskId,
    id: &SessionId,
    expects: u64,
) -> Result<Option<Event>, Short> {
    let model = outage::first(state, &agent.spec, id);
    if let Some(outage) = state.outage_of(&state.config.settings, model, id) {
        return Err(outage::short(outage));
    }
    let payer = state.payer_of(&agent.spec.id, &state.run_of_task(task), model);
    reserve(state, at, (id, ""), hold(&state.config.settings, payer, &agent.spec, model, (expects, 0)))
}

/// Why an agent could not be asked now, if it got work of so many tokens for this request.
pub(super) fn short_of(state: &State, at: Time, agent: &Agent, run: &RunId, expects: u64) -> Option<Short> {
    let model = &agent.spec.model.primary;
    let payer = state.payer_of(&agent.spec.id, run, model);
    let hold = hold(&state.config.settings, payer, &agent.spec, model, (expects, 0));
    reserve(state, at, (&SessionId::new(""), ""), hold).err()
}

/// Asks the model of a turn again that failed, or parks.
pub(super) fn retry(d: &mut Draft<'_>, id: &SessionId, reason: &str) {
    let Some(session) = d.sessions.get(id) else { return };
    let tokens = (session.purse.expects, session.purse.outgrown);
    ask_again(d, id, tokens, reason);
}

fn ask_again(d: &mut Draft<'_>, id: &SessionId, tokens: (u64, u64), reason: &str) {
    let Some(session) = d.sessions.get(id) else { return };
    match reserve_turn(d, d.at, (id, session), tokens) {
        Ok(reserved) => {
            emit_all(d, reserved);
            outage::ask(d, id);
            d.emit(TurnEvent::Retried { session: id.clone(), reason: reason.to_owned() });
        }
        Err(short) => park(d, id, short, tokens.0),
    }
}

/// A request is larger than what was reserved for it: reserve more and build it again, or park.
pub(super) fn outgrown(d: &mut Draft<'_>, id: &SessionId, tokens_in: u64) {
    // What was built is what will be sent, also beyond the window that the settings tell.
    d.emit(TurnEvent::Outgrown { session: id.clone(), tokens_in });
    let reason = format!("its request has {tokens_in} tokens, more than were reserved");
    ask_again(d, id, (tokens_in, tokens_in), &reason);
}

/// A summary that was paid for is of no use: the turn's own call needs all of its room anew, or it parks.
pub(super) fn unsummarised(d: &mut Draft<'_>, id: &SessionId) {
    d.emit(TurnEvent::Unsummarised { session: id.clone() });
    retry(d, id, "a summary was of no use; older messages are left out");
}

/// A summary was paid for, and the turn's own call is still to be made: both must have room together, or it parks.
pub(super) fn pay_summary(d: &mut Draft<'_>, id: &SessionId, usage: Usage, cost: Option<u64>) {
    let (Some(held), Some(session)) = (d.ledger.held(id, ""), d.sessions.get(id)) else { return };
    let paid = Hold {
        tokens_in: held.tokens().0.saturating_add(usage.tokens_in).saturating_add(usage.tokens_out),
        money: held.hold.money.map(|money| money.saturating_add(cost.unwrap_or_default())),
        requests: 2,
        ..held.hold.clone()
    };
    let expects = session.purse.expects;
    match reserve(d, d.at, (id, ""), paid) {
        Ok(reserved) => emit_all(d, reserved),
        Err(short) => park(d, id, short, expects),
    }
}

/// Reserves for a tool call that asks a model.
pub(super) fn reserve_call(
    state: &State,
    at: Time,
    id: &SessionId,
    session: &Session,
    call: &Call,
    act: &Act,
) -> Result<Option<Event>, Short> {
    let Some(spec) = state.spec_of(session) else { return Ok(None) };
    let terms = state.terms(session);
    let (model, files, words, rounds, answer_max) = match act {
        Act::Extract(Extract { question, answer, .. }) => {
            let schema = answer.schema(&answer.known(state)).to_string();
            let words = question.len() + schema.len() * EXTRACT_SCHEMAS;
            (&spec.model.primary, 1, words, EXTRACT_ROUNDS, EXTRACT_TOKENS_OUT)
        }
        Act::Summarize(Summarize { paths, text, focus }) => {
            let words = text.iter().chain(focus).chain(paths).map(String::len).sum();
            (terms.summary_model(spec), paths.len() as u64, words, 1, SUMMARY_TOKENS_OUT)
        }
        _ => return Ok(None),
    };
    let bytes = terms.limits.output_bytes_max.saturating_mul(files).saturating_add(words as u64);
    let once = bytes.div_ceil(TOKEN_BYTES) + EXTRACT_TOKENS_IN;
    let (tokens_in, tokens_out) = (once * rounds, answer_max * rounds);
    let money = budget::cost_max(terms, model, tokens_in, tokens_out);
    let (payer, requests) = (state.payer(id, session, model), rounds);
    let hold = Hold { payer, tokens_in, tokens_out, money, requests };
    let reserved = reserve(state, at, (id, call.id.as_str()), hold)?;
    Ok(reserved.map(|event| match event {
        Event::Budget(BudgetEvent::Reserved { session, hold, .. }) => {
            Event::Budget(BudgetEvent::Reserved { session, call: Some(call.id.clone()), hold })
        }
        other => other,
    }))
}

fn reserve_turn(
    state: &State,
    at: Time,
    (id, session): (&SessionId, &Session),
    tokens: (u64, u64),
) -> Result<Option<Event>, Short> {
    let Some(spec) = state.spec_of(session) else { return Ok(None) };
    let Some(model) = state.model_at(session, at) else { return Ok(None) };
    if let Some(outage) = state.outage_of(state.terms(session), model, id) {
        return Err(outage::short(outage));
    }
    let payer = state.payer(id, session, model);
    let hold = hold(state.terms(session), payer, spec, model, tokens);
    reserve(state, at, (id, ""), hold)
}

/// What one call to a model may take. A request is shortened to the model's window, unless what cannot be shortened has
/// `outgrown` it.
fn hold(
    settings: &Settings,
    payer: Payer,
    spec: &agent::Spec,
    model: &str,
    (expects, outgrown): (u64, u64),
) -> Hold {
    let window = settings.target(model).and_then(|target| target.context_tokens).unwrap_or(CONTEXT_TOKENS);
    let most = spec.answer_max(settings.answer_max(model));
    let (tokens_in, tokens_out) = (expects.min(window.max(outgrown)), most.map_or(ANSWER_TOKENS, u64::from));
    let asked = [Some(model), settings.context.summary_model.as_deref()];
    // Which of the two is asked is known only when the request is built.
    let mut costs =
        asked.into_iter().flatten().map(|model| budget::cost_max(settings, model, tokens_in, tokens_out));
    let money = costs.try_fold(0, |most: u64, cost| Some(most.max(cost?)));
    Hold { payer, tokens_in, tokens_out, money, requests: 1 }
}

fn reserve(
    state: &State,
    at: Time,
    (id, call): (&SessionId, &str),
    hold: Hold,
) -> Result<Option<Event>, Short> {
    if !budget::is_metered(&state.config.settings, hold.payer.provider.as_deref()) {
        return Ok(None);
    }
    match state.ledger.short(&state.config.settings, at, (id, call), &hold) {
        Some(short) => Err(short),
        None => Ok(Some(Event::Budget(BudgetEvent::Reserved { session: id.clone(), call: None, hold }))),
    }
}

/// Parks a session: its next model call has no room.
pub(super) fn park(d: &mut Draft<'_>, id: &SessionId, short: Short, expects: u64) {
    move_to(d, id, Lifecycle::Blocked, &short.reason);
    d.emit(BudgetEvent::Parked { session: id.clone(), parked: short.into(), expects });
}
