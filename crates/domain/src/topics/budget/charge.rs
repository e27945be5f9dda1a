//! What answers of models took and who paid, told apart from how it came about: this is what a list in the home keeps,
//! so that what was spent is known without a journal too.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::question::named;
use super::{Amount, DAY_MS, Date, Ledger, MINUTE_MS, Payer};
use crate::topics::caps::Cap;
use crate::topics::settings::Settings;
use crate::words::id::{AgentId, SessionId, TaskId, Time};
use crate::words::usage::{Spent, Usage};

/// What one answer took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// Who pays.
    pub payer: Payer,
    /// In this conversation.
    pub session: SessionId,
    /// About this task.
    pub task: Option<TaskId>,
    /// The model's alias.
    pub model: String,
    /// When it came.
    pub at: Time,
    /// When it was reserved: it counts in the windows of that time.
    pub reserved: Time,
    /// Tokens.
    pub usage: Usage,
    /// In millionths; absent if the price was unknown.
    pub cost: Option<u64>,
}

/// A budget that a person let be passed once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raise {
    /// When.
    pub at: Time,
    /// The node, as in the settings; a run with its name.
    pub budget: String,
    /// By how much, until its window ends.
    pub cap: Cap,
}

/// What many answers took that were for the same, paid by the same and on the same day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// Who pays.
    #[serde(flatten)]
    pub payer: Payer,
    /// In this conversation.
    pub session: SessionId,
    /// About this task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The model's alias.
    pub model: String,
    /// A time of the day on which they came.
    pub at: Time,
    /// A time of the windows in which they count.
    pub reserved: Time,
    /// How much.
    pub spent: Spent,
}

/// Adds up what is for the same: a list has a line for each answer, and an event should not. Of the last minute that
/// anything was reserved in, the minute is told; of all others the day is enough, since their minute is over.
pub fn sums(charges: &[Charge]) -> Vec<Sum> {
    let minute = |at: Time| Time(at.0.div_euclid(MINUTE_MS) * MINUTE_MS);
    let day = |at: Time| Time(at.0.div_euclid(DAY_MS) * DAY_MS);
    let last = charges.iter().map(|charge| minute(charge.reserved)).max();
    let mut sums: BTreeMap<_, Spent> = BTreeMap::new();
    for Charge { payer, session, task, model, at, reserved, usage, cost } in charges {
        let reserved = if last == Some(minute(*reserved)) { minute(*reserved) } else { day(*reserved) };
        let key = (day(*at), reserved, payer, session, task, model);
        sums.entry(key).or_default().add(*usage, *cost);
    }
    let sum = |((at, reserved, payer, session, task, model), spent): (
        (_, _, &Payer, &SessionId, &Option<_>, &String),
        _,
    )| {
        let (payer, session, task, model) = (payer.clone(), session.clone(), task.clone(), model.clone());
        Sum { payer, session, task, model, at, reserved, spent }
    };
    sums.into_iter().map(sum).collect()
}

impl Ledger {
    /// Whether no answer was ever counted and no cap raised: then a list that has some is what is known.
    pub fn is_unused(&self) -> bool {
        self.days.is_empty() && self.questions.raised.is_empty()
    }

    /// What was spent in conversations that are not known yet.
    pub fn unclaimed(&self) -> &BTreeMap<SessionId, Spent> {
        &self.unclaimed
    }

    /// Counts what was found, as if it had been reserved and booked in its time.
    pub(crate) fn book_found(&mut self, sum: &Sum) {
        let Spent { replies, usage, cost, .. } = sum.spent;
        let tokens = usage.tokens_in.saturating_add(usage.tokens_out);
        let took = Amount { requests: replies, tokens, money: cost };
        self.now = self.now.max(sum.reserved);
        self.change(&sum.payer, sum.reserved, |_, meter| meter.spent = meter.spent.plus(took));
        let listed = self.listed(sum.at, &sum.payer.agent, &sum.model, (sum.task.as_ref(), &sum.session));
        *listed = listed.plus(sum.spent);
    }

    /// The place in the day's list for what an agent spent on something.
    pub(super) fn listed(
        &mut self,
        at: Time,
        agent: &AgentId,
        model: &str,
        (task, session): (Option<&TaskId>, &SessionId),
    ) -> &mut Spent {
        let day = self.days.entry(Date::of(at)).or_default();
        let by_model = day.or_default(agent).entry(model.to_owned()).or_default();
        by_model.or_default(&SmolStr::new(task.map_or(session.as_str(), TaskId::as_str)))
    }

    /// Lets a node be passed in the window in which a person said so; what is older than what is known says nothing.
    pub(crate) fn raise_found(&mut self, settings: &Settings, raise: &Raise) {
        let Some(node) = named(settings, &raise.budget) else { return };
        let window = node.window.number(raise.at);
        let known = self.questions.raised.entry(raise.budget.clone()).or_insert((window, Cap::default()));
        if known.0 < window {
            *known = (window, Cap::default());
        }
        if known.0 == window {
            known.1 = known.1.plus(raise.cap);
        }
    }
}
