//! Congestion control: how much may be on its way, and how fast it goes out.
//!
//! An algorithm is a file here, a variant of [`Algorithm`], and a row of its table. It implements `Control`, or, if it takes
//! losses for congestion, only the `Rule` of `loss_based.rs`.

mod bbr;
mod cubic;
mod filter;
mod loss_based;
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
    /// All of them by their names, which are those of Linux.
    pub const TABLE: [(&'static str, Algorithm); 2] =
        [("cubic", Algorithm::Cubic), ("bbr", Algorithm::Bbr)];

    /// The state of a new connection, whose segments have `mss` bytes.
    pub(super) fn control(self, mss: u64) -> Box<dyn Control> {
        match self {
            Algorithm::Cubic => Box::new(Cubic::control(mss)),
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
    /// It acknowledges positions in order. If false, it only sacks.
    pub advanced: bool,
    /// Bytes that are delivered and were not known to be.
    pub delivered: u64,
    /// Bytes that are taken to be lost and were not.
    pub lost: u64,
    /// Bytes on their way before it came, and after.
    pub in_flight_before: u64,
    pub in_flight: u64,
    /// The window kept bytes from being sent in this round.
    pub window_limited: bool,
    /// If it did not, the most bytes that were on their way in this round.
    pub largest_flight: u64,
    /// It comes after [`Control::congestion`] and before [`Control::recovered`]. False after a timeout.
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

#[cfg(test)]
impl Ack {
    /// Delivers bytes in order, of a window that was in use. Tests set what else they need.
    fn of(delivered: u64) -> Ack {
        Ack {
            now: Time::ZERO,
            advanced: true,
            delivered,
            lost: 0,
            in_flight_before: delivered,
            in_flight: 0,
            window_limited: true,
            largest_flight: 0,
            in_recovery: false,
            rtt: None,
            smoothed_rtt: None,
            rate: None,
            una: delivered,
            nxt: delivered,
        }
    }
}

/// The state of one connection's algorithm. An algorithm leaves out the functions with a default that do not concern it.
///
/// A loss is found in one of three ways, and each has an end:
///
/// | call | what happened | end |
/// | --- | --- | --- |
/// | [`congestion`](Control::congestion) | something was lost, or marked, and the window was not reduced for that yet | [`recovered`](Control::recovered) |
/// | [`timed_out`](Control::timed_out) | the timer expired, and the window was not reduced for that yet | [`recovered_from_timeout`](Control::recovered_from_timeout) |
/// | [`restart`](Control::restart) | the timer expired, and the window was reduced for that before | [`recovered_from_timeout`](Control::recovered_from_timeout) |
///
/// A timeout ends a recovery without [`recovered`](Control::recovered). [`undo`](Control::undo) is an end as well.
pub(super) trait Control: Debug + Send {
    fn algorithm(&self) -> Algorithm;

    /// Bytes that may be on their way.
    fn window(&self) -> u64;

    /// The window at which slow start ends, if that has been found. After [`Control::congestion`] it is the window that a
    /// proportional reduction ends at.
    fn threshold(&self) -> Option<u64> {
        None
    }

    /// Bytes a second, if what goes out is spread over time.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    /// The size of segments is known or has changed. If nothing has changed the first window, it becomes that of the new
    /// size.
    fn set_mss(&mut self, mss: u64);

    /// Something was delivered or lost. The calls for the same acknowledgement that begin a recovery or undo it come before,
    /// and those that end it come after.
    fn acknowledged(&mut self, ack: &Ack);

    /// The first loss of a recovery, or a mark of congestion (ECN). It is called once for what is on its way, and reduces the
    /// window or the threshold.
    fn congestion(&mut self, in_flight: u64);

    /// Whether proportional rate reduction sets the window in a recovery (RFC 9937), by [`Control::set_window`].
    fn reduces_proportionally(&self) -> bool {
        false
    }

    fn set_window(&mut self, _window: u64) {}

    /// All that was on its way at [`Control::congestion`] is acknowledged.
    fn recovered(&mut self);

    /// All that was on its way at the last [`Control::timed_out`] or [`Control::restart`] is acknowledged.
    fn recovered_from_timeout(&mut self) {}

    /// The timer expired in a recovery, or again before anything came back. One segment may be on its way; the threshold
    /// stays. Also if the SYN was lost more than once.
    fn restart(&mut self);

    /// Little is on its way, to see the smallest round trip.
    fn is_probing_rtt(&self) -> bool {
        false
    }

    /// The timer expired outside a recovery, or after progress since the last timeout. One segment may be on its way, and
    /// the threshold is reduced as by [`Control::congestion`].
    fn timed_out(&mut self);

    /// Nothing was lost: the state becomes that before the last [`Control::congestion`] or [`Control::timed_out`].
    fn undo(&mut self);

    /// Nothing was sent for a while (RFC 9293, 3.8.1; RFC 2861).
    fn idle(&mut self, now: Time, idle: Duration, timeout: Duration);
}
