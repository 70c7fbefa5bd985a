//! An image with an overlay: read from whichever has the bytes, and written.

use std::ops::Range;
use std::sync::Arc;

use evener_runtime::Pool;

use super::counter::Counter;
use super::store::{Bad, Coming, Piece, Store, Window};
use crate::error::Error;
use crate::image::{Block, Extent};
use crate::merged::extent;
use crate::overlay::{Fault, Overlay};

impl Store {
    /// The same with an overlay of the image.
    pub fn over(mut self, overlay: Overlay) -> Store {
        self.overlay = Some(overlay);
        self
    }

    /// What the image is written into.
    pub fn overlay(&self) -> Option<&Overlay> {
        self.overlay.as_ref()
    }

    pub(super) fn look_over(
        &self,
        overlay: &Overlay,
        range: Range<u64>,
        most: u64,
        window: &mut Window,
    ) -> Result<u64, Bad> {
        let mut at = range.start;
        while at < range.end && at - range.start < most {
            let left = most - (at - range.start);
            let (over, to) = overlay.run(at, range.end);
            at = match over {
                false => self.look_under(at..to, left, window)?,
                true => {
                    let len = (to - at).min(left);
                    let coming = Coming::Over(at, len as usize);
                    window.coming.push((window.pieces.len(), coming));
                    window.pieces.push(Piece::Zero(len));
                    at + len
                }
            };
        }
        Ok(at)
    }

    pub(super) fn read_over(&self, at: u64, len: usize) -> Option<Piece> {
        let overlay = self.overlay.as_ref()?;
        let mut plain = self.cache().buffer(len, len);
        match overlay.read(at, plain.bytes_mut()) {
            Ok(()) => Some(Piece::Data(Arc::new(plain), 0..len)),
            Err(reason) => {
                self.metrics().bad.add(1);
                let (name, reason) = (overlay.name(), evener_files::plain(&reason));
                let line = format_args!("{name}: cannot be read at byte {at}: {reason}");
                self.faults.tell(line);
                None
            }
        }
    }

    /// Whether nobody reads any of a block, since all of it was written.
    pub(super) fn is_over(&self, block: &Block) -> bool {
        let end = block.start + block.len;
        let covers = |overlay: &Overlay| overlay.run(block.start, end) == (true, end);
        self.overlay.as_ref().is_some_and(covers)
    }

    /// The run of bytes from `at` on that take room, or do not, up to byte `end` at most. Bytes that take room may be
    /// zero, or not to be had. It ends after `blocks` blocks of the image, and takes off those that were looked at; a run
    /// in the overlay counts as one. It looks at one in any case.
    ///
    /// # Errors
    /// There is no byte `at`.
    pub fn extent(&self, at: u64, end: u64, blocks: &mut usize) -> Result<Extent, Error> {
        extent(self.image(), self.overlay(), at, end, blocks)
    }

    /// Whether writing these bytes has to wait for some of the image's own.
    pub fn needs_rest(&self, bytes: &Range<u64>) -> bool {
        let needs = |overlay: &Overlay| overlay.needs_rest(bytes);
        self.overlay.as_ref().is_some_and(needs)
    }

    /// Writes bytes from byte `at` on into the overlay. Whatever `window` held is gone.
    ///
    /// # Errors
    /// See [`Overlay::write`].
    ///
    /// # Panics
    /// If there is no overlay, or no such bytes.
    pub fn write(
        &self,
        pool: &Pool,
        at: u64,
        bytes: &[u8],
        window: &mut Window,
    ) -> Result<(), Fault> {
        let mut rest = |at: u64, room: &mut [u8]| self.read_under(pool, at, room, window);
        let done = self.written().write(at, bytes, &mut rest);
        self.count(done, &self.metrics().written, bytes.len() as u64)
    }

    /// Makes bytes zero; see [`Overlay::zero`]. Whatever `window` held is gone.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// If there is no overlay, or no such bytes.
    pub fn zero(
        &self,
        pool: &Pool,
        bytes: Range<u64>,
        (room, fast): (bool, bool),
        window: &mut Window,
    ) -> Result<(), Fault> {
        let len = bytes.end - bytes.start;
        let mut rest = |at: u64, room: &mut [u8]| self.read_under(pool, at, room, window);
        let done = self.written().zero(bytes, room, fast, &mut rest);
        self.count(done, &self.metrics().written, len)
    }

    /// Gives the room of bytes back; see [`Overlay::trim`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// If there is no overlay.
    pub fn trim(&self, bytes: &Range<u64>) -> Result<(), Fault> {
        let done = self.written().trim(bytes);
        self.count(done, &self.metrics().trimmed, bytes.end - bytes.start)
    }

    /// Makes durable what was written; see [`Overlay::flush`].
    ///
    /// # Errors
    /// As there.
    pub fn flush(&self) -> Result<(), Fault> {
        let Some(overlay) = self.overlay() else {
            return Ok(());
        };
        overlay.flush().map_err(|error| {
            let (name, reason) = (overlay.name(), evener_files::plain(&error));
            let what = match overlay.is_lost() {
                true => "every flush fails, and the next server has what was flushed before",
                false => "a later flush may succeed",
            };
            self.faults.tell(format_args!(
                "{name}: what was written may not reach the disk: {reason}; {what}"
            ));
            Fault::File(error)
        })
    }

    fn count(&self, done: Result<(), Fault>, counter: &Counter, len: u64) -> Result<(), Fault> {
        if let Err(Fault::File(reason)) = &done {
            let (name, reason) = (self.written().name(), evener_files::plain(reason));
            let line = format_args!("{name}: cannot be written: {reason}; what is read is right");
            self.faults.tell(line);
        }
        done.inspect(|()| counter.add(len))
    }

    fn written(&self) -> &Overlay {
        self.overlay
            .as_ref()
            .expect("only what has an overlay is written")
    }

    /// Bytes of the image alone.
    fn read_under(
        &self,
        pool: &Pool,
        at: u64,
        room: &mut [u8],
        window: &mut Window,
    ) -> Result<(), Fault> {
        let range = at..at + room.len() as u64;
        window.clear();
        (window.from, window.to) = (range.start, range.end);
        let done = self
            .look_under(range, u64::MAX, window)
            .and_then(|_| self.fill(pool, window));
        if let Err(bad) = done {
            window.clear();
            return Err(Fault::Base { at: bad.at });
        }
        let mut rest = room;
        for piece in window.pieces() {
            let (now, later) = rest.split_at_mut(piece.len() as usize);
            match piece {
                Piece::Zero(_) => now.fill(0),
                Piece::Data(plain, part) => now.copy_from_slice(&plain.bytes()[part.clone()]),
            }
            rest = later;
        }
        window.clear();
        Ok(())
    }
}
