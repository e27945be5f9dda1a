//! What messages change: who has something to read, who waits for whom, and whom a turn is counted for.

use crate::words::actor::Actor;
use std::collections::BTreeSet;

use crate::kernel::answers;
use crate::kernel::apply::expected;
use crate::kernel::state::State;
use crate::topics::chain::Hands;
use crate::topics::deadline::Deadline;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::message::{Kind, Question, Urgency};
use crate::topics::run::Member;
use crate::topics::session::Message;
use crate::topics::session::Ties;
use crate::topics::session::reading::urgency;
use crate::topics::session::{On, Session, Stage, Step};
use crate::topics::task::Priority;
use crate::words::id::{AgentId, CallId, SessionId, Time};
use crate::words::text::number_in;

/// The place in a queue of a session with such a task and something so urgent to read.
pub(super) fn priority(task: Option<Priority>, urgency: Urgency) -> Priority {
    let own = task.unwrap_or(Priority::C);
    match urgency {
        Urgency::Critical => Priority::A,
        Urgency::High => own.min(Priority::B),
        Urgency::Normal => own,
        Urgency::Low => task.unwrap_or(Priority::D),
    }
}

/// Who sent a message that wants no answer.
fn notified_by(message: &Message) -> Option<AgentId> {
    let envelope = message.envelope.as_ref()?;
    let from = message.from.as_ref()?.agent()?;
    (envelope.kind == Kind::Notification).then(|| from.clone())
}

impl Session {
    /// Whether there is nothing to do in it until somebody speaks.
    pub(crate) fn rests(&self) -> bool {
        self.stage == Stage::Resting && !self.talk.unread
    }

    /// The first number of a message that its model is not asked with now.
    pub fn first_unread(&self) -> u32 {
        match (self.talk.unread, self.talk.unread_from) {
            (false, _) => self.talk.next_message,
            // It was asked by a version that did not note it.
            (true, 0) => u32::MAX,
            (true, from) => from,
        }
    }

    /// Agents that told it something which its model has not answered, and want no answer.
    pub(crate) fn not_read(&self) -> impl Iterator<Item = &AgentId> {
        self.talk.unheard.union(&self.talk.hearing)
    }

    /// The number of the next message.
    pub(crate) fn next_number(&self) -> u32 {
        self.talk.next_message.max(self.talk.numbered)
    }

    /// What an answer to a request of this conversation is.
    pub(crate) fn answer_to(&self, request: &str) -> Kind {
        self.ties.asked_as.get(request).copied().unwrap_or_default().answer()
    }

    /// The model is asked with all that was said by now, for the first time or once more in the same turn.
    pub(super) fn read_all(&mut self) {
        (self.talk.unread, self.talk.unread_from, self.talk.urgency) = (false, 0, Urgency::default());
        self.talk.hearing.append(&mut self.talk.unheard);
        self.ties.requests.values_mut().for_each(|turn| *turn = self.pace.turns_total.min(*turn));
    }

    /// What was not read will not be.
    pub(super) fn forget_unheard(&mut self) {
        self.talk.unread_from = 0;
        self.talk.unheard.clear();
        self.talk.hearing.clear();
    }
}

impl State {
    /// Somebody said something to an agent.
    pub(super) fn hear(&mut self, id: &SessionId, message: &Message, asker: Option<&SessionId>) {
        let cause = message.envelope.as_ref().and_then(|envelope| envelope.cause.as_ref());
        // What became of its parts, or a rule: it goes on with what it is at.
        let is_notice = message.from == Some(Actor::Synod) && cause.is_none() && self.has_begun(id);
        self.catch_up(id, message);
        self.act_for(id, message);
        let begins = message.is_of_person() && self.begins_run(id);
        let mut moves = false;
        self.change_session(id, |session| {
            let cause_before = session.ties.cause.clone();
            session.talk.next_message =
                session.talk.next_message.max(number_in(message.id.as_str()).saturating_add(1));
            session.purse.expects = session.purse.expects.saturating_add(expected(message));
            let has_rest = session.rests();
            session.talk.urgency = if session.talk.unread {
                session.talk.urgency.max(urgency(message))
            } else {
                urgency(message)
            };
            if !session.talk.unread && matches!(session.stage, Stage::Thinking { .. }) {
                session.talk.unread_from = number_in(message.id.as_str());
            }
            session.talk.unread = true;
            session.talk.unheard.extend(notified_by(message));
            match cause {
                None if is_notice => session.pace.turns = 0,
                None => (session.pace.turns, session.ties.cause, session.ties.caused) = (0, None, 0),
                // Only who is at rest takes up another agent's request. What was caused is never forgotten by it:
                // otherwise two agents could go on for ever.
                Some(root) if has_rest && session.ties.cause.as_ref().unwrap_or(id) != root => {
                    session.pace.turns = 0;
                    session.ties.cause = Some(root.clone()).filter(|root| root != id);
                }
                Some(_) => {}
            }
            session.pace.repeated = None;
            session.ties.askers.extend(asker.cloned());
            session.label.join(&message.label);
            moves = session.ties.cause != cause_before;
        });
        if moves {
            self.join_run(&Member::Session(id.clone()));
        }
        self.speak_in_run(id, message, begins);
        if let Some(asker) = asker.filter(|_| self.sessions.contains_key(id)) {
            self.wait_answer(asker, id);
        }
        if is_notice {
            self.charge_root(id);
        }
        let asked = message.envelope.as_ref().and_then(|e| Some((e.kind, e.correlation_id.clone()?)));
        if let (Some(asker), Some((kind, name))) = (asker, asked)
            && let Some(session) = self.sessions.get_mut(id)
        {
            session.ties.requests.insert(name.clone(), session.pace.turns_total + 1);
            let to = session.agent.clone();
            self.owe(asker, id, to, Question { name, kind });
        }
        self.settle_request(id, message);
    }

    /// `asker` has asked `to` something.
    fn owe(&mut self, asker_id: &SessionId, id: &SessionId, to: AgentId, Question { name, kind }: Question) {
        let Some(asker) = self.sessions.get_mut(asker_id) else { return };
        asker.ties.asked_in.insert(name.clone(), asker.pace.turns_total);
        if kind != Kind::Request {
            asker.ties.asked_as.insert(name.clone(), kind);
        }
        asker.ties.asked.entry(name).or_default().insert(to, id.clone());
        self.wait_session(asker_id);
    }

    /// What a file says of those who wait for a conversation's answer.
    pub(super) fn tie(
        &mut self,
        id: &SessionId,
        hands: &Hands,
        requests: &[Question],
        cause: Option<&SessionId>,
    ) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        session.ties.hands = hands.clone();
        session.ties.cause = cause.filter(|root| *root != id).cloned();
        session.ties.askers.extend(requests.iter().filter_map(Question::asker));
        let read_in = session.pace.turns_total + 1;
        session.ties.requests.extend(requests.iter().map(|request| (request.name.clone(), read_in)));
        let to = session.agent.clone();
        self.join_run(&Member::Session(id.clone()));
        for request in requests {
            if let Some(asker) = request.asker() {
                self.wait_answer(&asker, id);
                self.owe(&asker, id, to.clone(), request.clone());
            }
        }
    }

    /// Sets on whose behalf the conversation acts on these words. A conversation at rest that owes nobody an answer
    /// begins anew with them; one at work adds them. Answers to its own questions and notices of Synod change nothing.
    fn act_for(&mut self, id: &SessionId, message: &Message) {
        let nobody = Hands::default();
        let hands = match &message.envelope {
            Some(envelope) if message.sender().is_some() && !envelope.kind.answers() => &envelope.hands,
            _ if message.is_of_person() => &nobody,
            Some(_) | None => return,
        };
        let Some(session) = self.sessions.get(id) else { return };
        let goes_on = |asker: &Session| asker.lifecycle != Lifecycle::Complete;
        let owes = session.ties.askers.iter().any(|asker| self.sessions.get(asker).is_some_and(goes_on));
        let begins = session.rests() && !owes;
        let Some(session) = self.sessions.get_mut(id) else { return };
        match begins {
            true => session.ties.hands = hands.clone(),
            false => session.ties.hands.add(hands),
        }
    }

    /// A conversation that rests, and is about no task that goes on, begins anew with what its agent and the settings are
    /// now, and with all its time.
    fn catch_up(&mut self, id: &SessionId, message: &Message) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        let goes_on =
            |task| self.work.tasks.get(task).is_some_and(|task: &crate::topics::task::Task| !task.is_ended());
        if session.rests() && !session.task.as_ref().is_some_and(goes_on) {
            session.began.version = self.team.agents.get(&session.agent).map_or(0, |agent| agent.version);
            session.began.edition = self.config.edition;
            // What it asked for itself belongs to what it was at before.
            if message.envelope.as_ref().is_none_or(|envelope| !envelope.kind.answers()) {
                session.clock.worked_ms = 0;
            }
        }
    }

    /// A call stands still for an answer.
    pub(super) fn await_answer(&mut self, id: &SessionId, call: &CallId, correlation: &str, due: Time) {
        self.schedule.deadlines.insert((due, Deadline::Answer(id.clone(), call.clone())));
        self.step(
            id,
            call.as_str(),
            Step::Waiting { on: On::Answer { correlation: correlation.to_owned(), due } },
        );
    }

    /// A response was delivered to `asker`: nothing more is owed for that request.
    pub(super) fn settle_request(&mut self, asker: &SessionId, message: &Message) {
        let Some(envelope) = message.envelope.as_ref().filter(|e| e.kind.answers()) else { return };
        let (Some(name), Some(from)) = (&envelope.correlation_id, message.sender()) else {
            return;
        };
        let Some(session) = self.sessions.get_mut(asker) else { return };
        let Some(asked) = session.ties.asked.get_mut(name) else { return };
        let Some(other) = asked.remove(from) else { return };
        if asked.is_empty() {
            session.ties.asked.remove(name);
            session.ties.asked_in.remove(name);
            session.ties.asked_as.remove(name);
        }
        let owes_more = session.ties.asked.values().flat_map(|asked| asked.values()).any(|id| *id == other);
        if let Some(other) = self.sessions.get_mut(&other) {
            other.ties.requests.remove(name);
            if !owes_more {
                other.ties.askers.remove(asker);
            }
        }
        match owes_more {
            true => self.wait_session(asker),
            false => self.wait_answer_no_more(asker, &other),
        }
    }

    /// Whoever asked in this session has heard all that it will hear.
    pub(super) fn forget_askers(&mut self, id: &SessionId) {
        self.forget_but(id, &BTreeSet::new());
    }

    /// Whoever asked in this session has its answer, but for those for whom it is still to come.
    pub(super) fn forget_answered(&mut self, id: &SessionId) {
        let Some(session) = self.sessions.get(id) else { return };
        let to_come: BTreeSet<String> = answers::to_come(self, id, session).into_iter().cloned().collect();
        self.forget_but(id, &to_come);
    }

    fn forget_but(&mut self, id: &SessionId, names: &BTreeSet<String>) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        session.ties.requests.retain(|name, _| names.contains(name));
        let mut left = BTreeSet::new();
        for asker_id in std::mem::take(&mut session.ties.askers) {
            self.waits.ask_no_more(&asker_id, id);
            let Some(asker) = self.sessions.get_mut(&asker_id) else { continue };
            let mut waits = false;
            let Ties { asked, asked_in, asked_as, .. } = &mut asker.ties;
            asked.retain(|name, asked| {
                let is_kept = names.contains(name);
                waits |= is_kept && asked.values().any(|session| session == id);
                asked.retain(|_, session| is_kept || session != id);
                !asked.is_empty()
            });
            asked_in.retain(|name, _| asked.contains_key(name));
            asked_as.retain(|name, _| asked.contains_key(name));
            if waits {
                self.waits.ask(&asker_id, id);
            }
            self.wait_session(&asker_id);
            if waits {
                left.insert(asker_id);
            }
        }
        if let Some(session) = self.sessions.get_mut(id) {
            session.ties.askers = left;
        }
    }

    /// A call no longer waits for an answer.
    pub(super) fn forget_wait(&mut self, id: &SessionId, call: Option<&CallId>) {
        let pending = call.and_then(|call| self.sessions.get(id)?.pending(call));
        if let Some(pending) = pending
            && let Step::Waiting { on: On::Answer { due, .. } } = pending.step
        {
            self.schedule.deadlines.remove(&(due, Deadline::Answer(id.clone(), pending.call.id.clone())));
        }
    }

    /// No call of the session waits for an answer any longer.
    pub(super) fn forget_waits(&mut self, id: &SessionId) {
        let Some(Stage::Acting { calls, .. }) = self.sessions.get(id).map(|session| &session.stage) else {
            return;
        };
        let calls: Vec<CallId> = calls.iter().map(|pending| pending.call.id.clone()).collect();
        calls.iter().for_each(|call| self.forget_wait(id, Some(call)));
    }

    /// Whether a conversation took a turn.
    fn has_begun(&self, id: &SessionId) -> bool {
        self.sessions.get(id).is_some_and(|session| session.pace.turns_total > 0)
    }

    /// Counts a turn that something else than a person's words leads to: whoever makes tasks and hears of their ends could
    /// go on for ever otherwise.
    fn charge_root(&mut self, id: &SessionId) {
        let root = self.sessions.get(id).and_then(|session| session.ties.cause.clone());
        if let Some(root) = self.sessions.get_mut(root.as_ref().unwrap_or(id)) {
            root.ties.caused = root.ties.caused.saturating_add(1);
        }
    }

    /// Counts a turn for the request that caused it. A conversation's own turns count from the first turn on that its
    /// words caused elsewhere; before that, only `turns_max` bounds it.
    pub(super) fn charge_turn(&mut self, id: &SessionId) {
        let root = self.sessions.get(id).and_then(|session| session.ties.cause.clone());
        let is_own = root.is_none();
        if let Some(root) = self.sessions.get_mut(root.as_ref().unwrap_or(id))
            && (!is_own || root.ties.caused > 0)
        {
            root.ties.caused = root.ties.caused.saturating_add(1);
        }
    }
}
