//! The system's clock, read once and then counted on: a clock that somebody sets in the middle of the work must
//! not make every deadline pass at once, nor put them off by hours.

use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use domain::id::Time;
use ports::clock::Clock;
use rustix::time::{ClockId, clock_gettime};

/// Real time as it was when the process began, plus what has passed since, sleep of the machine included.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

static START: LazyLock<(i64, i64)> = LazyLock::new(|| {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (i64::try_from(wall.as_millis()).unwrap_or(i64::MAX), since_boot_ms())
});

fn since_boot_ms() -> i64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec.saturating_mul(1000).saturating_add(now.tv_nsec / 1_000_000)
}

impl Clock for SystemClock {
    fn now(&self) -> Time {
        let (wall, boot) = *START;
        Time(wall.saturating_add(since_boot_ms().saturating_sub(boot)))
    }
}
