//! Points in time of an engine.

use std::ops::{Add, Sub};
use std::time::Duration;

/// Nanoseconds since an engine began. The engine reads no clock: its caller says what time it is, and tests have a time
/// of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The beginning.
    pub const ZERO: Time = Time(0);
    /// Later than everything.
    pub const NEVER: Time = Time(u64::MAX);

    /// From the beginning, in milliseconds.
    pub fn from_millis(millis: u64) -> Time {
        Time(millis * 1_000_000)
    }

    /// From the beginning, in microseconds.
    pub fn from_micros(micros: u64) -> Time {
        Time(micros * 1_000)
    }

    /// Microseconds since the beginning.
    pub fn micros(self) -> u64 {
        self.0 / 1_000
    }

    /// How long after `earlier` this is; zero if it is before.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Durations that are too long are as long as can be.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, later: Duration) -> Time {
        Time(self.0.saturating_add(nanos(later)))
    }
}

impl Sub<Duration> for Time {
    type Output = Time;

    fn sub(self, earlier: Duration) -> Time {
        Time(self.0.saturating_sub(nanos(earlier)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_duration_wraps() {
        let now = Time::from_millis(5);
        assert_eq!(now + Duration::MAX, Time::NEVER);
        assert_eq!(now - Duration::MAX, Time::ZERO);
        assert_eq!(now + Duration::from_secs(1 << 40), Time::NEVER);
    }
}
