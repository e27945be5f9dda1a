//! What one turn used of models without an answer to show for it: tries that broke off, were too late, were refused, or whose
//! answer was of no use. Somebody pays for it, so it is told, also if the turn itself is stopped.

use std::sync::{Arc, Mutex, PoisonError};

use domain::usage::Usage;
use ports::model::Progress;

/// All of one turn; clones are the same tally.
#[derive(Clone, Default)]
pub(crate) struct Tally(Arc<Mutex<Vec<(String, Progress)>>>);

impl Tally {
    /// A model is asked, by its alias. What is noted there counts until it is noted that it is nothing.
    pub(super) fn begin(&self, model: &str, of: &Progress) -> Progress {
        let progress = of.anew();
        // Each push is whole; a panic of another thread leaves nothing half done.
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((model.to_owned(), progress.clone()));
        progress
    }

    /// An answer was of no use.
    pub(super) fn add(&self, model: &str, usage: Usage) {
        self.begin(model, &Progress::default()).note(usage);
    }

    /// Whether nothing was used so far.
    pub(super) fn is_nothing(&self) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().all(|(_, progress)| progress.so_far() == Usage::default())
    }

    /// What was used, by model. It is told once.
    pub(crate) fn take(&self) -> Vec<(String, Usage)> {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let all = all.into_iter().map(|(model, progress)| (model, progress.so_far()));
        all.filter(|(_, usage)| *usage != Usage::default()).collect()
    }
}
