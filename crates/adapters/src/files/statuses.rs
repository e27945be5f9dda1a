//! How conversations stand, in their files. A status stands at the top of a file, so telling it writes the whole file
//! anew; it can be told a moment later, when the disk has the new version, for many files at once. Nobody waits for that:
//! what was said stands in the file already, and the journal has the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use domain::id::{SessionId, Time};

use super::desk::Desk;
use super::sessions::{SessionOp, carry_out};
use crate::disk::{self, Known, Prepared, Replaced};
use crate::session::path_of;

/// How long nothing else must come before statuses are told.
pub(super) const LULL: Duration = Duration::from_millis(20);
/// How long they may be put off by what comes.
const LATE_MAX: Duration = Duration::from_millis(250);

/// Statuses that their files do not tell yet.
#[derive(Default)]
pub(super) struct Statuses {
    due: BTreeMap<SessionId, Due>,
    /// Those whose new version waits for the disk: there is room for one beside each file.
    turning: BTreeSet<SessionId>,
    /// Since when the oldest of them is due.
    since: Option<Instant>,
}

/// A status that is to be told.
#[derive(Debug, Clone)]
pub(super) struct Due {
    /// Since when it is so.
    pub(super) at: Time,
    /// Why the conversation is over, if it is.
    pub(super) why: Option<String>,
}

/// A new version of a session file that waits for the disk.
pub(super) struct Turned {
    session: SessionId,
    due: Due,
    old: Known,
    new: Prepared,
}

impl Turned {
    /// The file whose bytes must be durable before it takes its place.
    pub(super) fn prepared(&self) -> &Prepared {
        &self.new
    }
}

impl Statuses {
    /// Whether nothing is to be told, now or when the disk is ready.
    pub(super) fn is_quiet(&self) -> bool {
        self.due.is_empty() && self.turning.is_empty()
    }

    /// The status of a conversation changed; what is due at the latest time counts.
    pub(super) fn put(&mut self, session: &SessionId, due: Due) {
        match self.due.get_mut(session) {
            Some(known) if known.at > due.at => {}
            Some(known) => *known = due,
            None => _ = self.due.insert(session.clone(), due),
        }
        self.since.get_or_insert_with(Instant::now);
    }

    /// The file is written anyway, with its status.
    pub(super) fn forget(&mut self, session: &SessionId) -> Option<Due> {
        self.due.remove(session)
    }

    fn is_late(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= LATE_MAX)
    }

    fn take(&mut self) -> Vec<(SessionId, Due)> {
        let turning = &self.turning;
        let ready = self.due.extract_if(.., |session, _| !turning.contains(session)).collect();
        self.since = (!self.due.is_empty()).then(Instant::now);
        ready
    }
}

impl Desk {
    /// Tells the statuses that are due, if there is a lull or they have been put off for long. The new versions take
    /// their places when the disk has them.
    pub(super) fn turn_statuses(&mut self, lull: bool) {
        if !(lull || self.statuses.is_late()) {
            return;
        }
        for (session, due) in self.statuses.take() {
            let path = path_of(&session);
            match self.turned(session, due) {
                Ok(Some(turned)) => {
                    self.statuses.turning.insert(turned.session.clone());
                    self.flusher.prepare(turned);
                }
                Ok(None) => {}
                Err(error) => self.tell_again(&path, error),
            }
        }
    }

    /// The same at once, and waits for the disk.
    pub(super) fn turn_all_statuses(&mut self) {
        // The second time for those whose file changed meanwhile; after that, a look at the file repairs it.
        for _ in 0..2 {
            self.turn_statuses(true);
            self.flusher.wait();
            self.put_turned();
            if self.statuses.is_quiet() {
                return;
            }
        }
    }

    /// The new version of a session file, beside the old one; `None` if there is nothing to change.
    fn turned(&mut self, session: SessionId, due: Due) -> std::io::Result<Option<Turned>> {
        let Some(op) = self.due_op(&session, due.clone()) else { return Ok(None) };
        let path = path_of(&session);
        let place = self.home.join(&path);
        let Some(found) = disk::read(&place)? else { return Ok(None) };
        if !self.known.get(&path).is_some_and(|known| known.same_content(&found.known)) {
            // A person changed it: whoever looks at it finds the status wrong too.
            self.look_again(&path);
            return Ok(None);
        }
        let Some(mut file) = self.read_session(&path, &found.text) else { return Ok(None) };
        carry_out(&mut file, [op].iter());
        if file.text() == found.text {
            return Ok(None);
        }
        let new = disk::prepare(&place, file.text())?;
        Ok(Some(Turned { session, due, old: found.known, new }))
    }

    /// The edit that tells how a conversation stands.
    pub(super) fn due_op(&self, session: &SessionId, due: Due) -> Option<SessionOp> {
        let status = self.state.sessions.get(session)?.status();
        Some(match due.why {
            Some(why) => SessionOp::Over(status, due.at, why),
            None => SessionOp::Status(status, due.at),
        })
    }

    /// Gives new versions their places that the disk has by now.
    pub(super) fn put_turned(&mut self) {
        for Turned { session, due, old, new } in self.flusher.prepared() {
            self.statuses.turning.remove(&session);
            let path = path_of(&session);
            match new.put(&old) {
                Ok(Replaced::Done { known, displaced }) => {
                    self.known.insert(path.clone(), known);
                    self.touched.insert(path.clone());
                    self.keep_displaced(&path, displaced);
                    self.told_status(path);
                }
                Ok(Replaced::Changed { displaced }) => {
                    self.keep_displaced(&path, displaced);
                    self.statuses.put(&session, due);
                }
                Err(error) => self.tell_again(&path, error),
            }
        }
    }

    /// A disk that refuses: a look at the file finds that its status is not the one that counts.
    fn tell_again(&mut self, path: &str, error: std::io::Error) {
        self.note(path, Err(error));
        self.look_again(path);
    }
}
