//! A clock that stands still until a test moves it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use domain::id::Time;
use ports::clock::Clock;

/// Virtual time. Clones show the same time.
#[derive(Debug, Clone, Default)]
pub struct Virtual {
    now_ms: Arc<AtomicI64>,
}

impl Virtual {
    /// A clock that shows `now`.
    pub fn at(now: Time) -> Self {
        Self { now_ms: Arc::new(AtomicI64::new(now.0)) }
    }

    /// Sets the time, also back: real clocks jump.
    pub fn set(&self, now: Time) {
        self.now_ms.store(now.0, Ordering::SeqCst);
    }

    /// Moves the time on and gives the new one.
    pub fn advance(&self, ms: u64) -> Time {
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        Time(self.now_ms.fetch_add(ms, Ordering::SeqCst).saturating_add(ms))
    }
}

impl Clock for Virtual {
    fn now(&self) -> Time {
        Time(self.now_ms.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_show_the_same_time() {
        let clock = Virtual::at(Time(5));
        let other = clock.clone();
        assert_eq!(clock.advance(10), Time(15));
        assert_eq!(other.now(), Time(15));
        other.set(Time(1));
        assert_eq!(clock.now(), Time(1));
    }
}
