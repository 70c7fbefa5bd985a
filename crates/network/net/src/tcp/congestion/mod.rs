//! Congestion control: how much may be on its way, and how fast it goes out.
//!
//! An algorithm is one file here, a variant of [`Algorithm`] and of `Control`, and an arm in each function of the latter.

mod bbr;
mod cubic;
mod filter;
mod rate;

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

/// The state of one connection's algorithm.
#[derive(Debug)]
pub(super) enum Control {
    Cubic(Cubic),
    Bbr(Box<Bbr>),
}

/// Segments that may go out before anything came back (RFC 6928).
const INITIAL_WINDOW: u64 = 10;

/// Bytes of the first window.
fn initial_window(mss: u64) -> u64 {
    INITIAL_WINDOW * mss
}

impl Control {
    pub fn new(algorithm: Algorithm, mss: u64) -> Control {
        match algorithm {
            Algorithm::Cubic => Control::Cubic(Cubic::new(mss)),
            Algorithm::Bbr => Control::Bbr(Box::new(Bbr::new(mss))),
        }
    }

    pub fn algorithm(&self) -> Algorithm {
        match self {
            Control::Cubic(_) => Algorithm::Cubic,
            Control::Bbr(_) => Algorithm::Bbr,
        }
    }

    /// Bytes that may be on their way.
    pub fn window(&self) -> u64 {
        match self {
            Control::Cubic(cubic) => cubic.window(),
            Control::Bbr(bbr) => bbr.window(),
        }
    }

    /// The window at which slow start ends, if that has been found.
    pub fn threshold(&self) -> Option<u64> {
        match self {
            Control::Cubic(cubic) => cubic.threshold(),
            Control::Bbr(_) => None,
        }
    }

    /// Bytes a second, if what goes out is spread over time.
    pub fn pacing_rate(&self) -> Option<u64> {
        match self {
            Control::Cubic(_) => None,
            Control::Bbr(bbr) => Some(bbr.pacing_rate()),
        }
    }

    /// The size of segments, known or changed.
    pub fn set_mss(&mut self, mss: u64) {
        match self {
            Control::Cubic(cubic) => cubic.set_mss(mss),
            Control::Bbr(bbr) => bbr.set_mss(mss),
        }
    }

    pub fn acknowledged(&mut self, ack: &Ack) {
        match self {
            Control::Cubic(cubic) => cubic.acknowledged(ack),
            Control::Bbr(bbr) => bbr.acknowledged(ack),
        }
    }

    /// The first loss of a recovery, or a mark of congestion (ECN).
    pub fn congestion(&mut self, now: Time, in_flight: u64) {
        match self {
            Control::Cubic(cubic) => cubic.congestion(now),
            Control::Bbr(bbr) => bbr.congestion(in_flight),
        }
    }

    /// Whether the window in a recovery is what proportional rate reduction makes of it (RFC 9937). Otherwise the algorithm
    /// knows better.
    pub fn reduces_proportionally(&self) -> bool {
        matches!(self, Control::Cubic(_))
    }

    /// Proportional rate reduction says so.
    pub fn set_window(&mut self, window: u64) {
        match self {
            Control::Cubic(cubic) => cubic.set_window(window),
            Control::Bbr(_) => {}
        }
    }

    /// All that was on its way when the recovery began is acknowledged.
    pub fn recovered(&mut self) {
        match self {
            Control::Cubic(cubic) => cubic.recovered(),
            Control::Bbr(bbr) => bbr.recovered(),
        }
    }

    /// The same of a timeout.
    pub fn recovered_from_timeout(&mut self) {
        match self {
            Control::Cubic(_) => {}
            Control::Bbr(bbr) => bbr.recovered(),
        }
    }

    /// One segment may be on its way.
    pub fn restart(&mut self) {
        match self {
            Control::Cubic(cubic) => cubic.set_window(0),
            Control::Bbr(bbr) => bbr.restart(),
        }
    }

    /// Little is on its way, to see the smallest round trip.
    pub fn is_probing_rtt(&self) -> bool {
        match self {
            Control::Cubic(_) => false,
            Control::Bbr(bbr) => bbr.is_probing_rtt(),
        }
    }

    /// Nothing came back in time.
    pub fn timed_out(&mut self, now: Time) {
        match self {
            Control::Cubic(cubic) => cubic.timed_out(now),
            Control::Bbr(bbr) => bbr.timed_out(),
        }
    }

    /// The loss was none: as it was before.
    pub fn undo(&mut self) {
        match self {
            Control::Cubic(cubic) => cubic.undo(),
            Control::Bbr(bbr) => bbr.recovered(),
        }
    }

    /// Nothing was sent for a while (RFC 9293, 3.8.1; RFC 2861).
    pub fn idle(&mut self, now: Time, idle: Duration, timeout: Duration) {
        match self {
            Control::Cubic(cubic) => cubic.idle(idle, timeout),
            Control::Bbr(bbr) => bbr.idle(now),
        }
    }
}
