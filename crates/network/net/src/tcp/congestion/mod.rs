//! Congestion control: how much may be on its way, and how fast it goes out.
//!
//! An algorithm is a file here that implements `Control`, a variant of [`Algorithm`], and a row of its table.

mod bbr;
mod cubic;
mod filter;
mod rate;

use std::fmt::Debug;
use std::time::Duration;

use crate::time::Time;

pub(super) use rate::{Delivery, Rate};

use bbr::Bbr;
use cubic::Cubic;

/// The algorithms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// CUBIC (RFC 9438) with HyStart++ (RFC 9406).
    #[default]
    Cubic,
    /// BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00).
    Bbr,
}

impl Algorithm {
    /// All of them, with their names as Linux has them.
    pub const TABLE: [(&'static str, Algorithm); 2] =
        [("cubic", Algorithm::Cubic), ("bbr", Algorithm::Bbr)];

    /// The state of a new connection, whose segments have `mss` bytes.
    pub(super) fn control(self, mss: u64) -> Box<dyn Control> {
        match self {
            Algorithm::Cubic => Box::new(Cubic::new(mss)),
            Algorithm::Bbr => Box::new(Bbr::new(mss)),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let entry = Self::TABLE.iter().find(|(_, other)| *other == self);
        entry.expect("all are in the table").0
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Algorithm> {
        let entry = Self::TABLE.iter().find(|(other, _)| *other == name);
        entry.map(|&(_, algorithm)| algorithm)
    }
}

/// What an acknowledgement said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    pub now: Time,
    /// It acknowledges more than before, and does not only sack.
    pub advanced: bool,
    /// Bytes that are delivered and were not known to be.
    pub delivered: u64,
    /// Bytes that are taken to be lost and were not.
    pub lost: u64,
    /// Bytes on their way before it came, and after.
    pub in_flight_before: u64,
    pub in_flight: u64,
    /// Bytes that may have been on their way had kept others from being sent.
    pub window_limited: bool,
    /// If not, the most bytes that were on their way in that round.
    pub largest_flight: u64,
    /// Between the first loss and the acknowledgement of all that was sent before it was found.
    pub in_recovery: bool,
    pub rtt: Option<Duration>,
    pub smoothed_rtt: Option<Duration>,
    pub rate: Option<Rate>,
    /// The first position that is not acknowledged, and the next to be sent.
    pub una: u64,
    pub nxt: u64,
}

/// Segments that may go out before anything came back (RFC 6928).
const INITIAL_WINDOW: u64 = 10;

/// Bytes of the first window.
fn initial_window(mss: u64) -> u64 {
    INITIAL_WINDOW * mss
}

/// The state of one connection's algorithm. What has no effect on an algorithm, it leaves out.
pub(super) trait Control: Debug + Send {
    fn algorithm(&self) -> Algorithm;

    /// Bytes that may be on their way.
    fn window(&self) -> u64;

    /// The window at which slow start ends, if that has been found.
    fn threshold(&self) -> Option<u64> {
        None
    }

    /// Bytes a second, if what goes out is spread over time.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    /// The size of segments, known or changed.
    fn set_mss(&mut self, mss: u64);

    fn acknowledged(&mut self, ack: &Ack);

    /// The first loss of a recovery, or a mark of congestion (ECN).
    fn congestion(&mut self, in_flight: u64);

    /// Whether proportional rate reduction sets the window in a recovery (RFC 9937), by [`Control::set_window`].
    fn reduces_proportionally(&self) -> bool {
        false
    }

    fn set_window(&mut self, _window: u64) {}

    /// All that was on its way when the recovery began is acknowledged.
    fn recovered(&mut self);

    /// The same of a timeout.
    fn recovered_from_timeout(&mut self) {}

    /// One segment may be on its way.
    fn restart(&mut self);

    /// Little is on its way, to see the smallest round trip.
    fn is_probing_rtt(&self) -> bool {
        false
    }

    /// Nothing came back in time.
    fn timed_out(&mut self);

    /// The loss was none: as it was before.
    fn undo(&mut self);

    /// Nothing was sent for a while (RFC 9293, 3.8.1; RFC 2861).
    fn idle(&mut self, now: Time, idle: Duration, timeout: Duration);
}
