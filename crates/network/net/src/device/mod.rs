//! Devices that packets come from and go to.
//!
//! A device is one file here and a line in `TABLE`.

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;

use crate::packet::{Offload, Outgoing};

mod context;
mod netlink;
mod packet;
mod pcap;
mod seal;
mod specification;
#[allow(unsafe_code)]
mod system;
mod tun;
mod virtio;
mod wire;
mod xdp;

pub use context::Context;
pub use evener_net_client::Prefix;
pub use pcap::Capture;
pub(crate) use pcap::{Direction, Recorder};
pub use specification::{Entry, Specification, SpecificationError};
pub use wire::Wire;

/// The devices that a [`Specification`] names.
pub const TABLE: &[Entry] = &[
    tun::TUN,
    tun::TAP,
    wire::ENTRY,
    packet::ENTRY,
    xdp::ENTRY,
    seal::ENTRY,
];

/// Bytes of the largest packet that a device hands over: a payload of 65,535 bytes with its header of IPv6 and of the
/// medium.
pub const LARGEST: usize = 65_535 + 40 + 14;

/// What a packet of a device begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// The header of IP.
    Ip,
    /// The header of Ethernet; the device has this address.
    Ethernet([u8; 6]),
}

/// What a device can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// What packets begin with.
    pub medium: Medium,
    /// Bytes of the largest packet from its header of IP on, as it is on the medium.
    pub mtu: u16,
    /// Bytes of the largest super-segment of TCP that it takes, from its header of IP on; `mtu` if it takes none.
    pub tcp_segments: u32,
    /// The same for UDP.
    pub udp_segments: u32,
    /// Whether it completes checksums, and tells what it knows of those it received.
    pub checksums: bool,
}

/// Something that a device counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// Its name in metrics: words joined by `_`.
    pub name: &'static str,
    /// What it counts, as a sentence.
    pub about: &'static str,
    /// Which one, if a device has several of the name.
    pub of: Option<String>,
    /// How many there were.
    pub value: u64,
}

impl fmt::Display for Count {
    /// A few words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.trim_end_matches("_total").replace('_', " ");
        write!(f, "{name}: {}", self.value)?;
        match &self.of {
            Some(of) => write!(f, " of {of}"),
            None => Ok(()),
        }
    }
}

/// Where packets come from and go to. No call blocks.
pub trait Device: Send {
    /// What it can do. It does not change.
    fn capabilities(&self) -> Capabilities;

    /// Hands up to `limit` packets to `each`, which has them until it returns, and returns how many there were.
    ///
    /// # Errors
    /// What the operating system says, when the device is gone.
    fn receive(&mut self, limit: usize, each: &mut dyn FnMut(&[u8], Offload)) -> io::Result<usize>;

    /// Sends a packet, or keeps it until [`flush`](Device::flush). False if there is no room now.
    ///
    /// # Errors
    /// What the operating system says, when the device is gone. A packet that it refuses for what it is, is lost.
    fn send(&mut self, packet: Outgoing<'_>) -> io::Result<bool>;

    /// Sends what `send` kept.
    ///
    /// # Errors
    /// As `send`.
    fn flush(&mut self) -> io::Result<()>;

    /// Is readable when there is something to receive. A device of which no such thing tells is polled.
    fn readable(&self) -> Option<BorrowedFd<'_>>;

    /// Called before the caller waits: whether it may, because nothing has come meanwhile. A device in shared memory asks
    /// its peer for a wake-up here.
    fn before_wait(&mut self) -> bool {
        true
    }

    /// Appends what it has counted.
    fn counts(&self, to: &mut Vec<Count>) {
        let _ = to;
    }
}
