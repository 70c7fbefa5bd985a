//! How fast bytes are delivered (draft-cheng-iccrg-delivery-rate-estimation).

use std::time::Duration;

use crate::tcp::scoreboard::{Range, Stamp};
use crate::time::Time;

/// A sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) struct Rate {
    /// Bytes a second.
    pub rate: u64,
    /// Bytes that had been delivered when what it is from was sent.
    pub delivered_before: u64,
    /// Bytes that have been delivered.
    pub delivered: u64,
    /// The application had nothing to send: the path could do more.
    pub application_limited: bool,
}

/// What has been delivered of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp) struct Delivery {
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    /// The application had nothing to send, until so many bytes are delivered; 0 if it had.
    limited_until: u64,
    /// Of the range that was sent last of those the present acknowledgement delivered.
    latest: Option<(Stamp, Time)>,
}

impl Delivery {
    /// Bytes.
    pub fn total(&self) -> u64 {
        self.delivered
    }

    /// Something is sent: what it remembers.
    pub fn stamp(&mut self, now: Time, in_flight: u64) -> Stamp {
        if in_flight == 0 {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        Stamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            application_limited: self.limited_until > 0,
        }
    }

    /// The application has nothing to send, with so many bytes on their way.
    pub fn application_limited(&mut self, in_flight: u64) {
        self.limited_until = (self.delivered + in_flight).max(1);
    }

    /// A range was delivered.
    pub fn deliver(&mut self, now: Time, range: &Range) {
        self.delivered += range.len();
        self.delivered_at = now;
        let newer = match self.latest {
            None => true,
            Some((stamp, sent_at)) => {
                (range.stamp.delivered, range.sent_at) >= (stamp.delivered, sent_at)
            }
        };
        if newer {
            self.latest = Some((range.stamp, range.sent_at));
            self.first_sent_at = range.sent_at;
        }
    }

    /// The sample of the acknowledgement that delivered what [`deliver`](Delivery::deliver) was called with. An interval
    /// shorter than the shortest round trip is not believed.
    pub fn sample(&mut self, now: Time, minimum_rtt: Option<Duration>) -> Option<Rate> {
        let (stamp, sent_at) = self.latest.take()?;
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let sending = sent_at.since(stamp.first_sent_at);
        let acknowledging = now.since(stamp.delivered_at);
        let interval = sending.max(acknowledging);
        if interval.is_zero() || minimum_rtt.is_some_and(|minimum| interval < minimum) {
            return None;
        }
        let bytes = self.delivered - stamp.delivered;
        let rate = u128::from(bytes) * 1_000_000_000 / interval.as_nanos();
        Some(Rate {
            rate: u64::try_from(rate).unwrap_or(u64::MAX),
            delivered_before: stamp.delivered,
            delivered: self.delivered,
            application_limited: stamp.application_limited,
        })
    }
}
