//! Locks: who may change a thing that several want, and who is next. A state machine over names; time and numbers come in.
//!
//! An owner is a conversation. It keeps a lock that it asked for (`kept`) until it gives it back, ends or lets its lease
//! run out; a tool call takes the lock of what it changes by itself and has it only while it runs. That of a workspace
//! (`workspace`) is taken by a call and kept by its conversation.

pub mod workspace;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use strum::IntoStaticStr;

use serde::{Deserialize, Serialize};

use crate::words::id::{CallId, LockName, SessionId, Time};
use crate::words::table::Table;
use policy::{hidden_character, path};
use workspace::is_workspace;

/// The longest name of a lock.
pub const NAME_CHARS_MAX: usize = 200;
/// The names of locks on files begin so; the rest is a path relative to the home.
pub const FILE: &str = "file:";
/// The names of locks on repositories begin so.
pub const REPOSITORY: &str = "git:";

/// The end of a wait that has none.
pub const NEVER: Time = Time(i64::MAX);

/// A lock that was given, by the number that tells it from every other grant of its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Of what.
    pub name: LockName,
    /// Larger than that of every grant before it.
    pub fence: u64,
}

/// All locks of a home. Invariants: a lock stands here only while somebody holds it or waits for it; `by_owner` names for
/// each conversation exactly the locks that it holds or waits for, `ready` those that somebody can be given now.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Locks {
    by_name: BTreeMap<LockName, Lock>,
    by_owner: Table<SessionId, BTreeSet<LockName>>,
    ready: BTreeSet<LockName>,
    /// Whose work was the last in each workspace.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    last: BTreeMap<LockName, SessionId>,
    /// The last number that was given.
    fence: u64,
}

/// One lock.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Lock {
    /// Who has it.
    pub holder: Option<Holder>,
    /// Who waits for it, first come, first served.
    pub queue: VecDeque<Waiter>,
}

/// Who has a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The conversation.
    pub session: SessionId,
    /// The number of the grant.
    pub fence: u64,
    /// Since when.
    pub since: Time,
    /// How often it took the lock and did not give it back; 0: only for the call.
    pub kept: u32,
    /// The tool call that has it while it runs.
    pub call: Option<CallId>,
    /// When it lapses unless it is used; never while a call has it, and never a workspace.
    pub until: Option<Time>,
    /// Of a workspace: whose work was there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<SessionId>,
}

/// Who waits for a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiter {
    /// The conversation.
    pub session: SessionId,
    /// Its call.
    pub call: CallId,
    /// Whether it is to be kept beyond the call.
    pub kept: bool,
    /// Since when.
    pub since: Time,
    /// Until when; `NEVER` if as long as it takes.
    pub due: Time,
}

/// Why a lock is free again, beside its owner's end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Freed {
    /// Its owner gave it back, once; who took it more often still has it.
    Unlocked,
    /// Its owner did not use it for too long.
    Lapsed,
    /// A person took it away.
    Person {
        /// Who.
        by: String,
    },
}

impl Locks {
    /// Whether there is nothing to remember.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// A lock that is held or waited for.
    pub fn get(&self, name: &LockName) -> Option<&Lock> {
        self.by_name.get(name)
    }

    /// All of them, by name.
    pub fn all(&self) -> impl Iterator<Item = (&LockName, &Lock)> {
        self.by_name.iter()
    }

    /// The locks that a conversation holds or waits for.
    pub fn of<'a>(&'a self, session: &SessionId) -> impl Iterator<Item = (&'a LockName, &'a Lock)> {
        self.by_owner.get(session).into_iter().flatten().filter_map(|name| self.by_name.get_key_value(name))
    }

    /// The grants that a call has.
    pub fn of_call(&self, session: &SessionId, call: &CallId) -> Vec<Grant> {
        let has = |lock: &Lock| lock.holder.as_ref().filter(|holder| holder.is_for(session, call)).cloned();
        let held = self.of(session).filter_map(|(name, lock)| Some((name, has(lock)?)));
        held.map(|(name, holder)| Grant { name: name.clone(), fence: holder.fence }).collect()
    }

    /// The number of a grant that is made now. It also outgrows those of a journal that was lost, because time went on.
    pub fn next_fence(&self, at: Time) -> u64 {
        self.fence.saturating_add(1).max(u64::try_from(at.0).unwrap_or(0))
    }

    /// The number with which `session` can have the lock at once, if it can: nobody has it or waits for it, or it is its own.
    /// Two calls of one conversation do not have it at the same time.
    pub fn free_for(&self, name: &LockName, session: &SessionId, kept: bool, at: Time) -> Option<u64> {
        let Some(lock) = self.by_name.get(name) else { return Some(self.next_fence(at)) };
        match &lock.holder {
            None => lock.queue.is_empty().then(|| self.next_fence(at)),
            Some(holder) if holder.session == *session => {
                let may = if kept { holder.kept > 0 || lock.queue.is_empty() } else { holder.call.is_none() };
                may.then_some(holder.fence)
            }
            Some(_) => None,
        }
    }

    /// Who is to be given a lock now.
    pub fn next(&self) -> Option<(&LockName, &Waiter)> {
        let name = self.ready.first()?;
        let lock = self.by_name.get(name)?;
        lock.next().map(|index| (name, &lock.queue[index]))
    }

    /// Whether somebody waits whose wait ends by itself, since it has a limit.
    pub fn is_waited_for(&self) -> bool {
        self.by_name.values().flat_map(|lock| &lock.queue).any(|waiter| waiter.due != NEVER)
    }

    /// Whether nobody can be given a lock now.
    pub fn is_settled(&self) -> bool {
        self.ready.is_empty()
    }

    /// Puts a call at the end of the queue.
    pub(crate) fn wait(&mut self, name: &LockName, waiter: Waiter) {
        self.by_owner.or_default(&waiter.session).insert(name.clone());
        self.by_name.entry(name.clone()).or_default().queue.push_back(waiter);
        self.refresh(name);
    }

    /// Gives a lock to a call, which no longer waits for it. Gives back when that wait would have ended.
    pub(crate) fn grant(
        &mut self,
        grant: &Grant,
        (session, call): (&SessionId, &CallId),
        kept: bool,
        (at, lease_ms): (Time, u64),
    ) -> Option<Time> {
        self.fence = self.fence.max(grant.fence);
        let lock = self.by_name.entry(grant.name.clone()).or_default();
        let place = lock.queue.iter().position(|w| w.session == *session && w.call == *call);
        let due = place.and_then(|place| lock.queue.remove(place)).map(|waiter| waiter.due);
        let last = self.last.get(&grant.name).filter(|last| *last != session).cloned();
        let holder = lock.holder.get_or_insert_with(|| Holder {
            session: session.clone(),
            fence: grant.fence,
            since: at,
            kept: 0,
            call: None,
            until: None,
            after: last,
        });
        let is_workspace = is_workspace(&grant.name);
        if is_workspace {
            // However many calls of its conversation waited for it: it is one hold.
            holder.kept = 1;
            self.last.insert(grant.name.clone(), session.clone());
        } else if kept {
            holder.kept = holder.kept.saturating_add(1);
        } else {
            holder.call = Some(call.clone());
        }
        holder.until = (holder.call.is_none() && !is_workspace).then(|| at.plus_ms(lease_ms));
        self.by_owner.or_default(session).insert(grant.name.clone());
        self.refresh(&grant.name);
        due
    }

    /// The lease of a holder begins anew, unless a call has the lock.
    pub(crate) fn renew(&mut self, name: &LockName, until: Time) {
        if let Some(holder) = self.by_name.get_mut(name).and_then(|lock| lock.holder.as_mut()) {
            holder.until = (holder.call.is_none() && !is_workspace(name)).then_some(until);
        }
    }

    /// Its owner gives a lock back, once.
    pub(crate) fn unlock(&mut self, name: &LockName) {
        let Some(lock) = self.by_name.get_mut(name) else { return };
        if let Some(holder) = &mut lock.holder {
            holder.kept = holder.kept.saturating_sub(1);
            if holder.kept == 0 && holder.call.is_none() {
                self.free(name);
            }
        }
    }

    /// Nobody has the lock any longer.
    pub(crate) fn free(&mut self, name: &LockName) {
        let Some(lock) = self.by_name.get_mut(name) else { return };
        let Some(holder) = lock.holder.take() else { return };
        self.forget(name, &holder.session);
        self.refresh(name);
    }

    /// A call is over: what it had is free unless its conversation keeps it, and it waits for nothing.
    pub(crate) fn leave(&mut self, session: &SessionId, call: &CallId) {
        let names: Vec<LockName> = self.of(session).map(|(name, _)| name.clone()).collect();
        for name in names {
            let Some(lock) = self.by_name.get_mut(&name) else { continue };
            lock.queue.retain(|waiter| !(waiter.session == *session && waiter.call == *call));
            if let Some(holder) = lock.holder.as_mut().filter(|holder| holder.is_for(session, call)) {
                holder.call = None;
                if holder.kept == 0 {
                    lock.holder = None;
                }
            }
            self.forget(&name, session);
            self.refresh(&name);
        }
    }

    /// A conversation is over: it holds nothing and waits for nothing.
    pub(crate) fn end(&mut self, session: &SessionId) {
        for name in self.by_owner.remove(session).unwrap_or_default() {
            let Some(lock) = self.by_name.get_mut(&name) else { continue };
            lock.queue.retain(|waiter| waiter.session != *session);
            if lock.holder.as_ref().is_some_and(|holder| holder.session == *session) {
                lock.holder = None;
            }
            self.refresh(&name);
        }
    }

    /// Keeps `by_owner` true after `session` lost something of the lock.
    fn forget(&mut self, name: &LockName, session: &SessionId) {
        if self.by_name.get(name).is_some_and(|lock| lock.concerns(session)) {
            return;
        }
        if let Some(names) = self.by_owner.get_mut(session) {
            names.remove(name);
            if names.is_empty() {
                self.by_owner.remove(session);
            }
        }
    }

    /// Keeps `ready` true, and drops a lock that concerns nobody.
    fn refresh(&mut self, name: &LockName) {
        let Some(lock) = self.by_name.get(name) else { return };
        if lock.next().is_some() {
            self.ready.insert(name.clone());
        } else {
            self.ready.remove(name);
        }
        if lock.holder.is_none() && lock.queue.is_empty() {
            self.by_name.remove(name);
        }
    }
}

impl Lock {
    /// The place in the queue of who can be given the lock now: the first if nobody has it, else a call of who has it.
    fn next(&self) -> Option<usize> {
        match &self.holder {
            None => (!self.queue.is_empty()).then_some(0),
            Some(holder) if holder.kept > 0 => self
                .queue
                .iter()
                .position(|w| w.session == holder.session && (w.kept || holder.call.is_none())),
            Some(_) => None,
        }
    }

    fn concerns(&self, session: &SessionId) -> bool {
        self.holder.as_ref().is_some_and(|holder| holder.session == *session)
            || self.queue.iter().any(|waiter| waiter.session == *session)
    }
}

impl Holder {
    fn is_for(&self, session: &SessionId, call: &CallId) -> bool {
        self.session == *session && self.call.as_ref() == Some(call)
    }
}

/// Why a text is no name of a lock, for who asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// Nothing was given.
    #[error("a lock needs a name, such as deploy or file:memory/notes.md")]
    Empty,
    /// So many characters.
    #[error("the name of a lock has at most {NAME_CHARS_MAX} characters, this one has {0}")]
    TooLong(usize),
    /// Some of them cannot be seen, or end the line.
    #[error("{0:?} has characters that names of locks do not have")]
    Characters(String),
    /// It leads out of the home.
    #[error("{0:?} is no path beneath the home, such as memory/notes.md")]
    Path(String),
}

/// The name of a lock in its plain form: the same thing has the same name.
pub fn name(text: &str) -> Result<LockName, BadName> {
    let text = text.trim();
    if text.is_empty() {
        return Err(BadName::Empty);
    }
    let length = text.chars().count();
    if length > NAME_CHARS_MAX {
        return Err(BadName::TooLong(length));
    }
    if hidden_character(text).is_some() || text.contains(['\n', '\t']) {
        return Err(BadName::Characters(text.to_owned()));
    }
    match text.strip_prefix(FILE) {
        Some(path) => of_path(path).ok_or_else(|| BadName::Path(path.to_owned())),
        None => Ok(LockName::new(text)),
    }
}

/// The name of the lock on a file; `None` if the path leads out of the home.
pub(crate) fn of_path(path: &str) -> Option<LockName> {
    plain(path).map(|path| LockName::new(format!("{FILE}{path}")))
}

/// A path in its plain form, as the least careful file system compares it; `None` for the home itself.
pub(crate) fn plain(path: &str) -> Option<String> {
    path::normal(path).filter(|path| !path.is_empty()).map(|path| path::folded(&path))
}

/// What happens to a lock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", prefix = "lock_")]
pub enum Event {
    /// A call waits for a lock.
    Awaited {
        /// Which.
        name: LockName,
        /// In this conversation.
        session: SessionId,
        /// Which call.
        call: CallId,
        /// Whether it is to be kept beyond the call.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        kept: bool,
        /// How long.
        due: Time,
    },
    /// A call has a lock. What ends the call or its conversation also frees it.
    Granted {
        /// Which, with its number.
        grant: Grant,
        /// In this conversation.
        session: SessionId,
        /// Which call.
        call: CallId,
        /// Whether the conversation keeps it beyond the call.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        kept: bool,
    },
    /// A lock was given back or taken away.
    Freed {
        /// Which.
        name: LockName,
        /// Who had it.
        session: SessionId,
        /// How.
        why: Freed,
    },
}

#[cfg(test)]
mod tests;
