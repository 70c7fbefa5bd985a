//! What comes behind a request to write, part by part.

use std::io;
use std::ops::Range;

use super::input::Input;
use crate::overlay::{Fault, GRANULE};

/// Bytes of it in memory at a time.
const PART: u64 = 256 << 10;
/// So many bytes are kept for the next request.
const KEPT: usize = 64 << 10;

/// The last part of what is to be written, when the others are.
#[derive(Debug, Default)]
pub struct Payload {
    at: u64,
    bytes: Vec<u8>,
    failed: Option<Fault>,
}

impl Payload {
    /// Reads all of it, which is for `bytes` of the image. `write` gets every part but the last, each with its place,
    /// until it fails. Parts end where granules do, so a client that goes in the middle leaves whole granules.
    ///
    /// # Errors
    /// The connection ended before.
    pub fn take(
        &mut self,
        input: &mut Input,
        bytes: &Range<u64>,
        mut write: impl FnMut(u64, &[u8]) -> Result<(), Fault>,
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
            if let Err(fault) = write(self.at, &self.bytes) {
                self.failed = Some(fault);
                return input.skip(bytes.end - end);
            }
            self.at = end;
        }
    }

    /// Where the last part lies in the image.
    pub fn place(&self) -> Range<u64> {
        self.at..self.at + self.bytes.len() as u64
    }

    /// Has the last part written, if those before were.
    ///
    /// # Errors
    /// One of them could not be.
    pub fn finish(
        &mut self,
        write: impl FnOnce(u64, &[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let done = match self.failed.take() {
            Some(fault) => Err(fault),
            None => write(self.at, &self.bytes),
        };
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
        done
    }
}
