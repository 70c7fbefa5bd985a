//! Round-trip times and the retransmission timeout (RFC 6298).

use std::time::Duration;

use crate::time::Time;

/// The timeout before there is a sample (RFC 6298, 2.1).
const FIRST: Duration = Duration::from_secs(1);
/// The same once a SYN was lost and no sample came of the handshake (RFC 6298, 5.7).
const FIRST_AFTER_LOSS: Duration = Duration::from_secs(3);
/// The timeout is not shorter. RFC 6298 says a second; with a bound on delayed acknowledgements as Linux's, which is what
/// most peers run, 200 ms are enough.
const SHORTEST: Duration = Duration::from_millis(200);
/// Nor longer.
const LONGEST: Duration = Duration::from_secs(120);
/// The smallest sample is that of this long.
const MINIMUM_WINDOW: Duration = Duration::from_secs(300);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rtt {
    /// Nanoseconds, smoothed; 0 before the first sample.
    smoothed: u64,
    variation: u64,
    minimum: u64,
    minimum_at: Time,
    backoff: u8,
    syn_lost: bool,
}

impl Rtt {
    pub fn sample(&mut self, now: Time, sample: Duration) {
        let nanos = (sample.as_nanos() as u64).max(1);
        if self.minimum == 0 || nanos <= self.minimum || now.since(self.minimum_at) > MINIMUM_WINDOW
        {
            self.minimum = nanos;
            self.minimum_at = now;
        }
        self.smooth(sample);
    }

    /// A sample by timestamps, which is not exact enough for the smallest. It ends a backoff: it is of what was sent last,
    /// even if that went out more than once (RFC 7323, 4).
    pub fn smooth(&mut self, sample: Duration) {
        let sample = (sample.as_nanos() as u64).max(1);
        if self.smoothed == 0 {
            self.smoothed = sample;
            self.variation = sample / 2;
        } else {
            let error = self.smoothed.abs_diff(sample);
            self.variation = self.variation - self.variation / 4 + error / 4;
            self.smoothed = self.smoothed - self.smoothed / 8 + sample / 8;
        }
        self.backoff = 0;
    }

    /// None before the first sample.
    pub fn smoothed(&self) -> Option<Duration> {
        (self.smoothed != 0).then(|| Duration::from_nanos(self.smoothed))
    }

    pub fn variation(&self) -> Duration {
        Duration::from_nanos(self.variation)
    }

    /// None before the first sample.
    pub fn minimum(&self) -> Option<Duration> {
        (self.minimum != 0).then(|| Duration::from_nanos(self.minimum))
    }

    /// The timeout, doubled for each time that it ran out.
    pub fn timeout(&self) -> Duration {
        let base = match self.smoothed() {
            None if self.syn_lost => FIRST_AFTER_LOSS,
            None => FIRST,
            Some(smoothed) => smoothed + (self.variation() * 4).max(SHORTEST),
        };
        (base * (1 << self.backoff.min(16))).min(LONGEST)
    }

    pub fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
    }

    /// A handshake is over in which a SYN was sent again.
    pub fn syn_was_lost(&mut self) {
        self.backoff = 0;
        self.syn_lost = true;
    }

    /// The next timeout is not doubled.
    pub fn reset_backoff(&mut self) {
        self.backoff = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_follows_rfc_6298() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.timeout(), Duration::from_secs(1));
        rtt.back_off();
        assert_eq!(rtt.timeout(), Duration::from_secs(2));
        rtt.sample(Time::ZERO, Duration::from_millis(400));
        // SRTT = R, RTTVAR = R / 2, RTO = SRTT + 4 RTTVAR.
        assert_eq!(rtt.timeout(), Duration::from_millis(1200));
        rtt.sample(Time::ZERO, Duration::from_millis(800));
        // RTTVAR = 3/4 · 200 + 1/4 · 400, SRTT = 7/8 · 400 + 1/8 · 800.
        assert_eq!(rtt.variation(), Duration::from_millis(250));
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(450)));
        for _ in 0..100 {
            rtt.sample(Time::ZERO, Duration::from_micros(20));
        }
        assert!(rtt.timeout() >= SHORTEST && rtt.timeout() < SHORTEST * 2);
    }
}
