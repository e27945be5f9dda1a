//! Paper: a printer that keeps what it was given.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::event::Event;
use domain::id::Seq;
use ports::printer::{Printer, Recorded};

/// Keeps every event once. Clones are handles on the same sheet.
#[derive(Clone, Default)]
pub struct Paper {
    inner: Arc<Mutex<Vec<Recorded>>>,
}

impl Paper {
    /// All events, in order.
    pub fn events(&self) -> Vec<Event> {
        self.lock().iter().map(|recorded| recorded.event.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Recorded>> {
        // A test that panicked elsewhere still wants to read.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Printer for Paper {
    fn print(&mut self, batch: Arc<[Recorded]>) {
        let mut sheet = self.lock();
        for recorded in batch.iter() {
            if sheet.last().is_none_or(|last| last.seq < recorded.seq) {
                sheet.push(recorded.clone());
            }
        }
    }

    fn printed(&self) -> Seq {
        self.lock().last().map_or(Seq(0), |last| last.seq)
    }

    fn flush(&mut self) {}
}
