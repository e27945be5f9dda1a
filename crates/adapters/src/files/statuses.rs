//! How conversations stand, in their files. A status stands at the top of a file, so telling it writes the whole file
//! anew; it can be told a moment later, when the disk has the new version, for many files at once. Nobody waits for that:
//! what was said stands in the file already, and the journal has the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use domain::id::SessionId;
use domain::layout;
use domain::state::State;

use super::cabinet::Cabinet;
use super::flush::Flusher;
use super::session_op::{SessionOp, carry_out, read_session};
use super::turned::{Due, Turned};
use crate::disk::{self, Replaced};
use crate::git::reason::Who;

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

impl Statuses {
    /// Tells the statuses that are due, if there is a lull or they have been put off for long. The new versions take
    /// their places when the disk has them.
    pub(super) fn turn(&mut self, cabinet: &mut Cabinet, flusher: &Flusher, lull: bool) {
        if !(lull || self.is_late()) {
            return;
        }
        for (session, due) in self.take() {
            let path = layout::session_file(&session);
            match turned(cabinet, session, due) {
                Ok(Some(turned)) => {
                    self.turning.insert(turned.session.clone());
                    flusher.prepare(turned);
                }
                Ok(None) => {}
                Err(error) => report_again(cabinet, &path, error),
            }
        }
    }

    /// The same at once, and waits for the disk.
    pub(super) fn turn_all(&mut self, cabinet: &mut Cabinet, flusher: &Flusher) {
        // The second time for those whose file changed meanwhile; after that, a look at the file repairs it.
        for _ in 0..2 {
            self.turn(cabinet, flusher, true);
            flusher.wait();
            self.put_turned(cabinet, flusher);
            if self.is_quiet() {
                return;
            }
        }
    }

    /// Gives new versions their places that the disk has by now.
    pub(super) fn put_turned(&mut self, cabinet: &mut Cabinet, flusher: &Flusher) {
        for Turned { session, due, old, new } in flusher.prepared() {
            self.turning.remove(&session);
            let path = layout::session_file(&session);
            match new.put(&old) {
                Ok(Replaced::Done { known, displaced }) => {
                    cabinet.known.insert(path.clone(), known);
                    cabinet.touched.insert(path.clone());
                    cabinet.keep_displaced(&path, displaced);
                    cabinet.noticed.push((path, Who::Synod));
                }
                Ok(Replaced::Changed { displaced }) => {
                    cabinet.keep_displaced(&path, displaced);
                    self.put(&session, due);
                }
                Err(error) => report_again(cabinet, &path, error),
            }
        }
    }
}

/// The new version of a session file, beside the old one; `None` if there is nothing to change.
fn turned(cabinet: &mut Cabinet, session: SessionId, due: Due) -> std::io::Result<Option<Turned>> {
    let Some(op) = due_op(&cabinet.state, &session, due.clone()) else { return Ok(None) };
    let path = layout::session_file(&session);
    let place = cabinet.home.join(&path);
    let Some(found) = disk::read(&place)? else { return Ok(None) };
    if !cabinet.known.get(&path).is_some_and(|known| known.same_content(&found.known)) {
        // A person changed it: whoever looks at it finds the status wrong too.
        cabinet.looks.again(&path);
        return Ok(None);
    }
    let Some(mut file) = read_session(&mut cabinet.reports, &path, &found.text) else { return Ok(None) };
    carry_out(&mut file, [op].iter());
    if file.text() == found.text {
        return Ok(None);
    }
    let new = disk::prepare(&place, file.text())?;
    Ok(Some(Turned { session, due, old: found.known, new }))
}

/// The edit that tells how a conversation stands.
pub(super) fn due_op(state: &State, session: &SessionId, due: Due) -> Option<SessionOp> {
    let status = state.sessions.get(session)?.status();
    Some(match due.why {
        Some(why) => SessionOp::Over(status, due.at, why),
        None => SessionOp::Status(status, due.at),
    })
}

/// A disk that refuses: a look at the file finds that its status is not the one that counts.
fn report_again(cabinet: &mut Cabinet, path: &str, error: std::io::Error) {
    cabinet.reports.note(path, Err(error));
    cabinet.looks.again(path);
}
