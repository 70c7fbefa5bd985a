//! What each command does.

use std::io;
use std::ops::Range;
use std::sync::Mutex;

use evener_runtime::Pool;

use super::connection::lock;
use super::handshake::Agreed;
use super::payload::Payload;
use super::proto::*;
use super::reply::Reply;
use super::request::Job;
use super::stream::Stream;
use crate::overlay::Fault;
use crate::serve::{Bad, Site, Window};

/// Bytes that a thread has in hand at a time, about. Longer reads are answered in parts, so that no request takes more
/// memory than this and the blocks at its ends.
pub const WINDOW: u64 = 1 << 20;
/// Bytes that are made zero in one step; whole granules.
const ZEROED: u64 = 256 << 20;
/// Most runs in one BLOCK_STATUS.
const MAX_RUNS: usize = 1024;
/// Most blocks of the image that are looked at for them: one call of the system for each where the image is raw. A
/// client asks again for what lies behind.
const MAX_LOOKS: usize = 16 << 10;

const UNREADABLE: &str = "the image cannot be read here";

/// A request that is being answered.
pub struct Answer<'a> {
    pub site: &'a Site,
    pub pool: &'a Pool,
    pub stream: &'a Stream,
    pub output: &'a Mutex<()>,
    pub agreed: &'a Agreed,
    pub cookie: u64,
    pub window: &'a mut Window,
    pub reply: &'a mut Reply,
    pub payload: &'a mut Payload,
    /// More requests are there already, so that a small reply may wait for theirs.
    pub more: bool,
}

impl Answer<'_> {
    /// Does a job, whose first window was looked up as far as `looked` says, and replies.
    ///
    /// # Errors
    /// The connection is of no use any more.
    pub fn give(mut self, job: Job, looked: Result<u64, Bad>) -> io::Result<()> {
        match job {
            Job::Read { bytes, whole: true } => self.read_whole(bytes, looked),
            Job::Read { bytes, .. } if self.agreed.structured => self.read_chunks(bytes, looked),
            Job::Read { bytes, .. } => self.read_simple(bytes, looked),
            Job::BlockStatus { bytes, one } => self.block_status(bytes, one),
            Job::Cache(bytes) => self.cache(bytes),
            Job::Write { fua, .. } => {
                let (store, pool, window) = (&self.site.store, self.pool, &mut *self.window);
                let last = |at, part: &[u8]| store.write(pool, at, part, window);
                let done = self.payload.finish(last);
                self.written(done, fua)
            }
            Job::Zero {
                bytes,
                room,
                fast,
                fua,
            } => {
                let done = self.zero(bytes, room, fast)?;
                self.written(done, fua)
            }
            Job::Trim { bytes, fua } => {
                let done = self.site.store.trim(&bytes);
                self.written(done, fua)
            }
            Job::Flush => self.written(Ok(()), true),
            Job::Nothing => self.done(),
            Job::Refuse(error, why) => self.refuse(error, why, None),
        }
    }

    fn fill(&mut self, looked: Result<u64, Bad>) -> Result<u64, Bad> {
        let next = looked?;
        self.site.store.fill(self.pool, self.window)?;
        Ok(next)
    }

    fn look(&mut self, range: Range<u64>) -> Result<u64, Bad> {
        self.site.store.look(range, WINDOW, self.window)
    }

    fn given(&self, bytes: &Range<u64>) {
        let metrics = self.site.store.metrics();
        metrics.bytes.add(bytes.end - bytes.start);
    }

    /// Parts of a reply may come between those of others.
    fn read_chunks(&mut self, bytes: Range<u64>, looked: Result<u64, Bad>) -> io::Result<()> {
        let (mut at, mut looked) = (bytes.start, looked);
        loop {
            let next = match self.fill(looked) {
                Ok(next) => next,
                Err(bad) => return self.refuse(EIO, UNREADABLE, Some(bad.at)),
            };
            let done = next == bytes.end;
            let pieces = self.window.pieces();
            self.reply.chunks(self.cookie, at, pieces, done);
            self.send()?;
            if done {
                self.given(&bytes);
                return Ok(());
            }
            at = next;
            looked = self.look(next..bytes.end);
        }
    }

    /// DF: one chunk, which is promised for so many bytes only.
    fn read_whole(&mut self, bytes: Range<u64>, looked: Result<u64, Bad>) -> io::Result<()> {
        if bytes.end - bytes.start > WINDOW {
            self.window.clear();
            return self.refuse(EOVERFLOW, "too much for one chunk; ask without DF", None);
        }
        if let Err(bad) = self.fill(looked) {
            return self.refuse(EIO, UNREADABLE, Some(bad.at));
        }
        let pieces = self.window.pieces();
        self.reply.whole(self.cookie, bytes.start, pieces);
        self.send()?;
        self.given(&bytes);
        Ok(())
    }

    /// A simple reply says that all is well before its first byte, so what goes wrong after its first window ends
    /// the connection, as the protocol wants it.
    fn read_simple(&mut self, bytes: Range<u64>, looked: Result<u64, Bad>) -> io::Result<()> {
        let mut next = match self.fill(looked) {
            Ok(next) => next,
            Err(_) => return self.refuse(EIO, UNREADABLE, None),
        };
        self.reply.simple(self.cookie, 0);
        self.reply.plain(self.window.pieces());
        if next == bytes.end {
            self.given(&bytes);
            return self.send();
        }
        // Held to the end, since nothing may come between.
        let _output = lock(self.output);
        self.reply.send(self.stream, self.window.pieces())?;
        while next < bytes.end {
            let looked = self.look(next..bytes.end);
            next = self.fill(looked).map_err(|_| io::ErrorKind::InvalidData)?;
            let pieces = self.window.pieces();
            self.reply.plain(pieces);
            self.reply.send(self.stream, pieces)?;
        }
        self.given(&bytes);
        Ok(())
    }

    fn block_status(&mut self, bytes: Range<u64>, one: bool) -> io::Result<()> {
        let most = if one { 1 } else { MAX_RUNS };
        let mut runs: Vec<(u32, u32)> = Vec::new();
        let (mut at, mut blocks) = (bytes.start, MAX_LOOKS);
        while at < bytes.end && blocks > 0 && runs.len() <= most {
            let extent = match self.site.store.extent(at, bytes.end, &mut blocks) {
                Ok(extent) => extent,
                Err(_) if !runs.is_empty() => break,
                Err(error) => {
                    self.site.store.told(&error, at);
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
        // One more was looked at, as it could have been of the same kind.
        runs.truncate(most);
        self.reply.block_status(self.cookie, &runs);
        self.send()
    }

    /// Decodes no more than half of what can be kept, since more would push itself out.
    fn cache(&mut self, bytes: Range<u64>) -> io::Result<()> {
        let store = &self.site.store;
        let end = bytes.end.min(bytes.start + store.cache().budget() / 2);
        let mut at = bytes.start;
        while at < end && !self.site.cancel.is_cancelled() {
            let next = end.min(at + WINDOW);
            store.prefetch(self.pool, at..next, self.window);
            at = next;
        }
        self.done()
    }

    /// In steps, so that the end of the server need not wait for all.
    fn zero(&mut self, bytes: Range<u64>, room: bool, fast: bool) -> io::Result<Result<(), Fault>> {
        let mut at = bytes.start;
        while at < bytes.end {
            if self.site.cancel.is_cancelled() {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            let to = ((at / ZEROED + 1) * ZEROED).min(bytes.end);
            let store = &self.site.store;
            let done = store.zero(self.pool, at..to, (room, fast), self.window);
            if done.is_err() {
                return Ok(done);
            }
            at = to;
        }
        Ok(Ok(()))
    }

    /// Something was written, or not, and is to be durable if `flush` says so.
    fn written(&mut self, done: Result<(), Fault>, flush: bool) -> io::Result<()> {
        let done = done.and_then(|()| match flush {
            true => self.site.store.flush(),
            false => Ok(()),
        });
        match done {
            Ok(()) => self.done(),
            Err(fault) if fault.is_full() => self.refuse(ENOSPC, "the overlay is full", None),
            Err(Fault::File(_)) => self.refuse(EIO, "the overlay cannot be written", None),
            Err(Fault::Base { .. }) => self.refuse(EIO, UNREADABLE, None),
            Err(Fault::Slow) => self.refuse(ENOTSUP, "it would have to be written", None),
        }
    }

    fn done(&mut self) -> io::Result<()> {
        match self.agreed.structured {
            true => self.reply.none(self.cookie),
            false => self.reply.simple(self.cookie, 0),
        }
        self.send()
    }

    fn refuse(&mut self, error: u32, why: &str, at: Option<u64>) -> io::Result<()> {
        self.site.store.metrics().errors.add(1);
        self.window.clear();
        match self.agreed.structured {
            true => self.reply.error(self.cookie, error, why, at),
            false => self.reply.simple(self.cookie, error),
        }
        self.send()
    }

    fn send(&mut self) -> io::Result<()> {
        if self.more && self.reply.can_wait() {
            return Ok(());
        }
        let _output = lock(self.output);
        self.reply.send(self.stream, self.window.pieces())
    }
}
