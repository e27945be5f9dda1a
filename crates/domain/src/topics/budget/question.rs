//! A budget that is used up asks a person: one question for each node, however much waits for it. A yes lets the node be
//! passed once, by as much as the question names, until its window ends.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Amount, Hold, Ledger, Node, Part};
use crate::topics::caps::Cap;
use crate::topics::caps::Parked;
use crate::topics::settings::Settings;
use crate::topics::task::queue::Work;
use crate::words::id::{ApprovalId, Time};

/// So many of those that wait are named.
pub(crate) const NAMED_MAX: usize = 5;

/// Why a question is taken back that nobody needs.
pub(crate) const NOTHING_WAITS: &str = "nothing waits for this budget any more";

/// What people are asked about budgets, and what they said.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Questions {
    /// By name of the node: who waits there, and not for what others have reserved.
    stopped: BTreeMap<String, BTreeSet<Work>>,
    /// By name of the node: the question that waits for an answer.
    asked: BTreeMap<String, ApprovalId>,
    /// Nodes whose question is from before the budgets were changed.
    stale: BTreeSet<String>,
    /// By name of the node: the window for which somebody said no.
    refused: BTreeMap<String, i64>,
    /// By name of the node: by how much it may be passed, and in which window.
    pub(super) raised: BTreeMap<String, (i64, Cap)>,
    /// Nodes whose question is to be taken back: it is from before a change, or nobody waits. Follows from the above, as do
    /// the next two, so that nobody looks at all nodes after each step.
    idle: BTreeSet<String>,
    /// Nodes about which a person is to be asked.
    unasked: BTreeSet<String>,
    /// Nodes about which nobody is to be asked before that time, because somebody said no.
    silent: BTreeSet<(Time, String)>,
}

/// What is to be done about a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Due<'a> {
    /// Ask about this node.
    Ask(&'a str),
    /// Take this question back, and why.
    Withdraw(&'a ApprovalId, &'static str),
}

impl Questions {
    /// A node is not to be asked about, for now.
    fn leave(&mut self, name: &str) {
        self.unasked.remove(name);
        self.silent.retain(|(_, other)| other != name);
    }

    /// Whether nobody was ever asked.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The node of the budgets that has this name; a provider's limits are none.
pub fn named(settings: &Settings, name: &str) -> Option<Node> {
    match Part::named(name)? {
        Part::Provider(_) => None,
        Part::AgentDay(agent) | Part::AgentMonth(agent) if !settings.budgets.agents.contains_key(&agent) => {
            None
        }
        part => Some(part.node(settings)),
    }
}

impl Node {
    /// By how much a person may let it be passed at least: again its own size. Absent if that is nothing.
    pub(crate) fn again(&self) -> Option<Cap> {
        let size = |most: Option<u64>| most.filter(|most| *most > 0);
        Some(Cap { tokens: size(self.tokens), money: size(self.money) }).filter(|cap| !cap.is_none())
    }

    /// What a call may take, in the units that it bounds.
    pub(super) fn bounded(&self, hold: &Hold) -> Cap {
        let Amount { tokens, money, .. } = hold.amount();
        Cap { tokens: self.tokens.map(|_| tokens), money: self.money.map(|_| money) }
    }

    /// The most that it allows, before anybody said yes to more.
    pub fn cap(&self) -> Cap {
        Cap { tokens: self.tokens, money: self.money }
    }
}

impl Ledger {
    /// By how much a node may be passed now, because a person said so.
    pub fn raised(&self, node: &Node, at: Time) -> Cap {
        match self.questions.raised.get(&node.name) {
            Some((window, cap)) if *window == self.window_of(node, at) => *cap,
            Some(_) | None => Cap::default(),
        }
    }

    fn window_of(&self, node: &Node, at: Time) -> i64 {
        node.window.number(at.max(self.now))
    }

    /// How many wait at a node until its window opens or a person says yes, and those that came first by name.
    pub(crate) fn stopped(&self, name: &str) -> impl Iterator<Item = &Work> {
        self.questions.stopped.get(name).into_iter().flatten()
    }

    /// The questions about budgets that wait for an answer, by the budget's name.
    pub fn questions(&self) -> impl Iterator<Item = (&str, &ApprovalId)> {
        self.questions.asked.iter().map(|(name, approval)| (name.as_str(), approval))
    }

    /// The question about one budget.
    pub(crate) fn question(&self, name: &str) -> Option<&ApprovalId> {
        self.questions.asked.get(name)
    }

    pub(crate) fn stop(&mut self, settings: &Settings, at: Time, parked: &Parked, who: Work) {
        if parked.is_for_people() {
            let all = self.questions.stopped.entry(parked.limit.clone()).or_default();
            let is_first = all.is_empty();
            all.insert(who);
            if is_first {
                self.sort(settings, at, &parked.limit);
            }
        }
    }

    /// Says anew whether a person is to be asked about a node, or what was asked is to be taken back.
    fn sort(&mut self, settings: &Settings, at: Time, name: &str) {
        self.questions.leave(name);
        let is_waited_for = self.questions.stopped.contains_key(name);
        if self.questions.asked.contains_key(name) {
            if is_waited_for && !self.questions.stale.contains(name) {
                self.questions.idle.remove(name);
            } else {
                self.questions.idle.insert(name.to_owned());
            }
            return;
        }
        self.questions.idle.remove(name);
        let node = named(settings, name).filter(|node| is_waited_for && node.again().is_some());
        let Some(node) = node else { return };
        if self.questions.refused.get(name) != Some(&self.window_of(&node, at)) {
            self.questions.unasked.insert(name.to_owned());
        } else if let Some(until) = node.window.opens(self.time(at)) {
            self.questions.silent.insert((until, name.to_owned()));
        }
    }

    /// What people said about a node no longer counts.
    pub(super) fn forget(&mut self, settings: &Settings, at: Time, name: &str) {
        self.questions.refused.remove(name);
        self.questions.raised.remove(name);
        self.sort(settings, at, name);
    }

    pub(crate) fn stop_no_more(&mut self, limit: &str, who: &Work) {
        if let Some(all) = self.questions.stopped.get_mut(limit) {
            all.remove(who);
            if all.is_empty() {
                self.questions.stopped.remove(limit);
                self.questions.leave(limit);
                if self.questions.asked.contains_key(limit) {
                    self.questions.idle.insert(limit.to_owned());
                }
            }
        }
    }

    /// The next question to ask or to take back, if there is one.
    pub(crate) fn question_due(&self, at: Time) -> Option<Due<'_>> {
        let Questions { asked, stale, idle, unasked, silent, .. } = &self.questions;
        if let Some((name, approval)) = idle.iter().find_map(|name| asked.get_key_value(name)) {
            let reason = if stale.contains(name) { "the budgets were changed" } else { NOTHING_WAITS };
            return Some(Due::Withdraw(approval, reason));
        }
        let over = silent.first().filter(|(until, _)| *until <= self.time(at)).map(|(_, name)| name);
        unasked.first().or(over).map(|name| Due::Ask(name))
    }

    pub(crate) fn asked(&mut self, settings: &Settings, at: Time, name: &str, approval: &ApprovalId) {
        self.questions.asked.insert(name.to_owned(), approval.clone());
        self.sort(settings, at, name);
    }

    /// A question was answered or taken back.
    pub(crate) fn asked_no_more(&mut self, settings: &Settings, at: Time, name: &str) {
        self.questions.asked.remove(name);
        self.questions.stale.remove(name);
        self.sort(settings, at, name);
    }

    /// Somebody said no: it is not asked again in this window.
    pub(crate) fn refuse(&mut self, settings: &Settings, at: Time, name: &str) {
        let Some(node) = named(settings, name) else { return };
        let window = self.window_of(&node, at);
        self.questions.refused.insert(name.to_owned(), window);
        self.sort(settings, at, name);
    }

    /// Somebody said yes: says who may look again.
    pub(crate) fn raise(&mut self, settings: &Settings, at: Time, name: &str, by: Cap) -> Vec<Work> {
        let Some(node) = named(settings, name) else { return Vec::new() };
        let before = self.raised(&node, at);
        let window = self.window_of(&node, at);
        self.questions.raised.insert(name.to_owned(), (window, before.plus(by)));
        self.stopped(name).chain(self.waiters.at(name)).cloned().collect()
    }

    /// The budgets were changed: what was asked and refused was about other ones.
    pub(crate) fn ask_anew(&mut self, settings: &Settings, at: Time) {
        self.questions.refused.clear();
        self.questions.stale = self.questions.asked.keys().cloned().collect();
        self.sort_all(settings, at);
    }

    fn sort_all(&mut self, settings: &Settings, at: Time) {
        let Questions { stopped, asked, .. } = &self.questions;
        let names: BTreeSet<String> = stopped.keys().chain(asked.keys()).cloned().collect();
        (self.questions.idle, self.questions.unasked) = Default::default();
        self.questions.silent.clear();
        names.iter().for_each(|name| self.sort(settings, at, name));
    }

    /// Says once more who is stopped: snapshots of before there were questions do not.
    pub(crate) fn stop_all(&mut self, settings: &Settings, at: Time, all: Vec<(Parked, Work)>) {
        self.questions.stopped.clear();
        for (parked, who) in all {
            self.stop(settings, at, &parked, who);
        }
        self.sort_all(settings, at);
    }
}
