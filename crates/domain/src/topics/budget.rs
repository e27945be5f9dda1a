//! Budgets and rate limits: one tree of meters that every model call is reserved on before it is made, and that is put
//! right by what the call took. A call that would pass any cap of the tree is not made.
//!
//! Windows are fixed and follow UTC: the minute, the day, the month; a run has one window that never closes. A call
//! counts in the window in which it was reserved, so what ends after midnight still belongs to the day before.

pub mod charge;
pub mod event;
mod part;
pub mod question;
mod setback;
pub(crate) mod waiters;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;

use self::charge::Charge;
pub(crate) use self::part::Part;
use self::waiters::Waiters;
use crate::topics::caps::Cap;
use crate::topics::caps::Parked;
use crate::topics::caps::Rate;
use crate::topics::settings;
use crate::topics::settings::{Provider, Settings};
use crate::words::id::{AgentId, SessionId, TaskId, Time};
use crate::words::table::Table;
use crate::words::usage;
use crate::words::usage::{Spent, Usage};

/// An answer for which neither the agent nor the model has a limit is reserved, and asked for, with so many tokens.
pub const ANSWER_TOKENS: u64 = 4_096;
/// Providers that record others are followed so far.
const RECORDS_MAX: usize = 8;

const MINUTE_MS: i64 = 60_000;
pub(crate) const DAY_MS: i64 = 86_400_000;

/// How long a meter counts before it begins anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// A minute of the clock.
    Minute,
    /// A day of UTC.
    Day,
    /// A month of UTC.
    Month,
    /// It never does.
    Ever,
}

impl Window {
    /// The number of the window that `at` lies in.
    fn number(self, at: Time) -> i64 {
        match self {
            Self::Minute => at.0.div_euclid(MINUTE_MS),
            Self::Day => at.0.div_euclid(DAY_MS),
            Self::Month => {
                let (year, month, _) = date(at);
                year * 12 + month - 1
            }
            Self::Ever => 0,
        }
    }

    /// When the next one begins.
    pub fn opens(self, at: Time) -> Option<Time> {
        let next = self.number(at) + 1;
        match self {
            Self::Minute => Some(Time(next * MINUTE_MS)),
            Self::Day => Some(Time(next * DAY_MS)),
            Self::Month => Some(Time(days_before(next.div_euclid(12), next.rem_euclid(12) + 1) * DAY_MS)),
            Self::Ever => None,
        }
    }
}

/// The day that `at` lies in, as `2026-01-31`.
pub fn day_of(at: Time) -> String {
    Date::of(at).to_string()
}

/// A day of UTC: year, month, day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date(i64, i64, i64);

impl Date {
    /// The day that `at` lies in.
    pub fn of(at: Time) -> Self {
        let (year, month, day) = date(at);
        Self(year, month, day)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.0, self.1, self.2)
    }
}

impl FromStr for Date {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.splitn(3, '-').map(str::parse);
        let mut next = || parts.next().unwrap_or_else(|| "".parse());
        Ok(Self(next()?, next()?, next()?))
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// `2026-01-31T12:00Z`
fn minute_of(at: Time) -> String {
    let minutes = at.0.rem_euclid(DAY_MS) / MINUTE_MS;
    format!("{}T{:02}:{:02}Z", day_of(at), minutes / 60, minutes % 60)
}

/// Year, month and day of UTC: 400 years of the calendar repeat, and a year that begins in March ends with the leap day.
pub(crate) fn date(at: Time) -> (i64, i64, i64) {
    let days = at.0.div_euclid(DAY_MS) + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    (era * 400 + year + i64::from(month <= 2), month, day)
}

/// Days from 1970-01-01 to the first of a month.
fn days_before(year: i64, month: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + (153 * from_march + 2) / 5 - 719_468
}

/// So much of everything that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Amount {
    /// Calls.
    pub requests: u64,
    /// Tokens in and out.
    pub tokens: u64,
    /// Millionths.
    pub money: u64,
}

impl Amount {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_add(other.requests),
            tokens: self.tokens.saturating_add(other.tokens),
            money: self.money.saturating_add(other.money),
        }
    }

    fn less(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(other.requests),
            tokens: self.tokens.saturating_sub(other.tokens),
            money: self.money.saturating_sub(other.money),
        }
    }

    fn least(self, other: Self) -> Self {
        Self {
            requests: self.requests.min(other.requests),
            tokens: self.tokens.min(other.tokens),
            money: self.money.min(other.money),
        }
    }
}

/// What one node of the tree counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Meter {
    /// The window it counts in.
    window: i64,
    /// What ended.
    pub spent: Amount,
    /// What is under way, at most.
    pub reserved: Amount,
}

impl Meter {
    fn at(self, window: i64) -> Self {
        if window > self.window { Self { window, ..Self::default() } } else { self }
    }
}

/// Who pays for a call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Payer {
    /// The agent.
    pub agent: AgentId,
    /// Those who spawned it, and them: what it spends counts as theirs too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub makers: Vec<AgentId>,
    /// The request that all of it is for: a task, or a conversation about none.
    pub run: String,
    /// The account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

/// What is reserved for a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Who pays.
    #[serde(flatten)]
    pub payer: Payer,
    /// Tokens that may go in.
    pub tokens_in: u64,
    /// Tokens that may come out.
    pub tokens_out: u64,
    /// What that may cost; absent if nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<u64>,
    /// How often the provider may be asked; absent in old journals, where that was once.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub requests: u64,
}

fn once() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_once(requests: &u64) -> bool {
    *requests == once()
}

impl Hold {
    fn amount(&self) -> Amount {
        let tokens = self.tokens_in.saturating_add(self.tokens_out);
        Amount { requests: self.requests, tokens, money: self.money.unwrap_or_default() }
    }
}

/// A hold, and how much of it is not used up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// What was reserved.
    pub hold: Hold,
    at: Time,
    left: Amount,
}

impl Held {
    /// When it was reserved.
    pub(crate) fn at(&self) -> Time {
        self.at
    }

    /// The tokens that may still go in, and those that may come out.
    pub fn tokens(&self) -> (u64, u64) {
        (self.left.tokens.saturating_sub(self.hold.tokens_out), self.hold.tokens_out)
    }
}

/// Whether the provider may have seen the request for which something was reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// It was found too large before it went out, or is counted elsewhere.
    No,
    /// Nobody knows, so it counts.
    Perhaps,
}

/// A node of the tree: what it is called, how long it counts, how much it allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// As in the settings; a run with its name.
    pub name: String,
    /// How long it counts.
    pub window: Window,
    requests: Option<u64>,
    tokens: Option<u64>,
    money: Option<u64>,
}

/// Why a call is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Short {
    /// The node that it would pass.
    pub limit: String,
    /// In words.
    pub reason: String,
    /// When the window opens that has room for it; absent if none does.
    pub until: Option<Time>,
    /// Whether there is room as soon as others give back what they reserved.
    pub held: bool,
    /// What the call may take, in the units that the node bounds.
    pub need: Cap,
}

impl From<Short> for Parked {
    fn from(short: Short) -> Self {
        let Short { limit, reason, until, held, need } = short;
        Self { limit, reason, until, held, need }
    }
}

/// What was spent on a day, by agent, model and task (or the conversation, if it is about none).
pub type Day = Table<AgentId, BTreeMap<String, Table<SmolStr, Spent>>>;

/// An amount as people read it.
pub(crate) fn units_of(unit: &str, amount: u64) -> String {
    match unit {
        "money" => usage::money(amount),
        _ => amount.to_string(),
    }
}

/// All meters of a home.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// The latest time that anything was counted at: windows do not go back with the clock, but for one that was far
    /// ahead (see `setback`).
    now: Time,
    /// By name of the node.
    meters: Table<Part, Meter>,
    /// By conversation, then by call; the turn itself has no name.
    held: BTreeMap<SessionId, BTreeMap<String, Held>>,
    /// Who waits until others give back what they reserved.
    #[serde(default, skip_serializing_if = "Waiters::is_empty")]
    pub(crate) waiters: Waiters,
    /// What people are asked when a budget is used up.
    #[serde(default, skip_serializing_if = "question::Questions::is_empty")]
    questions: question::Questions,
    /// By day of UTC.
    pub days: BTreeMap<Date, Day>,
    /// What was spent in conversations that are not known yet: their files are read after the list of what was spent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) unclaimed: BTreeMap<SessionId, Spent>,
}

/// The provider that is asked in the end.
pub fn account(settings: &Settings, model: &str) -> Option<String> {
    let named = || settings.models.values().find(|target| target.model == model);
    let mut name = &settings.models.get(model).or_else(named)?.provider;
    for _ in 0..RECORDS_MAX {
        match settings.providers.get(name)? {
            Provider::Record { of, .. } => name = of,
            Provider::Scripted { .. }
            | Provider::OpenAi(_)
            | Provider::Anthropic(_)
            | Provider::Replay { .. } => break,
        }
    }
    Some(name.clone())
}

fn rate(settings: &Settings, provider: &str) -> Rate {
    match settings.providers.get(provider) {
        Some(Provider::OpenAi(endpoint) | Provider::Anthropic(endpoint)) => endpoint.limits,
        Some(Provider::Scripted { .. } | Provider::Record { .. } | Provider::Replay { .. }) | None => {
            Rate::default()
        }
    }
}

/// Whether a call of this payer has to be reserved.
pub fn is_metered(settings: &Settings, provider: Option<&str>) -> bool {
    !settings.budgets.is_none() || provider.is_some_and(|provider| !rate(settings, provider).is_none())
}

/// The most that a call may cost: nobody knows before it how much of it the provider caches.
pub fn cost_max(settings: &Settings, model: &str, tokens_in: u64, tokens_out: u64) -> Option<u64> {
    let plain = Usage::of(tokens_in, tokens_out);
    let cached = Usage { cache_write: tokens_in, ..plain };
    let read = Usage { cache_read: tokens_in, ..plain };
    let costs = [plain, cached, read].map(|usage| settings::cost(settings, model, &usage));
    costs.into_iter().try_fold(0, |most, cost| Some(cost?.max(most)))
}

/// The node in which all calls for a run count.
pub fn node_of_run(settings: &Settings, run: &str) -> Node {
    Part::of_run(run).node(settings)
}

/// The nodes that a call of this payer counts in.
pub fn nodes(settings: &Settings, payer: &Payer) -> Vec<Node> {
    Part::all_of(payer).map(|part| part.node(settings)).collect()
}

impl Part {
    /// With its name, and what the settings allow.
    fn node(&self, settings: &Settings) -> Node {
        let budgets = &settings.budgets;
        let share = |agent| budgets.agents.get(agent).copied().unwrap_or_default();
        let (requests, cap) = match self {
            Self::Day => (None, budgets.day),
            Self::Month => (None, budgets.month),
            Self::AgentDay(agent) => (None, share(agent).day),
            Self::AgentMonth(agent) => (None, share(agent).month),
            Self::Run(_) => (None, budgets.run),
            Self::Provider(provider) => {
                let Rate { requests_per_minute, tokens_per_minute } = rate(settings, provider);
                (requests_per_minute, Cap { tokens: tokens_per_minute, money: None })
            }
        };
        let (tokens, money) = (cap.tokens, cap.money);
        Node { name: self.to_string(), window: self.window(), requests, tokens, money }
    }
}

impl Ledger {
    /// Whether nothing was ever counted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What a node counts at a time.
    pub fn meter(&self, node: &Node, at: Time) -> Meter {
        let window = node.window.number(at.max(self.now));
        let meter = Part::named(&node.name).and_then(|part| self.meters.get(&part));
        meter.copied().unwrap_or_default().at(window)
    }

    /// What is reserved for a session's turn, or for one of its calls.
    pub fn held(&self, session: &SessionId, call: &str) -> Option<&Held> {
        self.held.get(session)?.get(call)
    }

    /// The time that counts: windows do not go back with the clock.
    pub(crate) fn time(&self, at: Time) -> Time {
        at.max(self.now)
    }

    /// Whether anything is reserved.
    pub fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether anything was counted in a node.
    pub(crate) fn counts(&self, part: &Part) -> bool {
        self.meters.contains_key(part)
    }

    /// Nothing was spent in a node, and nobody was asked about it.
    pub(crate) fn count_anew(&mut self, settings: &Settings, at: Time, part: &Part) {
        self.meters.remove(part);
        self.forget(settings, at, &part.to_string());
    }

    /// All meters that ever counted, by the name of their node.
    pub fn meters(&self) -> impl Iterator<Item = (&Part, &Meter)> {
        self.meters.iter()
    }

    /// Whether a call would pass a cap, if it replaced what is reserved under the same name.
    pub fn short(
        &self,
        settings: &Settings,
        at: Time,
        (session, call): (&SessionId, &str),
        hold: &Hold,
    ) -> Option<Short> {
        let at = at.max(self.now);
        let need = hold.amount();
        let own = self.held(session, call);
        let worst = |short: &Short| match (short.until, short.held) {
            (Some(until), _) => until.0,
            (None, true) => i64::MAX - 1,
            (None, false) => i64::MAX,
        };
        let mut found: Option<Short> = None;
        for node in nodes(settings, &hold.payer) {
            let mut meter = self.meter(&node, at);
            if let Some(own) = own
                && node.window.number(own.at) == node.window.number(at)
                && nodes(settings, &own.hold.payer).iter().any(|other| other.name == node.name)
            {
                meter.reserved = meter.reserved.less(own.left);
            }
            let (Meter { spent, reserved, .. }, raised) = (meter, self.raised(&node, at));
            let units = [
                ("requests", node.requests, None, need.requests, spent.requests, reserved.requests),
                ("tokens", node.tokens, raised.tokens, need.tokens, spent.tokens, reserved.tokens),
                ("money", node.money, raised.money, need.money, spent.money, reserved.money),
            ];
            for (unit, own_cap, raised, need, spent, reserved) in units {
                let Some(own_cap) = own_cap else { continue };
                let cap = own_cap.saturating_add(raised.unwrap_or_default());
                if spent.saturating_add(reserved).saturating_add(need) <= cap {
                    continue;
                }
                let held = spent.saturating_add(need) <= cap;
                // What a person has raised is over with the window, so who waits for others looks again then.
                let until = node.window.opens(at).filter(|_| need <= own_cap || held);
                let show = |amount: u64| units_of(unit, amount);
                let then = match (until, held) {
                    (Some(until), _) if need <= own_cap => format!("it goes on at {}", minute_of(until)),
                    (_, true) => "it goes on when others give back what they reserved".to_owned(),
                    (_, false) => "it goes on when a person raises the budget".to_owned(),
                };
                let reason = format!(
                    "{}: of {} {unit}, {} are spent and {} reserved, and this call may take {}; {then}",
                    node.name,
                    show(cap),
                    show(spent),
                    show(reserved),
                    show(need)
                );
                let short = Short { limit: node.name.clone(), reason, until, held, need: node.bounded(hold) };
                if found.as_ref().is_none_or(|other| worst(other) < worst(&short)) {
                    found = Some(short);
                }
            }
        }
        found
    }

    /// Reserves; what was reserved under the same name is given back, because nothing was sent for it.
    pub(crate) fn reserve(&mut self, at: Time, id: &SessionId, call: &str, hold: &Hold) {
        self.give_back(id, call, Sent::No);
        self.now = self.now.max(at);
        let held = Held { hold: hold.clone(), at: self.now, left: hold.amount() };
        self.change(&hold.payer, held.at, |_, meter| {
            meter.reserved = meter.reserved.plus(held.left);
        });
        self.held.entry(id.clone()).or_default().insert(call.to_owned(), held);
    }

    /// Counts what an answer took, against what was reserved for it.
    pub(crate) fn book(&mut self, (id, call): (&SessionId, &str), charge: &Charge) {
        let Charge { payer, at, reserved, usage, cost, .. } = charge;
        let tokens = usage.tokens_in.saturating_add(usage.tokens_out);
        let took = Amount { requests: 1, tokens, money: cost.unwrap_or_default() };
        self.now = self.now.max(*at);
        let given = match self.held.get_mut(id).and_then(|calls| calls.get_mut(call)) {
            Some(held) => {
                let given = held.left.least(took);
                held.left = held.left.less(given);
                given
            }
            None => Amount::default(),
        };
        self.change(payer, *reserved, |_, meter| {
            meter.reserved = meter.reserved.less(given);
            meter.spent = meter.spent.plus(took);
        });
    }

    /// Gives back what is reserved and not used, so that those may look again who wait for it.
    pub(crate) fn give_back(&mut self, id: &SessionId, call: &str, sent: Sent) {
        let Some(calls) = self.held.get_mut(id) else { return };
        let held = calls.remove(call);
        if calls.is_empty() {
            self.held.remove(id);
        }
        let Some(held) = held else { return };
        self.change(&held.hold.payer, held.at, |part, meter| {
            meter.reserved = meter.reserved.less(held.left);
            if part.window() == Window::Minute && sent == Sent::Perhaps {
                // A provider counts a request also if nothing came of it.
                meter.spent.requests = meter.spent.requests.saturating_add(held.left.requests.min(1));
            }
        });
        // Also where its window is over: who looks again there may find that it has to wait for something else.
        if !self.waiters.is_empty() {
            Part::all_of(&held.hold.payer).for_each(|part| self.waiters.open(&part.to_string()));
        }
    }

    fn change(&mut self, payer: &Payer, at: Time, mut change: impl FnMut(&Part, &mut Meter)) {
        for part in Part::all_of(payer) {
            let window = part.window().number(at);
            let meter = self.meters.or_insert_with(&part, Meter::default);
            *meter = meter.at(window);
            // What belongs to a window that has closed no longer counts anywhere.
            if meter.window == window {
                change(&part, meter);
            }
        }
    }

    /// Names of sessions whose reservations are no longer needed, by what they are for.
    pub(crate) fn names(&self, id: &SessionId) -> Vec<String> {
        self.held.get(id).map(|calls| calls.keys().cloned().collect()).unwrap_or_default()
    }

    /// Adds an answer to the day's list.
    pub(crate) fn list(
        &mut self,
        at: Time,
        agent: &AgentId,
        (model, task): (&str, Option<&TaskId>),
        session: &SessionId,
        (usage, cost): (Usage, Option<u64>),
    ) {
        self.listed(at, agent, model, (task, session)).add(usage, cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_follow_the_calendar_of_utc() {
        let at = |text: &str, ms: i64| assert_eq!((day_of(Time(ms)).as_str(), ms), (text, ms));
        at("1970-01-01", 0);
        at("1969-12-31", -1);
        at("2000-02-29", 951_782_400_000);
        at("2024-02-29", 1_709_164_800_000);
        at("2026-11-16", 1_794_787_200_000);
        let day = Time(1_709_164_800_000 + 5);
        assert_eq!(day_of(Window::Day.opens(day).unwrap()), "2024-03-01");
        assert_eq!(day_of(Window::Month.opens(day).unwrap()), "2024-03-01");
        assert_eq!(minute_of(Window::Month.opens(Time(1_703_980_800_000)).unwrap()), "2024-01-01T00:00Z");
        assert_eq!(Window::Minute.opens(Time(59_999)), Some(Time(60_000)));
        assert_eq!(Window::Ever.opens(day), None);
        for month in 0..2_400 {
            let first = Time(days_before(1900 + month / 12, month % 12 + 1) * DAY_MS);
            assert_eq!(date(first), (1900 + month / 12, month % 12 + 1, 1));
        }
    }
}
