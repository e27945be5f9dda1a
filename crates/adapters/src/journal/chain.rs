//! Checksums. They find damage, not forgery: whoever can write the file can also compute them.

use crc32fast::Hasher;
use ports::journal::{Entry, Snapshot};

/// The checksum of an entry that follows one with the checksum `before`; 0 stands before the first.
pub(super) fn link(before: u32, entry: &Entry) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&before.to_le_bytes());
    hasher.update(&entry.seq.0.to_le_bytes());
    hasher.update(&entry.at.0.to_le_bytes());
    hasher.update(&entry.version.to_le_bytes());
    // With its length in front, a byte cannot move from one text to the next unnoticed.
    hasher.update(&(entry.kind.len() as u64).to_le_bytes());
    hasher.update(entry.kind.as_bytes());
    hasher.update(entry.body.as_bytes());
    hasher.finalize()
}

/// The checksum of a snapshot.
pub(super) fn seal(snapshot: &Snapshot) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&snapshot.seq.0.to_le_bytes());
    hasher.update(&snapshot.version.to_le_bytes());
    hasher.update(snapshot.body.as_bytes());
    hasher.finalize()
}
