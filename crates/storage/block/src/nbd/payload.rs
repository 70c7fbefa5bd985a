//! The payload of a request to write, part by part.

use std::io;
use std::ops::Range;

use super::input::Input;
use crate::overlay::{GRANULE, WriteError};

/// Bytes of it in memory at a time.
const PART: u64 = 256 << 10;
/// A larger buffer is not kept for the next request.
const MAX_KEPT: usize = 64 << 10;

/// The last part of a payload, after the others were written.
#[derive(Debug, Default)]
pub struct Payload {
    at: u64,
    bytes: Vec<u8>,
    failed: Option<WriteError>,
}

impl Payload {
    /// Reads the payload for `bytes` of the image. `write` gets every part but the last, with its place in the image,
    /// until it fails. Parts end where granules do, so a client that disconnects in between leaves whole granules.
    ///
    /// # Errors
    /// The connection ended before.
    pub fn receive(
        &mut self,
        input: &mut Input,
        bytes: &Range<u64>,
        mut write: impl FnMut(u64, &[u8]) -> Result<(), WriteError>,
    ) -> io::Result<()> {
        self.failed = None;
        self.at = bytes.start;
        loop {
            let end = ((self.at + PART) / GRANULE * GRANULE).min(bytes.end);
            self.bytes.resize((end - self.at) as usize, 0);
            input.fill(&mut self.bytes)?;
            if end == bytes.end {
                return Ok(());
            }
            if let Err(error) = write(self.at, &self.bytes) {
                self.failed = Some(error);
                return input.skip(bytes.end - end);
            }
            self.at = end;
        }
    }

    /// Where the last part lies in the image.
    pub fn place(&self) -> Range<u64> {
        self.at..self.at + self.bytes.len() as u64
    }

    /// Writes the last part, if those before were written.
    ///
    /// # Errors
    /// One of them could not be.
    pub fn finish(
        &mut self,
        write: impl FnOnce(u64, &[u8]) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let done = match self.failed.take() {
            Some(error) => Err(error),
            None => write(self.at, &self.bytes),
        };
        if self.bytes.capacity() > MAX_KEPT {
            self.bytes = Vec::new();
        }
        done
    }
}
