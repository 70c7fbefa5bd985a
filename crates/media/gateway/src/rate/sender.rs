//! The rate that a sender is allowed (RFC 5348, section 4).

use std::time::{Duration, Instant};

use super::throughput;

/// Seconds between packets at the least rate, t_mbi.
const LONGEST: f64 = 64.0;
/// What arrived is known for at least two of these, as it may be told less often than each round-trip time.
const INTERVAL: Duration = Duration::from_millis(100);
/// Of the round-trip time before, in the next mean.
const OLD_RTT: f64 = 0.9;

/// What came back of what was sent since the last time.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// The round-trip time now.
    pub rtt: Duration,
    /// Bytes a second that arrived.
    pub received: f64,
    /// Loss events a packet.
    pub loss: f64,
    /// There was less to send than was allowed.
    pub data_limited: bool,
}

/// One flow's.
#[derive(Clone, Debug)]
pub struct Sender {
    segment: f64,
    /// Bytes a second that are allowed.
    allowed: f64,
    rtt: Option<Duration>,
    /// The last loss event rate.
    loss: f64,
    /// Rates that arrived, and when that was told. Empty before the first feedback.
    received: Vec<(Instant, f64)>,
    /// When the rate was doubled last in slow start.
    doubled: Instant,
    /// When to do without feedback.
    expires: Instant,
}

impl Sender {
    /// For segments of `segment` bytes. Before the first feedback a segment a second is allowed.
    pub fn new(segment: f64, now: Instant) -> Sender {
        Sender {
            segment,
            allowed: segment,
            rtt: None,
            loss: 0.0,
            received: Vec::new(),
            doubled: now,
            expires: now + Duration::from_secs(2),
        }
    }

    /// Segments are of so many bytes.
    pub fn set_segment(&mut self, segment: f64) {
        self.segment = segment;
    }

    /// Bytes a second that may be sent now.
    pub fn allowed(&self) -> f64 {
        self.allowed
    }

    /// The loss event rate of the last feedback.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// The mean of the round-trip times.
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// When [`Sender::expire`] is due.
    pub fn expires(&self) -> Instant {
        self.expires
    }

    /// Sets the rate by what came back (section 4.3).
    pub fn feedback(&mut self, now: Instant, feedback: Feedback) {
        let rtt = match self.rtt {
            None => feedback.rtt,
            Some(rtt) => rtt.mul_f64(OLD_RTT) + feedback.rtt.mul_f64(1.0 - OLD_RTT),
        };
        let rtt = rtt.max(Duration::from_micros(1));
        let is_first = self.rtt.replace(rtt).is_none();
        let more_loss = feedback.loss > self.loss;
        self.loss = feedback.loss;
        let limit = if feedback.data_limited && more_loss {
            for (_, rate) in &mut self.received {
                *rate /= 2.0;
            }
            self.keep_highest(now, 0.85 * feedback.received);
            self.highest()
        } else if feedback.data_limited {
            self.keep_highest(now, feedback.received);
            2.0 * self.highest()
        } else {
            self.received.push((now, feedback.received));
            self.received
                .retain(|&(came, _)| now.saturating_duration_since(came) <= 2 * rtt.max(INTERVAL));
            2.0 * self.highest()
        };
        if is_first {
            self.allowed = self.initial_rate(rtt);
            self.doubled = now;
        }
        self.limit(now, rtt, limit);
        self.set_timer(now, rtt);
    }

    /// Lowers the rate as nothing came back in time (section 4.4). `idle` says that nothing was sent meanwhile.
    pub fn expire(&mut self, now: Instant, idle: bool) {
        let Some(rtt) = self.rtt else {
            if !idle {
                self.allowed = (self.allowed / 2.0).max(self.least());
            }
            self.expires = now + Duration::from_secs_f64(2.0 * self.segment / self.allowed);
            return;
        };
        let recovers = self.initial_rate(rtt);
        let highest = self.highest();
        let by_equation = throughput(self.segment, rtt, self.loss);
        let is_low = match self.loss > 0.0 {
            true => highest < recovers,
            false => self.allowed < 2.0 * recovers,
        };
        if idle && is_low {
            // A sender that has been idle may begin with this rate.
        } else if self.loss == 0.0 {
            self.allowed = (self.allowed / 2.0).max(self.least());
        } else {
            let limit = match by_equation > 2.0 * highest {
                true => highest,
                false => by_equation / 2.0,
            };
            let limit = limit.max(self.least());
            self.received = vec![(now, limit / 2.0)];
            self.limit(now, rtt, limit);
        }
        self.set_timer(now, rtt);
    }

    /// Step 4 of section 4.3.
    fn limit(&mut self, now: Instant, rtt: Duration, limit: f64) {
        if self.loss > 0.0 {
            let by_equation = throughput(self.segment, rtt, self.loss);
            self.allowed = by_equation.min(limit).max(self.least());
        } else if now.saturating_duration_since(self.doubled) >= rtt {
            self.allowed = (2.0 * self.allowed).min(limit).max(self.initial_rate(rtt));
            self.doubled = now;
        }
    }

    fn set_timer(&mut self, now: Instant, rtt: Duration) {
        let two_segments = Duration::from_secs_f64(2.0 * self.segment / self.allowed);
        self.expires = now + (4 * rtt).max(two_segments);
    }

    fn keep_highest(&mut self, now: Instant, rate: f64) {
        let highest = self.highest();
        let rate = if highest.is_finite() {
            rate.max(highest)
        } else {
            rate
        };
        self.received = vec![(now, rate)];
    }

    /// The highest rate that arrived lately, without limit before the first.
    fn highest(&self) -> f64 {
        let rates = self.received.iter().map(|&(_, rate)| rate);
        rates.reduce(f64::max).unwrap_or(f64::INFINITY)
    }

    /// The initial window of TCP a round-trip time (section 4.2).
    fn initial_rate(&self, rtt: Duration) -> f64 {
        let window = (4.0 * self.segment).min((2.0 * self.segment).max(4380.0));
        window / rtt.as_secs_f64()
    }

    fn least(&self) -> f64 {
        self.segment / LONGEST
    }
}

#[cfg(test)]
#[path = "sender/tests.rs"]
mod tests;
