//! Where events are kept. The port deals in encoded events: what they mean is the engine's business.

use domain::id::{Seq, Time};

/// One event as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its place; each entry follows the one before by 1.
    pub seq: Seq,
    /// When it was decided.
    pub at: Time,
    /// The version of the encoding.
    pub version: u32,
    /// The event's name, for people who look into the database.
    pub kind: String,
    /// The encoded event.
    pub body: String,
}

/// The whole state at one place of the journal, so that not everything need be replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The last event in it.
    pub seq: Seq,
    /// The version of the encoding.
    pub version: u32,
    /// The encoded state.
    pub body: String,
}

/// Why the journal could not do as asked. After any of these on `append`, nothing of the batch counts and
/// the engine stops: acting on what was not kept is worse than not acting.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The disk or the database refused.
    #[error("the journal cannot be {doing}: {reason}")]
    Storage {
        /// What was tried: `read`, `written`, `opened`.
        doing: &'static str,
        /// In the words of the system.
        reason: String,
    },
    /// A stored event is not what was written.
    #[error("event {seq} of the journal is damaged: {reason}")]
    Damaged {
        /// Which.
        seq: Seq,
        /// What does not fit.
        reason: String,
    },
    /// Somebody deleted or replaced it, or the home around it, under the one who writes it.
    #[error("{path} was deleted or replaced while synod worked here")]
    Lost {
        /// What.
        path: String,
    },
    /// The batch does not follow what is stored.
    #[error("event {given} does not follow event {last}")]
    Gap {
        /// The last one stored.
        last: Seq,
        /// The first one given.
        given: Seq,
    },
    /// A newer version of Synod wrote it.
    #[error("the journal has format {found}, this version of synod reads up to {known}")]
    TooNew {
        /// What is there.
        found: u32,
        /// What can be read.
        known: u32,
    },
}

/// An append-only log with snapshots. One writer per home.
pub trait Journal: Send {
    /// Adds all of `batch` durably, or nothing of it. Returns only when a crash can no longer lose it.
    fn append(&mut self, batch: &[Entry]) -> Result<(), JournalError>;

    /// The last event's place; `Seq(0)` if there is none.
    fn last(&self) -> Seq;

    /// Gives the events after `after` in order, at most `limit` of them. Each is checked against what was written.
    fn read(&mut self, after: Seq, limit: usize) -> Result<Vec<Entry>, JournalError>;

    /// The newest snapshot.
    fn snapshot(&mut self) -> Result<Option<Snapshot>, JournalError>;

    /// Keeps a snapshot and forgets older ones.
    fn save_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), JournalError>;

    /// Up to where the events were printed into files.
    fn printed(&mut self) -> Result<Seq, JournalError>;

    /// Notes that all events up to `seq` stand in the files. Need not be durable at once.
    fn set_printed(&mut self, seq: Seq) -> Result<(), JournalError>;
}
