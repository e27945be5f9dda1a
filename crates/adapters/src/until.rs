//! When blocking work should end: a time limit, or nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Looked at by blocking work between its steps. Clones are the same limit.
#[derive(Debug, Clone)]
pub(crate) struct Until {
    at: Instant,
    dropped: Arc<AtomicBool>,
}

impl Until {
    /// A limit of `ms` from now.
    pub(crate) fn ms(ms: u64) -> Self {
        let now = Instant::now();
        // A limit beyond what the clock can say is none: a century stands for it.
        let at =
            now.checked_add(Duration::from_millis(ms)).unwrap_or(now + Duration::from_secs(3_000_000_000));
        Self { at, dropped: Arc::default() }
    }

    /// The same, and no later than `ms` from now, nor than when half of its time is over: what follows needs the rest.
    pub(crate) fn at_most(&self, ms: u64) -> Self {
        let now = Instant::now();
        let half = self.at.saturating_duration_since(now) / 2;
        Self { at: now + half.min(Duration::from_millis(ms)), dropped: Arc::clone(&self.dropped) }
    }

    /// Whether to stop.
    pub(crate) fn is_over(&self) -> bool {
        self.dropped.load(Ordering::Relaxed) || Instant::now() >= self.at
    }

    /// Ends the work when it is dropped.
    pub(crate) fn guard(&self) -> Guard {
        Guard(Arc::clone(&self.dropped))
    }
}

/// Held by the future that waits for the work.
pub(crate) struct Guard(Arc<AtomicBool>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
