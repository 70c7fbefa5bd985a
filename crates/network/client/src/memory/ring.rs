//! Rings of bytes: one for each direction of a connection. Positions count all bytes since the connection began, so they
//! never wrap.

use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;

use super::region::{Shared, Span};

/// Bytes of the two words at the front of a ring, each on a pair of cache lines of its own.
const HEAD: usize = 256;
/// The word that the producer advances.
const PRODUCED: usize = 0;
/// The word that the consumer advances.
const CONSUMED: usize = 128;

/// An index in shared memory that cannot be: the application that owns the memory is to be cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an index of a ring is out of bounds: the application that shares it is at fault")]
pub struct Corrupt;

/// A ring in shared memory: two words, then a power of two of bytes.
#[derive(Clone, Debug)]
struct Ring {
    span: Span,
}

impl Ring {
    fn new(span: &Span) -> Ring {
        let size = span.len() - HEAD;
        assert!(size.is_power_of_two(), "a ring has a power of two of bytes");
        Ring { span: span.clone() }
    }

    fn produced(&self) -> &AtomicU64 {
        self.span.word(PRODUCED)
    }

    fn consumed(&self) -> &AtomicU64 {
        self.span.word(CONSUMED)
    }

    fn size(&self) -> u64 {
        (self.span.len() - HEAD) as u64
    }

    /// Bytes from one position to a later one, as an application counts them: an engine that says what cannot be is at
    /// fault, and then no byte is lent twice or beyond the memory.
    fn between(&self, from: u64, to: u64) -> usize {
        to.saturating_sub(from).min(self.size()) as usize
    }

    fn slices(&self, at: u64, len: usize) -> [Shared<'_>; 2] {
        let start = (at & (self.size() - 1)) as usize;
        let first = len.min(self.size() as usize - start);
        [
            self.span.shared(HEAD + start, first),
            self.span.shared(HEAD, len - first),
        ]
    }

    /// Copies the bytes from one position to another out of a ring of the same size.
    fn copy(&self, other: &Ring, from: u64, to: u64) {
        let start = (from & (self.size() - 1)) as usize;
        let [first, second] = other.slices(from, (to - from) as usize);
        self.span.write_shared(HEAD + start, first);
        self.span.write_shared(HEAD, second);
    }

    fn write(&self, at: u64, bytes: &[u8]) {
        let start = (at & (self.size() - 1)) as usize;
        let (first, second) = bytes.split_at(bytes.len().min(self.size() as usize - start));
        self.span.write(HEAD + start, first);
        self.span.write(HEAD, second);
    }
}

/// Bytes of memory that a ring of `size` bytes takes.
pub const fn ring_len(size: usize) -> usize {
    HEAD + size
}

/// Makes a ring of [`ring_len`] bytes one in which there has been nothing yet.
pub fn clear_ring(span: &Span) {
    for at in [PRODUCED, CONSUMED] {
        span.word(at).store(0, Ordering::Relaxed);
    }
}

/// The engine's end of the ring that an application writes what is to be sent to.
#[derive(Debug)]
pub struct SendBuffer {
    ring: Ring,
    written: u64,
    freed: u64,
}

impl SendBuffer {
    /// On a span of [`ring_len`] bytes, of zeros.
    ///
    /// # Panics
    /// If the size is not a power of two.
    pub fn new(span: &Span) -> SendBuffer {
        let ring = Ring::new(span);
        SendBuffer {
            ring,
            written: 0,
            freed: 0,
        }
    }

    /// Bytes that it holds at most.
    pub fn size(&self) -> u64 {
        self.ring.size()
    }

    /// Bytes that the application has written since the connection began.
    ///
    /// # Errors
    /// [`Corrupt`] when that is fewer than before or more than fit.
    pub fn written(&mut self) -> Result<u64, Corrupt> {
        let written = self.ring.produced().load(Ordering::Acquire);
        if written < self.written || written - self.freed > self.size() {
            return Err(Corrupt);
        }
        self.written = written;
        Ok(written)
    }

    /// The `len` bytes from position `at` on.
    ///
    /// # Errors
    /// [`Corrupt`] when they have not been written or are free.
    pub fn slices(&self, at: u64, len: usize) -> Result<[Shared<'_>; 2], Corrupt> {
        let end = at.checked_add(len as u64).ok_or(Corrupt)?;
        if at < self.freed || end > self.written {
            return Err(Corrupt);
        }
        Ok(self.ring.slices(at, len))
    }

    /// Continues where another of the same size is, with what is written there and not free.
    ///
    /// # Errors
    /// [`Corrupt`] when the other is, or its size is another.
    pub fn succeed(&mut self, other: &mut SendBuffer) -> Result<(), Corrupt> {
        let written = other.written()?;
        if self.size() != other.size() {
            return Err(Corrupt);
        }
        self.ring.copy(&other.ring, other.freed, written);
        (self.written, self.freed) = (written, other.freed);
        self.ring.consumed().store(self.freed, Ordering::Release);
        self.ring.produced().store(written, Ordering::Release);
        Ok(())
    }

    /// The application may use the room of all bytes before `position` again.
    ///
    /// # Errors
    /// [`Corrupt`] when they have not been written, or more was free before.
    pub fn free(&mut self, position: u64) -> Result<(), Corrupt> {
        if position < self.freed || position > self.written {
            return Err(Corrupt);
        }
        self.freed = position;
        self.ring.consumed().store(position, Ordering::Release);
        Ok(())
    }
}

/// The engine's end of the ring that an application reads what was received from.
#[derive(Debug)]
pub struct ReceiveBuffer {
    ring: Ring,
    received: u64,
    consumed: u64,
}

impl ReceiveBuffer {
    /// On a span of [`ring_len`] bytes, of zeros.
    ///
    /// # Panics
    /// If the size is not a power of two.
    pub fn new(span: &Span) -> ReceiveBuffer {
        let ring = Ring::new(span);
        ReceiveBuffer {
            ring,
            received: 0,
            consumed: 0,
        }
    }

    /// Bytes that it holds at most.
    pub fn size(&self) -> u64 {
        self.ring.size()
    }

    /// Bytes that the application has read since the connection began.
    ///
    /// # Errors
    /// [`Corrupt`] when that is fewer than before or more than there were.
    pub fn consumed(&mut self) -> Result<u64, Corrupt> {
        let consumed = self.ring.consumed().load(Ordering::Acquire);
        if consumed < self.consumed || consumed > self.received {
            return Err(Corrupt);
        }
        self.consumed = consumed;
        Ok(consumed)
    }

    /// Continues where another of the same size is, with what is not consumed there, up to position `end` if bytes came out of
    /// order.
    ///
    /// # Errors
    /// [`Corrupt`] when the other is, or its size is another.
    pub fn succeed(&mut self, other: &mut ReceiveBuffer, end: u64) -> Result<(), Corrupt> {
        let consumed = other.consumed()?;
        if self.size() != other.size() {
            return Err(Corrupt);
        }
        let end = end.max(other.received);
        self.ring.copy(&other.ring, consumed, end);
        (self.received, self.consumed) = (other.received, consumed);
        self.ring.consumed().store(consumed, Ordering::Release);
        self.ring.produced().store(self.received, Ordering::Release);
        Ok(())
    }

    /// Puts bytes at position `at`, in order or not.
    ///
    /// # Errors
    /// [`Corrupt`] when they are not within the ring's size of what was last found consumed, or the application may read
    /// what is there.
    pub fn put(&mut self, at: u64, bytes: &[u8]) -> Result<(), Corrupt> {
        let end = at.checked_add(bytes.len() as u64).ok_or(Corrupt)?;
        if at < self.received || end > self.consumed + self.size() {
            return Err(Corrupt);
        }
        self.ring.write(at, bytes);
        Ok(())
    }

    /// The application may read all bytes before `position`.
    ///
    /// # Errors
    /// [`Corrupt`] when it might read more before, or that is more than the ring has room for.
    pub fn publish(&mut self, position: u64) -> Result<(), Corrupt> {
        if position < self.received || position > self.consumed + self.size() {
            return Err(Corrupt);
        }
        self.received = position;
        self.ring.produced().store(position, Ordering::Release);
        Ok(())
    }
}

/// The application's end of the ring that it writes to.
#[derive(Debug)]
pub struct Writer {
    ring: Ring,
    written: u64,
}

impl Writer {
    /// On the span that the engine has a [`SendBuffer`] on.
    ///
    /// # Panics
    /// If the size is not a power of two.
    pub fn new(span: &Span) -> Writer {
        let ring = Ring::new(span);
        let written = ring.produced().load(Ordering::Relaxed);
        Writer { ring, written }
    }

    /// Bytes for which there is room.
    pub fn room(&self) -> usize {
        self.ring.size() as usize - self.unsent()
    }

    /// Bytes that the engine has not freed yet: they are not sent, or not acknowledged.
    pub fn unsent(&self) -> usize {
        let consumed = self.ring.consumed().load(Ordering::Acquire);
        self.ring.between(consumed, self.written)
    }

    /// Writes what there is room for, and returns how many bytes that was.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let bytes = &bytes[..bytes.len().min(self.room())];
        self.ring.write(self.written, bytes);
        self.advance(bytes.len());
        bytes.len()
    }

    /// The room up to the end of the memory.
    pub(super) fn first_room(&self) -> Shared<'_> {
        self.ring.slices(self.written, self.room())[0]
    }

    /// The engine may send the next `len` bytes, for which there is room: what was written before at their places.
    pub fn advance(&mut self, len: usize) {
        self.written += len as u64;
        self.ring.produced().store(self.written, Ordering::Release);
    }
}

/// The application's end of the ring that it reads from.
#[derive(Debug)]
pub struct Reader {
    ring: Ring,
    read: u64,
}

impl Reader {
    /// On the span that the engine has a [`ReceiveBuffer`] on.
    ///
    /// # Panics
    /// If the size is not a power of two.
    pub fn new(span: &Span) -> Reader {
        let ring = Ring::new(span);
        let read = ring.consumed().load(Ordering::Relaxed);
        Reader { ring, read }
    }

    /// Bytes that there are to read.
    pub fn available(&self) -> usize {
        let produced = self.ring.produced().load(Ordering::Acquire);
        self.ring.between(self.read, produced)
    }

    /// Reads what there is and `to` has room for, and returns how many bytes that was.
    pub fn read(&mut self, to: &mut [u8]) -> usize {
        let len = self.peek(to);
        self.advance(len);
        len
    }

    /// As [`read`](Reader::read), and the bytes stay.
    pub fn peek(&self, to: &mut [u8]) -> usize {
        self.peek_at(0, to)
    }

    /// As [`peek`](Reader::peek), without the first `skipped` bytes, which are there.
    pub(crate) fn peek_at(&self, skipped: usize, to: &mut [u8]) -> usize {
        let len = to.len().min(self.available().saturating_sub(skipped));
        let [first, second] = self.ring.slices(self.read + skipped as u64, len);
        first.copy_to(&mut to[..first.len()]);
        second.copy_to(&mut to[first.len()..len]);
        len
    }

    /// Writes into what there is to read, for this side alone, after the first `skipped` bytes.
    pub(crate) fn mark_at(&self, skipped: usize, bytes: &[u8]) {
        assert!(
            skipped + bytes.len() <= self.available(),
            "bytes of the data"
        );
        self.ring.write(self.read + skipped as u64, bytes);
    }

    /// What there is to read, up to the end of the memory.
    pub(super) fn first_data(&self) -> Shared<'_> {
        self.ring.slices(self.read, self.available())[0]
    }

    /// The next `len` bytes, which are there, are no longer needed.
    pub fn advance(&mut self, len: usize) {
        self.read += len as u64;
        self.ring.consumed().store(self.read, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
