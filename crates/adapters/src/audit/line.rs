//! One line of the log: a JSON object, always with its fields in this order.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use super::tree::{Hash, hash};

/// The longest line that is written or read.
pub const LINE_BYTES_MAX: usize = 64 << 10;
/// What the first line has as `prev`.
pub const NO_PREV: Hash = [0; 32];

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The log itself: a journal began, a key is used.
    Log,
    /// Synod began to work in the home.
    Run,
    /// The gate decided.
    Gate,
    /// A tool call came to an end, or was begun again.
    Call,
    /// An approval was answered, lapsed or was withdrawn.
    Approval,
    /// An agent gave work to another.
    Delegation,
    /// Work was looked at, and what came of it.
    Review,
    /// The owner of the home changed how it works.
    Config,
    /// A model answered or failed.
    Model,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Log,
        Self::Run,
        Self::Gate,
        Self::Call,
        Self::Approval,
        Self::Delegation,
        Self::Review,
        Self::Config,
        Self::Model,
    ];

    /// The word in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Run => "run",
            Self::Gate => "gate",
            Self::Call => "call",
            Self::Approval => "approval",
            Self::Delegation => "delegation",
            Self::Review => "review",
            Self::Config => "config",
            Self::Model => "model",
        }
    }
}

/// One line. Texts that do not apply are empty and left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Its number, from 0: the place of its leaf in the tree.
    pub seq: u64,
    /// When it was decided.
    pub at: String,
    /// The event of the journal that it tells of.
    pub event: u64,
    /// What it is about.
    pub kind: Kind,
    /// Who did it or wanted it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// In which conversation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// For which task.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// Which call of the conversation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub call: String,
    /// Which approval.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub approval: String,
    /// The tool, or what was changed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub action: String,
    /// SHA-256 of the exact act, or of the exact settings.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub act: String,
    /// Its arguments, redacted and cut.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub args: String,
    /// Who gets the work.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub to: String,
    /// What was decided or what came of it.
    pub outcome: String,
    /// The rule that decided.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// Who decided.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// What else there is to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// SHA-256 of the bytes of the line before, without its line end.
    pub prev: String,
}

impl Line {
    /// A line of this kind; its number and `prev` come when it is written.
    pub fn new(kind: Kind, at: String, event: u64, outcome: impl Into<String>) -> Self {
        Self {
            seq: 0,
            at,
            event,
            kind,
            agent: String::new(),
            session: String::new(),
            task: String::new(),
            call: String::new(),
            approval: String::new(),
            action: String::new(),
            act: String::new(),
            args: String::new(),
            to: String::new(),
            outcome: outcome.into(),
            rule: String::new(),
            by: String::new(),
            note: String::new(),
            prev: String::new(),
        }
    }

    /// The bytes of the line at this place, without its line end.
    pub fn encode(&mut self, seq: u64, prev: &Hash) -> Vec<u8> {
        self.seq = seq;
        self.prev = HEXLOWER.encode(prev);
        // A struct of texts and numbers always has a JSON form.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads a line.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

/// A line as the chain sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The number it gives itself.
    pub seq: u64,
    /// The event it tells of.
    pub event: u64,
    /// The hash it gives the line before.
    pub prev: Hash,
    /// Its own hash.
    pub hash: Hash,
}

impl Link {
    /// The chain's view of a line; `None` if it is no line of the log.
    pub fn of(bytes: &[u8]) -> Option<(Self, Line)> {
        let line = Line::parse(bytes)?;
        let prev = unhex(&line.prev)?;
        Some((Self { seq: line.seq, event: line.event, prev, hash: hash(bytes) }, line))
    }
}

/// The hash that 64 hex digits say.
pub fn unhex(text: &str) -> Option<Hash> {
    HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok()
}
