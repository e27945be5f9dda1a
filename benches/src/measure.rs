//! How things are measured: rounds of the thing and of its baseline take turns, and the median counts.

use std::time::{Duration, Instant};

/// One figure beside its baseline.
pub struct Measurement {
    /// What was measured.
    pub name: String,
    /// What came out.
    pub value: f64,
    /// Of the value and of the baseline.
    pub unit: Unit,
    /// What the baseline is.
    pub against: &'static str,
    /// What came out for it.
    pub baseline: f64,
    /// What the figure should be.
    pub aim: Aim,
    /// How often each was measured.
    pub rounds: usize,
}

/// What a value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    EventsPerSecond,
    Milliseconds,
    Microseconds,
    Kibibytes,
    Tokens,
    Percent,
}

impl Unit {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EventsPerSecond => "events/s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "µs",
            Self::Kibibytes => "KiB",
            Self::Tokens => "tokens",
            Self::Percent => "%",
        }
    }
}

/// What a figure should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Aim {
    /// The value is at least this.
    AtLeast(f64),
    /// The value is at most this.
    AtMost(f64),
    /// The cost is at most so many times that of the baseline.
    Times(f64),
    /// Nothing; the value explains another one.
    Nothing,
}

impl Measurement {
    /// The cost as a multiple of the baseline's: lower is better, whatever the unit.
    pub fn ratio(&self) -> Option<f64> {
        let (cost, baseline) = match self.unit {
            Unit::EventsPerSecond | Unit::Percent => (self.baseline, self.value),
            Unit::Milliseconds | Unit::Microseconds | Unit::Kibibytes | Unit::Tokens => {
                (self.value, self.baseline)
            }
        };
        (baseline > 0.0).then_some(cost / baseline)
    }

    /// Whether the aim is met, if there is one.
    pub fn met(&self) -> Option<bool> {
        match self.aim {
            Aim::AtLeast(least) => Some(self.value >= least),
            Aim::AtMost(most) => Some(self.value <= most),
            Aim::Times(most) => Some(self.ratio().is_some_and(|ratio| ratio <= most)),
            Aim::Nothing => None,
        }
    }
}

/// Times of the thing and of its baseline, in seconds.
#[derive(Default)]
pub struct Pair {
    pub thing: Vec<f64>,
    pub baseline: Vec<f64>,
}

impl Pair {
    /// Lets the two take turns; who begins changes each round, so that neither always finds a warm cache.
    pub fn take_turns(
        rounds: usize,
        mut thing: impl FnMut() -> anyhow::Result<f64>,
        mut baseline: impl FnMut() -> anyhow::Result<f64>,
    ) -> anyhow::Result<Self> {
        let mut pair = Self::default();
        for round in 0..rounds {
            if round % 2 == 0 {
                pair.thing.push(thing()?);
                pair.baseline.push(baseline()?);
            } else {
                pair.baseline.push(baseline()?);
                pair.thing.push(thing()?);
            }
        }
        Ok(pair)
    }
}

/// How long `work` takes, in seconds.
pub fn timed<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<f64> {
    let began = Instant::now();
    let value = work()?;
    let took = began.elapsed();
    drop(value);
    Ok(took.as_secs_f64())
}

/// How long the processor is at `work`, in seconds: other programs on a busy machine do not count.
pub fn timed_on_cpu<T>(work: impl FnOnce() -> T) -> f64 {
    let began = cpu_time();
    let value = work();
    let took = cpu_time() - began;
    drop(value);
    took.as_secs_f64()
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The two ranks that are shown of a latency, and how to find them.
pub const RANKS: [(&str, Rank); 2] = [("median", median), ("p99", p99)];

/// Finds one value among many.
pub type Rank = fn(&[f64]) -> f64;

/// The value that half of them do not exceed.
pub fn median(values: &[f64]) -> f64 {
    at_rank(values, 50)
}

/// The value that a quarter of them do not exceed: what a thing costs when nothing else holds it up.
pub fn lower_quartile(values: &[f64]) -> f64 {
    at_rank(values, 25)
}

/// The value that 99 of 100 do not exceed.
fn p99(values: &[f64]) -> f64 {
    at_rank(values, 99)
}

fn at_rank(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(rank).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_values_that_were_measured() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!((median(&values), p99(&values)), (50.0, 99.0));
        assert_eq!((median(&[3.0, 1.0, 2.0]), p99(&[7.0]), median(&[])), (2.0, 7.0, 0.0));
    }

    #[test]
    fn a_ratio_is_a_cost_whatever_the_unit() {
        let measured = |unit, value, baseline| Measurement {
            name: String::new(),
            value,
            unit,
            against: "",
            baseline,
            aim: Aim::Times(1.5),
            rounds: 1,
        };
        assert_eq!(measured(Unit::EventsPerSecond, 50.0, 100.0).ratio(), Some(2.0));
        assert_eq!(measured(Unit::Milliseconds, 50.0, 100.0).ratio(), Some(0.5));
        assert_eq!(measured(Unit::EventsPerSecond, 50.0, 100.0).met(), Some(false));
        assert_eq!(measured(Unit::Milliseconds, 50.0, 0.0).ratio(), None);
    }
}
