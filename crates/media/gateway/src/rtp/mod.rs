//! RTP (RFC 3550): headers, packets in order, reports.

mod header;
mod order;
mod reception;
pub mod rtcp;

pub use header::{Malformed, Packet};
pub use order::{Bounds, Counts, Order, Ordered};
pub use reception::{Block, Reception};

/// How far `to` is after `from`, with numbers that wrap around: negative if it is before.
pub fn distance(from: u16, to: u16) -> i32 {
    i32::from(to.wrapping_sub(from) as i16)
}
