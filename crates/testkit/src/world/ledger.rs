//! What must always hold, checked from outside: from the events, the effects and the state.

use std::collections::{BTreeMap, BTreeSet};

use domain::Actor;
use domain::effect::Effect;
use domain::event::{AgentEvent, BudgetEvent, CallEvent, SessionEvent, SystemEvent, TaskEvent, TurnEvent};
use domain::event::{Event, Finish, Tail};
use domain::id::{CallId, LockName, MessageId, Seq, SessionId, TaskId, Ticket, Time};
use domain::lifecycle::Lifecycle;
use domain::lock::Holder;
use domain::lock::workspace::WORKSPACE;
use domain::review::Review;
use domain::state::{On, Pending, Requester, Session, Stage, State, Step};
use domain::task::Change;
use domain::tool::{self, Act, Check, Delegate, RequestReview, Want};
use domain::waits::{Node, would_stand_still};
use policy::Nature;

use super::bonds::Bonds;
use super::broken::Broken;
use super::held;
use super::post::Post;

/// Everything that was seen.
#[derive(Debug, Default)]
pub struct Ledger {
    ids: BTreeMap<SessionId, BTreeSet<MessageId>>,
    lifecycles: BTreeMap<SessionId, Lifecycle>,
    /// Events that may have effects, by place.
    causes: BTreeSet<Seq>,
    natures: BTreeMap<Seq, Nature>,
    /// Calls of the current turn that were let through and must not run twice.
    once: BTreeMap<SessionId, BTreeSet<CallId>>,
    /// How often something happened outside, by the event that let it through.
    done: BTreeMap<Seq, u32>,
    /// Every try that was let go, so that none is let go twice.
    tickets: BTreeSet<Ticket>,
    /// What should not have happened.
    wrong: Vec<String>,
    /// Sessions in which somebody spoke since the last turn began.
    unheard: BTreeSet<SessionId>,
    /// Inbox lines that became a task.
    lines: BTreeSet<String>,
    /// Who still waits for words of whom: the session that was asked, and those that asked.
    owed: BTreeMap<SessionId, BTreeSet<SessionId>>,
    /// Sessions that a person cut behind an answer: they wait for that person's next words.
    cut: BTreeSet<SessionId>,
    /// Sessions that work although there was no slot for them when they began.
    crowded: BTreeSet<SessionId>,
    /// Tasks that a person gave to somebody.
    given: BTreeSet<TaskId>,
    /// What agents said to each other.
    post: Post,
    /// Who made whom, and who looked at whose work.
    bonds: Bonds,
    /// By how much people let budgets be passed.
    pub(super) raises: held::Raises,
}

impl Ledger {
    /// An event is durable. `before` is the state it was applied to.
    pub fn saw(&mut self, before: &State, seq: Seq, event: &Event) -> Result<(), Broken> {
        self.listens(before, event);
        match event {
            Event::Turn(TurnEvent::Begun { session, .. }) => {
                self.causes.insert(seq);
                self.begun(before, session)?;
            }
            Event::Session(SessionEvent::MessageAdded { session, message, asker, .. }) => {
                self.unheard.insert(session.clone());
                self.answered(before, session, message.from.as_ref());
                if let Some(asker) = asker {
                    self.owed.entry(session.clone()).or_default().insert(asker.clone());
                }
            }
            Event::Task(TaskEvent::Added { by: Requester::Inbox { source }, .. })
                if !self.lines.insert(source.clone()) =>
            {
                return Err(Broken(format!("{source} became two tasks")));
            }
            Event::Task(TaskEvent::Ended { task, .. }) => self.check_ending(before, task)?,
            Event::Task(TaskEvent::Edited { task, change: Change::Assignee(_), in_file: true }) => {
                self.given.insert(task.clone());
            }
            Event::System(SystemEvent::DeadlineDropped { what, .. }) => {
                return Err(Broken(format!("nothing came of what was due: {what:?}")));
            }
            Event::Call(CallEvent::Cleared { session, call, nature, rule, permit: _, approval: _ }) => {
                self.causes.insert(seq);
                self.natures.insert(seq, *nature);
                // A person who approves it once more knows what they do.
                let first = *nature != Nature::Once
                    || self.once.entry(session.clone()).or_default().insert(call.clone());
                if !first && !rule.starts_with("approved in") {
                    return Err(Broken(format!("{call} of {session} was let through twice")));
                }
                check_order(before, session, call)?;
            }
            Event::Turn(TurnEvent::Replied { session, message, .. }) => {
                self.once.remove(session);
                let ticket = match before.sessions.get(session).map(|s| &s.stage) {
                    Some(Stage::Thinking { ticket }) => Some(*ticket),
                    _ => None,
                };
                check_try(session, &message.content, ticket)?;
            }
            Event::Session(SessionEvent::Opened { head }) => {
                self.lifecycles.insert(head.session.clone(), Lifecycle::Idle);
            }
            Event::Session(SessionEvent::Reopened { session }) => {
                self.lifecycles.insert(session.clone(), Lifecycle::Idle);
            }
            Event::Session(SessionEvent::Cut { session, next_message, tail }) => {
                self.cut(session, *next_message, tail)
            }
            Event::Session(SessionEvent::Moved { session, to, .. }) => self.moved(before, session, *to)?,
            // Whoever ends an agent knows that no answer comes, also from those that ended with it.
            Event::Agent(AgentEvent::Terminated { agent, session: Some(acting), .. }) => {
                for (asked, askers) in &mut self.owed {
                    let asked = before.sessions.get(asked).map(|session| &session.agent);
                    let is_over = |id| before.team.agents.get(id).is_none_or(|agent| agent.retired);
                    if asked.is_some_and(|id| id == agent || is_over(id)) {
                        askers.remove(acting);
                    }
                }
            }
            Event::Task(TaskEvent::Started { task, .. }) => {
                let started = before
                    .work
                    .tasks
                    .get(task)
                    .ok_or_else(|| Broken(format!("{task} began and does not exist")))?;
                if let Some(open) = before.open_dependencies(started).next() {
                    return Err(Broken(format!("{task} began although {open} is open")));
                }
            }
            Event::Call(CallEvent::Finished { finish: Finish::Refused { rule }, .. }) if rule.is_empty() => {
                return Err(Broken("a refusal names no rule".to_owned()));
            }
            Event::Call(CallEvent::Finished { session, message, .. }) => {
                self.answered(before, session, message.from.as_ref());
                let pending =
                    message.call.as_ref().and_then(|call| before.sessions.get(session)?.pending(call));
                let ticket = match pending.map(|p| &p.step) {
                    Some(Step::Running { ticket, .. }) => Some(*ticket),
                    // The words of another agent, with the name of its own try.
                    Some(
                        Step::Waiting { on: On::Delegation { .. } }
                        | Step::Waiting { on: On::Answer { .. } }
                        | Step::Waiting { on: On::Review { .. } },
                    ) => {
                        return self.took(before, event);
                    }
                    _ => None,
                };
                check_try(session, &message.content, ticket)?;
            }
            _ => {}
        }
        self.took(before, event)
    }

    /// A conversation moves, and only as it may.
    fn moved(&mut self, before: &State, session: &SessionId, to: Lifecycle) -> Result<(), Broken> {
        let from = self.lifecycles.get(session).copied().unwrap_or_default();
        let to = from.go(to).map_err(|bad| Broken(format!("{session}: {bad}")))?;
        // On its way to its end a session may pass through work, but it does not stay there.
        match before.sessions.get(session) {
            Some(found) if to == Lifecycle::Working && !has_room(before, found) => {
                self.crowded.insert(session.clone());
            }
            _ => _ = self.crowded.remove(session),
        }
        self.lifecycles.insert(session.clone(), to);
        if to == Lifecycle::Complete {
            self.unheard.remove(session);
            self.owed.values_mut().for_each(|askers| _ = askers.remove(session));
        }
        Ok(())
    }

    /// A turn that goes on is asked once more with all that was said by now, or is as if it had not begun.
    fn listens(&mut self, before: &State, event: &Event) {
        let (Event::Turn(TurnEvent::Retried { session, .. })
        | Event::Turn(TurnEvent::Summarised { session, .. })
        | Event::Budget(BudgetEvent::Parked { session, .. })) = event
        else {
            return;
        };
        let stage = before.sessions.get(session).map(|session| &session.stage);
        if !matches!(stage, Some(Stage::Thinking { .. } | Stage::Retrying { .. })) {
            return;
        }
        match event {
            Event::Budget(BudgetEvent::Parked { .. }) => _ = self.unheard.insert(session.clone()),
            _ => _ = self.unheard.remove(session),
        }
    }

    fn begun(&mut self, before: &State, session: &SessionId) -> Result<(), Broken> {
        let heard = self.unheard.remove(session);
        let acted = before.sessions.get(session).is_some_and(|s| matches!(s.stage, Stage::Acting { .. }));
        if heard || acted {
            return Ok(());
        }
        Err(Broken(format!("{session} takes a turn although nobody spoke and nothing was done")))
    }

    fn cut(&mut self, session: &SessionId, next_message: u32, tail: &Tail) {
        self.unheard.remove(session);
        match tail {
            Tail::Answered => _ = self.cut.insert(session.clone()),
            Tail::Unanswered => _ = self.unheard.insert(session.clone()),
            Tail::Calls { .. } => {}
        }
        // Numbers after the cut are free again.
        let kept = |id: &MessageId| number(id) < next_message;
        self.ids.entry(session.clone()).or_default().retain(kept);
    }

    fn took(&mut self, before: &State, event: &Event) -> Result<(), Broken> {
        held::saw(before, event)?;
        self.post.saw(before, event)?;
        self.bonds.saw(before, event)?;
        self.message(event)
    }

    /// The same event was applied at this time, which gave this state.
    pub fn applied(&mut self, after: &State, at: Time, event: &Event) -> Result<(), Broken> {
        match event {
            Event::Budget(BudgetEvent::Reserved { hold, .. }) => {
                held::check_caps(&self.raises, after, at, hold)
            }
            event => self.raises.saw(at, event),
        }
    }

    /// Words from an agent, or of the end of a task, are what `asker` waited for.
    fn answered(&mut self, before: &State, asker: &SessionId, from: Option<&Actor>) {
        for (session, askers) in &mut self.owed {
            let Some(asked) = before.sessions.get(session) else { continue };
            let ended =
                asked.task.as_ref().and_then(|t| before.work.tasks.get(t)).is_some_and(|t| t.is_ended());
            if from.and_then(Actor::agent) == Some(&asked.agent) || (from == Some(&Actor::Synod) && ended) {
                askers.remove(asker);
            }
        }
    }

    /// A task ends after its parts, and its agent has heard everything before it says that it is done.
    fn check_ending(&self, before: &State, id: &TaskId) -> Result<(), Broken> {
        let Some(task) = before.work.tasks.get(id).filter(|task| !task.is_ended()) else { return Ok(()) };
        if let Some(part) = before.open_children(task).next() {
            return Err(Broken(format!("{id} ended before its part {part}")));
        }
        let Some((id, session)) = task.session().and_then(|s| before.sessions.get_key_value(s)) else {
            return Ok(());
        };
        let concludes =
            matches!(session.stage, Stage::Concluding { .. }) && session.lifecycle == Lifecycle::Working;
        if concludes
            && self.unheard.contains(id)
            && session.pace.turns < before.terms(session).limits.turns_max
        {
            return Err(Broken(format!("{id} ended its task without hearing what was said last")));
        }
        Ok(())
    }

    /// Each message stands once in its session.
    fn message(&mut self, event: &Event) -> Result<(), Broken> {
        let (Event::Session(SessionEvent::MessageAdded { session, message, .. })
        | Event::Turn(TurnEvent::Replied { session, message, .. })
        | Event::Turn(TurnEvent::EvidenceDemanded { session, message })
        | Event::Turn(TurnEvent::Summarised { session, message, .. })
        | Event::Call(CallEvent::Finished { session, message, .. })) = event
        else {
            return Ok(());
        };
        if !self.ids.entry(session.clone()).or_default().insert(message.id.clone()) {
            return Err(Broken(format!("{session} has two messages {}", message.id)));
        }
        Ok(())
    }

    /// An effect was let go.
    pub(super) fn started(&mut self, effect: &Effect) {
        let (Effect::CallModel { ticket, .. } | Effect::RunTool { ticket, .. }) = effect else { return };
        if !self.causes.contains(&ticket.effect) {
            self.breaks(format!("an effect without its event: {effect:?}"));
        }
        if !self.tickets.insert(*ticket) {
            self.breaks(format!("a try that was made before: {effect:?}"));
        }
    }

    /// A try begins that merges what a review is about.
    pub(super) fn merges(&mut self, effect: &Effect, review: &Review) {
        if let Err(Broken(why)) = self.bonds.check_merge(&review.id, &review.place.commit) {
            self.breaks(format!("{why}: {effect:?}"));
        }
    }

    /// Something happened outside that should not have.
    pub(super) fn breaks(&mut self, why: String) {
        self.wrong.push(why);
    }

    /// An effect happened outside.
    pub(super) fn happened(&mut self, effect: &Effect) {
        if let Effect::RunTool { ticket, .. } = effect {
            let times = self.done.entry(ticket.effect).or_default();
            *times += 1;
            if *times > 1 && self.natures.get(&ticket.effect) == Some(&Nature::Once) {
                self.breaks(format!("it happened more than once: {effect:?}"));
            }
        }
    }

    /// What is cheap to look at, after each step.
    pub(super) fn check_step(&self, state: &State) -> Result<(), Broken> {
        if let Some(why) = self.wrong.first() {
            return Err(Broken(why.clone()));
        }
        // No agent and no home does more at once than it may, whoever changes the limits.
        if let Some(session) = self.crowded.first() {
            let most = state.config.settings.limits.parallel_max;
            return Err(Broken(format!(
                "{session} took a slot and there was none; {} sessions work, {most} may",
                state.schedule.busy
            )));
        }
        let counted: u32 = state.team.agents.values().map(|agent| agent.busy).sum();
        if counted != state.schedule.busy {
            return Err(Broken(format!(
                "agents work in {counted} sessions, {} are counted",
                state.schedule.busy
            )));
        }
        Ok(())
    }

    /// All that must hold between any two steps.
    pub(super) fn check(&self, state: &State) -> Result<(), Broken> {
        self.check_step(state)?;
        let working = state.sessions.values().filter(|s| s.lifecycle == Lifecycle::Working).count();
        if working != state.schedule.busy as usize {
            return Err(Broken(format!("{working} sessions work, {} are counted", state.schedule.busy)));
        }
        let open = state.work.tasks.values().filter(|t| !t.is_ended()).count();
        if open != state.work.open_tasks as usize {
            return Err(Broken(format!("{open} tasks are open, {} are counted", state.work.open_tasks)));
        }
        self.check_sessions(state)?;
        self.bonds.check(state)?;
        check_locks(state)?;
        check_approvals(state)
    }

    fn check_sessions(&self, state: &State) -> Result<(), Broken> {
        for (id, session) in &state.sessions {
            let stands_still = stands_still(session);
            // Calls that could go on, in a session that has no slot to do so.
            let wants_slot =
                matches!(session.stage, Stage::Acting { .. }) && !stands_still && !has_room(state, session);
            let parked = session.purse.parked.is_some();
            let waits = session.talk.unread && !has_room(state, session);
            let fits = match session.lifecycle {
                Lifecycle::Idle | Lifecycle::Waiting => session.stage == Stage::Resting || wants_slot,
                Lifecycle::Working => !matches!(session.stage, Stage::Resting | Stage::Over) && !stands_still,
                Lifecycle::Blocked => stands_still || wants_slot || parked || waits,
                Lifecycle::Complete => session.stage == Stage::Over,
            };
            if !fits && state.is_settled() {
                return Err(Broken(format!(
                    "{id} is {} in the stage {:?}",
                    session.lifecycle.as_str(),
                    session.stage
                )));
            }
            if self.lifecycles.get(id).is_some_and(|seen| *seen != session.lifecycle) {
                return Err(Broken(format!("{id} moved without an event")));
            }
        }
        Ok(())
    }

    /// Conversations that a person cut behind an answer, and that are not over.
    pub(super) fn cut_off<'a>(
        &'a self,
        state: &'a State,
    ) -> impl Iterator<Item = (&'a SessionId, &'a Session)> {
        let found = self.cut.iter().filter_map(|id| state.sessions.get_key_value(id));
        found.filter(|(_, session)| session.lifecycle != Lifecycle::Complete)
    }

    /// What must hold when nothing goes on by itself: no task hangs without a reason.
    pub(super) fn check_stuck(&self, state: &State) -> Result<(), Broken> {
        for (id, task) in &state.work.tasks {
            if task.is_ended() {
                continue;
            }
            let agent = task.spec.assignee.as_ref().and_then(|a| state.team.agents.get(a));
            let nobody = agent.is_none_or(|a| a.retired);
            if let Some(session) = stands_for(state, id).filter(|_| nobody && !self.given.contains(id)) {
                return Err(Broken(format!("{session} stands still for {id}, which nobody does")));
            }
            let blocked = state.open_dependencies(task).next().is_some();
            // What it delegated may be a part of something else by now.
            let delegated = task.session().is_some_and(|session| waits_for_delegated(state, session));
            let waits = delegated || (task.session().is_some() && state.open_children(task).next().is_some());
            let cut = task.session().is_some_and(|s| self.cut.contains(s));
            let parked =
                task.session().and_then(|s| state.sessions.get(s)).is_some_and(|s| s.purse.parked.is_some());
            let waits_to_begin = task.place().is_some_and(|place| place.parked.is_some());
            // Whoever was asked and has not answered has something to do.
            let asked = task.session().and_then(|s| state.sessions.get(s)).map(|session| &session.ties.asked);
            let asked = asked.into_iter().flatten().flat_map(|(_, asked)| asked.values());
            let awaits = has_to_answer(state, asked.collect());
            // Work of the same agent is before it, and does not wait for it in turn.
            let after = task.session().is_some_and(|session| waits_for_workspace(state, session));
            if !(nobody || blocked || waits || cut || parked || waits_to_begin || awaits || after) {
                return Err(Broken(format!("{id} hangs in {:?} although nothing is in its way", task.stage)));
            }
        }
        Ok(())
    }

    /// What must hold when nothing is left to happen.
    pub(super) fn check_end(&self, state: &State) -> Result<(), Broken> {
        self.check_stuck(state)?;
        self.bonds.check_end(state)?;
        if let Some(session) = self.unheard.first() {
            return Err(Broken(format!("somebody spoke in {session} and nobody listened")));
        }
        for (session, askers) in &self.owed {
            let over =
                |id: &SessionId| state.sessions.get(id).is_none_or(|s| s.lifecycle == Lifecycle::Complete);
            let told = |id: &SessionId| is_told_of_the_task(state, session, id);
            let left = askers.iter().find(|id| !over(id) && !told(id));
            if let Some(asker) = left {
                return Err(Broken(format!("{asker} asked {session} something and never heard of it")));
            }
        }
        if state.schedule.busy != 0 || !state.people.approvals.is_empty() {
            return Err(Broken(format!(
                "{} sessions still work, {} approvals wait",
                state.schedule.busy,
                state.people.approvals.len()
            )));
        }
        Ok(())
    }
}

/// Whether `asker` hears of the end of the task of `session` in another way.
/// Whoever stands still until a task has ended that did not begin.
fn stands_for<'a>(state: &'a State, id: &TaskId) -> Option<&'a SessionId> {
    let review = state.reviews.of_task(id).map(|review| (&review.session, &review.call));
    let (session, call) = review.or_else(|| state.delegations.of_task(id).map(|d| (&d.session, &d.call)))?;
    let waits = state.sessions.get(session).and_then(|asker| asker.pending(call)).is_some();
    let begun = state.work.tasks.get(id).is_some_and(|task| task.session().is_some());
    (waits && !begun).then_some(session)
}

fn is_told_of_the_task(state: &State, session: &SessionId, asker: &SessionId) -> bool {
    let task =
        state.sessions.get(session).and_then(|s| s.task.as_ref()).and_then(|t| state.work.tasks.get(t));
    let Some(task) = task.filter(|task| task.is_ended()) else { return false };
    let about = state.sessions.get(asker).and_then(|s| s.task.as_ref());
    task.by == Requester::Session { session: asker.clone() }
        || (about.is_some() && about == task.spec.parent.as_ref())
}

/// An outcome says which try it is of; that try must be under way.
fn check_try(session: &SessionId, text: &str, under_way: Option<Ticket>) -> Result<(), Broken> {
    let Some((_, of)) = text.split_once(OF_TRY) else { return Ok(()) };
    let expected = under_way.map(name_try);
    if expected.as_deref() == Some(of) {
        return Ok(());
    }
    Err(Broken(format!("{session} took an outcome of try {of}, but {expected:?} is under way")))
}

/// What stands before the name of a try in an outcome.
pub(super) const OF_TRY: &str = ", try ";

/// The name of a try, as outcomes give it.
pub(super) fn name_try(ticket: Ticket) -> String {
    format!("{}.{}", ticket.effect, ticket.attempt)
}

fn has_room(state: &State, session: &Session) -> bool {
    let agent = state.team.agents.get(&session.agent);
    let own = agent.is_some_and(|a| a.busy < a.spec.permissions.concurrency.max_parallel_tasks);
    own && state.schedule.busy < state.config.settings.limits.parallel_max
}

/// Whether a call of the current turn waits for a person or another agent, none runs, and all others stand behind it.
fn stands_still(session: &Session) -> bool {
    let Stage::Acting { calls, .. } = &session.stage else { return false };
    let goes_on = |index: usize, pending: &Pending| match &pending.step {
        Step::Running { .. } | Step::Looking { .. } => true,
        Step::New | Step::Looked | Step::Approved { .. } | Step::Locked { .. } => is_next(calls, index),
        Step::Waiting { .. } | Step::Finished { .. } => false,
    };
    calls.iter().any(|pending| matches!(pending.step, Step::Waiting { .. }))
        && !calls.iter().enumerate().any(|(index, pending)| goes_on(index, pending))
}

/// Whether nothing before a call of an answer holds it back: what has no result yet reads like it, or is delegated like it.
fn is_next(calls: &[Pending], index: usize) -> bool {
    let own = &calls[index];
    calls[..index].iter().filter(|before| !before.step.is_finished()).all(|before| match &before.step {
        Step::Waiting { on: On::Delegation { .. } } => is_delegation(own),
        Step::Waiting { .. } => false,
        _ => reads(before) && reads(own),
    })
}

fn is_delegation(pending: &Pending) -> bool {
    matches!(pending.call.want, Want::Act(Act::Delegate(Delegate { .. })))
}

fn reads(pending: &Pending) -> bool {
    match &pending.call.want {
        Want::Act(Act::RequestReview(RequestReview { .. })) => false,
        Want::Act(act) => tool::facts(act.tool()).is_some_and(|facts| facts.nature == Nature::Read),
        Want::Invalid { .. } => true,
    }
}

/// A call begins in the order given, and one that changes something only if all before it worked out.
fn check_order(before: &State, id: &SessionId, call: &CallId) -> Result<(), Broken> {
    let Some(Stage::Acting { calls, .. }) = before.sessions.get(id).map(|session| &session.stage) else {
        return Ok(());
    };
    let Some(index) = calls.iter().position(|pending| pending.call.id == *call) else { return Ok(()) };
    if !is_next(calls, index) {
        return Err(Broken(format!("{call} of {id} begins before its turn: {calls:?}")));
    }
    let failed = calls[..index].iter().any(|pending| pending.step == Step::Finished { ok: false });
    // Synod's own looks at evidence do not depend on each other.
    let is_check = matches!(calls[index].call.want, Want::Act(Act::Check(Check { .. })));
    if failed && !reads(&calls[index]) && !is_check {
        return Err(Broken(format!("{call} of {id} changes something behind a failure: {calls:?}")));
    }
    Ok(())
}

/// Who has a lock has not ended, and who waits for one is at a call that does.
fn check_locks(state: &State) -> Result<(), Broken> {
    for (name, lock) in state.locks.all() {
        let over = |id| state.sessions.get(id).is_none_or(|s| s.lifecycle == Lifecycle::Complete);
        let Some(holder) = &lock.holder else { return Err(Broken(format!("nobody was given {name}"))) };
        if over(&holder.session) {
            return Err(Broken(format!("{} has ended and has {name}", holder.session)));
        }
        if name.as_str().starts_with(WORKSPACE) {
            check_workspace(state, name, holder)?;
        }
        for waiter in &lock.queue {
            let pending = state.sessions.get(&waiter.session).and_then(|s| s.pending(&waiter.call));
            if !pending.is_some_and(
                |p| matches!(&p.step, Step::Waiting { on: On::Lock { name: of, .. } } if of == name),
            ) {
                return Err(Broken(format!(
                    "{} is in the queue of {name} and does not wait",
                    waiter.session
                )));
            }
        }
    }
    Ok(())
}

/// Whether a call of a conversation waits for a task that has not ended.
fn waits_for_delegated(state: &State, id: &SessionId) -> bool {
    let Some(Stage::Acting { calls, .. }) = state.sessions.get(id).map(|session| &session.stage) else {
        return false;
    };
    let is_open = |id: &TaskId| state.work.tasks.get(id).is_some_and(|task| !task.is_ended());
    calls.iter().any(|pending| match &pending.step {
        Step::Waiting { on: On::Delegation { delegation } } => {
            state.delegations.by_id.get(delegation).is_some_and(|known| is_open(&known.task))
        }
        _ => false,
    })
}

/// Whether one of these conversations has something to do, or waits for one that has.
fn has_to_answer<'a>(state: &'a State, mut next: Vec<&'a SessionId>) -> bool {
    let mut seen = BTreeSet::new();
    while let Some(id) = next.pop() {
        let Some(session) = state.sessions.get(id).filter(|_| seen.insert(id)) else { continue };
        if session.talk.unread || !matches!(session.stage, Stage::Resting | Stage::Over) {
            return true;
        }
        next.extend(session.ties.asked.values().flat_map(|asked| asked.values()));
    }
    false
}

fn waits_for_workspace(state: &State, id: &SessionId) -> bool {
    let mut waits = state.locks.of(id).filter(|(name, lock)| {
        name.as_str().starts_with(WORKSPACE) && lock.queue.iter().any(|waiter| waiter.session == *id)
    });
    waits.any(|(name, _)| would_stand_still(state, id, vec![Node::Lock(name.clone())]).is_none())
}

/// In a workspace stands the work of one who is at it, or waits for somebody with it.
fn check_workspace(state: &State, name: &LockName, holder: &Holder) -> Result<(), Broken> {
    let session = &state.sessions[&holder.session];
    let is_own = name.as_str() == format!("{WORKSPACE}{}", session.agent);
    let is_at_it = matches!(session.lifecycle, Lifecycle::Working | Lifecycle::Blocked);
    match is_own && is_at_it && holder.until.is_none() {
        true => Ok(()),
        false => Err(Broken(format!("{} rests and has {name}", holder.session))),
    }
}

fn check_approvals(state: &State) -> Result<(), Broken> {
    for (id, request) in state.people.approvals.iter().filter(|(_, request)| !request.is_about_budget()) {
        let pending = state.sessions.get(&request.session).and_then(|s| s.pending(&request.call));
        let asks =
            pending.is_some_and(|p| p.step == Step::Waiting { on: On::Approval { approval: id.clone() } });
        if !asks {
            return Err(Broken(format!("{id} waits, but its call {} does not", request.call)));
        }
        if pending.is_some_and(|p| p.call.want != Want::Act(request.act.clone()))
            || request.digest != request.act.digest(request.seen.as_ref(), request.permit)
        {
            return Err(Broken(format!("{id} shows another act than its call")));
        }
    }
    Ok(())
}

fn number(id: &MessageId) -> u32 {
    id.as_str().rsplit('-').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
