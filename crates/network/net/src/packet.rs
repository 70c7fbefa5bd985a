//! Packets between devices and the engine. One may be a *super-segment*: the payload of many segments under one header.

use crate::memory::Shared;

/// What is known of a packet beside its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// Bytes of payload in each segment; 0 for a packet that is one segment.
    pub segment: u16,
    /// What is known of the checksum of TCP or UDP.
    pub checksum: Checksum,
}

/// The state of the checksum of TCP or UDP in a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksum {
    /// It is in the packet. The receiver has to verify it.
    #[default]
    Complete,
    /// The device verified it.
    Verified,
    /// The field has the sum of the pseudo header alone. On receipt the bytes never left the machine and are right; a
    /// device that is sent this completes it.
    Partial,
}

/// A packet to send: headers in one piece, the payload in up to two, because a ring has an end.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// All headers from that of the medium to that of TCP or UDP.
    pub header: &'a [u8],
    /// What follows.
    pub payload: [Shared<'a>; 2],
    /// Segment size and checksum.
    pub offload: Offload,
}

impl Outgoing<'_> {
    /// Bytes in all.
    pub fn len(&self) -> usize {
        self.header.len() + self.payload[0].len() + self.payload[1].len()
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies all of it to the front of `to`, which has room for [`len`](Outgoing::len) bytes.
    ///
    /// # Panics
    /// If `to` is shorter.
    pub fn copy_to(&self, to: &mut [u8]) {
        let (header, rest) = to.split_at_mut(self.header.len());
        header.copy_from_slice(self.header);
        let (first, rest) = rest.split_at_mut(self.payload[0].len());
        self.payload[0].copy_to(first);
        self.payload[1].copy_to(&mut rest[..self.payload[1].len()]);
    }
}
