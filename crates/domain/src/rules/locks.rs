//! Locks: asking for one, giving it back, handing it on, and what becomes of who waits too long.

use crate::kernel::draft::Draft;
use crate::kernel::event::LockEvent;
use crate::kernel::event::{Event, Finish};
use crate::kernel::refused::Refused;
use crate::kernel::state::State;
use crate::kernel::waits;
use crate::kernel::waits::{Node, Why};
use crate::kernel::workspaces;
use crate::rules::gate;
use crate::rules::gate::Ruling;
use crate::rules::moves::settle;
use crate::rules::say::{notification, result};
use crate::rules::talk::root;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::lock;
use crate::topics::lock::workspace::is_workspace;
use crate::topics::lock::{Freed, Grant, Holder, Waiter};
use crate::topics::session::Message;
use crate::topics::session::{On, Pending, Session, Stage, Step};
use crate::topics::tool::{Call, Want};
use crate::words::id::{CallId, LockName, SessionId, Time};
use crate::words::label::Label;

/// Why a lock is not given back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Kept {
    #[error(transparent)]
    Name(#[from] lock::BadName),
    #[error("the lock {0} is held by a call of yours and is free when that ends")]
    ByCall(LockName),
    #[error("{name} is not yours to give back: {held_by}")]
    NotYours { name: LockName, held_by: String },
}

/// What comes of asking for a lock.
enum Asked {
    Granted(Grant),
    /// The call waits.
    Waits(Box<Event>),
    /// It cannot even wait; why, for the caller, and from whose words that is made.
    Refused(Ruling, Label),
}

/// Carries out `lock`.
pub(super) fn take(d: &mut Draft<'_>, id: &SessionId, call: &Call, name: &str, wait_ms: Option<u64>) {
    let name = match lock::name(name) {
        Ok(name) if is_workspace(&name) => {
            let why = format!("{name} is taken by the first call that works there; just begin");
            return finish(d, id, &call.id, Finish::Failed, (why, Label::owner()));
        }
        Ok(name) => name,
        Err(bad) => return finish(d, id, &call.id, Finish::Failed, (bad.to_string(), Label::owner())),
    };
    let wait_ms = wait_ms.unwrap_or(d.config.settings.limits.locks.wait_ms);
    match ask(d, d.at, id, &call.id, &name, true, wait_ms) {
        Asked::Granted(grant) => {
            let text = granted_text(d, &grant);
            d.emit(granted(id, &call.id, grant, true));
            finish(d, id, &call.id, Finish::Done, (text, Label::owner()));
        }
        Asked::Waits(event) => d.emit(*event),
        Asked::Refused(denied, label) => {
            let why = denied.refusal().unwrap_or_default();
            finish(d, id, &call.id, Finish::Failed, (why, label));
        }
    }
}

/// Carries out `unlock`.
pub(super) fn give_back(d: &mut Draft<'_>, id: &SessionId, call: &Call, name: &str) {
    let held = lock::name(name).map_err(Kept::from).and_then(|name| {
        let left = own(d, d.at, id, &name)?.kept.saturating_sub(1);
        Ok((name, left))
    });
    let (name, left) = match held {
        Ok(held) => held,
        Err(kept) => return finish(d, id, &call.id, Finish::Failed, (kept.to_string(), Label::owner())),
    };
    let text = match left {
        0 => format!("{name} is given back"),
        left => format!("{name} is still yours: it was taken {left} times more than given back"),
    };
    d.emit(LockEvent::Freed { name, session: id.clone(), why: Freed::Unlocked });
    finish(d, id, &call.id, Finish::Done, (text, Label::owner()));
}

/// Takes the locks of what a call works with, before it runs; whether it may run now. A call that had to wait has that
/// lock already when it comes here again. The workspace comes first: a call that waits for that has nothing that others need for
/// a moment.
pub(super) fn guard(d: &mut Draft<'_>, id: &SessionId, pending: &Pending) -> bool {
    let Want::Act(act) = &pending.call.want else { return true };
    let Some(session) = d.sessions.get(id) else { return false };
    let call = &pending.call.id;
    let holds = |name: &LockName| {
        let holder = d.locks.get(name).and_then(|lock| lock.holder.as_ref());
        holder.is_some_and(|holder| holder.session == *id)
    };
    let place = workspaces::needed(d, session, act).filter(|name| !holds(name));
    let held = d.locks.of_call(id, call);
    let mut things = workspaces::of_act(d, &session.agent, act);
    things.retain(|name| !held.iter().any(|grant| grant.name == *name));
    let wait_ms = d.config.settings.limits.locks.wait_ms;
    let place = place.into_iter().map(|name| (name, true));
    for (name, kept) in place.chain(things.into_iter().map(|name| (name, false))) {
        match ask(d, d.at, id, call, &name, kept, wait_ms) {
            Asked::Granted(grant) => d.emit(granted(id, call, grant, kept)),
            Asked::Waits(event) => {
                d.emit(*event);
                settle(d, id);
                return false;
            }
            Asked::Refused(denied, label) => {
                let refused = Finish::Refused { rule: denied.named_rule() };
                let text = format!("not carried out: {}", denied.refusal().unwrap_or_default());
                finish(d, id, call, refused, (text, label));
                settle(d, id);
                return false;
            }
        }
    }
    true
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
    if let Some((denied, label)) = gate::locks::judge(state, at, id, name, wait_ms) {
        return Asked::Refused(denied, label);
    }
    let is_bounded = !is_workspace(name);
    let due = match is_bounded {
        true => at.plus_ms(wait_ms.min(crate::topics::message::WAIT_MS_MAX)),
        false => lock::NEVER,
    };
    let (session, call) = (id.clone(), call.clone());
    Asked::Waits(Box::new(Event::Lock(LockEvent::Awaited { name: name.clone(), session, call, kept, due })))
}

fn granted(id: &SessionId, call: &CallId, grant: Grant, kept: bool) -> Event {
    Event::Lock(LockEvent::Granted { grant, session: id.clone(), call: call.clone(), kept })
}

fn granted_text(state: &State, grant: &Grant) -> String {
    format!(
        "{} is yours, with the fencing number {}; it lapses when you do nothing for {} ms, so give it back with unlock",
        grant.name, grant.fence, state.config.settings.limits.locks.lease_ms
    )
}

/// The hold of a conversation on a lock that it may give back.
fn own<'a>(state: &'a State, at: Time, id: &SessionId, name: &LockName) -> Result<&'a Holder, Kept> {
    let holder = state.locks.get(name).and_then(|lock| lock.holder.as_ref());
    let own = holder.filter(|holder| holder.session == *id && holder.kept > 0);
    own.ok_or_else(|| match holder {
        Some(holder) if holder.session == *id => Kept::ByCall(name.clone()),
        Some(_) | None => {
            Kept::NotYours { name: name.clone(), held_by: gate::locks::held_by(state, at, name) }
        }
    })
}

/// Hands a free lock to the next that waits for it.
pub(super) fn hand_over(d: &mut Draft<'_>, name: &LockName, waiter: &Waiter) {
    let Waiter { session, call, kept, .. } = waiter;
    let held = d.locks.get(name).and_then(|lock| lock.holder.as_ref());
    let fence = held.map_or_else(|| d.locks.next_fence(d.at), |holder| holder.fence);
    let grant = Grant { name: name.clone(), fence };
    let text = granted_text(d, &grant);
    d.emit(granted(session, call, grant, *kept));
    // A call that works in a workspace did not ask for a lock: it goes on.
    if *kept && !is_workspace(name) {
        finish(d, session, call, Finish::Done, (text, Label::owner()));
    }
}

/// A call has waited long enough.
pub(super) fn time_out(d: &mut Draft<'_>, session: &SessionId, call: &CallId) {
    let pending = d.sessions.get(session).and_then(|s| s.pending(call));
    let Some(Step::Waiting { on: On::Lock { name, .. } }) = pending.map(|pending| &pending.step) else {
        return;
    };
    let text = format!("time-out: {}; nothing was done", gate::locks::held_by(d, d.at, name));
    finish(d, session, call, Finish::Failed, (text, Label::owner()));
}

fn finish(
    d: &mut Draft<'_>,
    session: &SessionId,
    call: &CallId,
    finish: Finish,
    (text, label): (String, Label),
) {
    let message = Message { label, ..result(d.at, call, text) };
    d.finish_call(session, finish, message);
}

/// A lock was not used for too long.
pub(super) fn lapse(d: &mut Draft<'_>, name: &LockName) {
    let why = format!(
        "limits.lock_lease_ms: you did nothing for {} ms, so the lock {name} is no longer yours",
        d.config.settings.limits.locks.lease_ms
    );
    take_away(d, name, Freed::Lapsed, why);
}

/// A person takes a lock away.
pub(super) fn free(d: &mut Draft<'_>, name: &str, by: &str) -> Result<(), Refused> {
    let known = lock::name(name).map_err(|_| Refused::NoLock(name.to_owned()))?;
    let holder = d.locks.get(&known).and_then(|lock| lock.holder.as_ref()).map(|h| &h.session);
    let runs = |session: &Session| match &session.stage {
        Stage::Acting { calls, .. } => calls.iter().any(|call| matches!(call.step, Step::Running { .. })),
        _ => false,
    };
    if let Some(session) = holder.filter(|id| is_workspace(&known) && d.sessions.get(*id).is_some_and(runs)) {
        return Err(Refused::LockInUse { lock: known.to_string(), session: session.to_string() });
    }
    let why = format!("{by} took the lock {known} away; it is no longer yours");
    match take_away(d, &known, Freed::Person { by: by.to_owned() }, why) {
        true => Ok(()),
        false => Err(Refused::NoLock(known.to_string())),
    }
}

/// Takes a lock from its holder; whether it had one.
fn take_away(d: &mut Draft<'_>, name: &LockName, why: Freed, text: String) -> bool {
    let holder = d.locks.get(name).and_then(|lock| lock.holder.as_ref());
    let Some(session) = holder.map(|holder| holder.session.clone()) else { return false };
    d.emit(LockEvent::Freed { name: name.clone(), session: session.clone(), why });
    // A conversation at rest is not woken for it: it asks again when it needs the lock.
    let works = |session: &Session| matches!(session.lifecycle, Lifecycle::Working | Lifecycle::Blocked);
    if d.sessions.get(&session).is_some_and(works) {
        notify(d, &session, text, Label::owner());
    }
    true
}

/// Words of Synod that begin nothing new: they give no turns back.
fn notify(d: &mut Draft<'_>, id: &SessionId, text: String, label: Label) {
    let cause = d.sessions.get(id).map(|session| root(id, session).clone());
    let mut message = Message { label, ..notification(d.at, text) };
    if let Some(envelope) = &mut message.envelope {
        envelope.cause = cause;
    }
    d.say(id, message, None);
}

/// Tells a conversation that is about to rest, and keeps a lock for which those wait whom it waits for, to give it back:
/// nobody would go on. Whether it was told.
pub(super) fn must_not_rest(d: &mut Draft<'_>, id: &SessionId) -> bool {
    let Some(session) = d.sessions.get(id) else { return false };
    let is_kept = |name: &LockName| {
        let holder = d.locks.get(name).and_then(|lock| lock.holder.as_ref());
        holder.is_some_and(|holder| holder.kept > 0)
    };
    // A workspace is free as soon as it rests.
    let is_wanted = |node: &Node| matches!(node, Node::Lock(name) if !is_workspace(name) && is_kept(name));
    if !d.waits.waiters_for(&Node::from(id), Why::Held).any(is_wanted) {
        return false;
    }
    let Some(cycle) = waits::would_stand_still(d, id, waits::while_resting(d, id, session)) else {
        return false;
    };
    let text = format!("you wait for who waits for you: {cycle}; give the lock back with unlock first");
    let label = gate::locks::label_of(d, &cycle);
    notify(d, id, text, label);
    true
}
