//! Budgets and the work that they hold up.

use crate::kernel::lineage;
use crate::kernel::state::State;
use crate::topics::agent::Agent;
use crate::topics::budget::question::{NAMED_MAX, named};
use crate::topics::budget::waiters::Waiters;
use crate::topics::budget::{Amount, DAY_MS, Part, date, units_of};
use crate::topics::caps::Cap;
use crate::topics::task::queue::Work;
use crate::words::id::TaskId;
use crate::words::id::{AgentId, Time};
use std::collections::BTreeMap;

impl State {
    /// What the call may take that is parked.
    pub(crate) fn need_of(&self, work: &Work) -> Option<Cap> {
        let parked = match work {
            Work::Session(id) => self.sessions.get(id)?.purse.parked.as_ref(),
            Work::Task(id) => self.work.tasks.get(id)?.place()?.parked.as_ref(),
        };
        parked.map(|parked| parked.need)
    }

    /// What is used of a budget at this time, and what waits for it.
    pub fn told_of_budget(&self, at: Time, name: &str) -> Option<String> {
        let node = named(&self.config.settings, name)?;
        let meter = self.ledger.meter(&node, at);
        let (cap, raised) = (node.cap(), self.ledger.raised(&node, at));
        let used = |most: Option<u64>, more: Option<u64>, spent: u64, reserved: u64, unit: &str| {
            let most = most?.saturating_add(more.unwrap_or_default());
            let show = |amount: u64| units_of(unit, amount);
            Some(format!(
                "of {} {unit}, {} are spent and {} reserved",
                show(most),
                show(spent),
                show(reserved)
            ))
        };
        let (spent, reserved) = (meter.spent, meter.reserved);
        let parts: Vec<String> = [
            used(cap.tokens, raised.tokens, spent.tokens, reserved.tokens, "tokens"),
            used(cap.money, raised.money, spent.money, reserved.money, "money"),
        ]
        .into_iter()
        .flatten()
        .collect();
        let mut all: Vec<String> = self.ledger.stopped(name).map(|who| self.work_name(who)).collect();
        all.sort();
        let more = if all.len() > NAMED_MAX { ", …" } else { "" };
        let first: Vec<&str> = all.iter().take(NAMED_MAX).map(String::as_str).collect();
        let waits = if all.len() == 1 { "waits" } else { "wait" };
        Some(format!("{}. {} {waits}: {}{more}", parts.join("; "), all.len(), first.join(", ")))
    }

    /// The task, or the conversation that is about none.
    fn work_name(&self, who: &Work) -> String {
        match who {
            Work::Task(task) => task.to_string(),
            Work::Session(id) => {
                let task = self.sessions.get(id).and_then(|session| session.task.as_ref());
                task.map_or_else(|| id.to_string(), TaskId::to_string)
            }
        }
    }
}

impl State {
    /// Takes up the windows of the present again; whoever is parked looks whether there is room in them.
    pub(crate) fn set_back(&mut self, at: Time) {
        let (_, _, day) = date(at);
        let first = Time(at.0 - (day - 1) * DAY_MS);
        let mut spent: BTreeMap<Part, Amount> = BTreeMap::new();
        let day = |agent: &AgentId| Part::AgentDay(agent.clone());
        let month = |agent: &AgentId| Part::AgentMonth(agent.clone());
        self.count_since(at, (Part::Day, &day), &mut spent);
        self.count_since(first, (Part::Month, &month), &mut spent);
        self.ledger.set_back(at, &spent);
        self.unpark_all();
    }

    fn count_since(
        &self,
        since: Time,
        (all, share): (Part, &dyn Fn(&AgentId) -> Part),
        spent: &mut BTreeMap<Part, Amount>,
    ) {
        for (agent, amount) in self.ledger.spent_since(since) {
            let payers = [agent].into_iter().chain(lineage::above(self, agent));
            for part in payers.map(share).chain([all.clone()]) {
                let sum = spent.entry(part).or_default();
                *sum = sum.plus(amount);
            }
        }
    }
}

impl State {
    /// Who looks next whether there is room. Only who would have a slot: the others look when they get one, and until then
    /// they are in nobody's way.
    pub(crate) fn next_to_look(&self) -> Option<&Work> {
        let Waiters { by_node, open } = &self.ledger.waiters;
        if open.is_empty() || self.schedule.busy >= self.config.settings.limits.parallel_max {
            return None;
        }
        let has_slot = |id: &AgentId| self.team.agents.get(id).is_some_and(Agent::has_slot);
        let lines = open.iter().filter_map(|node| by_node.get(node)).flatten();
        let oldest = lines.filter(|(agent, _)| has_slot(agent)).filter_map(|(_, all)| all.first());
        oldest.min().map(|(_, who)| who)
    }
}
