//! A queue of the device: the one thread that takes its requests and answers them.
//!
//! What is in the cache is answered at once. What is not waits for a *round*: some requests, in the order in which they
//! came, whose blocks are decoded as one batch by all workers and this thread. Whoever has decoded a block copies it to
//! its request; only the answer is this thread's, as the driver wants it. Rounds are short, so that what is in the
//! cache does not wait long behind them.

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

use super::abi::{Descriptor, SECTOR, buffer, op, queue};
use super::ring::{Done, QueueRing, Slots};
use crate::serve::{Ahead, Bad, COMMANDS, Faults, Part, Round, Store};

/// Blocks that a round may have for each worker before no more requests are taken into it.
const BLOCKS_PER_WORKER: usize = 4;
/// What zeros are copied from.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// A queue of the device.
pub struct Queue<'a> {
    line: Line<'a>,
    store: &'a Store,
    pool: &'a Pool,
    /// Where whoever has bytes copies them to.
    device: Arc<File>,
    /// Requests that are not looked at yet.
    waiting: VecDeque<Request>,
    round: Round,
    /// The requests of the round, in its order.
    rounded: Vec<Request>,
    /// Whether something of a request could not be copied, by its tag.
    spoilt: Box<[AtomicBool]>,
    ahead: Ahead,
}

/// What goes to the driver and comes from it.
struct Line<'a> {
    store: &'a Store,
    ring: QueueRing,
    slots: Slots,
    /// Commands the driver has.
    fetched: usize,
}

/// A request that is not answered.
#[derive(Clone, Copy, Debug)]
struct Request {
    tag: u16,
    descriptor: Descriptor,
    since: Instant,
}

/// What is to be done for a request.
#[derive(Debug, PartialEq, Eq)]
enum Job {
    /// Give these bytes of the image, and zeros up to so many.
    Read { bytes: Range<u64>, len: u64 },
    /// Nothing: all is well.
    Nothing,
    /// Say that it cannot be.
    Refuse,
}

impl Job {
    fn of(descriptor: &Descriptor, size: u64) -> Job {
        match descriptor.flags & op::MASK {
            op::READ => {
                let len = u64::from(descriptor.sectors) * SECTOR;
                let start = descriptor.first.checked_mul(SECTOR);
                // The last sector may be longer than the image.
                match start {
                    Some(start) if start < size && len <= size.next_multiple_of(SECTOR) - start => {
                        let bytes = start..(start + len).min(size);
                        Job::Read { bytes, len }
                    }
                    _ => Job::Refuse,
                }
            }
            op::FLUSH => Job::Nothing,
            _ => Job::Refuse,
        }
    }
}

/// The kinds of requests that metrics know, by the driver's number.
fn kind(descriptor: &Descriptor) -> usize {
    match descriptor.flags & op::MASK {
        op::READ => 0,
        op::FLUSH => 3,
        op::WRITE => 4,
        _ => COMMANDS.len() - 1,
    }
}

impl<'a> Queue<'a> {
    /// A queue whose ring is there. Its thread must call this.
    pub fn new(
        (store, pool, ahead): (&'a Store, &'a Pool, u64),
        ring: QueueRing,
        slots: Slots,
        device: Arc<File>,
        depth: u16,
    ) -> Queue<'a> {
        let depth = usize::from(depth);
        Queue {
            line: Line {
                store,
                ring,
                slots,
                fetched: 0,
            },
            store,
            pool,
            device,
            waiting: VecDeque::with_capacity(depth),
            round: Round::new(),
            rounded: Vec::with_capacity(depth),
            spoilt: (0..depth).map(|_| AtomicBool::new(false)).collect(),
            ahead: Ahead::new(ahead),
        }
    }

    /// Asks the driver for requests.
    pub fn fetch(&mut self) -> io::Result<()> {
        for tag in 0..self.spoilt.len() as u16 {
            self.line.give(queue::FETCH, tag, 0)?;
        }
        self.line.ring.submit(false)
    }

    /// Answers requests until the driver wants no more.
    pub fn run(&mut self) -> io::Result<()> {
        loop {
            let idle = self.waiting.is_empty();
            self.line.ring.submit(idle && !self.has_ahead())?;
            while let Some(request) = self.line.take()? {
                self.waiting.push_back(request);
            }
            if self.line.fetched == 0 && self.waiting.is_empty() {
                return Ok(());
            }
            if self.waiting.is_empty() {
                self.read_ahead();
                continue;
            }
            self.gather()?;
            if !self.round.is_empty() {
                // What was in the cache is answered before anything is decoded.
                self.line.ring.submit(false)?;
                self.deliver()?;
            }
        }
    }

    /// Answers what can be answered at once, and puts the rest into the round until that has enough.
    fn gather(&mut self) -> io::Result<()> {
        let enough = BLOCKS_PER_WORKER * self.pool.workers();
        let size = self.store.image().size();
        while self.round.blocks() < enough
            && let Some(request) = self.waiting.pop_front()
        {
            match Job::of(&request.descriptor, size) {
                Job::Nothing => self.line.answer(&request, Ok(0))?,
                Job::Refuse => {
                    let faults = self.store.faults();
                    faults
                        .tell("a request for what this disk does not do, or has not, was refused");
                    self.line.answer(&request, Err(Bad { at: 0 }))?;
                }
                Job::Read { bytes, len } => self.read(request, bytes, len)?,
            }
        }
        Ok(())
    }

    fn read(&mut self, request: Request, bytes: Range<u64>, len: u64) -> io::Result<()> {
        self.ahead.note(&bytes);
        let given = bytes.end - bytes.start;
        let copy = Copy {
            device: &self.device,
            queue: self.line.slots.queue(),
            spoilt: &self.spoilt,
            faults: self.store.faults(),
        };
        if given < len {
            copy.put(request.tag, given, Part::Zero(len - given));
        }
        let outcome = match self.round.look(self.store, bytes) {
            Ok(None) => {
                self.rounded.push(request);
                return Ok(());
            }
            Ok(Some(pieces)) => {
                let mut at = 0;
                for piece in pieces {
                    copy.put(request.tag, at, piece.part());
                    at += piece.len();
                }
                copy.whole(&request)
            }
            Err(bad) => copy.whole(&request).and(Err(bad)),
        };
        self.line.answer(&request, outcome)
    }

    /// Brings what the round lacks, and answers its requests.
    fn deliver(&mut self) -> io::Result<()> {
        let copy = Copy {
            device: &self.device,
            queue: self.line.slots.queue(),
            spoilt: &self.spoilt,
            faults: self.store.faults(),
        };
        let (line, rounded) = (&mut self.line, &self.rounded);
        let mut given = Ok(());
        self.store.deliver(
            self.pool,
            &mut self.round,
            |number, at, part| copy.put(rounded[number].tag, at, part),
            |number, outcome| {
                let request = &rounded[number];
                let outcome = copy.whole(request).and_then(|len| outcome.map(|()| len));
                let answered = line.answer(request, outcome);
                given = std::mem::replace(&mut given, Ok(())).and(answered);
            },
        );
        self.rounded.clear();
        given
    }

    /// Bytes that may be read ahead in one go, while a request may have to wait for it.
    fn step(&self) -> u64 {
        u64::from(self.store.image().block_size()) * self.pool.workers() as u64
    }

    fn has_ahead(&self) -> bool {
        let size = self.store.image().size();
        self.ahead.step(self.step(), size).is_some()
    }

    fn read_ahead(&mut self) {
        let size = self.store.image().size();
        if let Some(bytes) = self.ahead.step(self.step(), size) {
            self.round.prefetch(self.store, self.pool, bytes.clone());
            self.ahead.took(&bytes);
        }
    }
}

impl Line<'_> {
    /// The next request that is there, if one is.
    fn take(&mut self) -> io::Result<Option<Request>> {
        while let Some(Done { tag, result }) = self.ring.next() {
            self.fetched -= 1;
            match result {
                0 => {}
                // The device is being removed.
                _ if result == -Errno::NODEV.raw_os_error() => continue,
                error => return Err(io::Error::from_raw_os_error(error.saturating_neg())),
            }
            let descriptor = self.slots.descriptor(tag);
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

    /// Gives a request back: so many bytes, or an error. It is under way when the ring is submitted.
    fn answer(&mut self, request: &Request, outcome: Result<u64, Bad>) -> io::Result<()> {
        let metrics = self.store.metrics();
        let result = match outcome {
            Ok(len) => {
                metrics.bytes.add(len);
                len as i32
            }
            Err(_) => {
                metrics.errors.add(1);
                -Errno::IO.raw_os_error()
            }
        };
        metrics.latency.record(request.since.elapsed());
        metrics.in_flight.sub(1);
        self.give(queue::COMMIT_AND_FETCH, request.tag, result)
    }

    fn give(&mut self, code: u32, tag: u16, result: i32) -> io::Result<()> {
        self.ring.push(code, &self.slots, tag, result)?;
        self.fetched += 1;
        Ok(())
    }
}

/// Copies bytes to requests, on any thread.
#[derive(Clone, Copy)]
struct Copy<'a> {
    device: &'a File,
    queue: u16,
    spoilt: &'a [AtomicBool],
    faults: &'a Faults,
}

impl Copy<'_> {
    /// How many bytes a request has been given, if all could be.
    fn whole(&self, request: &Request) -> Result<u64, Bad> {
        let spoilt = self.spoilt[usize::from(request.tag)].swap(false, Ordering::Relaxed);
        let at = request.descriptor.first.saturating_mul(SECTOR);
        match spoilt {
            true => Err(Bad { at }),
            false => Ok(u64::from(request.descriptor.sectors) * SECTOR),
        }
    }

    fn put(&self, tag: u16, at: u64, part: Part<'_>) {
        let to = buffer(self.queue, tag, at);
        let done = match part {
            Part::Bytes(bytes) => self.device.write_all_at(bytes, to),
            Part::Zero(len) => (0..len).step_by(ZEROS.len()).try_for_each(|from| {
                let bytes = &ZEROS[..ZEROS.len().min((len - from) as usize)];
                self.device.write_all_at(bytes, to + from)
            }),
        };
        if let Err(error) = done {
            let line = format_args!("a request cannot be given its bytes: {error}");
            self.faults.tell(line);
            self.spoilt[usize::from(tag)].store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(flags: u32, first: u64, sectors: u32, size: u64) -> Job {
        let descriptor = Descriptor {
            flags,
            sectors,
            first,
        };
        Job::of(&descriptor, size)
    }

    #[test]
    fn what_is_read_lies_in_the_image() {
        let read = |bytes, len| Job::Read { bytes, len };
        assert_eq!(job(0, 0, 8, 4096), read(0..4096, 4096));
        assert_eq!(job(0, 7, 1, 4096), read(3584..4096, 512));
        // Flags beside the operation say how it is to be done.
        assert_eq!(job(1 << 8, 0, 1, 4096), read(0..512, 512));
        // The last sector of an image of any length.
        assert_eq!(job(0, 8, 1, 4097), read(4096..4097, 512));
        assert_eq!(job(0, 0, 9, 4097), read(0..4097, 4608));
        for (first, sectors) in [(8, 1), (7, 2), (1 << 55, 1), (u64::MAX, 1), (0, u32::MAX)] {
            assert_eq!(job(0, first, sectors, 4096), Job::Refuse);
        }
    }

    #[test]
    fn nothing_is_written() {
        for (flags, wanted) in [
            (1, Job::Refuse),
            (2, Job::Nothing),
            (3, Job::Refuse),
            (5, Job::Refuse),
            (255, Job::Refuse),
        ] {
            assert_eq!(job(flags, 0, 1, 4096), wanted);
        }
    }
}
