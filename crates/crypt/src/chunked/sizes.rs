//! Where chunks lie in a sealed file.

use std::ops::Range;

use super::{CHUNK, HEADER, MAX_CHUNKS, SEALED_CHUNK, SizeError};
use crate::gcm::TAG;

/// The sizes of a file: how many chunks it has, and where they lie. Bytes and chunks are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    plain: u64,
}

/// The chunks that are needed for a range of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needed {
    /// The chunks to open, at least one.
    pub chunks: Range<u64>,
    /// Where they lie in the sealed file, in bytes.
    pub sealed: Range<u64>,
    /// Whether the last chunk of the file is among them. If not, the file may be truncated after the range.
    pub last: bool,
    /// Bytes of text before the range in the first of these chunks.
    pub skip: usize,
    /// Bytes of the range.
    pub take: u64,
}

impl Sizes {
    /// The sizes of a file with `plain` bytes of text.
    ///
    /// # Errors
    /// The format does not allow this number.
    pub fn of_plain(plain: u64) -> Result<Sizes, SizeError> {
        match plain < MAX_CHUNKS * CHUNK as u64 {
            true => Ok(Sizes { plain }),
            false => Err(SizeError::TooLong),
        }
    }

    /// The sizes of a sealed file of `size` bytes.
    ///
    /// # Errors
    /// No file has this size.
    pub fn of_sealed(size: u64) -> Result<Sizes, SizeError> {
        let chunks = size
            .checked_sub(HEADER as u64)
            .ok_or(SizeError::Header { size })?;
        let (whole, rest) = (chunks / SEALED_CHUNK as u64, chunks % SEALED_CHUNK as u64);
        let short = rest
            .checked_sub(TAG as u64)
            .ok_or(SizeError::Impossible { size })?;
        if whole >= MAX_CHUNKS {
            return Err(SizeError::TooLong);
        }
        Sizes::of_plain(whole * CHUNK as u64 + short)
    }

    /// Bytes of text.
    pub fn plain(self) -> u64 {
        self.plain
    }

    /// Bytes of the sealed file.
    pub fn sealed(self) -> u64 {
        HEADER as u64 + self.plain + self.chunks() * TAG as u64
    }

    /// Chunks, the short one at the end included.
    pub fn chunks(self) -> u64 {
        self.plain / CHUNK as u64 + 1
    }

    /// Where chunk `chunk` lies in the sealed file, in bytes.
    ///
    /// # Panics
    /// There is no such chunk.
    pub fn place(self, chunk: u64) -> Range<u64> {
        assert!(chunk < self.chunks(), "no such chunk");
        let from = HEADER as u64 + chunk * SEALED_CHUNK as u64;
        from..self.sealed().min(from + SEALED_CHUNK as u64)
    }

    /// The chunks that are needed for the text from byte `from` to before byte `to`. An empty range needs one too,
    /// which shows whether the key fits.
    ///
    /// # Errors
    /// The range ends before it begins, or after the text.
    pub fn needed(self, from: u64, to: u64) -> Result<Needed, SizeError> {
        if from > to {
            return Err(SizeError::Backward { from, to });
        }
        if to > self.plain {
            let plain = self.plain;
            return Err(SizeError::Beyond { from, to, plain });
        }
        let first = from / CHUNK as u64;
        let end = to.div_ceil(CHUNK as u64).max(first + 1);
        Ok(Needed {
            chunks: first..end,
            sealed: self.place(first).start..self.place(end - 1).end,
            last: end == self.chunks(),
            skip: (from % CHUNK as u64) as usize,
            take: to - from,
        })
    }
}
