//! What the home's history is told: which files changed, and why.

use domain::id::Seq;
use domain::state::State;
use ports::printer::Recorded;

use super::cabinet::Cabinet;
use crate::git::history::{self, Notes};
use crate::git::reason::{Reason, Reasons, Weight, Who};

pub(super) struct Chronicle {
    reasons: Reasons,
    /// What the history is told when all of it stands in the files.
    notes: Notes,
    /// Events that are in the journal and perhaps not in the history.
    uncommitted: Vec<Recorded>,
    /// The last of those, which are not told again when they are printed again.
    uncommitted_last: Seq,
}

impl Chronicle {
    pub(super) fn new(state: &State, uncommitted: Vec<Recorded>) -> Self {
        Self {
            reasons: Reasons::of(state),
            notes: Notes::default(),
            uncommitted_last: uncommitted.last().map_or(Seq(0), |recorded| recorded.seq),
            uncommitted,
        }
    }

    /// Takes over an event, given the state right before it.
    pub(super) fn take(&mut self, state: &State, recorded: &Recorded) {
        let reason = self.reasons.take(state, recorded);
        if recorded.seq > self.uncommitted_last {
            self.notes.reasons.extend(reason);
        }
    }

    /// Takes over the events that the history may lack.
    pub(super) fn catch_up(&mut self, state: &State) {
        for recorded in std::mem::take(&mut self.uncommitted) {
            self.notes.reasons.extend(self.reasons.take(state, &recorded));
        }
    }

    /// A file that Synod wrote elsewhere goes into the history.
    pub(super) fn keep(&mut self, seq: Seq, path: String, why: String) {
        self.notes.reasons.push(Reason {
            seq,
            at: history::now(),
            who: Who::Synod,
            weight: Weight::Step,
            text: why,
            agent: None,
            task: None,
            files: vec![path],
            lines: None,
        });
    }

    /// What stands in the files now, and why, if there is anything new.
    pub(super) fn news(&mut self, cabinet: &mut Cabinet) -> Option<Notes> {
        self.notes.read.append(&mut cabinet.noticed);
        if self.notes.through == cabinet.taken && self.notes.reasons.is_empty() && self.notes.read.is_empty()
        {
            return None;
        }
        let mut notes = std::mem::take(&mut self.notes);
        self.notes.through = cabinet.taken;
        let named =
            notes.reasons.iter().flat_map(|reason| &reason.files).chain(notes.read.iter().map(|(p, _)| p));
        let known = named.filter_map(|path| Some((path.clone(), cabinet.known.get(path)?.signature())));
        notes.known = known.collect();
        notes.through = cabinet.taken;
        notes.settings = cabinet.state.config.settings.git.clone();
        Some(notes)
    }
}
