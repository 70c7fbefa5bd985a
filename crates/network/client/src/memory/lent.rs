//! Memory of an application that is shared with an engine, as the application has it, and the ends of rings that lend
//! their bytes as slices.
//!
//! A reference to bytes that another may change is undefined, so it takes three things to lend them:
//!
//! - **No other end in this process.** A [`Mapping`] is the only owner of its mapping. Of the bytes of a slot it gives
//!   out one [`Sender`] and one [`Receiver`] at a time, and of the rest words alone, which are atomic.
//! - **One borrow.** A slice is borrowed from its end, so that it is gone before bytes are committed or consumed.
//! - **The engine keeps to its side.** It reads bytes of the sender's ring only when they are committed, and writes into
//!   the receiver's ring only beyond what it has published and up to what is consumed. An application trusts its engine
//!   in this, as it trusts it with all that it sends. The reverse does not hold: the engine uses copies and pointers.

use std::fs::File;
use std::io;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::region::{Region, Span};
use super::ring::{Reader, Writer, ring_len};

/// Where in a mapping the slots of connections are. Each has a head, a ring that is sent from, and one that is received
/// into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// Where the first begins.
    pub start: usize,
    /// How many there are.
    pub count: u32,
    /// Bytes from one to the next.
    pub stride: usize,
    /// Bytes of the head.
    pub head: usize,
    /// Bytes of the ring that is sent from: a power of two.
    pub send: usize,
    /// Bytes of the ring that is received into: a power of two.
    pub receive: usize,
}

impl Slots {
    /// Bytes of a region that has them all.
    pub fn end(&self) -> usize {
        self.start + self.count as usize * self.stride
    }

    /// Where slot `slot` begins.
    ///
    /// # Panics
    /// If there is no such slot.
    pub fn at(&self, slot: u32) -> usize {
        assert!(slot < self.count, "a slot of the region");
        self.start + slot as usize * self.stride
    }

    /// The head of a slot.
    pub fn head(&self, region: &Arc<Region>, slot: u32) -> Span {
        Span::new(region, self.at(slot), self.head)
    }

    /// The ring of a slot that is sent from.
    pub fn send(&self, region: &Arc<Region>, slot: u32) -> Span {
        Span::new(region, self.at(slot) + self.head, ring_len(self.send))
    }

    /// The ring of a slot that is received into.
    pub fn receive(&self, region: &Arc<Region>, slot: u32) -> Span {
        let at = self.at(slot) + self.head + ring_len(self.send);
        Span::new(region, at, ring_len(self.receive))
    }
}

/// The mapping of an application.
#[derive(Debug)]
pub struct Mapping {
    region: Arc<Region>,
    slots: Slots,
    taken: Vec<AtomicBool>,
}

impl Mapping {
    /// Maps a file that an engine handed over.
    ///
    /// # Errors
    /// It is shorter than the slots need, may become so, or what the operating system says.
    pub fn new(file: &File, slots: Slots) -> io::Result<Arc<Mapping>> {
        let seals = rustix::fs::fcntl_get_seals(file)?;
        if !seals.contains(rustix::fs::SealFlags::SHRINK)
            || file.metadata()?.len() < slots.end() as u64
        {
            let what = "the memory of the engine is not what it says";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(Arc::new(Mapping {
            region: Region::of_file(file, slots.end())?,
            slots,
            taken: (0..slots.count).map(|_| AtomicBool::new(false)).collect(),
        }))
    }

    /// Where its slots are.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// What comes before the slots.
    pub fn control(&self) -> Span {
        Span::new(&self.region, 0, self.slots.start)
    }

    /// The head of a slot.
    ///
    /// # Panics
    /// If there is no such slot.
    pub fn head(&self, slot: u32) -> Span {
        self.slots.head(&self.region, slot)
    }

    /// Bytes that there are to read in a slot, whichever thread has its ends.
    ///
    /// # Panics
    /// If there is no such slot.
    pub fn available(&self, slot: u32) -> usize {
        Reader::new(&self.slots.receive(&self.region, slot)).available()
    }

    /// Bytes for which there is room in a slot, whichever thread has its ends.
    ///
    /// # Panics
    /// If there is no such slot.
    pub fn room(&self, slot: u32) -> usize {
        Writer::new(&self.slots.send(&self.region, slot)).room()
    }

    /// The ends of the rings of a slot, unless they are taken.
    ///
    /// # Panics
    /// If there is no such slot.
    pub fn take(self: &Arc<Self>, slot: u32) -> Option<(Sender, Receiver)> {
        let (writer, reader, taken) = self.take_copying(slot)?;
        let taken = Arc::new(taken);
        let sender = Sender {
            writer,
            _taken: Arc::clone(&taken),
        };
        let receiver = Receiver {
            reader,
            _taken: taken,
        };
        Some((sender, receiver))
    }

    /// The same ends, which copy and lend nothing. They are not used after the last of the results is dropped.
    pub(crate) fn take_copying(self: &Arc<Self>, slot: u32) -> Option<(Writer, Reader, Taken)> {
        if self.taken[slot as usize].swap(true, Ordering::Acquire) {
            return None;
        }
        let taken = Taken {
            mapping: Arc::clone(self),
            slot,
        };
        let writer = Writer::new(&self.slots.send(&self.region, slot));
        let reader = Reader::new(&self.slots.receive(&self.region, slot));
        Some((writer, reader, taken))
    }
}

/// A slot is taken until this is dropped, which both of its ends have.
#[derive(Debug)]
pub(crate) struct Taken {
    mapping: Arc<Mapping>,
    slot: u32,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.mapping.taken[self.slot as usize].store(false, Ordering::Release);
    }
}

/// The end of a connection that sends.
#[derive(Debug)]
pub struct Sender {
    writer: Writer,
    _taken: Arc<Taken>,
}

impl Sender {
    /// Bytes for which there is room.
    pub fn room(&self) -> usize {
        self.writer.room()
    }

    /// Bytes that are written and not yet acknowledged by the peer.
    pub fn unsent(&self) -> usize {
        self.writer.unsent()
    }

    /// Copies what there is room for, and returns how many bytes that was.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        self.writer.write(bytes)
    }

    /// Room to write into: some of it if there is any, as the memory has an end.
    pub fn space(&mut self) -> &mut [u8] {
        let room = self.writer.first_room();
        // SAFETY: the bytes are in the mapping, which `_taken` keeps, and were zero at first. They are not committed, so
        // the engine does not use them, and no other reference to them is in this process: see the top of the file.
        unsafe { slice::from_raw_parts_mut(room.as_ptr().cast_mut(), room.len()) }
    }

    /// The first `len` bytes of [`space`](Sender::space) are to be sent.
    ///
    /// # Panics
    /// If it had fewer.
    pub fn commit(&mut self, len: usize) {
        assert!(len <= self.writer.first_room().len(), "bytes of the space");
        self.writer.advance(len);
    }
}

/// The end of a connection that receives.
#[derive(Debug)]
pub struct Receiver {
    reader: Reader,
    _taken: Arc<Taken>,
}

impl Receiver {
    /// Bytes that there are to read.
    pub fn available(&self) -> usize {
        self.reader.available()
    }

    /// Copies what there is and `to` has room for, and returns how many bytes that was.
    pub fn read(&mut self, to: &mut [u8]) -> usize {
        self.reader.read(to)
    }

    /// As [`read`](Receiver::read), and the bytes stay.
    pub fn peek(&self, to: &mut [u8]) -> usize {
        self.reader.peek(to)
    }

    /// What was received: some of it if there is any, as the memory has an end.
    pub fn data(&self) -> &[u8] {
        let data = self.reader.first_data();
        // SAFETY: the bytes are in the mapping, which `_taken` keeps. They are published and not consumed, so the engine
        // does not write to them, and neither does this process: see the top of the file.
        unsafe { slice::from_raw_parts(data.as_ptr(), data.len()) }
    }

    /// The first `len` bytes of [`data`](Receiver::data) are no longer needed.
    ///
    /// # Panics
    /// If it had fewer.
    pub fn consume(&mut self, len: usize) {
        assert!(len <= self.reader.first_data().len(), "bytes of the data");
        self.reader.advance(len);
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

    use super::super::{ReceiveBuffer, SendBuffer};
    use super::*;

    const SLOTS: Slots = Slots {
        start: 4096,
        count: 2,
        stride: 4096,
        head: 256,
        send: 64,
        receive: 128,
    };

    fn file(len: u64, seals: SealFlags) -> File {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = File::from(memfd_create("test", flags).unwrap());
        file.set_len(len).unwrap();
        fcntl_add_seals(&file, seals).unwrap();
        file
    }

    fn mapping() -> (Arc<Region>, Arc<Mapping>) {
        let file = file(SLOTS.end() as u64, SealFlags::SHRINK);
        let engine = Region::of_file(&file, SLOTS.end()).unwrap();
        (engine, Mapping::new(&file, SLOTS).unwrap())
    }

    #[test]
    fn memory_that_may_shrink_is_refused() {
        let all = SLOTS.end() as u64;
        for (len, seals) in [
            (all, SealFlags::GROW),
            (all - 1, SealFlags::SHRINK),
            (0, SealFlags::SHRINK),
        ] {
            let error = Mapping::new(&file(len, seals), SLOTS).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
    }

    #[test]
    fn a_slot_has_one_pair_of_ends() {
        let (_engine, mapping) = mapping();
        let (sender, receiver) = mapping.take(1).unwrap();
        assert!(mapping.take(1).is_none());
        assert!(mapping.take(0).is_some());
        drop(sender);
        assert!(mapping.take(1).is_none());
        drop(receiver);
        assert!(mapping.take(1).is_some());
    }

    #[test]
    fn lent_bytes_are_sent_and_received() {
        let (engine, mapping) = mapping();
        let mut send = SendBuffer::new(&SLOTS.send(&engine, 1));
        let mut receive = ReceiveBuffer::new(&SLOTS.receive(&engine, 1));
        let (mut sender, mut receiver) = mapping.take(1).unwrap();
        assert!(receiver.data().is_empty());
        let mut position = 0;
        // Rounds end at every place of the rings.
        for round in 0..200u8 {
            let len = 1 + usize::from(round) % 50;
            let mut left = len;
            while left > 0 {
                let space = sender.space();
                let n = left.min(space.len());
                assert!(n > 0);
                space[..n].fill(round);
                sender.commit(n);
                left -= n;
            }
            let end = position + len as u64;
            assert_eq!(send.written(), Ok(end));
            let parts = send.slices(position, len).unwrap();
            let mut bytes = vec![0; len];
            let (first, second) = bytes.split_at_mut(parts[0].len());
            parts[0].copy_to(first);
            parts[1].copy_to(second);
            assert!(bytes.iter().all(|&byte| byte == round));
            send.free(end).unwrap();
            receive.put(position, &bytes).unwrap();
            receive.publish(end).unwrap();
            let mut got = Vec::new();
            while !receiver.data().is_empty() {
                got.extend_from_slice(receiver.data());
                receiver.consume(receiver.data().len());
            }
            assert_eq!(got, bytes);
            assert_eq!(receive.consumed(), Ok(end));
            position = end;
        }
        assert_eq!((sender.room(), sender.unsent()), (64, 0));
        assert_eq!((mapping.room(1), mapping.available(1)), (64, 0));
    }

    #[test]
    #[should_panic(expected = "bytes of the space")]
    fn no_more_is_committed_than_was_lent() {
        let (_engine, mapping) = mapping();
        let (mut sender, _receiver) = mapping.take(0).unwrap();
        let len = sender.space().len();
        sender.commit(len + 1);
    }

    #[test]
    #[should_panic(expected = "bytes of the data")]
    fn no_more_is_consumed_than_there_is() {
        let (_engine, mapping) = mapping();
        let (_sender, mut receiver) = mapping.take(0).unwrap();
        receiver.consume(1);
    }
}
