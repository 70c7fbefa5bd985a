//! A queue of the device: the one thread that takes its requests and answers them.
//!
//! Requests for what is in the cache are answered at once. The others wait for a batch: some requests, in the order in
//! which they came, whose blocks are decoded together by all workers and this thread. The thread that decodes a block
//! also copies it to its request; only this thread answers requests, as the driver demands. Batches are short, so that
//! requests for what is in the cache do not wait long behind them. A request that writes is carried out by this thread
//! when the batch is empty, since it may have to wait for a block that the batch would decode.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use evener_runtime::Pool;
use rustix::io::Errno;

use super::abi::{Descriptor, NO_UNMAP, SECTOR, buffer, op, queue};
use super::ring::{Completion, Descriptors, QueueRing};
use crate::overlay::WriteError;
use crate::serve::{COMMANDS, FaultLog, PieceBytes, ReadAheadTracker, ReadBatch, Store, Window};
use crate::zero::ZEROS;

/// A batch with more blocks than this for each worker takes no more requests.
const BLOCKS_PER_WORKER: usize = 4;

/// A queue of the device.
pub struct Queue<'a> {
    driver: DriverChannel<'a>,
    store: &'a Store,
    pool: &'a Pool,
    /// What bytes of requests are copied to, by any thread.
    device: Arc<File>,
    /// Requests that are not looked up yet.
    waiting: VecDeque<Request>,
    batch: ReadBatch,
    /// The requests of the batch, in its order.
    batched: Vec<Request>,
    /// Whether copying to a request failed, by its tag.
    failed: Box<[AtomicBool]>,
    read_ahead: ReadAheadTracker,
    /// What a write reads of the image.
    window: Window,
    /// The bytes of a write.
    payload: Vec<u8>,
}

/// Commands to the driver and their completions.
struct DriverChannel<'a> {
    store: &'a Store,
    ring: QueueRing,
    descriptors: Descriptors,
    /// Commands that the driver has not completed.
    fetched: usize,
}

/// A request that is not answered yet.
#[derive(Clone, Copy, Debug)]
struct Request {
    tag: u16,
    descriptor: Descriptor,
    since: Instant,
}

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
enum Action {
    /// To give these bytes of the image, and zeros up to `len` bytes.
    Read {
        bytes: Range<u64>,
        len: u64,
    },
    Write(Range<u64>),
    Zero {
        bytes: Range<u64>,
        allocate: bool,
    },
    Trim(Range<u64>),
    /// To make durable what was written.
    Flush,
    /// To refuse it.
    Refuse,
}

impl Action {
    fn of(descriptor: &Descriptor, size: u64, writable: bool) -> Action {
        let operation = descriptor.flags & op::MASK;
        if operation == op::FLUSH {
            return Action::Flush;
        }
        let len = u64::from(descriptor.sectors) * SECTOR;
        // The last sector may reach beyond the image.
        let bytes = match descriptor.first.checked_mul(SECTOR) {
            Some(start) if start < size && len <= size.next_multiple_of(SECTOR) - start => {
                start..(start + len).min(size)
            }
            _ => return Action::Refuse,
        };
        let allocate = descriptor.flags & NO_UNMAP != 0;
        match operation {
            op::READ => Action::Read { bytes, len },
            op::WRITE if writable => Action::Write(bytes),
            op::WRITE_ZEROES if writable => Action::Zero { bytes, allocate },
            op::DISCARD if writable => Action::Trim(bytes),
            _ => Action::Refuse,
        }
    }
}

/// Its place in [`COMMANDS`].
fn kind(descriptor: &Descriptor) -> usize {
    match descriptor.flags & op::MASK {
        op::READ => 0,
        op::FLUSH => 3,
        op::WRITE => 4,
        op::DISCARD => 5,
        op::WRITE_ZEROES => 6,
        _ => COMMANDS.len() - 1,
    }
}

impl<'a> Queue<'a> {
    /// A queue with a ring. The thread that serves it must call this.
    pub fn new(
        (store, pool, read_ahead): (&'a Store, &'a Pool, u64),
        ring: QueueRing,
        descriptors: Descriptors,
        device: Arc<File>,
        depth: u16,
    ) -> Queue<'a> {
        let depth = usize::from(depth);
        Queue {
            driver: DriverChannel {
                store,
                ring,
                descriptors,
                fetched: 0,
            },
            store,
            pool,
            device,
            waiting: VecDeque::with_capacity(depth),
            batch: ReadBatch::new(),
            batched: Vec::with_capacity(depth),
            failed: (0..depth).map(|_| AtomicBool::new(false)).collect(),
            read_ahead: ReadAheadTracker::new(read_ahead),
            window: Window::default(),
            payload: Vec::new(),
        }
    }

    /// Asks the driver for requests.
    pub fn fetch(&mut self) -> io::Result<()> {
        for tag in 0..self.failed.len() as u16 {
            self.driver.push(queue::FETCH, tag, 0)?;
        }
        self.driver.ring.submit(false)
    }

    /// Answers requests until the device is stopped.
    pub fn run(&mut self) -> io::Result<()> {
        loop {
            let idle = self.waiting.is_empty();
            self.driver.ring.submit(idle && !self.has_read_ahead())?;
            while let Some(request) = self.driver.take()? {
                self.waiting.push_back(request);
            }
            if self.driver.fetched == 0 && self.waiting.is_empty() {
                return Ok(());
            }
            if self.waiting.is_empty() {
                self.read_ahead();
                continue;
            }
            self.gather()?;
            if !self.batch.is_empty() {
                // What was in the cache is answered before anything is decoded.
                self.driver.ring.submit(false)?;
                self.deliver()?;
            }
        }
    }

    /// Answers requests that can be answered at once, and adds the others to the batch until it has enough blocks.
    fn gather(&mut self) -> io::Result<()> {
        let enough = BLOCKS_PER_WORKER * self.pool.workers();
        let size = self.store.image().size();
        let writable = self.store.overlay().is_some();
        while self.batch.blocks() < enough
            && let Some(request) = self.waiting.pop_front()
        {
            match Action::of(&request.descriptor, size, writable) {
                Action::Refuse => {
                    let faults = self.store.faults();
                    faults
                        .report("a request was refused: the disk does not support it, or it lies beyond the end");
                    self.driver.answer(&request, Err(Errno::IO))?;
                }
                Action::Read { bytes, len } => self.read(request, bytes, len)?,
                _ if !self.batch.is_empty() => {
                    self.waiting.push_front(request);
                    break;
                }
                action => {
                    let outcome = self.change(&request, action);
                    self.driver.answer(&request, outcome)?;
                }
            }
        }
        Ok(())
    }

    /// Carries out a request to write, and returns how many bytes of it are answered.
    fn change(&mut self, request: &Request, action: Action) -> Result<u64, Errno> {
        let (store, pool) = (self.store, self.pool);
        let len = u64::from(request.descriptor.sectors) * SECTOR;
        let (done, answer) = match action {
            Action::Write(bytes) => {
                self.payload.resize((bytes.end - bytes.start) as usize, 0);
                let from = buffer(self.driver.descriptors.queue(), request.tag, 0);
                if let Err(error) = self.device.read_exact_at(&mut self.payload, from) {
                    let line = format_args!("a request does not give its bytes: {error}");
                    store.faults().report(line);
                    return Err(Errno::IO);
                }
                let written = store.write(pool, bytes.start, &self.payload, &mut self.window);
                (written, len)
            }
            Action::Zero { bytes, allocate } => {
                let how = (allocate, false);
                (store.zero(pool, bytes, how, &mut self.window), 0)
            }
            Action::Trim(bytes) => (store.trim(&bytes), 0),
            _ => (store.flush(), 0),
        };
        match done {
            Ok(()) => Ok(answer),
            Err(fault) if fault.is_full() => Err(Errno::NOSPC),
            Err(WriteError::File(_) | WriteError::Base { .. } | WriteError::Slow) => Err(Errno::IO),
        }
    }

    fn read(&mut self, request: Request, bytes: Range<u64>, len: u64) -> io::Result<()> {
        self.read_ahead.record(&bytes);
        let given = bytes.end - bytes.start;
        let writer = RequestWriter {
            device: &self.device,
            queue: self.driver.descriptors.queue(),
            failed: &self.failed,
            faults: self.store.faults(),
        };
        if given < len {
            writer.write(request.tag, given, PieceBytes::Zero(len - given));
        }
        let outcome = match self.batch.add(self.store, bytes) {
            Ok(None) => {
                self.batched.push(request);
                return Ok(());
            }
            Ok(Some(pieces)) => {
                let mut at = 0;
                for piece in pieces {
                    writer.write(request.tag, at, piece.piece_bytes());
                    at += piece.len();
                }
                writer.outcome(&request)
            }
            Err(_) => writer.outcome(&request).and(Err(Errno::IO)),
        };
        self.driver.answer(&request, outcome)
    }

    /// Decodes and reads what the batch lacks, and answers its requests.
    fn deliver(&mut self) -> io::Result<()> {
        let writer = RequestWriter {
            device: &self.device,
            queue: self.driver.descriptors.queue(),
            failed: &self.failed,
            faults: self.store.faults(),
        };
        let (driver, batched) = (&mut self.driver, &self.batched);
        let mut given = Ok(());
        self.store.deliver(
            self.pool,
            &mut self.batch,
            |number, at, part| writer.write(batched[number].tag, at, part),
            |number, outcome| {
                let request = &batched[number];
                let outcome = writer
                    .outcome(request)
                    .and_then(|len| outcome.map(|()| len).map_err(|_| Errno::IO));
                let answered = driver.answer(request, outcome);
                given = std::mem::replace(&mut given, Ok(())).and(answered);
            },
        );
        self.batched.clear();
        given
    }

    /// Bytes that are read ahead in one step. A request may have to wait for a step.
    fn step(&self) -> u64 {
        u64::from(self.store.image().block_size()) * self.pool.workers() as u64
    }

    fn has_read_ahead(&self) -> bool {
        let size = self.store.image().size();
        self.read_ahead.next_step(self.step(), size).is_some()
    }

    fn read_ahead(&mut self) {
        let size = self.store.image().size();
        if let Some(bytes) = self.read_ahead.next_step(self.step(), size) {
            self.batch.prefetch(self.store, self.pool, bytes.clone());
            self.read_ahead.advance(&bytes);
        }
    }
}

impl DriverChannel<'_> {
    /// The next request, if there is one.
    fn take(&mut self) -> io::Result<Option<Request>> {
        while let Some(Completion { tag, result }) = self.ring.next() {
            self.fetched -= 1;
            match result {
                0 => {}
                // The device is being removed.
                _ if result == -Errno::NODEV.raw_os_error() => continue,
                error => return Err(io::Error::from_raw_os_error(error.saturating_neg())),
            }
            let descriptor = self.descriptors.descriptor(tag);
            let descriptor = descriptor.ok_or(io::ErrorKind::InvalidData)?;
            let metrics = self.store.metrics();
            metrics.requests[kind(&descriptor)].add(1);
            metrics.in_flight.add(1);
            return Ok(Some(Request {
                tag,
                descriptor,
                since: Instant::now(),
            }));
        }
        Ok(None)
    }

    /// Answers a request: with a number of bytes, or an error. The answer is sent when the ring is submitted.
    fn answer(&mut self, request: &Request, outcome: Result<u64, Errno>) -> io::Result<()> {
        let metrics = self.store.metrics();
        let result = match outcome {
            Ok(len) => {
                if request.descriptor.flags & op::MASK == op::READ {
                    metrics.bytes.add(len);
                }
                len as i32
            }
            Err(error) => {
                metrics.errors.add(1);
                -error.raw_os_error()
            }
        };
        metrics.latency.record(request.since.elapsed());
        metrics.in_flight.sub(1);
        self.push(queue::COMMIT_AND_FETCH, request.tag, result)
    }

    fn push(&mut self, code: u32, tag: u16, result: i32) -> io::Result<()> {
        self.ring.push(code, &self.descriptors, tag, result)?;
        self.fetched += 1;
        Ok(())
    }
}

/// Copies bytes to requests, on any thread.
#[derive(Clone, Copy)]
struct RequestWriter<'a> {
    device: &'a File,
    queue: u16,
    failed: &'a [AtomicBool],
    faults: &'a FaultLog,
}

impl RequestWriter<'_> {
    /// How many bytes a request was given, if copying did not fail.
    fn outcome(&self, request: &Request) -> Result<u64, Errno> {
        let failed = self.failed[usize::from(request.tag)].swap(false, Ordering::Relaxed);
        match failed {
            true => Err(Errno::IO),
            false => Ok(u64::from(request.descriptor.sectors) * SECTOR),
        }
    }

    fn write(&self, tag: u16, at: u64, part: PieceBytes<'_>) {
        let to = buffer(self.queue, tag, at);
        let done = match part {
            PieceBytes::Bytes(bytes) => self.device.write_all_at(bytes, to),
            PieceBytes::Zero(len) => (0..len).step_by(ZEROS.len()).try_for_each(|from| {
                let bytes = &ZEROS[..ZEROS.len().min((len - from) as usize)];
                self.device.write_all_at(bytes, to + from)
            }),
        };
        if let Err(error) = done {
            let line = format_args!("a request cannot be given its bytes: {error}");
            self.faults.report(line);
            self.failed[usize::from(tag)].store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(flags: u32, first: u64, sectors: u32, size: u64) -> Action {
        let descriptor = Descriptor {
            flags,
            sectors,
            first,
        };
        Action::of(&descriptor, size, false)
    }

    #[test]
    fn what_is_read_lies_in_the_image() {
        let read = |bytes, len| Action::Read { bytes, len };
        assert_eq!(action(0, 0, 8, 4096), read(0..4096, 4096));
        assert_eq!(action(0, 7, 1, 4096), read(3584..4096, 512));
        // Flags beside the operation say how it is to be done.
        assert_eq!(action(1 << 8, 0, 1, 4096), read(0..512, 512));
        // The last sector of an image of any length.
        assert_eq!(action(0, 8, 1, 4097), read(4096..4097, 512));
        assert_eq!(action(0, 0, 9, 4097), read(0..4097, 4608));
        for (first, sectors) in [(8, 1), (7, 2), (1 << 55, 1), (u64::MAX, 1), (0, u32::MAX)] {
            assert_eq!(action(0, first, sectors, 4096), Action::Refuse);
        }
    }

    #[test]
    fn nothing_is_written() {
        for (flags, wanted) in [
            (1, Action::Refuse),
            (2, Action::Flush),
            (3, Action::Refuse),
            (5, Action::Refuse),
            (255, Action::Refuse),
        ] {
            assert_eq!(action(flags, 0, 1, 4096), wanted);
        }
    }

    #[test]
    fn a_disk_with_an_overlay_is_written() {
        let action = |flags, first, sectors| {
            let descriptor = Descriptor {
                flags,
                sectors,
                first,
            };
            Action::of(&descriptor, 4097, true)
        };
        let zero = |allocate| Action::Zero {
            bytes: 0..4096,
            allocate,
        };
        assert_eq!(action(op::WRITE, 7, 2), Action::Write(3584..4097));
        assert_eq!(action(op::WRITE, 8, 2), Action::Refuse);
        assert_eq!(action(op::WRITE_ZEROES, 0, 8), zero(false));
        assert_eq!(action(op::WRITE_ZEROES | NO_UNMAP, 0, 8), zero(true));
        assert_eq!(action(op::DISCARD, 0, 9), Action::Trim(0..4097));
        assert_eq!(action(4, 0, 8), Action::Refuse);
    }
}
