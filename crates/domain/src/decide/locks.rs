//! Locks: asking for one, giving it back, handing it on, and what becomes of who waits too long.

use crate::decide::turn::{result, settle};
use crate::decide::{messages, said};
use crate::event::{Event, Finish};
use crate::id::{CallId, LockName, SessionId, Time};
use crate::label::Label;
use crate::lifecycle::Lifecycle;
use crate::lock::workspace::{self, is_workspace};
use crate::lock::{self, Freed, Grant, Holder, Waiter};
use crate::message::{Envelope, Kind};
use crate::refused::Refused;
use crate::session::Message;
use crate::state::{Pending, Session, Stage, State, Step};
use crate::tool::{Act, Call, Want};
use crate::waits::{self, Cycle, Node};

/// A conversation with its name.
type Named<'a> = (&'a SessionId, &'a Session);

/// The rule by which a call that cannot have its lock is refused.
const RULE: &str = "lock";

/// What comes of asking for a lock.
enum Asked {
    Granted(Grant),
    /// The call waits, for this.
    Waits(Box<Event>, String),
    /// It cannot even wait; why, for who asked, and from whose words that is made.
    Refused(String, Label),
}

/// Carries out `lock` or `unlock`; and what the session waits for since then. `None` if the act is neither.
pub(super) fn perform(
    state: &State,
    at: Time,
    id: &SessionId,
    call: &Call,
    act: &Act,
) -> Option<(Vec<Event>, Option<String>)> {
    let plain = |why: String| (why, Label::owner());
    let done = match act {
        Act::Lock { name, wait_ms } => lock::name(name).map_err(plain).and_then(|name| {
            if is_workspace(&name) {
                return Err(plain(format!("{name} is taken by the first call that works there; just begin")));
            }
            let wait_ms = wait_ms.unwrap_or(state.settings.limits.locks.wait_ms);
            match ask(state, at, id, &call.id, &name, true, wait_ms) {
                Asked::Granted(grant) => {
                    let text = granted_text(state, &grant);
                    Ok((vec![granted(id, &call.id, grant, true)], Ok(text)))
                }
                Asked::Waits(event, reason) => Ok((vec![*event], Err(reason))),
                Asked::Refused(why, label) => Err((why, label)),
            }
        }),
        Act::Unlock { name } => lock::name(name).map_err(plain).and_then(|name| {
            let holder = own(state, at, id, &name).map_err(plain)?;
            let left = holder.kept.saturating_sub(1);
            let text = match left {
                0 => format!("{name} is given back"),
                left => format!("{name} is still yours: it was taken {left} times more than given back"),
            };
            let freed = Event::LockFreed { name, session: id.clone(), why: Freed::Unlocked };
            Ok((vec![freed], Ok(text)))
        }),
        _ => return None,
    };
    Some(match done {
        Ok((mut events, Ok(text))) => {
            events.push(finished(at, id, &call.id, Finish::Done, (text, Label::owner())));
            (events, None)
        }
        Ok((events, Err(reason))) => (events, Some(reason)),
        Err(why) => (vec![finished(at, id, &call.id, Finish::Failed, why)], None),
    })
}

/// Takes the locks of what a call works with, before it runs: the events so far with the grants, or all events if it cannot
/// run now. A call that had to wait has its lock already when it comes here again. The workspace comes first: whoever waits
/// for that has nothing that others need for a moment.
pub(super) fn guard<'a>(
    state: &State,
    at: Time,
    (id, session): Named<'_>,
    pending: &Pending,
    others: impl Iterator<Item = &'a Step> + Clone,
    mut events: Vec<Event>,
) -> Result<Vec<Event>, Vec<Event>> {
    let Want::Act(act) = &pending.call.want else { return Ok(events) };
    let call = &pending.call.id;
    let holds = |name: &LockName| {
        let holder = state.locks.get(name).and_then(|lock| lock.holder.as_ref());
        holder.is_some_and(|holder| holder.session == *id)
    };
    let place = workspace::needed(state, session, act).filter(|name| !holds(name));
    let thing = lock::of_act(state, &session.agent, act).filter(|_| state.locks.of_call(id, call).is_none());
    let wait_ms = state.settings.limits.locks.wait_ms;
    for (name, kept) in place.map(|name| (name, true)).into_iter().chain(thing.map(|name| (name, false))) {
        match ask(state, at, id, call, &name, kept, wait_ms) {
            Asked::Granted(grant) => events.push(granted(id, call, grant, kept)),
            Asked::Waits(event, reason) => {
                events.push(*event);
                return Err(settle(events, id, session, others, Some(reason)));
            }
            Asked::Refused(why, label) => {
                let finish = Finish::Refused { rule: RULE.to_owned() };
                let text = format!("not carried out: {why}");
                events.push(finished(at, id, call, finish, (text, label)));
                return Err(settle(events, id, session, others, None));
            }
        }
    }
    Ok(events)
}

fn ask(
    state: &State,
    at: Time,
    id: &SessionId,
    call: &CallId,
    name: &LockName,
    kept: bool,
    wait_ms: u64,
) -> Asked {
    if let Some(fence) = state.locks.free_for(name, id, kept, at) {
        return Asked::Granted(Grant { name: name.clone(), fence });
    }
    let held = held_by(state, at, name);
    // Work of the same agent comes one after the other, however long one takes; its tasks are bounded elsewhere.
    let is_bounded = !is_workspace(name);
    if is_bounded && wait_ms == 0 {
        return Asked::Refused(held, Label::owner());
    }
    let most = state.settings.limits.locks.queue_max as usize;
    if is_bounded && state.locks.get(name).is_some_and(|lock| lock.queue.len() >= most) {
        let why = format!("limits.lock_queue_max: {held}, and {most} wait for it already");
        return Asked::Refused(why, Label::owner());
    }
    if let Some(cycle) = waits::would_stand_still(state, id, waits::for_lock(state, id, name)) {
        let why = format!(
            "waiting would never end: {cycle}; give back what others wait for with unlock, then ask again"
        );
        return Asked::Refused(why, label_of(state, &cycle));
    }
    let due = match is_bounded {
        true => at.plus_ms(wait_ms.min(crate::message::WAIT_MS_MAX)),
        false => lock::NEVER,
    };
    let (session, call) = (id.clone(), call.clone());
    let event = Event::LockAwaited { name: name.clone(), session, call, kept, due };
    Asked::Waits(Box::new(event), waits_for(name))
}

/// The names of locks are words of those who hold them.
fn label_of(state: &State, cycle: &Cycle) -> Label {
    let sessions = cycle.0.iter().filter_map(|node| match node {
        Node::Session(id) => state.sessions.get(id),
        _ => None,
    });
    sessions.fold(Label::owner(), |label, session| label.joined(&session.label))
}

/// Why a session is blocked.
pub(super) fn waits_for(name: &LockName) -> String {
    format!("waits for the lock {name}")
}

fn granted(id: &SessionId, call: &CallId, grant: Grant, kept: bool) -> Event {
    Event::LockGranted { grant, session: id.clone(), call: call.clone(), kept }
}

fn granted_text(state: &State, grant: &Grant) -> String {
    format!(
        "{} is yours, with the fencing number {}; it lapses when you do nothing for {} ms, so give it back with unlock",
        grant.name, grant.fence, state.settings.limits.locks.lease_ms
    )
}

/// In words who has a lock.
fn held_by(state: &State, at: Time, name: &LockName) -> String {
    let Some(lock) = state.locks.get(name) else { return format!("nobody has the lock {name}") };
    match &lock.holder {
        Some(Holder { session, since, .. }) => {
            let agent = state.sessions.get(session).map_or("somebody", |s| s.agent.as_str());
            format!("the lock {name} is held by {agent} in {session} for {} ms", at.ms_since(*since))
        }
        None => format!("the lock {name} goes to who waits for it"),
    }
}

/// The hold of a conversation on a lock that it may give back.
fn own<'a>(state: &'a State, at: Time, id: &SessionId, name: &LockName) -> Result<&'a Holder, String> {
    let holder = state.locks.get(name).and_then(|lock| lock.holder.as_ref());
    let own = holder.filter(|holder| holder.session == *id && holder.kept > 0);
    own.ok_or_else(|| match holder {
        Some(holder) if holder.session == *id => {
            format!("the lock {name} is held by a call of yours and is free when that ends")
        }
        Some(_) | None => format!("{name} is not yours to give back: {}", held_by(state, at, name)),
    })
}

/// Somebody who waits can have a lock.
pub(super) fn hand_over(state: &State, at: Time, name: &LockName, waiter: &Waiter) -> Vec<Event> {
    let Waiter { session, call, kept, .. } = waiter;
    let held = state.locks.get(name).and_then(|lock| lock.holder.as_ref());
    let fence = held.map_or_else(|| state.locks.next_fence(at), |holder| holder.fence);
    let grant = Grant { name: name.clone(), fence };
    let text = granted_text(state, &grant);
    let mut events = vec![granted(session, call, grant, *kept)];
    // Who asked for a workspace did not ask for a lock: its call goes on.
    if *kept && !is_workspace(name) {
        events.push(finished(at, session, call, Finish::Done, (text, Label::owner())));
    }
    events
}

/// A call has waited long enough.
pub(super) fn time_out(state: &State, at: Time, session: &SessionId, call: &CallId) -> Vec<Event> {
    let pending = state.sessions.get(session).and_then(|s| s.pending(call));
    let Some(Step::Locking { name, .. }) = pending.map(|pending| &pending.step) else { return Vec::new() };
    let text = format!("time-out: {}; nothing was done", held_by(state, at, name));
    vec![finished(at, session, call, Finish::Failed, (text, Label::owner()))]
}

fn finished(
    at: Time,
    session: &SessionId,
    call: &CallId,
    finish: Finish,
    (text, label): (String, Label),
) -> Event {
    let message = Message { label, ..result(at, call, text) };
    Event::CallFinished { session: session.clone(), finish, message, wrote: Vec::new() }
}

/// A lock was not used for too long.
pub(super) fn lapsed(state: &State, at: Time, name: &LockName) -> Vec<Event> {
    let why = format!(
        "limits.lock_lease_ms: you did nothing for {} ms, so the lock {name} is no longer yours",
        state.settings.limits.locks.lease_ms
    );
    take_away(state, at, name, Freed::Lapsed, why).unwrap_or_default()
}

/// A person takes a lock away.
pub(super) fn free(state: &State, at: Time, name: &str, by: &str) -> Result<Vec<Event>, Refused> {
    let known = lock::name(name).map_err(|_| Refused::NoLock(name.to_owned()))?;
    let holder = state.locks.get(&known).and_then(|lock| lock.holder.as_ref()).map(|h| &h.session);
    let runs = |session: &Session| match &session.stage {
        Stage::Acting { calls, .. } => calls.iter().any(|call| matches!(call.step, Step::Running { .. })),
        _ => false,
    };
    if let Some(session) =
        holder.filter(|id| is_workspace(&known) && state.sessions.get(*id).is_some_and(runs))
    {
        return Err(Refused::LockInUse { lock: known.to_string(), session: session.to_string() });
    }
    let why = format!("{by} took the lock {known} away; it is no longer yours");
    take_away(state, at, &known, Freed::Person { by: by.to_owned() }, why)
        .ok_or_else(|| Refused::NoLock(known.to_string()))
}

fn take_away(state: &State, at: Time, name: &LockName, why: Freed, text: String) -> Option<Vec<Event>> {
    let holder = state.locks.get(name)?.holder.as_ref()?;
    let mut events = vec![Event::LockFreed { name: name.clone(), session: holder.session.clone(), why }];
    // Who is at rest is not woken for it: it asks again when it needs the lock.
    let (id, session) = state.sessions.get_key_value(&holder.session)?;
    if matches!(session.lifecycle, Lifecycle::Working | Lifecycle::Blocked) {
        events.push(notice(at, (id, session), (text, Label::owner())));
    }
    Some(events)
}

/// Words of Synod that begin nothing new: they give no turns back.
fn notice(at: Time, (id, session): Named<'_>, (text, label): (String, Label)) -> Event {
    let cause = Some(messages::root(id, session).clone());
    let envelope = Envelope { kind: Kind::Notification, cause, ..Envelope::default() };
    let message = Message { envelope: Some(Box::new(envelope)), ..said(at, "synod", text, label) };
    Event::MessageAdded { session: id.clone(), message, asker: None, in_file: false }
}

/// A conversation that is about to rest until others have done something, and has a lock for which those wait: it is told
/// so, because nobody would go on.
pub(super) fn must_not_rest(state: &State, at: Time, id: &SessionId, session: &Session) -> Option<Event> {
    let is_wanted = |lock: &lock::Lock| {
        lock.holder.as_ref().is_some_and(|h| h.session == *id && h.kept > 0) && !lock.queue.is_empty()
    };
    // A workspace is free as soon as it rests.
    state.locks.of(id).find(|(name, lock)| !is_workspace(name) && is_wanted(lock))?;
    let on: Vec<Node> = waits::while_resting(state, id, session);
    let cycle = waits::would_stand_still(state, id, on)?;
    let text = format!("you wait for who waits for you: {cycle}; give the lock back with unlock first");
    Some(notice(at, (id, session), (text, label_of(state, &cycle))))
}
