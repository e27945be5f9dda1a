//! A clock that was far ahead and is right again.
//!
//! Windows do not follow a clock that goes back a little: nobody gets a minute twice. But what a clock from next year has
//! counted must not close all windows until then. So when the clock is more than a minute behind the latest time at which
//! anything was counted, the windows of the present are taken up again, and nothing that was spent is forgotten: all that is
//! listed for today or for a day that has not come counts today, and in this month, because it may have been spent today.
//! So no day has more than its budget but for what was spent while the clock was wrong, and what that was leaves the less.

use std::collections::BTreeMap;

use super::{Amount, Date, Ledger, MINUTE_MS, Meter, Part, Payer, Window};
use crate::words::id::{AgentId, Time};
use crate::words::table::Table;

impl Ledger {
    /// Whether something was counted at a time that is far from having come.
    pub(crate) fn is_ahead_of(&self, at: Time) -> bool {
        self.now.0.saturating_sub(at.0) > MINUTE_MS
    }

    /// What each agent spent since the beginning of a day, as far as any clock has come.
    pub(crate) fn spent_since(&self, at: Time) -> BTreeMap<&AgentId, Amount> {
        let mut by_agent: BTreeMap<&AgentId, Amount> = BTreeMap::new();
        for (agent, models) in self.days.range(Date::of(at)..).flat_map(|(_, day)| day) {
            let sum = by_agent.entry(agent).or_default();
            for spent in models.values().flat_map(Table::values) {
                let tokens = spent.usage.tokens_in.saturating_add(spent.usage.tokens_out);
                *sum = sum.plus(Amount { requests: spent.replies, tokens, money: spent.cost });
            }
        }
        by_agent
    }

    pub(crate) fn set_back(&mut self, at: Time, spent: &BTreeMap<Part, Amount>) {
        self.now = at;
        for (part, meter) in self.meters.iter_mut() {
            let window = part.window();
            let spent = match window {
                Window::Day | Window::Month => spent.get(part).copied().unwrap_or_default(),
                // The provider is left alone for the rest of this minute.
                Window::Minute | Window::Ever => meter.spent,
            };
            *meter = Meter { window: window.number(at), spent, reserved: Amount::default() };
        }
        let mut holds: Vec<(Payer, Amount)> = Vec::new();
        for held in self.held.values_mut().flat_map(BTreeMap::values_mut) {
            held.at = at;
            holds.push((held.hold.payer.clone(), held.left));
        }
        for (payer, left) in holds {
            self.change(&payer, at, |_, meter| meter.reserved = meter.reserved.plus(left));
        }
    }
}
