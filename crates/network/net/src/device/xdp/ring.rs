//! The four rings that a socket shares with the system: frames to fill, frames received, frames to transmit, frames
//! transmitted.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::calls::RingOffsets;
use crate::memory::{Region, Span};

/// Descriptors of each ring. A power of two.
pub(super) const COUNT: u32 = 1024;

/// One of the rings. Its positions count modulo 2^32.
#[derive(Debug)]
pub(super) struct Ring {
    span: Span,
    offsets: RingOffsets,
    /// Bytes of a descriptor.
    size: usize,
    /// How far this side has come, and how far it was told.
    own: u32,
    /// How far the other side has come, when last looked.
    other: u32,
}

/// Where a frame is, and how many bytes of it are a packet. Rings of free frames have the place alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Descriptor {
    pub at: u64,
    pub len: u32,
}

impl Ring {
    /// Maps the ring at `page` of a socket, whose descriptors have `size` bytes.
    pub(super) fn map(
        socket: BorrowedFd<'_>,
        page: u64,
        offsets: RingOffsets,
        size: usize,
    ) -> io::Result<Ring> {
        let len = offsets.descriptors as usize + COUNT as usize * size;
        let region: Arc<Region> = Region::of_system(socket.as_raw_fd(), page, len)?;
        Ok(Ring {
            span: Span::new(&region, 0, len),
            offsets,
            size,
            own: 0,
            other: 0,
        })
    }

    fn place(&self, position: u32) -> usize {
        self.offsets.descriptors as usize + (position % COUNT) as usize * self.size
    }

    /// Of a ring that the system fills: the next descriptor, if there is one.
    pub(super) fn pop(&mut self) -> Option<Descriptor> {
        if self.own == self.other {
            let producer = self.span.half_word(self.offsets.producer as usize);
            self.other = producer.load(Ordering::Acquire);
            if self.own == self.other {
                return None;
            }
        }
        let mut bytes = [0; 16];
        self.span
            .read(self.place(self.own), &mut bytes[..self.size]);
        let [a, b, c, d, ..] = bytes[8..] else {
            unreachable!("16 bytes")
        };
        self.own = self.own.wrapping_add(1);
        Some(Descriptor {
            at: u64::from_ne_bytes(std::array::from_fn(|at| bytes[at])),
            len: u32::from_ne_bytes([a, b, c, d]),
        })
    }

    /// Lets the system use the places of what was popped.
    pub(super) fn release(&self) {
        let consumer = self.span.half_word(self.offsets.consumer as usize);
        consumer.store(self.own, Ordering::Release);
    }

    /// Of a ring that the system empties: adds a descriptor. There is room, as no ring has more descriptors than there are
    /// frames for it.
    pub(super) fn push(&mut self, descriptor: Descriptor) {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&descriptor.at.to_ne_bytes());
        bytes[8..12].copy_from_slice(&descriptor.len.to_ne_bytes());
        self.span.write(self.place(self.own), &bytes[..self.size]);
        self.own = self.own.wrapping_add(1);
    }

    /// Lets the system see what was pushed.
    pub(super) fn publish(&self) {
        let producer = self.span.half_word(self.offsets.producer as usize);
        producer.store(self.own, Ordering::Release);
    }

    /// Of a ring that the system empties: how many it has not taken yet.
    pub(super) fn waiting(&self) -> u32 {
        let consumer = self.span.half_word(self.offsets.consumer as usize);
        self.own.wrapping_sub(consumer.load(Ordering::Acquire))
    }
}
