//! One cycle: decide, record, apply, commit, and only then hand out effects. Synchronous and without a clock,
//! so that simulation drives the very same code.

use std::ops::Range;
use std::sync::Arc;

use domain::effect::Effect;
use domain::id::{Seq, Time};
use domain::input::Input;
use domain::state::State;
use domain::{Refused, play, react};
use ports::journal::{Entry, Journal, JournalError, Snapshot};
use ports::printer::Recorded;

use crate::codec;

/// How many events are read at once on recovery.
const READ_MAX: usize = 4096;
/// A snapshot is due after so many events, if the state is small.
const SNAPSHOT_EVERY: u64 = 10_000;
/// If it is large, one event more for so many bytes of the last snapshot: whoever writes much writes seldom, so that an event
/// costs the same in an old home and a new one. A start reads the snapshot and at most so many events.
const SNAPSHOT_BYTES_PER_EVENT: u64 = 1024;

/// The state of a home and its journal, always in step.
pub struct Engine {
    state: State,
    journal: Box<dyn Journal>,
    snapshot_at: Seq,
    snapshot_bytes: u64,
    /// Whether steps that need nothing from outside are taken: from `Input::Started` until the engine winds down.
    live: bool,
    /// Set when a commit failed: the state is ahead of the journal and must not be used.
    broken: bool,
}

/// What one cycle did.
pub struct Cycle {
    /// The events, durable now.
    pub recorded: Arc<[Recorded]>,
    /// What to carry out.
    pub effects: Vec<Effect>,
    /// For each input, the place among them of what it made itself, or why it was not accepted.
    pub answers: Vec<Result<Range<usize>, Refused>>,
}

/// The engine does not go on.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    /// The journal failed; nothing of the cycle counts.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// It failed before.
    #[error("the journal failed earlier; start again")]
    Broken,
    /// Whoever runs it has no right to the home any more.
    #[error("the home was left as it is")]
    Abandoned,
}

impl Stopped {
    /// Whether the home is no longer ours, so that nothing more may be written into it.
    pub fn is_loss(&self) -> bool {
        match self {
            Self::Journal(JournalError::Lost { .. }) | Self::Abandoned => true,
            Self::Journal(_) | Self::Broken => false,
        }
    }
}

impl Engine {
    /// Rebuilds the state: the snapshot, then the events after it.
    pub fn open(mut journal: Box<dyn Journal>) -> Result<Self, JournalError> {
        let snapshot = journal.snapshot()?;
        let found = snapshot.as_ref().and_then(|kept| Some((codec::decode_state(kept)?, bytes(kept))));
        let (mut state, snapshot_bytes) = found.unwrap_or_else(|| (State::new(), 0));
        drop(snapshot);
        if state.seq > journal.last() {
            return Err(JournalError::Damaged {
                seq: journal.last(),
                reason: format!("the snapshot is of event {}, which the journal does not have", state.seq),
            });
        }
        let snapshot_at = state.seq;
        loop {
            let entries = journal.read(state.seq, READ_MAX)?;
            for entry in &entries {
                state.apply(entry.at, &codec::decode(entry)?);
            }
            if entries.len() < READ_MAX {
                break;
            }
        }
        Ok(Self { state, journal, snapshot_at, snapshot_bytes, live: false, broken: false })
    }

    /// What is so.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Decides all inputs in order, commits once, and only then tells what to do. Before `Input::Started`, an
    /// input only leaves its mark: whoever has no hands must not begin what only hands can finish.
    pub fn cycle(&mut self, at: Time, inputs: &[Input]) -> Result<Cycle, Stopped> {
        if self.broken {
            return Err(Stopped::Broken);
        }
        let mut batch = Batch::default();
        let mut answers = Vec::with_capacity(inputs.len());
        if self.live {
            while self.state.next_deadline().is_some_and(|due| due <= at) {
                let before = self.state.seq;
                _ = play(&mut self.state, at, &Input::Ticked, true, &mut |state, event| {
                    batch.take(state, at, event)
                });
                if self.state.seq == before {
                    break;
                }
            }
        }
        for input in inputs {
            self.live |= *input == Input::Started;
            let first = batch.recorded.len();
            let played =
                play(&mut self.state, at, input, self.live, &mut |state, event| batch.take(state, at, event));
            answers.push(played.map(|own| first..first + own));
        }
        if inputs.is_empty() && self.has_more() {
            _ = play(&mut self.state, at, &Input::Proceed, true, &mut |state, event| {
                batch.take(state, at, event)
            });
        }
        if let Some(error) = batch.error {
            self.broken = true;
            return Err(error.into());
        }
        if !batch.entries.is_empty()
            && let Err(error) = self.journal.append(&batch.entries)
        {
            self.broken = true;
            return Err(error.into());
        }
        Ok(Cycle { recorded: batch.recorded.into(), effects: batch.effects, answers })
    }

    /// When something is due next; nothing is before the start, because nothing is done about it.
    pub fn next_deadline(&self) -> Option<Time> {
        self.state.next_deadline().filter(|_| self.live)
    }

    /// Whether steps are left that need nothing from outside: the last cycle came to its bound.
    pub fn has_more(&self) -> bool {
        self.live && !self.state.is_settled()
    }

    /// Begins nothing new from here on; outcomes are still taken.
    pub fn wind_down(&mut self) {
        self.live = false;
    }

    /// Whether enough has happened since the last snapshot.
    pub fn snapshot_is_due(&self) -> bool {
        let every = SNAPSHOT_EVERY.max(self.snapshot_bytes / SNAPSHOT_BYTES_PER_EVENT);
        self.state.seq.0 >= self.snapshot_at.0 + every
    }

    /// Keeps a snapshot of the state.
    pub fn save_snapshot(&mut self) -> Result<(), Stopped> {
        if self.broken {
            return Err(Stopped::Broken);
        }
        if self.state.seq == self.snapshot_at {
            return Ok(());
        }
        let snapshot = codec::encode_state(&self.state)?;
        self.journal.save_snapshot(&snapshot)?;
        (self.snapshot_at, self.snapshot_bytes) = (self.state.seq, bytes(&snapshot));
        Ok(())
    }

    /// Notes how far the files are printed.
    pub fn set_printed(&mut self, seq: Seq) -> Result<(), Stopped> {
        Ok(self.journal.set_printed(seq)?)
    }

    /// How far the files are printed.
    pub fn printed(&mut self) -> Result<Seq, Stopped> {
        Ok(self.journal.printed()?)
    }

    /// Events after `after` that are in the journal, at most a bounded number.
    pub fn events_after(&mut self, after: Seq) -> Result<Arc<[Recorded]>, Stopped> {
        let entries = self.journal.read(after, READ_MAX)?;
        let recorded: Result<Vec<Recorded>, JournalError> = entries
            .iter()
            .map(|entry| Ok(Recorded { seq: entry.seq, at: entry.at, event: codec::decode(entry)? }))
            .collect();
        Ok(recorded?.into())
    }
}

fn bytes(snapshot: &Snapshot) -> u64 {
    snapshot.body.len() as u64
}

/// What a cycle collects before it commits.
#[derive(Default)]
struct Batch {
    entries: Vec<Entry>,
    recorded: Vec<Recorded>,
    effects: Vec<Effect>,
    error: Option<JournalError>,
}

impl Batch {
    fn take(&mut self, state: &State, at: Time, event: domain::event::Event) {
        match codec::encode(state.seq, at, &event) {
            Ok(entry) => self.entries.push(entry),
            Err(error) => self.error = Some(error),
        }
        self.effects.extend(react(state, &event));
        self.recorded.push(Recorded { seq: state.seq, at, event });
    }
}
