//! Work waits for a provider that does not answer, for as long as it takes: one conversation tries it now and then, and when
//! it answers all others go on. Nothing fails because a provider is down.

use crate::kernel::draft::Draft;
use crate::kernel::event::{BudgetEvent, OutageEvent};
use crate::kernel::outages::{place_of, provider_of};
use crate::kernel::state::State;
use crate::topics::agent;
use crate::topics::budget::Short;
use crate::topics::caps::Cap;
use crate::topics::outage::{Outage, Place, Probe, is_asking, wait_ms};
use crate::topics::task::queue::Work;
use crate::topics::wait::Node;
use crate::words::id::SessionId;

/// What came back from a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// An answer of the model.
    Model,
    /// A refusal: the provider is there, and this model does not serve.
    Provider,
}

/// Why a conversation does not ask a model now.
pub(super) fn short(outage: &Outage) -> Short {
    Short {
        limit: outage.place.to_string(),
        reason: format!("{} does not answer: {}", outage.place, outage.error),
        until: None,
        held: false,
        need: Cap::default(),
    }
}

/// A conversation asks the model that answers: the one that it would ask, else the other one of its agent.
pub(super) fn switch(d: &mut Draft<'_>, id: &SessionId) {
    let Some(session) = d.sessions.get(id).filter(|_| !d.outages.by_name.is_empty()) else { return };
    let (Some(spec), terms) = (d.spec_of(session), d.terms(session)) else { return };
    let Some(fallback) = &spec.model.fallback else { return };
    let Some(model) = d.model_at(session, d.at) else { return };
    let falls_back = model != spec.model.primary;
    let other = if falls_back { &spec.model.primary } else { fallback };
    let is_out = |model: &str| d.outage_of(terms, model, id).is_some();
    if is_out(model) && !is_out(other) {
        let fallback = (!falls_back).then(|| fallback.clone());
        d.emit(OutageEvent::Switched { session: id.clone(), fallback });
    }
}

/// The model that an agent's new conversation asks first.
pub(super) fn first<'a>(state: &State, spec: &'a agent::Spec, id: &SessionId) -> &'a str {
    let is_out = |model: &str| state.outage_of(&state.config.settings, model, id).is_some();
    let fallback = spec.model.fallback.as_ref().filter(|other| is_out(&spec.model.primary) && !is_out(other));
    fallback.unwrap_or(&spec.model.primary)
}

/// A conversation is about to ask its model. If that one is to be tried, this is the try.
pub(super) fn ask(d: &mut Draft<'_>, id: &SessionId) {
    for place in places(d, id) {
        let outage = d.outages.by_name.get(&place.to_string());
        if outage.is_some_and(|outage| outage.probe == Probe::Open) {
            d.emit(OutageEvent::Tried { place, session: id.clone() });
        }
    }
}

/// A provider answered a conversation.
pub(super) fn answers(d: &mut Draft<'_>, id: &SessionId, heard: Heard) {
    let places = places(d, id).into_iter().filter(|place| heard == Heard::Model || place.model.is_none());
    for place in places.collect::<Vec<_>>() {
        if d.outages.by_name.contains_key(&place.to_string()) {
            d.emit(OutageEvent::Ended { place });
        }
    }
}

/// The provider of the model that a conversation asks, and that model.
fn places(state: &State, id: &SessionId) -> Vec<Place> {
    let Some(session) = state.sessions.get(id).filter(|_| !state.outages.by_name.is_empty()) else {
        return Vec::new();
    };
    let (model, terms) = (state.model_asked(session), state.terms(session));
    model.into_iter().flat_map(|model| [provider_of(terms, model), place_of(terms, model)]).collect()
}

/// A provider did not answer a conversation. Others may have found that before; their next try stays as it is.
pub(super) fn fails(
    d: &mut Draft<'_>,
    id: &SessionId,
    place: &Place,
    error: &str,
    (after_ms, spread): (u64, u64),
) {
    let known = d.outages.by_name.get(&place.to_string());
    let is_try = known.is_none_or(|outage| !outage.is_closed_to(id));
    if is_try {
        let due = d.at.plus_ms(wait_ms(known.map_or(0, |outage| outage.failures), after_ms, spread));
        let (place, session, error) = (place.clone(), id.clone(), error.to_owned());
        d.emit(OutageEvent::Failed { place, session, error, due });
    }
}

/// It is time to try a provider again: the one that waits longest asks it.
pub(super) fn due(d: &mut Draft<'_>, name: &str) {
    let Some(outage) = d.outages.by_name.get(name) else { return };
    let (place, at) = (outage.place.clone(), d.at);
    let due = at.plus_ms(wait_ms(outage.failures, 0, 0));
    let asks = match &outage.probe {
        Probe::Asks(session) => is_asking(d.sessions.get(session)),
        Probe::Waits | Probe::Open => false,
    };
    if asks {
        return d.emit(OutageEvent::Due { place, due, open: false });
    }
    let Some(next) = longest_waiting(d, &place) else { return d.emit(OutageEvent::Ended { place }) };
    d.emit(OutageEvent::Due { place, due, open: true });
    match next {
        Work::Session(session) => d.emit(BudgetEvent::Resumed { session }),
        Work::Task(task) => d.emit(BudgetEvent::TaskResumed { task }),
    }
}

fn longest_waiting(state: &State, place: &Place) -> Option<Work> {
    let waiting = state.waiting_for(place).filter_map(|node| match node {
        Node::Session(id) => Some((state.sessions.get(id)?.purse.parked_since, Work::Session(id.clone()))),
        Node::Task(id) => Some((Some(state.work.tasks.get(id)?.place()?.rank.since), Work::Task(id.clone()))),
        Node::Approval(_) | Node::Slot(_) | Node::Moment(_) | Node::Lock(_) | Node::Window(_) => None,
    });
    waiting.min().map(|(_, work)| work)
}

/// Tries all providers again that do not answer; those of one name only, if one is given. Gives how many there are.
pub(super) fn try_now(d: &mut Draft<'_>, provider: Option<&str>) -> usize {
    let all = d.outages.by_name.iter();
    let wanted = all.filter(|(_, outage)| provider.is_none_or(|name| outage.place.provider == name));
    let names: Vec<String> = wanted.map(|(name, _)| name.clone()).collect();
    names.iter().for_each(|name| due(d, name));
    names.len()
}
