//! Operations on the rows of a unit.

use super::UNIT_ROWS;
use crate::age;
use crate::chunked::{self, CHUNK, ChunkError, FileKey, SEALED_CHUNK, SizeError};
use crate::ctr::Ctr;

/// Rows cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A chunk was altered.
    #[error(transparent)]
    Chunk(#[from] ChunkError),
    /// A chunk of an age file was altered.
    #[error(transparent)]
    Age(#[from] age::ChunkError),
    /// The file is longer than the format allows.
    #[error(transparent)]
    Size(#[from] SizeError),
}

/// An operation on rows of bytes. The result for a row depends only on the row and its number.
pub trait Operation: Send + Sync + 'static {
    /// Bytes of a full input row.
    const READ: usize;
    /// Bytes of a full output row.
    const WRITTEN: usize;
    /// Rows in a unit.
    const ROWS: usize = UNIT_ROWS;
    /// Whether the last row may be full. If so, the end of a file is known with it, and no empty unit follows.
    const FULL_LAST: bool = false;

    /// The name in reports and for remembered plans.
    fn name(&self) -> String;

    /// The approximate number of vectorised operations per byte.
    fn weight(&self) -> f64;

    /// The number of rows in `bytes` input bytes. With `last`, the file ends there.
    fn rows(bytes: usize, last: bool) -> usize;

    /// The number of output bytes of these rows.
    fn written(bytes: usize, last: bool) -> usize;

    /// Computes `output` from `input`, the rows from number `first` of the file on. With `last`, the file ends there.
    ///
    /// # Errors
    /// The rows are invalid.
    fn run(&self, first: u64, input: &[u8], last: bool, output: &mut [u8]) -> Result<(), Failure>;
}

/// Encrypts chunks.
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

/// Decrypts chunks.
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

    /// The missing last row of a file counts, so that it is noticed.
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

/// Counter mode, from some byte of the key stream on.
pub struct Counter {
    /// The key stream.
    pub ctr: Ctr,
    /// The offset in the key stream for the first byte of the file.
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

/// Operations for a byte with the widest kernels. Others take longer under every structure alike, so the choice of plan
/// does not depend on it.
const CTR: f64 = 2.8;
const GCM: f64 = 4.5;
