//! The store of an image with an overlay: bytes come from the overlay if it has them, and are written to it.

use std::ops::Range;
use std::sync::Arc;

use evener_files::error_text;
use evener_runtime::Pool;

use super::counter::Counter;
use super::store::{Pending, Piece, ReadFailure, Store, Window};
use crate::block::{Block, Extent};
use crate::error::Error;
use crate::merged::extent;
use crate::overlay::{Overlay, WriteError};

impl Store {
    /// Puts an overlay on the image, before it is served.
    pub fn set_overlay(&mut self, overlay: Overlay) {
        self.overlay = Some(overlay);
    }

    /// The overlay, which receives writes.
    pub fn overlay(&self) -> Option<&Overlay> {
        self.overlay.as_ref()
    }

    pub(super) fn look_up_overlay(
        &self,
        overlay: &Overlay,
        range: Range<u64>,
        most: u64,
        window: &mut Window,
    ) -> Result<u64, ReadFailure> {
        let mut at = range.start;
        while at < range.end && at - range.start < most {
            let left = most - (at - range.start);
            let (overwritten, to) = overlay.run(at, range.end);
            at = match overwritten {
                false => self.look_up_image(at..to, left, window)?,
                true => {
                    let len = (to - at).min(left);
                    window.push_pending(Pending::Overlay(at, len as usize));
                    window.pieces.push(Piece::Zero(len));
                    at + len
                }
            };
        }
        Ok(at)
    }

    pub(super) fn read_overlay(&self, at: u64, len: usize) -> Option<Piece> {
        let overlay = self.overlay.as_ref()?;
        let mut bytes = self.cache().buffer(len, len);
        match overlay.read(at, bytes.bytes_mut()) {
            Ok(()) => Some(Piece::Data(Arc::new(bytes), 0..len)),
            Err(reason) => {
                self.metrics().bad.add(1);
                let (name, reason) = (overlay.name(), error_text(&reason));
                let line = format_args!("{name}: cannot be read at byte {at}: {reason}");
                self.faults.report(line);
                None
            }
        }
    }

    /// Whether all of a block lies in the overlay, so that the block itself is never read.
    pub(super) fn is_overwritten(&self, block: &Block) -> bool {
        let end = block.start + block.len;
        let covers = |overlay: &Overlay| overlay.run(block.start, end) == (true, end);
        self.overlay.as_ref().is_some_and(covers)
    }

    /// The run of bytes from `at` on that all take space in the file, or all take none, up to byte `end` at most.
    /// Bytes that take space may be zero, or unreadable. The run ends after `blocks` blocks of the image. `blocks` is
    /// reduced by the number of blocks examined, at least one; a run in the overlay counts as one.
    ///
    /// # Errors
    /// There is no byte `at`.
    pub fn extent(&self, at: u64, end: u64, blocks: &mut usize) -> Result<Extent, Error> {
        extent(self.image(), self.overlay(), at, end, blocks)
    }

    /// Whether writing these bytes needs bytes of the image, to complete a granule.
    pub fn needs_base(&self, bytes: &Range<u64>) -> bool {
        let needs = |overlay: &Overlay| overlay.needs_base(bytes);
        self.overlay.as_ref().is_some_and(needs)
    }

    /// Writes bytes from byte `at` on into the overlay. `window` is cleared.
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
    ) -> Result<(), WriteError> {
        let mut base = |at: u64, room: &mut [u8]| self.read_image(pool, at, room, window);
        let done = self.written_overlay().write(at, bytes, &mut base);
        self.count(done, &self.metrics().written, bytes.len() as u64)
    }

    /// Makes bytes zero; see [`Overlay::zero`]. `window` is cleared.
    ///
    /// # Errors
    /// Those of [`Overlay::zero`].
    ///
    /// # Panics
    /// If there is no overlay, or no such bytes.
    pub fn zero(
        &self,
        pool: &Pool,
        bytes: Range<u64>,
        (allocate, fast): (bool, bool),
        window: &mut Window,
    ) -> Result<(), WriteError> {
        let len = bytes.end - bytes.start;
        let mut base = |at: u64, room: &mut [u8]| self.read_image(pool, at, room, window);
        let overlay = self.written_overlay();
        let done = overlay.zero(bytes, allocate, fast, &mut base);
        self.count(done, &self.metrics().written, len)
    }

    /// Frees the space of bytes; see [`Overlay::trim`].
    ///
    /// # Errors
    /// Those of [`Overlay::trim`].
    ///
    /// # Panics
    /// If there is no overlay.
    pub fn trim(&self, bytes: &Range<u64>) -> Result<(), WriteError> {
        let done = self.written_overlay().trim(bytes);
        self.count(done, &self.metrics().trimmed, bytes.end - bytes.start)
    }

    /// Makes written data durable; see [`Overlay::flush`].
    ///
    /// # Errors
    /// Those of [`Overlay::flush`].
    pub fn flush(&self) -> Result<(), WriteError> {
        let Some(overlay) = self.overlay() else {
            return Ok(());
        };
        overlay.flush().map_err(|error| {
            let (name, reason) = (overlay.name(), error_text(&error));
            let what = match overlay.is_lost() {
                true => "every later flush fails, and the next server has what was flushed before",
                false => "a later flush may succeed",
            };
            self.faults.report(format_args!(
                "{name}: what was written may not reach the disk: {reason}; {what}"
            ));
            WriteError::File(error)
        })
    }

    fn count(
        &self,
        done: Result<(), WriteError>,
        counter: &Counter,
        len: u64,
    ) -> Result<(), WriteError> {
        if let Err(WriteError::File(reason)) = &done {
            let (name, reason) = (self.written_overlay().name(), error_text(reason));
            let line = format_args!(
                "{name}: cannot be written: {reason}; reads still give the right bytes"
            );
            self.faults.report(line);
        }
        done.inspect(|()| counter.add(len))
    }

    fn written_overlay(&self) -> &Overlay {
        let overlay = self.overlay.as_ref();
        overlay.expect("an image is written only where it has an overlay")
    }

    /// Reads bytes of the image alone.
    fn read_image(
        &self,
        pool: &Pool,
        at: u64,
        room: &mut [u8],
        window: &mut Window,
    ) -> Result<(), WriteError> {
        let range = at..at + room.len() as u64;
        window.clear();
        (window.from, window.to) = (range.start, range.end);
        let done = self
            .look_up_image(range, u64::MAX, window)
            .and_then(|_| self.fill(pool, window));
        if let Err(failure) = done {
            window.clear();
            return Err(WriteError::Base { at: failure.at });
        }
        let mut rest = room;
        for piece in window.pieces() {
            let (now, later) = rest.split_at_mut(piece.len() as usize);
            match piece {
                Piece::Zero(_) => now.fill(0),
                Piece::Data(block, part) => now.copy_from_slice(&block.bytes()[part.clone()]),
            }
            rest = later;
        }
        window.clear();
        Ok(())
    }
}
