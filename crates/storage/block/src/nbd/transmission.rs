//! What each command does.

use std::io;
use std::ops::Range;
use std::sync::Mutex;

use super::channel::Channel;
use evener_files::lock;
use evener_runtime::Pool;

use super::handshake::Negotiated;
use super::payload::Payload;
use super::proto::*;
use super::reply::Reply;
use super::request::Action;
use crate::overlay::WriteError;
use crate::serve::{ReadFailure, ServeContext, Window};

/// Bytes that a thread reads at a time, about. Longer reads are answered in parts, so that no request takes more memory
/// than this and the blocks at its ends.
pub const WINDOW: u64 = 1 << 20;
/// Bytes that are made zero in one step; whole granules.
const ZERO_STEP: u64 = 256 << 20;
/// The most runs in one BLOCK_STATUS.
const MAX_RUNS: usize = 1024;
/// The most blocks of the image that one BLOCK_STATUS looks at. Each costs a system call where the image is raw. The
/// client asks again for what follows.
const MAX_STATUS_BLOCKS: usize = 16 << 10;

const UNREADABLE: &str = "the image cannot be read here";

/// What a request is answered with.
pub struct Responder<'a> {
    pub context: &'a ServeContext,
    pub pool: &'a Pool,
    pub stream: &'a Channel,
    pub output: &'a Mutex<()>,
    pub negotiated: &'a Negotiated,
    /// The byte of the image that is the first of the export.
    pub start: u64,
    pub cookie: u64,
    pub window: &'a mut Window,
    pub reply: &'a mut Reply,
    pub payload: &'a mut Payload,
    /// The next request is in memory already, so that a small reply can be held back for its reply.
    pub more: bool,
}

impl Responder<'_> {
    /// Does what a request asks for and replies. `looked_up`: where its first window ends.
    ///
    /// # Errors
    /// The connection is unusable.
    pub fn handle(mut self, action: Action, looked_up: Result<u64, ReadFailure>) -> io::Result<()> {
        match action {
            Action::Read { bytes, whole: true } => self.read_whole(bytes, looked_up),
            Action::Read { bytes, .. } if self.negotiated.structured => {
                self.read_chunks(bytes, looked_up)
            }
            Action::Read { bytes, .. } => self.read_simple(bytes, looked_up),
            Action::BlockStatus { bytes, one } => self.block_status(bytes, one),
            Action::Cache(bytes) => self.cache(bytes),
            Action::Write { fua, .. } => {
                let (store, pool, window) = (&self.context.store, self.pool, &mut *self.window);
                let last = |at, part: &[u8]| store.write(pool, at, part, window);
                let done = self.payload.finish(last);
                self.written(done, fua)
            }
            Action::Zero {
                bytes,
                allocate,
                fast,
                fua,
            } => {
                let done = self.zero(bytes, allocate, fast)?;
                self.written(done, fua)
            }
            Action::Trim { bytes, fua } => {
                let done = self.context.store.trim(&bytes);
                self.written(done, fua)
            }
            Action::Flush => self.written(Ok(()), true),
            Action::Nothing => self.done(),
            Action::Refuse(error, why) => self.refuse(error, why, None),
        }
    }

    fn fill(&mut self, looked_up: Result<u64, ReadFailure>) -> Result<u64, ReadFailure> {
        let next = looked_up?;
        self.context.store.fill(self.pool, self.window)?;
        Ok(next)
    }

    fn look_up(&mut self, range: Range<u64>) -> Result<u64, ReadFailure> {
        self.context.store.look_up(range, WINDOW, self.window)
    }

    fn count_read(&self, bytes: &Range<u64>) {
        let metrics = self.context.store.metrics();
        metrics.bytes.add(bytes.end - bytes.start);
    }

    /// Answers a read in parts. Parts of other replies may be sent between them.
    fn read_chunks(
        &mut self,
        bytes: Range<u64>,
        looked_up: Result<u64, ReadFailure>,
    ) -> io::Result<()> {
        let (mut at, mut looked_up) = (bytes.start, looked_up);
        loop {
            let next = match self.fill(looked_up) {
                Ok(next) => next,
                Err(failure) => return self.refuse(EIO, UNREADABLE, Some(failure.at)),
            };
            let done = next == bytes.end;
            let pieces = self.window.pieces();
            self.reply
                .chunks(self.cookie, at - self.start, pieces, done);
            self.send()?;
            if done {
                self.count_read(&bytes);
                return Ok(());
            }
            at = next;
            looked_up = self.look_up(next..bytes.end);
        }
    }

    /// Answers a read in one chunk (DF), which works for a window at most.
    fn read_whole(
        &mut self,
        bytes: Range<u64>,
        looked_up: Result<u64, ReadFailure>,
    ) -> io::Result<()> {
        if bytes.end - bytes.start > WINDOW {
            self.window.clear();
            return self.refuse(EOVERFLOW, "too much for one chunk; ask without DF", None);
        }
        if let Err(failure) = self.fill(looked_up) {
            return self.refuse(EIO, UNREADABLE, Some(failure.at));
        }
        let pieces = self.window.pieces();
        self.reply
            .whole(self.cookie, bytes.start - self.start, pieces);
        self.send()?;
        self.count_read(&bytes);
        Ok(())
    }

    /// Answers a read by a simple reply. It says that all is well before its first byte, so an error after the first
    /// window ends the connection, as the protocol demands.
    fn read_simple(
        &mut self,
        bytes: Range<u64>,
        looked_up: Result<u64, ReadFailure>,
    ) -> io::Result<()> {
        let mut next = match self.fill(looked_up) {
            Ok(next) => next,
            Err(_) => return self.refuse(EIO, UNREADABLE, None),
        };
        self.reply.simple(self.cookie, 0);
        self.reply.data(self.window.pieces());
        if next == bytes.end {
            self.count_read(&bytes);
            return self.send();
        }
        // Held to the end, since no other reply may be sent in between.
        let _output = lock(self.output);
        self.reply.send(self.stream, self.window.pieces())?;
        while next < bytes.end {
            let looked_up = self.look_up(next..bytes.end);
            next = self
                .fill(looked_up)
                .map_err(|_| io::ErrorKind::InvalidData)?;
            let pieces = self.window.pieces();
            self.reply.data(pieces);
            self.reply.send(self.stream, pieces)?;
        }
        self.count_read(&bytes);
        Ok(())
    }

    fn block_status(&mut self, bytes: Range<u64>, one: bool) -> io::Result<()> {
        let most = if one { 1 } else { MAX_RUNS };
        let mut runs: Vec<(u32, u32)> = Vec::new();
        let (mut at, mut blocks) = (bytes.start, MAX_STATUS_BLOCKS);
        while at < bytes.end && blocks > 0 && runs.len() <= most {
            let extent = match self.context.store.extent(at, bytes.end, &mut blocks) {
                Ok(extent) => extent,
                Err(_) if !runs.is_empty() => break,
                Err(error) => {
                    self.context.store.report(&error, at);
                    return self.refuse(EIO, UNREADABLE, None);
                }
            };
            let flags = match extent.zero {
                true => STATE_HOLE | STATE_ZERO,
                false => 0,
            };
            let len = (extent.bytes.end - at) as u32;
            match runs.last_mut() {
                Some((before, same)) if *same == flags => *before += len,
                _ => runs.push((len, flags)),
            }
            at = extent.bytes.end;
        }
        // One more was made, since the run after the last could have been of the same kind.
        runs.truncate(most);
        self.reply.block_status(self.cookie, &runs);
        self.send()
    }

    /// Decodes no more than half of the cache holds, since more would evict itself.
    fn cache(&mut self, bytes: Range<u64>) -> io::Result<()> {
        let store = &self.context.store;
        let end = bytes.end.min(bytes.start + store.cache().budget() / 2);
        let mut at = bytes.start;
        while at < end && !self.context.cancel.is_cancelled() {
            let next = end.min(at + WINDOW);
            store.prefetch(self.pool, at..next, self.window);
            at = next;
        }
        self.done()
    }

    /// Zeros bytes in steps, so that the server can end between them.
    fn zero(
        &mut self,
        bytes: Range<u64>,
        allocate: bool,
        fast: bool,
    ) -> io::Result<Result<(), WriteError>> {
        let mut at = bytes.start;
        while at < bytes.end {
            if self.context.cancel.is_cancelled() {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            let to = ((at / ZERO_STEP + 1) * ZERO_STEP).min(bytes.end);
            let store = &self.context.store;
            let done = store.zero(self.pool, at..to, (allocate, fast), self.window);
            if done.is_err() {
                return Ok(done);
            }
            at = to;
        }
        Ok(Ok(()))
    }

    /// Replies to a request that writes. `flush`: what was written has to be durable first.
    fn written(&mut self, done: Result<(), WriteError>, flush: bool) -> io::Result<()> {
        let done = done.and_then(|()| match flush {
            true => self.context.store.flush(),
            false => Ok(()),
        });
        match done {
            Ok(()) => self.done(),
            Err(fault) if fault.is_full() => self.refuse(ENOSPC, "the overlay is full", None),
            Err(WriteError::File(_)) => self.refuse(EIO, "the overlay cannot be written", None),
            Err(WriteError::Base { .. }) => self.refuse(EIO, UNREADABLE, None),
            Err(WriteError::Slow) => self.refuse(ENOTSUP, "zeros would have to be written", None),
        }
    }

    fn done(&mut self) -> io::Result<()> {
        match self.negotiated.structured {
            true => self.reply.none(self.cookie),
            false => self.reply.simple(self.cookie, 0),
        }
        self.send()
    }

    fn refuse(&mut self, error: u32, why: &str, at: Option<u64>) -> io::Result<()> {
        self.context.store.metrics().errors.add(1);
        self.window.clear();
        match self.negotiated.structured {
            true => {
                let at = at.map(|at| at - self.start);
                self.reply.error(self.cookie, error, why, at);
            }
            false => self.reply.simple(self.cookie, error),
        }
        self.send()
    }

    fn send(&mut self) -> io::Result<()> {
        if self.more && self.reply.can_be_held() {
            return Ok(());
        }
        let _output = lock(self.output);
        self.reply.send(self.stream, self.window.pieces())
    }
}
