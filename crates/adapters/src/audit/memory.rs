//! What Synod remembers of its log, beside the journal: how far it is, and the hashes that new lines build on. A start
//! need not read the log, and a log that lost lines is told from one that never had them.

use std::path::Path;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use super::line::unhex;
use super::tree::{Hash, Tree};

const FILE: &str = ".synod/audit.json";
const ASIDE: &str = ".synod/audit.json.new";

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
}

/// The same, as it is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    journal: String,
    event: u64,
    lines: u64,
    bytes: u64,
    head: String,
    tree: Vec<String>,
    checkpointed: u64,
    closed: bool,
}

const VERSION: u32 = 1;

impl Memory {
    /// What is remembered, if it can be read.
    pub fn load(home: &Path) -> Option<Self> {
        let kept: Kept = serde_json::from_str(&std::fs::read_to_string(home.join(FILE)).ok()?).ok()?;
        let peaks: Option<Vec<Hash>> = kept.tree.iter().map(|hash| unhex(hash)).collect();
        (kept.version == VERSION).then_some(Self {
            journal: kept.journal,
            event: kept.event,
            tree: Tree::of(kept.lines, peaks?)?,
            bytes: kept.bytes,
            head: unhex(&kept.head)?,
            checkpointed: kept.checkpointed,
            closed: kept.closed,
        })
    }

    /// Remembers. Not flushed to the disk: after a power cut the log is read once, and nothing is lost.
    pub fn save(&self, home: &Path) -> std::io::Result<()> {
        let kept = Kept {
            version: VERSION,
            journal: self.journal.clone(),
            event: self.event,
            lines: self.tree.size(),
            bytes: self.bytes,
            head: HEXLOWER.encode(&self.head),
            tree: self.tree.peaks().iter().map(|hash| HEXLOWER.encode(hash)).collect(),
            checkpointed: self.checkpointed,
            closed: self.closed,
        };
        std::fs::create_dir_all(home.join(".synod"))?;
        std::fs::write(home.join(ASIDE), serde_json::to_vec(&kept)?)?;
        std::fs::rename(home.join(ASIDE), home.join(FILE))
    }
}
