//! Which provider a conversation asks, whether that one answers, and who waits for it.

use crate::kernel::state::State;
use crate::topics::budget::account;
use crate::topics::outage::{Outage, Place};
use crate::topics::session::Session;
use crate::topics::settings::Settings;
use crate::topics::wait::{Node, Why};
use crate::words::id::{SessionId, Time};

impl State {
    /// The model that a conversation would ask at a time: its agent's fallback for a while after the primary one failed.
    pub(crate) fn model_at(&self, session: &Session, at: Time) -> Option<&str> {
        let model = &self.spec_of(session)?.model;
        let falls_back = session.pace.fallback_until.is_some_and(|until| at < until);
        Some(model.fallback.as_ref().filter(|_| falls_back).unwrap_or(&model.primary))
    }

    /// The model that a conversation asks now.
    pub(crate) fn model_asked(&self, session: &Session) -> Option<&str> {
        let model = &self.spec_of(session)?.model;
        let falls_back = session.pace.fallback_until.is_some();
        Some(model.fallback.as_ref().filter(|_| falls_back).unwrap_or(&model.primary))
    }

    /// What keeps a conversation from asking a model.
    pub(crate) fn outage_of(&self, terms: &Settings, model: &str, id: &SessionId) -> Option<&Outage> {
        if self.outages.by_name.is_empty() {
            return None;
        }
        let places = [provider_of(terms, model), place_of(terms, model)];
        let found = places.iter().filter_map(|place| self.outages.by_name.get(&place.to_string()));
        found.into_iter().find(|outage| outage.is_closed_to(id))
    }

    /// Conversations and tasks that wait for a provider, in no order.
    pub fn waiting_for(&self, place: &Place) -> impl Iterator<Item = &Node> {
        self.waits.waiters_for(&Node::Window(place.to_string()), Why::Window).collect::<Vec<_>>().into_iter()
    }

    /// How much work waits for providers that do not answer.
    pub fn waiting_for_providers(&self) -> usize {
        self.outages.by_name.values().map(|outage| self.waiting_for(&outage.place).count()).sum()
    }
}

/// The provider of a model, as a place that may be out. A model that nobody knows stands for its own.
pub(crate) fn provider_of(terms: &Settings, model: &str) -> Place {
    Place { provider: account(terms, model).unwrap_or_else(|| model.to_owned()), model: None }
}

/// The same for that model alone.
pub(crate) fn place_of(terms: &Settings, model: &str) -> Place {
    let name = terms.target(model).map_or(model, |target| &target.model);
    Place { model: Some(name.to_owned()), ..provider_of(terms, model) }
}
