//! What time it is.

use domain::id::Time;

/// Tells the time; virtual in simulation.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Time;
}
