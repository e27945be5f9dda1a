//! Printing what happened into the files of the home, behind the loop.

use std::sync::Arc;

use domain::event::Event;
use domain::id::{Seq, Time};

/// An event that is in the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Its place.
    pub seq: Seq,
    /// When it was decided.
    pub at: Time,
    /// What happened.
    pub event: Event,
}

/// Prints events in order. Printing the same event again changes nothing.
pub trait Printer: Send {
    /// Takes over events that were committed. May wait for room, never for a file.
    fn print(&mut self, batch: Arc<[Recorded]>);

    /// Up to where everything stands in the files, safely.
    fn printed(&self) -> Seq;

    /// Waits until all that was taken over is printed.
    fn flush(&mut self);
}
