//! Writes to files as agents asked for them. The call that is judged, shown and recorded is redacted; the file gets what the
//! agent wrote.
//!
//! Kept in memory only, so that no credential goes into the journal. After a restart the redacted call runs: what it wrote
//! already is found in the file, and anything else is refused because of its placeholders.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::id::{CallId, SessionId};
use domain::tool::{Act, Call, EditFile, Want, WriteFile};

/// So many sessions are remembered; no more have a write with a credential that waits.
const SESSIONS_MAX: usize = 1_000;

/// The writes of the last answer of each session. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Verbatim(Arc<Mutex<BTreeMap<SessionId, Vec<Written>>>>);

struct Written {
    call: CallId,
    /// The redacted arguments, which tell this call from another with the same id.
    arguments: String,
    act: Act,
}

impl Verbatim {
    /// Forgets what an earlier answer of a session asked for: its calls have results.
    pub(crate) fn begin(&self, session: &SessionId) {
        self.lock().remove(session);
    }

    /// Remembers a call as it was written, if it writes a file.
    pub(crate) fn keep(&self, session: &SessionId, call: &Call, written: Call) {
        let Want::Act(act @ (Act::WriteFile(_) | Act::EditFile(_))) = written.want else { return };
        let mut all = self.lock();
        if all.len() >= SESSIONS_MAX && !all.contains_key(session) {
            all.pop_first();
        }
        let written = Written { call: call.id.clone(), arguments: call.arguments.clone(), act };
        all.entry(session.clone()).or_default().push(written);
    }

    /// The act that a call performs, at the path that was judged.
    pub(crate) fn act(&self, session: &SessionId, id: &CallId, arguments: &str, judged: Act) -> Act {
        let all = self.lock();
        let mut of_session = all.get(session).into_iter().flatten();
        let written = of_session.find(|written| written.call == *id && written.arguments == arguments);
        match (judged, written.map(|written| &written.act)) {
            (Act::WriteFile(WriteFile { path, .. }), Some(Act::WriteFile(WriteFile { content, .. }))) => {
                Act::WriteFile(WriteFile { path, content: content.clone() })
            }
            (Act::EditFile(EditFile { path, .. }), Some(Act::EditFile(written))) => {
                Act::EditFile(EditFile { path, ..written.clone() })
            }
            (judged, _) => judged,
        }
    }

    // A panic leaves nothing half changed: a session is replaced whole, or a write added.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, Vec<Written>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &str, content: &str) -> Act {
        Act::WriteFile(WriteFile { path: path.to_owned(), content: content.to_owned() })
    }

    fn call(arguments: &str, act: Act) -> Call {
        Call { id: CallId::new("c"), arguments: arguments.to_owned(), want: Want::Act(act), seen: None }
    }

    #[test]
    fn a_write_gets_its_own_words_at_the_path_that_was_judged() {
        let (verbatim, session) = (Verbatim::default(), SessionId::new("s-000001"));
        let clean = call("clean", write("link/a", "[redacted: password]"));
        verbatim.keep(&session, &clean, call("raw", write("link/a", "hunter2")));
        let act = |session: &str, id: &str, arguments: &str| {
            let judged = write("real/a", "[redacted: password]");
            verbatim.act(&SessionId::new(session), &CallId::new(id), arguments, judged)
        };
        assert_eq!(act("s-000001", "c", "clean"), write("real/a", "hunter2"));
        assert_eq!(act("s-000001", "c", "clean"), write("real/a", "hunter2"), "also when it is tried again");
        let redacted = write("real/a", "[redacted: password]");
        assert_eq!(act("s-000001", "c", "other"), redacted, "another call with the same id");
        assert_eq!(act("s-000001", "d", "clean"), redacted);
        assert_eq!(act("s-000002", "c", "clean"), redacted);
        verbatim.begin(&session);
        assert_eq!(act("s-000001", "c", "clean"), redacted, "its turn is over");
    }

    #[test]
    fn only_writes_are_kept() {
        let (verbatim, session) = (Verbatim::default(), SessionId::new("s-000001"));
        let clean = call("clean", Act::read_file("a"));
        verbatim.keep(&session, &clean, call("raw", Act::read_file("hunter2")));
        assert_eq!(verbatim.act(&session, &clean.id, "clean", Act::read_file("a")), Act::read_file("a"));
        assert!(verbatim.lock().is_empty());
    }
}
