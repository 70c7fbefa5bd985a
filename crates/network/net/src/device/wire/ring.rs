//! A ring of packets in memory that two processes share: one writes packets to it, the other reads them.
//!
//! A packet is a word that describes it and then its bytes, filled up to a multiple of eight. Positions count all bytes
//! since the beginning. Neither end trusts the other: it keeps its own position, and checks the other's.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use super::LARGEST;
use crate::memory::{Region, Shared, Span};
use crate::packet::{Checksum, Offload, Outgoing};

/// Bytes of packets in a ring: sixteen of the largest, and no more than a second cache holds.
pub(super) const SIZE: usize = 1 << 20;
/// Bytes of memory that a ring takes.
pub(super) const RING_LEN: usize = HEAD + SIZE;

/// Words at the front, each on a pair of cache lines of its own.
const HEAD: usize = 512;
/// What the producer has written up to.
const PRODUCED: usize = 0;
/// Whether the producer sleeps until there is room.
const PRODUCER_WAITS: usize = 128;
/// What the consumer has read up to.
const CONSUMED: usize = 256;
/// Whether the consumer sleeps until there is a packet.
pub(super) const CONSUMER_WAITS: usize = 384;

/// Bytes of the word before a packet.
const WORD: usize = 8;
/// An end tells the other of its progress at least this often.
const STRIDE: u64 = SIZE as u64 / 16;

/// Memory of a ring.
#[derive(Debug)]
struct Ring {
    head: Span,
    bytes: Span,
}

impl Ring {
    fn new(region: &Arc<Region>, at: usize) -> Ring {
        Ring {
            head: Span::new(region, at, HEAD),
            bytes: Span::new(region, at + HEAD, SIZE),
        }
    }

    fn position(&self, at: usize) -> &AtomicU64 {
        self.head.word(at)
    }

    fn flag(&self, at: usize) -> &AtomicU32 {
        self.head.half_word(at)
    }

    /// Whether the other end sleeps, and has to be woken, now that a position has been stored.
    fn take_flag(&self, at: usize) -> bool {
        // Orders the position before the flag here, and the flag before the position where the other end sets it: one of
        // the two sees what the other did.
        fence(Ordering::SeqCst);
        let flag = self.flag(at);
        flag.load(Ordering::Relaxed) != 0 && flag.swap(0, Ordering::Relaxed) != 0
    }

    fn set_flag(&self, at: usize) {
        self.flag(at).store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    fn write(&self, at: u64, bytes: Shared<'_>) {
        let start = at as usize % SIZE;
        let (first, second) = bytes.split_at(bytes.len().min(SIZE - start));
        self.bytes.write_shared(start, first);
        self.bytes.write_shared(0, second);
    }

    fn read(&self, at: u64, to: &mut [u8]) {
        let start = at as usize % SIZE;
        let (first, second) = to.split_at_mut(to.len().min(SIZE - start));
        self.bytes.read(start, first);
        self.bytes.read(0, second);
    }
}

fn corrupt() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the peer of the wire broke its rules",
    )
}

/// Bytes of a packet in the ring.
fn taken(len: usize) -> u64 {
    (WORD + len.next_multiple_of(8)) as u64
}

fn describe(len: usize, offload: Offload) -> u64 {
    let checksum = match offload.checksum {
        Checksum::Complete => 0,
        Checksum::Verified => 1,
        Checksum::Partial => 2,
    };
    len as u64 | u64::from(offload.segment) << 32 | checksum << 48
}

fn described(word: u64) -> Option<(usize, Offload)> {
    let (len, segment) = (word as u32 as usize, (word >> 32) as u16);
    let checksum = match word >> 48 {
        0 => Checksum::Complete,
        1 => Checksum::Verified,
        2 => Checksum::Partial,
        _ => return None,
    };
    (len <= LARGEST).then_some((len, Offload { segment, checksum }))
}

/// The end that writes packets.
#[derive(Debug)]
pub(super) struct Producer {
    ring: Ring,
    written: u64,
    /// What the consumer was told.
    published: u64,
    /// What the consumer has read up to, when last looked.
    consumed: u64,
}

impl Producer {
    /// Of the ring at `at`, of zeros.
    pub(super) fn new(region: &Arc<Region>, at: usize) -> Producer {
        Producer {
            ring: Ring::new(region, at),
            written: 0,
            published: 0,
            consumed: 0,
        }
    }

    /// Writes a packet, which the consumer sees after `publish`. False if there is no room. One that is too large for any
    /// device is lost.
    pub(super) fn push(&mut self, packet: &Outgoing<'_>) -> io::Result<bool> {
        let len = packet.len();
        if len > LARGEST {
            return Ok(true);
        }
        let most = SIZE as u64 - taken(len);
        if self.written - self.consumed > most && self.written - self.look()? > most {
            return Ok(false);
        }
        let word = describe(len, packet.offload);
        let at = self.written as usize % SIZE;
        self.ring.bytes.word(at).store(word, Ordering::Relaxed);
        let mut at = self.written + WORD as u64;
        for part in [
            Shared::from(packet.header),
            packet.payload[0],
            packet.payload[1],
        ] {
            self.ring.write(at, part);
            at += part.len() as u64;
        }
        self.written += taken(len);
        if self.written - self.published >= STRIDE {
            self.store();
        }
        Ok(true)
    }

    fn look(&mut self) -> io::Result<u64> {
        let consumed = self.ring.position(CONSUMED).load(Ordering::Acquire);
        if consumed < self.consumed || consumed > self.written {
            return Err(corrupt());
        }
        self.consumed = consumed;
        Ok(consumed)
    }

    fn store(&mut self) {
        self.published = self.written;
        self.ring
            .position(PRODUCED)
            .store(self.written, Ordering::Release);
    }

    /// Lets the consumer see what was written, and returns whether it has to be woken.
    pub(super) fn publish(&mut self) -> bool {
        self.store();
        self.ring.take_flag(CONSUMER_WAITS)
    }

    /// Asks for a wake-up when there is more room than there was at the last look. False if there is already.
    pub(super) fn wait(&mut self) -> io::Result<bool> {
        self.ring.set_flag(PRODUCER_WAITS);
        let before = self.consumed;
        if self.look()? == before {
            return Ok(true);
        }
        self.ring.flag(PRODUCER_WAITS).store(0, Ordering::Relaxed);
        Ok(false)
    }
}

/// The end that reads packets.
#[derive(Debug)]
pub(super) struct Consumer {
    ring: Ring,
    read: u64,
    /// What the producer was told.
    released: u64,
    /// What the producer has written up to, when last looked.
    produced: u64,
}

impl Consumer {
    /// Of the ring at `at`, of zeros.
    pub(super) fn new(region: &Arc<Region>, at: usize) -> Consumer {
        Consumer {
            ring: Ring::new(region, at),
            read: 0,
            released: 0,
            produced: 0,
        }
    }

    /// Copies the next packet to the front of `to`, which has room for the largest, and returns its length. The copy is
    /// what is looked at from then on, because the producer may still change the original.
    pub(super) fn pop(&mut self, to: &mut [u8]) -> io::Result<Option<(usize, Offload)>> {
        if self.read == self.produced && self.look()? == self.read {
            return Ok(None);
        }
        let at = self.read as usize % SIZE;
        let word = self.ring.bytes.word(at).load(Ordering::Relaxed);
        let (len, offload) = described(word).ok_or_else(corrupt)?;
        if taken(len) > self.produced - self.read {
            return Err(corrupt());
        }
        self.ring.read(self.read + WORD as u64, &mut to[..len]);
        self.read += taken(len);
        if self.read - self.released >= STRIDE {
            self.store();
        }
        Ok(Some((len, offload)))
    }

    fn look(&mut self) -> io::Result<u64> {
        let produced = self.ring.position(PRODUCED).load(Ordering::Acquire);
        let right = produced >= self.produced
            && produced - self.released <= SIZE as u64
            && produced.is_multiple_of(8);
        if !right {
            return Err(corrupt());
        }
        self.produced = produced;
        Ok(produced)
    }

    fn store(&mut self) {
        self.released = self.read;
        self.ring
            .position(CONSUMED)
            .store(self.read, Ordering::Release);
    }

    /// Gives the room of what was read back, and returns whether the producer has to be woken.
    pub(super) fn release(&mut self) -> bool {
        self.store();
        self.ring.take_flag(PRODUCER_WAITS)
    }

    /// Asks for a wake-up when there is a packet. False if there is one already.
    pub(super) fn wait(&mut self) -> io::Result<bool> {
        self.ring.set_flag(CONSUMER_WAITS);
        if self.look()? == self.read {
            return Ok(true);
        }
        self.ring.flag(CONSUMER_WAITS).store(0, Ordering::Relaxed);
        Ok(false)
    }
}

#[cfg(test)]
mod tests;
