//! What is done to the rows of a unit.

use crate::chunked::{self, CHUNK, ChunkError, FileKey, SEALED_CHUNK, SizeError};
use crate::ctr::Ctr;

/// Rows that cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A chunk is not what was sealed.
    #[error(transparent)]
    Chunk(#[from] ChunkError),
    /// The file is longer than the format allows.
    #[error(transparent)]
    Size(#[from] SizeError),
}

/// Something that turns rows of bytes into rows of bytes, each by itself and by its number.
pub trait Operation: Send + Sync {
    /// Bytes of a whole row as it is read.
    const READ: usize;
    /// Bytes of a whole row as it is written.
    const WRITTEN: usize;

    /// What it is called in reports and for remembered plans.
    fn name(&self) -> String;

    /// Vectorised operations on a byte, about.
    fn weight(&self) -> f64;

    /// Rows that `bytes` bytes make; with `last` the file ends there.
    fn rows(bytes: usize, last: bool) -> usize;

    /// Bytes that those rows take when written.
    fn written(bytes: usize, last: bool) -> usize;

    /// Turns `input`, rows from number `first` of the file on, into `output`. With `last` the file ends there.
    ///
    /// # Errors
    /// The rows are not what they should be.
    fn run(&self, first: u64, input: &[u8], last: bool, output: &mut [u8]) -> Result<(), Failure>;
}

/// Seals chunks.
#[derive(Debug)]
pub struct Seal(pub FileKey);

impl Operation for Seal {
    const READ: usize = CHUNK;
    const WRITTEN: usize = SEALED_CHUNK;

    fn name(&self) -> String {
        format!("seal, {:?}", self.0)
    }

    fn weight(&self) -> f64 {
        GCM
    }

    fn rows(bytes: usize, last: bool) -> usize {
        bytes / CHUNK + usize::from(last)
    }

    fn written(bytes: usize, last: bool) -> usize {
        chunked::sealed_len(bytes, last)
    }

    fn run(&self, first: u64, input: &[u8], last: bool, output: &mut [u8]) -> Result<(), Failure> {
        Ok(self.0.seal(first, input, last, output)?)
    }
}

/// Opens chunks.
#[derive(Debug)]
pub struct Open(pub FileKey);

impl Operation for Open {
    const READ: usize = SEALED_CHUNK;
    const WRITTEN: usize = CHUNK;

    fn name(&self) -> String {
        format!("open, {:?}", self.0)
    }

    fn weight(&self) -> f64 {
        GCM
    }

    /// Nothing at the end of a file is a row too: the one that is missing.
    fn rows(bytes: usize, last: bool) -> usize {
        bytes.div_ceil(SEALED_CHUNK).max(usize::from(last))
    }

    fn written(bytes: usize, _: bool) -> usize {
        chunked::plain_len(bytes)
    }

    fn run(&self, first: u64, input: &[u8], last: bool, output: &mut [u8]) -> Result<(), Failure> {
        Ok(self.0.open_chunks(first, input, last, output)?)
    }
}

/// Counter mode, from a place in the stream on.
pub struct Counter {
    /// The key stream.
    pub ctr: Ctr,
    /// Bytes of it before the first of the file.
    pub at: u64,
}

impl Operation for Counter {
    const READ: usize = CHUNK;
    const WRITTEN: usize = CHUNK;

    fn name(&self) -> String {
        format!("ctr, {}", self.ctr.variant())
    }

    fn weight(&self) -> f64 {
        CTR
    }

    fn rows(bytes: usize, _: bool) -> usize {
        bytes.div_ceil(CHUNK)
    }

    fn written(bytes: usize, _: bool) -> usize {
        bytes
    }

    fn run(&self, first: u64, input: &[u8], _: bool, output: &mut [u8]) -> Result<(), Failure> {
        let at = self.at.wrapping_add(first.wrapping_mul(CHUNK as u64));
        self.ctr.apply_to(at, input, output);
        Ok(())
    }
}

/// What a byte costs under kernels of four blocks at a time, beside the runtime's rate of operations; others take
/// longer, and alike under every structure, so nothing hangs on it.
const CTR: f64 = 2.8;
const GCM: f64 = 4.5;
