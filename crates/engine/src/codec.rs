//! How events and the state are written into the journal, and how older versions are read.

use domain::event::{Event, VERSION};
use domain::id::{Seq, Time};
use domain::state::State;
use ports::journal::{Entry, JournalError, Snapshot};

/// The version of snapshots. A snapshot of any other version is not read: the events are replayed instead.
pub const STATE_VERSION: u32 = 1;

/// The event as the journal stores it.
pub fn encode(seq: Seq, at: Time, event: &Event) -> Result<Entry, JournalError> {
    let body = serde_json::to_string(event)
        .map_err(|error| JournalError::Storage { doing: "encoded", reason: error.to_string() })?;
    Ok(Entry { seq, at, version: VERSION, kind: event.kind().to_owned(), body })
}

/// The event that the journal stored, of this version or an older one.
pub fn decode(entry: &Entry) -> Result<Event, JournalError> {
    if entry.version > VERSION {
        return Err(JournalError::TooNew { found: entry.version, known: VERSION });
    }
    serde_json::from_str(&entry.body)
        .map_err(|error| JournalError::Damaged { seq: entry.seq, reason: format!("{}: {error}", entry.kind) })
}

pub(crate) fn encode_state(state: &State) -> Result<Snapshot, JournalError> {
    let body = serde_json::to_string(state)
        .map_err(|error| JournalError::Storage { doing: "encoded", reason: error.to_string() })?;
    Ok(Snapshot { seq: state.seq, version: STATE_VERSION, body })
}

/// The state of a snapshot; `None` if it is of another version or does not read, so that events are replayed.
pub(crate) fn decode_state(snapshot: &Snapshot) -> Option<State> {
    if snapshot.version != STATE_VERSION {
        return None;
    }
    serde_json::from_str::<State>(&snapshot.body).ok().filter(|state| state.seq == snapshot.seq)
}
