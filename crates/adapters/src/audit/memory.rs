//! What Synod remembers of its log, beside the journal: how far it is, the hashes that new lines build on, and what it is
//! about to write. A start need not read the log, a log that lost lines is told from one that never had them, and lines
//! that somebody else put behind the last are told from those that a crash kept Synod from remembering.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;

use data_encoding::HEXLOWER;
use domain::layout;
use serde::{Deserialize, Serialize};

use super::line::unhex;
use super::tree::{Hash, Tree, hash};

const FILE: &str = layout::AUDIT_MEMORY;
/// Two places, written in turn: one of them is whole whatever happens to the other.
const SLOT_BYTES: usize = 8 << 10;

/// Where the log stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// Which journal the events are of.
    pub journal: String,
    /// All events up to this one are told.
    pub event: u64,
    /// The lines so far.
    pub tree: Tree,
    /// Their bytes.
    pub bytes: u64,
    /// The hash of the last line.
    pub head: Hash,
    /// How many lines the last checkpoint has.
    pub checkpointed: u64,
    /// Whether Synod stopped in good order: then nothing follows.
    pub closed: bool,
    /// The lines that are being written, if any: only these may follow.
    pub next: Option<Next>,
}

/// Lines that are being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// The last event that they tell of.
    pub event: u64,
    /// How many bytes the log has with them.
    pub bytes: u64,
    /// The hash of the last of them.
    pub head: Hash,
}

/// The same, as it is kept: a line of JSON behind its hash.
#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    /// The larger, the newer.
    turn: u64,
    journal: String,
    event: u64,
    lines: u64,
    bytes: u64,
    head: String,
    tree: Vec<String>,
    checkpointed: u64,
    closed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<(u64, u64, String)>,
}

const VERSION: u32 = 2;

impl Memory {
    /// What is remembered, if it can be read.
    pub fn load(home: &Path) -> Option<Self> {
        newest(&std::fs::read(home.join(FILE)).ok()?)?.into_memory()
    }
}

impl Kept {
    fn of(memory: &Memory, turn: u64) -> Self {
        Self {
            version: VERSION,
            turn,
            journal: memory.journal.clone(),
            event: memory.event,
            lines: memory.tree.size(),
            bytes: memory.bytes,
            head: HEXLOWER.encode(&memory.head),
            tree: memory.tree.peaks().iter().map(|hash| HEXLOWER.encode(hash)).collect(),
            checkpointed: memory.checkpointed,
            closed: memory.closed,
            next: memory.next.map(|next| (next.event, next.bytes, HEXLOWER.encode(&next.head))),
        }
    }

    fn into_memory(self) -> Option<Memory> {
        let peaks: Option<Vec<Hash>> = self.tree.iter().map(|hash| unhex(hash)).collect();
        let next = match self.next {
            Some((event, bytes, head)) => Some(Next { event, bytes, head: unhex(&head)? }),
            None => None,
        };
        Some(Memory {
            journal: self.journal,
            event: self.event,
            tree: Tree::of(self.lines, peaks?)?,
            bytes: self.bytes,
            head: unhex(&self.head)?,
            checkpointed: self.checkpointed,
            closed: self.closed,
            next,
        })
    }
}

/// The newer of the two places, if one is whole.
fn newest(bytes: &[u8]) -> Option<Kept> {
    let read = |slot: &[u8]| -> Option<Kept> {
        let text = std::str::from_utf8(slot).ok()?.trim_end();
        let (sum, json) = text.split_once(' ')?;
        let kept: Kept = serde_json::from_str(json).ok()?;
        (unhex(sum)? == hash(json.as_bytes()) && kept.version == VERSION).then_some(kept)
    };
    bytes.chunks(SLOT_BYTES).take(2).filter_map(read).max_by_key(|kept| kept.turn)
}

/// Writes what is remembered.
#[derive(Debug)]
pub struct Keeper {
    file: File,
    turn: u64,
}

impl Keeper {
    /// For the memory of a home.
    pub fn open(home: &Path) -> std::io::Result<Self> {
        std::fs::create_dir_all(home.join(layout::OWN))?;
        let path = home.join(FILE);
        let turn = match std::fs::read(&path) {
            Ok(bytes) => newest(&bytes).map_or(0, |kept| kept.turn),
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        Ok(Self { file, turn })
    }

    /// Remembers. Not flushed to the disk: after a power cut the older place may be all there is.
    pub fn save(&mut self, memory: &Memory) -> std::io::Result<()> {
        let turn = self.turn + 1;
        let json = serde_json::to_string(&Kept::of(memory, turn))?;
        let mut slot = format!("{} {json}", HEXLOWER.encode(&hash(json.as_bytes()))).into_bytes();
        if slot.len() >= SLOT_BYTES {
            return Err(std::io::Error::other("there is more to remember than fits"));
        }
        slot.resize(SLOT_BYTES - 1, b' ');
        slot.push(b'\n');
        self.file.write_all_at(&slot, (turn % 2) * SLOT_BYTES as u64)?;
        self.turn = turn;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(event: u64) -> Memory {
        let mut tree = Tree::default();
        (0..event).for_each(|_| tree.push([7; 32]));
        let next = Some(Next { event: event + 1, bytes: 9, head: [3; 32] });
        Memory {
            journal: "a".to_owned(),
            event,
            tree,
            bytes: 5,
            head: [2; 32],
            checkpointed: 1,
            closed: false,
            next,
        }
    }

    #[test]
    fn a_torn_place_leaves_the_one_before() {
        let home = tempfile::tempdir().unwrap();
        let mut keeper = Keeper::open(home.path()).unwrap();
        assert_eq!(Memory::load(home.path()), None);
        for event in 1..=5 {
            keeper.save(&memory(event)).unwrap();
            assert_eq!(Memory::load(home.path()), Some(memory(event)));
        }
        // Whoever opens it next goes on in the other place.
        Keeper::open(home.path()).unwrap().save(&memory(6)).unwrap();
        assert_eq!(Memory::load(home.path()), Some(memory(6)));
        let good = std::fs::read(home.path().join(FILE)).unwrap();
        for at in (0..400).step_by(7) {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            std::fs::write(home.path().join(FILE), &bytes).unwrap();
            assert_eq!(Memory::load(home.path()), Some(memory(5)), "byte {at}");
        }
        std::fs::write(home.path().join(FILE), "{}").unwrap();
        assert_eq!(Memory::load(home.path()), None);
    }
}
