//! Losses of a flow as its counters tell of them, made into loss events (RFC 5348, section 5.2).

use std::time::{Duration, Instant};

use super::Intervals;
use super::equation::loss_rate;

/// Of one flow. What is lost within a round-trip time after a loss event began is of that event.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    intervals: Intervals,
    /// When the last loss event began.
    event: Option<Instant>,
}

impl Losses {
    /// Nothing was lost so far.
    pub fn new() -> Losses {
        Losses::default()
    }

    /// Since the last call, `sent` packets were sent, which counts those that were lost. `rate`, in bytes a second, is what
    /// came until then, and `segment` bytes of a packet: they give the interval before the first loss (section 6.3.1).
    pub fn count(
        &mut self,
        now: Instant,
        sent: u64,
        lost: u64,
        rtt: Duration,
        rate: f64,
        segment: f64,
    ) {
        let same = |began| now.saturating_duration_since(began) < rtt;
        if lost == 0 || self.event.is_some_and(same) {
            return self.intervals.sent(sent);
        }
        // Where among them the first was lost is not known; that it was the middle one is wrong by half of them at most.
        self.intervals.sent(sent / 2);
        // A receiver that has got nothing yet takes what a sender begins with.
        let rate = rate.max(segment / rtt.as_secs_f64());
        self.intervals.lost(|| 1.0 / loss_rate(segment, rtt, rate));
        self.intervals.sent((sent - sent / 2).saturating_sub(1));
        self.event = Some(now);
    }

    /// Loss events a packet: 0 before the first.
    pub fn loss_event_rate(&self) -> f64 {
        self.intervals.loss_event_rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn losses_of_a_round_trip_are_one_event() {
        let begun = Instant::now();
        let mut losses = Losses::new();
        let count = |losses: &mut Losses, at: u64, lost| {
            let now = begun + Duration::from_millis(at);
            losses.count(now, 100, lost, RTT, 1e6, 1460.0);
        };
        count(&mut losses, 0, 0);
        assert_eq!(losses.loss_event_rate(), 0.0);
        // In time for which 1 MB/s is TCP's rate: one loss in so many packets.
        count(&mut losses, 50, 3);
        let first = losses.loss_event_rate();
        let expected = loss_rate(1460.0, RTT, 1e6);
        assert!((first / expected - 1.0).abs() < 1e-9, "{first} {expected}");
        count(&mut losses, 100, 30);
        count(&mut losses, 149, 7);
        assert_eq!(losses.loss_event_rate(), first);
        // 50 + 100 + 100 + 50 packets after the first.
        count(&mut losses, 150, 1);
        let second = losses.loss_event_rate();
        let expected = 2.0 / (1.0 / first + 300.0);
        assert!(
            (second / expected - 1.0).abs() < 1e-9,
            "{second} {expected}"
        );
    }

    #[test]
    fn a_loss_in_each_so_many_packets_is_that_rate() {
        let begun = Instant::now();
        let mut losses = Losses::new();
        for step in 0..20_000u64 {
            // A packet in 10 ms, every fiftieth of which is lost, 500 ms apart.
            let now = begun + Duration::from_millis(10 * step);
            losses.count(now, 1, u64::from(step % 50 == 49), RTT, 1e5, 1460.0);
        }
        let rate = losses.loss_event_rate();
        assert!((rate - 0.02).abs() < 1e-9, "{rate}");
    }
}
