//! What events change in the budgets: what is reserved, spent and given back, and who is parked.

use std::collections::BTreeSet;

use crate::kernel::event::{Bill, Event, Finish};
use crate::kernel::event::{BudgetEvent, TurnEvent};
use crate::kernel::lineage;
use crate::kernel::state::{Halt, State};
use crate::topics::budget::charge::{Charge, Raise, Sum};
use crate::topics::budget::waiters::Waiters;
use crate::topics::budget::{Hold, Ledger, Payer, Sent, account};
use crate::topics::caps::Parked;
use crate::topics::deadline::Deadline;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::session::Message;
use crate::topics::session::{Session, Stage, Step};
use crate::topics::settings::Settings;
use crate::topics::task::Requester;
use crate::topics::task::queue::Work;
use crate::words::id::{AgentId, CallId, RunId, SessionId, Time};
use crate::words::usage::{Spent, Usage};

/// What is sent beside the conversation: tools, who the agent is, what files say; put right when a request is built.
const BESIDE_TOKENS: u64 = 1_500;
/// Bytes of a token, rather too few.
const TOKEN_BYTES: u64 = 3;
/// What a message takes beside its words.
const MESSAGE_TOKENS: u64 = 8;

/// Tokens that a message adds to the next request.
pub(crate) fn expected(message: &Message) -> u64 {
    let calls: usize = message.calls.iter().map(|call| call.arguments.len() + 32).sum();
    ((message.content.len() + calls) as u64).div_ceil(TOKEN_BYTES) + MESSAGE_TOKENS
}

/// Tokens that the first request has before anything is said.
pub(crate) fn expected_first(system_prompt: &str) -> u64 {
    (system_prompt.len() as u64).div_ceil(TOKEN_BYTES) + BESIDE_TOKENS
}

/// A session that was parked no longer is; it does not go on by that alone.
pub(super) fn drop_parking(
    session: &mut Session,
    id: &SessionId,
    deadlines: &mut BTreeSet<(Time, Deadline)>,
    ledger: &mut Ledger,
) {
    let Some(parked) = session.purse.parked.take() else { return };
    ledger.stop_no_more(&parked.limit, &Work::Session(id.clone()));
    if let Some(until) = parked.until {
        deadlines.remove(&(until, Deadline::Window(id.clone())));
    }
    if let Some(since) = session.purse.parked_since {
        ledger.waiters.leave(&parked.limit, &session.agent, since, Work::Session(id.clone()));
    }
}

/// Who is kept from going on: a conversation, or a task that has not begun.
fn who(halt: &Halt<'_>) -> Option<Work> {
    let session = halt.session.cloned().map(Work::Session);
    session.or_else(|| halt.task.cloned().map(Work::Task))
}

/// The name under which a call's reservation is kept; the turn's own has none.
pub(super) fn named(call: &Option<CallId>) -> &str {
    call.as_ref().map_or("", |call| call.as_str())
}

impl State {
    /// What is reserved, and who is parked.
    pub(super) fn meter(&mut self, at: Time, event: &BudgetEvent) {
        match event {
            BudgetEvent::Reserved { session, call, hold } => self.reserve(at, session, call, hold),
            BudgetEvent::Spent { session, tokens_in, tokens_out, spent, call } => {
                self.spend(at, (session, named(call)), Usage::of(*tokens_in, *tokens_out), Some(spent));
            }
            BudgetEvent::Parked { session, parked, expects } => self.park(session, parked, *expects),
            BudgetEvent::Resumed { session } => self.unpark(session),
            BudgetEvent::TaskParked { task, parked } => self.park_task(task, parked),
            BudgetEvent::TaskResumed { task } => self.unpark_task(task),
            BudgetEvent::Raised { budget, cap, .. } => {
                let woken = self.ledger.raise(&self.config.settings, at, budget, *cap);
                self.wake_all(woken);
            }
            BudgetEvent::Found { sums, raised } => self.find_spent(sums, raised),
        }
    }

    /// A request turned out larger than what was reserved for it.
    pub(super) fn outgrow(&mut self, session: &SessionId, tokens_in: u64) {
        self.change_session(session, |session| {
            session.purse.outgrown = session.purse.outgrown.max(tokens_in)
        });
    }

    /// The turn goes on without any summary.
    pub(super) fn unsummarise(&mut self, session: &SessionId) {
        self.change_session(session, |session| session.pace.summaries = u32::MAX);
    }

    /// The conversation for whose request a conversation about no task asks for one.
    pub(super) fn cause_of(&self, by: &Requester) -> Option<SessionId> {
        let Requester::Session { session } = by else { return None };
        self.sessions.get(session).filter(|asker| asker.task.is_none())?.ties.cause.clone()
    }

    /// Who pays for a call of this session to a model.
    pub(crate) fn payer(&self, id: &SessionId, session: &Session, model: &str) -> Payer {
        self.payer_under(self.terms(session), &session.agent, &self.run_of_session(id), model)
    }

    /// The same for an agent's part in a run.
    pub(crate) fn payer_of(&self, agent: &AgentId, run: &RunId, model: &str) -> Payer {
        self.payer_under(&self.config.settings, agent, run, model)
    }

    fn payer_under(&self, terms: &Settings, agent: &AgentId, run: &RunId, model: &str) -> Payer {
        let makers = lineage::above(self, agent).into_iter().cloned().collect();
        Payer { agent: agent.clone(), makers, run: run.to_string(), provider: account(terms, model) }
    }

    /// Takes over new settings; whoever is parked looks whether there is room now.
    pub(super) fn settle_anew(&mut self, settings: &Settings) {
        let same = self.config.settings.budgets == settings.budgets
            && self.config.settings.providers == settings.providers
            && self.config.settings.models == settings.models;
        self.keep_terms(settings);
        self.config.settings = settings.clone();
        if same {
            return;
        }
        self.ledger.ask_anew(&self.config.settings, self.at);
        self.open_outages();
        self.unpark_all();
    }

    /// Everybody who is parked looks again.
    pub(crate) fn unpark_all(&mut self) {
        let parked = self.parked().filter_map(|halt| who(&halt)).collect();
        self.wake_all(parked);
    }

    fn reserve(&mut self, at: Time, id: &SessionId, call: &Option<CallId>, hold: &Hold) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if call.is_none() {
            session.purse.expects = hold.tokens_in;
        }
        self.ledger.reserve(at, id, named(call), hold);
    }

    /// What an event says that a model took, and who pays for it. To be asked before the event is applied, while what was
    /// reserved for it is known.
    pub fn charge(&self, at: Time, event: &Event) -> Option<Charge> {
        let (session, call, tokens_in, tokens_out, bill) = match event {
            Event::Turn(TurnEvent::Replied { session, tokens_in, tokens_out, spent: Some(bill), .. })
            | Event::Turn(TurnEvent::Summarised { session, tokens_in, tokens_out, spent: bill, .. }) => {
                (session, "", tokens_in, tokens_out, bill)
            }
            Event::Budget(BudgetEvent::Spent { session, tokens_in, tokens_out, spent, call }) => {
                (session, named(call), tokens_in, tokens_out, spent)
            }
            _ => return None,
        };
        let usage = Usage::of(*tokens_in, *tokens_out);
        self.charge_of(at, (session, call), usage, bill)
    }

    fn charge_of(
        &self,
        at: Time,
        (id, call): (&SessionId, &str),
        usage: Usage,
        bill: &Bill,
    ) -> Option<Charge> {
        let session = self.sessions.get(id)?;
        let (cache_read, cache_write) = (bill.cache_read, bill.cache_write);
        let usage = Usage { cache_read, cache_write, reasoning: bill.reasoning, ..usage };
        let (payer, reserved) = match self.ledger.held(id, call) {
            Some(held) => (held.hold.payer.clone(), held.at()),
            None => (self.payer(id, session, &bill.model), self.ledger.time(at)),
        };
        let (task, model) = (session.task.clone(), bill.model.clone());
        Some(Charge { payer, session: id.clone(), task, model, at, reserved, usage, cost: bill.cost })
    }

    pub(super) fn spend(
        &mut self,
        at: Time,
        (id, call): (&SessionId, &str),
        usage: Usage,
        bill: Option<&Bill>,
    ) {
        let Some(charge) = bill.and_then(|bill| self.charge_of(at, (id, call), usage, bill)) else { return };
        self.ledger.book((id, call), &charge);
        let Some(session) = self.sessions.get_mut(id) else { return };
        let took = (charge.usage, charge.cost);
        self.ledger.list(at, &session.agent, (&charge.model, session.task.as_ref()), id, took);
        session.purse.spent.add(charge.usage, charge.cost);
        let mut spent = Spent::default();
        spent.add(charge.usage, charge.cost);
        self.runs.spend(&charge.payer.run, spent);
        let by_model = self.team.spent.or_default(&session.agent);
        by_model.entry(charge.model).or_default().add(charge.usage, charge.cost);
    }

    /// Takes over what a list says that was spent before the journal began.
    fn find_spent(&mut self, sums: &[Sum], raised: &[Raise]) {
        for sum in sums {
            self.ledger.book_found(sum);
            self.runs.spend(&sum.payer.run, sum.spent);
            let by_model = self.team.spent.or_default(&sum.payer.agent);
            let own = by_model.entry(sum.model.clone()).or_default();
            *own = own.plus(sum.spent);
            let own = match self.sessions.get_mut(&sum.session) {
                Some(session) => &mut session.purse.spent,
                None => self.ledger.unclaimed.entry(sum.session.clone()).or_default(),
            };
            *own = own.plus(sum.spent);
        }
        raised.iter().for_each(|raise| self.ledger.raise_found(&self.config.settings, raise));
    }

    /// A conversation is known now: what was spent in it is its own.
    pub(super) fn claim_spent(&mut self, id: &SessionId) {
        let Some(spent) = self.ledger.unclaimed.remove(id) else { return };
        if let Some(session) = self.sessions.get_mut(id) {
            session.purse.spent = session.purse.spent.plus(spent);
        }
    }

    /// The provider counted all that went in; the answer goes in with the next request.
    pub(super) fn expect_after(&mut self, id: &SessionId, tokens: u64) {
        if let Some(session) = self.sessions.get_mut(id).filter(|_| tokens > 0) {
            session.purse.expects = tokens.saturating_add(MESSAGE_TOKENS);
        }
    }

    fn park(&mut self, id: &SessionId, parked: &Parked, expects: u64) {
        let seq = self.seq;
        let Some(session) = self.sessions.get_mut(id) else { return };
        drop_parking(session, id, &mut self.schedule.deadlines, &mut self.ledger);
        if session.lifecycle != Lifecycle::Blocked {
            self.ledger.give_back(id, "", Sent::No);
            self.wait_session(id);
            return;
        }
        let since = *session.purse.parked_since.get_or_insert(seq);
        session.purse.parked = Some(parked.clone());
        self.ledger.stop(&self.config.settings, self.at, parked, Work::Session(id.clone()));
        session.purse.expects = expects;
        if matches!(session.stage, Stage::Thinking { .. } | Stage::Retrying { .. }) {
            // The turn is as if it had not begun.
            session.stage = Stage::Resting;
            session.talk.unread = true;
            session.talk.unheard.append(&mut session.talk.hearing);
            session.pace.turns = session.pace.turns.saturating_sub(1);
            session.pace.turns_total = session.pace.turns_total.saturating_sub(1);
            let again = session.pace.turns_total + 1;
            session.ties.requests.values_mut().for_each(|turn| *turn = again.min(*turn));
        }
        // Somebody spoke while it answered: it was not about to conclude, and nobody has its answer yet.
        if matches!(session.stage, Stage::Concluding { .. }) {
            session.stage = Stage::Resting;
        }
        if let Some(until) = parked.until {
            self.schedule.deadlines.insert((until, Deadline::Window(id.clone())));
        }
        if parked.held {
            self.ledger.waiters.stop(&parked.limit, &session.agent, since, Work::Session(id.clone()));
        }
        // It was found too large before it was sent, or what was sent is booked by itself. Given back last: it may be
        // room for others that wait where this one stops.
        self.ledger.give_back(id, "", Sent::No);
        self.refresh_session(id);
        self.note_session(id);
    }

    /// A parked session gets its place in the queue back.
    pub(super) fn unpark(&mut self, id: &SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        drop_parking(session, id, &mut self.schedule.deadlines, &mut self.ledger);
        self.refresh_session(id);
    }

    pub(super) fn wake_all(&mut self, all: Vec<Work>) {
        for woken in all {
            match woken {
                Work::Session(id) => self.unpark(&id),
                Work::Task(id) => self.unpark_task(&id),
            }
        }
    }

    /// Says once more who is stopped at which budget, from who is parked; who waits for others looks again.
    pub(super) fn stop_parked(&mut self) {
        let all = self.parked().filter_map(|halt| Some((halt.parked.clone(), who(&halt)?))).collect();
        self.ledger.stop_all(&self.config.settings, self.at, all);
        self.list_waiters();
    }

    /// Says once more who waits for others: snapshots may be from before they were listed so.
    fn list_waiters(&mut self) {
        let since = |who: &Work| match who {
            Work::Session(id) => self.sessions.get(id)?.purse.parked_since,
            Work::Task(id) => self.work.tasks.get(id)?.queued.as_ref().map(|place| place.rank.since),
        };
        let mut waiters = Waiters::default();
        for halt in self.parked().filter(|halt| halt.parked.held) {
            if let Some(who) = who(&halt)
                && let Some(since) = since(&who)
            {
                waiters.stop(&halt.parked.limit, halt.agent, since, who);
            }
        }
        waiters.open_all();
        self.ledger.waiters = waiters;
    }

    /// Gives back what is reserved for calls that are no longer under way, and lets those look again who wait for it.
    pub(super) fn release_idle(&mut self, id: &SessionId) {
        if !self.ledger.is_holding() {
            return;
        }
        let Some(session) = self.sessions.get(id) else { return };
        let is_idle = |name: &String| match name.as_str() {
            "" => !matches!(session.stage, Stage::Thinking { .. }),
            call => session
                .pending(&CallId::new(call))
                .is_none_or(|pending| !matches!(pending.step, Step::Running { .. })),
        };
        let idle: Vec<String> = self.ledger.names(id).into_iter().filter(is_idle).collect();
        for name in idle {
            self.ledger.give_back(id, &name, Sent::Perhaps);
        }
    }

    /// Gives back what is reserved for a call that came to its end by itself: each request that it sent was told.
    pub(super) fn release_call(&mut self, id: &SessionId, call: Option<&CallId>, finish: &Finish) {
        if let (Some(call), Finish::Done | Finish::Failed) = (call, finish) {
            self.ledger.give_back(id, call.as_str(), Sent::No);
        }
    }
}
