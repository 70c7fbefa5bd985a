//! Rings in memory of this process: for applications that run the engine themselves.

use std::collections::HashMap;

use super::{Buffers, Memory, Owner};
use crate::memory::{Reader, ReceiveBuffer, Region, SendBuffer, Span, Writer, ring_len};

/// Rings of one size.
#[derive(Debug)]
pub struct PrivateMemory {
    size: usize,
    next: u32,
    ends: HashMap<u32, (Span, Span)>,
}

impl PrivateMemory {
    /// Rings of `size` bytes, a power of two.
    pub fn new(size: usize) -> PrivateMemory {
        PrivateMemory {
            size,
            next: 0,
            ends: HashMap::new(),
        }
    }

    /// The application's ends of the rings at a place. They are to be taken once.
    ///
    /// # Panics
    /// If there are none at that place.
    pub fn ends(&self, slot: u32) -> (Writer, Reader) {
        let (send, receive) = &self.ends[&slot];
        (Writer::new(send), Reader::new(receive))
    }

    /// Connections whose rings are in use.
    pub fn in_use(&self) -> usize {
        self.ends.len()
    }
}

impl Memory for PrivateMemory {
    fn allocate(&mut self, _owner: Owner) -> Option<Buffers> {
        let len = ring_len(self.size);
        let region = Region::private(2 * len).ok()?;
        let (send, receive) = (Span::new(&region, 0, len), Span::new(&region, len, len));
        // Numbers begin again after the last, which is none.
        let mut slot = self.next;
        while slot == u32::MAX || self.ends.contains_key(&slot) {
            slot = slot.wrapping_add(1);
        }
        self.next = slot.wrapping_add(1);
        let buffers = Buffers {
            send: SendBuffer::new(&send),
            receive: ReceiveBuffer::new(&receive),
            slot,
        };
        self.ends.insert(slot, (send, receive));
        Some(buffers)
    }

    fn release(&mut self, _owner: Owner, slot: u32) {
        self.ends.remove(&slot);
    }

    fn receive_size(&self, _owner: Owner) -> u64 {
        self.size as u64
    }
}
