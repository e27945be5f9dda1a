//! What events do to locks. Whatever ends a call or a conversation also ends what it holds and waits for; who is next is
//! decided one step later.

use crate::kernel::event::LockEvent;
use crate::kernel::state::State;
use crate::topics::deadline::Deadline;
use crate::topics::lock::workspace::is_workspace;
use crate::topics::lock::{Freed, Lock, Locks, NEVER, Waiter};
use crate::topics::session::{On, Step};
use crate::words::id::{CallId, LockName, SessionId, Time};

impl State {
    pub(super) fn change_locks(&mut self, at: Time, event: &LockEvent) {
        let lease_ms = self.config.settings.limits.locks.lease_ms;
        match event {
            LockEvent::Awaited { name, session, call, kept, due } => {
                let (session, call) = (session.clone(), call.clone());
                if *due != NEVER {
                    self.schedule.deadlines.insert((*due, Deadline::Lock(session.clone(), call.clone())));
                }
                self.step_to_lock(&session, &call, name);
                let waiter = Waiter { session, call, kept: *kept, since: at, due: *due };
                self.locks.wait(name, waiter);
                self.wait_lock(name);
            }
            LockEvent::Granted { grant, session, call, kept } => {
                let mut due = None;
                self.with_leases(std::slice::from_ref(&grant.name), |locks| {
                    due = locks.grant(grant, (session, call), *kept, (at, lease_ms));
                });
                if let Some(due) = due {
                    self.schedule.deadlines.remove(&(due, Deadline::Lock(session.clone(), call.clone())));
                }
                self.step_with_lock(session, call, *kept && !is_workspace(&grant.name));
            }
            LockEvent::Freed { name, why, .. } => {
                self.with_leases(std::slice::from_ref(name), |locks| match why {
                    Freed::Unlocked => locks.unlock(name),
                    Freed::Lapsed | Freed::Person { .. } => locks.free(name),
                });
            }
        }
    }

    /// A call that must wait for its lock remembers whether a person said yes to it.
    fn step_to_lock(&mut self, session: &SessionId, call: &CallId, name: &LockName) {
        let step = self.sessions.get(session).and_then(|s| s.pending(call)).map(|pending| &pending.step);
        let approved = step.and_then(Step::approval).map(|(approval, permit)| (approval.clone(), permit));
        self.step(session, call.as_str(), Step::Waiting { on: On::Lock { name: name.clone(), approved } });
    }

    /// A call that has waited goes to the gate once more; `lock` itself has its result in an event of its own.
    fn step_with_lock(&mut self, session: &SessionId, call: &CallId, kept: bool) {
        let step = self.sessions.get(session).and_then(|s| s.pending(call)).map(|pending| &pending.step);
        if let Some(Step::Waiting { on: On::Lock { approved, .. } }) = step
            && !kept
        {
            let approved = approved.clone();
            self.step(session, call.as_str(), Step::Locked { approved });
        }
    }

    /// A call is over. Whatever its conversation keeps was used just now.
    pub(super) fn leave_locks(&mut self, at: Time, session: &SessionId, call: Option<&CallId>) {
        let names = self.locks_of(session);
        if names.is_empty() {
            return;
        }
        if let Some(call) = call {
            self.drop_waits(&names, |waiter| waiter.session == *session && waiter.call == *call);
            self.with_leases(&names, |locks| locks.leave(session, call));
        }
        self.renew_locks(at, session);
    }

    /// The owner did something: what it keeps lapses later.
    pub(super) fn renew_locks(&mut self, at: Time, session: &SessionId) {
        let names = self.locks_of(session);
        if names.is_empty() {
            return;
        }
        let until = at.plus_ms(self.config.settings.limits.locks.lease_ms);
        self.with_leases(&names, |locks| {
            for name in &names {
                let held = locks.get(name).and_then(|lock| lock.holder.as_ref());
                if held.is_some_and(|holder| holder.session == *session) {
                    locks.renew(name, until);
                }
            }
        });
    }

    /// A conversation is over, or what was under way in it no longer counts.
    pub(super) fn end_locks(&mut self, session: &SessionId) {
        let names = self.locks_of(session);
        if names.is_empty() {
            return;
        }
        self.drop_waits(&names, |waiter| waiter.session == *session);
        self.with_leases(&names, |locks| locks.end(session));
    }

    /// The work of a conversation in its agent's workspace has ended, or rests until others have done theirs.
    pub(super) fn leave_workspace(&mut self, session: &SessionId) {
        let held = |(name, lock): (&LockName, &Lock)| {
            let is_own = lock.holder.as_ref().is_some_and(|holder| holder.session == *session);
            (is_own && is_workspace(name)).then(|| name.clone())
        };
        let name = self.locks.of(session).find_map(held);
        if let Some(name) = name {
            self.locks.free(&name);
            self.wait_lock(&name);
        }
    }

    /// Time during which nothing ran does not count.
    pub(super) fn restart_leases(&mut self, at: Time) {
        let names: Vec<LockName> = self.locks.all().map(|(name, _)| name.clone()).collect();
        let until = at.plus_ms(self.config.settings.limits.locks.lease_ms);
        self.with_leases(&names, |locks| names.iter().for_each(|name| locks.renew(name, until)));
    }

    fn locks_of(&self, session: &SessionId) -> Vec<LockName> {
        self.locks.of(session).map(|(name, _)| name.clone()).collect()
    }

    /// Changes locks, and keeps true when they lapse and who waits for whom.
    fn with_leases(&mut self, names: &[LockName], change: impl FnOnce(&mut Locks)) {
        let leases = |locks: &Locks| -> Vec<(Time, Deadline)> {
            let lease = |name: &LockName| {
                let until = locks.get(name)?.holder.as_ref()?.until?;
                Some((until, Deadline::Lease(name.clone())))
            };
            names.iter().filter_map(lease).collect()
        };
        for lease in leases(&self.locks) {
            self.schedule.deadlines.remove(&lease);
        }
        change(&mut self.locks);
        self.schedule.deadlines.extend(leases(&self.locks));
        names.iter().for_each(|name| self.wait_lock(name));
    }

    fn drop_waits(&mut self, names: &[LockName], is_over: impl Fn(&Waiter) -> bool) {
        for lock in names.iter().filter_map(|name| self.locks.get(name)) {
            for waiter in lock.queue.iter().filter(|waiter| is_over(waiter)) {
                let what = Deadline::Lock(waiter.session.clone(), waiter.call.clone());
                self.schedule.deadlines.remove(&(waiter.due, what));
            }
        }
    }
}
