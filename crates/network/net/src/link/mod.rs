//! A link that is worse than a cable: delay, loss, a rate, a queue, reordering.
//!
//! [`Path`] is one direction, without input, output or a clock; [`run`] forwards between two devices. All that happens
//! is decided by a seed, packet by packet in their order, so the same packets have the same fate again.

use std::time::Duration;

mod forward;
mod path;
mod random;
mod session;
mod units;

pub use forward::{Report, run};
pub use path::{Counters, Path};
pub use session::{Error, Session};
pub use units::{Bytes, Held, Rate, Share, Wait};

/// What a link does to packets, in each direction on its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// How long a packet is under way.
    pub delay: Duration,
    /// Up to this much is added to the delay of a packet. Packets stay in order.
    pub jitter: Duration,
    /// The share of packets that are lost, from 0 to 1.
    pub loss: f64,
    /// The share of packets that arrive twice.
    pub duplicate: f64,
    /// The share of packets that are held back by `held`, so that later ones overtake them.
    pub reorder: f64,
    /// How long those are held back.
    pub held: Duration,
    /// Bits a second, headers of the medium included; none for no limit.
    pub rate: Option<u64>,
    /// Bytes that wait for a link with a rate at most: a packet for which there is no room is dropped.
    pub queue: usize,
    /// Bytes that wait when packets begin to be marked (RFC 3168), if they are.
    pub mark: Option<usize>,
    /// Decides which packets are lost, doubled and held back.
    pub seed: u64,
}

impl Default for Conditions {
    fn default() -> Conditions {
        Conditions {
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            held: Duration::from_millis(1),
            rate: None,
            queue: 1 << 20,
            mark: None,
            seed: 1,
        }
    }
}
