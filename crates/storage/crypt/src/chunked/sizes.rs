//! The positions of chunks in an encrypted file.

use std::ops::Range;

use super::{CHUNK, HEADER, MAX_CHUNKS, SizeError};
use crate::gcm::TAG;

/// The arrangement of chunks in a format. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes before the first chunk.
    pub header: u64,
    /// Plaintext in every chunk but the last. A tag of 16 bytes follows each.
    pub chunk: u64,
    /// The largest number of chunks.
    pub max_chunks: u64,
    /// Whether the last chunk may be full. If so, it is empty only if the plaintext is. If not, it is always shorter
    /// than the others.
    pub full_last: bool,
}

impl Layout {
    /// The layout of this format.
    pub const CHUNKED: Layout = Layout {
        header: HEADER as u64,
        chunk: CHUNK as u64,
        max_chunks: MAX_CHUNKS,
        full_last: false,
    };

    /// The same with another number of bytes before the first chunk.
    pub(crate) fn after(self, header: u64) -> Layout {
        Layout { header, ..self }
    }

    /// The size of a full chunk with its tag.
    pub fn sealed_chunk(self) -> u64 {
        self.chunk + TAG as u64
    }
}

/// The sizes of a file: the number of chunks and their positions. Bytes and chunks are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    layout: Layout,
    plain: u64,
}

/// The chunks that contain a range of plaintext.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needed {
    /// The chunks to decrypt, at least one.
    pub chunks: Range<u64>,
    /// Their position in the encrypted file, in bytes.
    pub sealed: Range<u64>,
    /// Whether the last chunk of the file is among them. If not, truncation after the range goes undetected.
    pub last: bool,
    /// Bytes of plaintext before the range in the first of these chunks.
    pub skip: usize,
    /// Bytes of the range.
    pub take: u64,
}

impl Layout {
    /// The sizes of a file with `plain` bytes of plaintext.
    ///
    /// # Errors
    /// The format does not allow this size.
    pub fn of_plain(self, plain: u64) -> Result<Sizes, SizeError> {
        let sizes = Sizes {
            layout: self,
            plain,
        };
        match sizes.chunks() <= self.max_chunks {
            true => Ok(sizes),
            false => Err(SizeError::TooLong {
                most: self.max_chunks.saturating_mul(self.chunk),
            }),
        }
    }

    /// The sizes of an encrypted file of `size` bytes.
    ///
    /// # Errors
    /// No file has this size.
    pub fn of_sealed(self, size: u64) -> Result<Sizes, SizeError> {
        let (header, tag) = (self.header, TAG as u64);
        let chunks = size
            .checked_sub(header)
            .ok_or(SizeError::Header { size, header })?;
        let (whole, rest) = (chunks / self.sealed_chunk(), chunks % self.sealed_chunk());
        let possible = match (self.full_last, whole, rest) {
            (true, 1.., 0) => true,
            (true, 1.., rest) => rest > tag,
            (_, _, rest) => rest >= tag,
        };
        if !possible {
            return Err(SizeError::Impossible { size });
        }
        let tags = whole + u64::from(rest > 0);
        self.of_plain(chunks - tags * tag)
    }
}

impl Sizes {
    /// The sizes of a file in this format with `plain` bytes of plaintext.
    ///
    /// # Errors
    /// The format does not allow this size.
    pub fn of_plain(plain: u64) -> Result<Sizes, SizeError> {
        Layout::CHUNKED.of_plain(plain)
    }

    /// The sizes of an encrypted file in this format of `size` bytes.
    ///
    /// # Errors
    /// No file has this size.
    pub fn of_sealed(size: u64) -> Result<Sizes, SizeError> {
        Layout::CHUNKED.of_sealed(size)
    }

    /// The size of the plaintext.
    pub fn plain(self) -> u64 {
        self.plain
    }

    /// The size of the encrypted file.
    pub fn sealed(self) -> u64 {
        self.layout.header + self.plain + self.chunks() * TAG as u64
    }

    /// The number of chunks, including the last.
    pub fn chunks(self) -> u64 {
        match self.layout.full_last {
            true => self.plain.div_ceil(self.layout.chunk).max(1),
            false => self.plain / self.layout.chunk + 1,
        }
    }

    /// The position of chunk `chunk` in the encrypted file, in bytes.
    ///
    /// # Panics
    /// There is no such chunk.
    pub fn place(self, chunk: u64) -> Range<u64> {
        assert!(chunk < self.chunks(), "no such chunk");
        let from = self.layout.header + chunk * self.layout.sealed_chunk();
        from..self.sealed().min(from + self.layout.sealed_chunk())
    }

    /// The chunks that contain the plaintext from byte `from` up to, but not including, byte `to`. An empty range
    /// needs one chunk too, which shows whether the key is right.
    ///
    /// # Errors
    /// The range ends before it starts, or after the plaintext.
    pub fn needed(self, from: u64, to: u64) -> Result<Needed, SizeError> {
        if from > to {
            return Err(SizeError::Backward { from, to });
        }
        if to > self.plain {
            let plain = self.plain;
            return Err(SizeError::Beyond { from, to, plain });
        }
        let chunk = self.layout.chunk;
        // An empty range at the end of whole chunks is one of the last.
        let first = (from / chunk).min(self.chunks() - 1);
        let end = to.div_ceil(chunk).max(first + 1);
        Ok(Needed {
            chunks: first..end,
            sealed: self.place(first).start..self.place(end - 1).end,
            last: end == self.chunks(),
            skip: (from - first * chunk) as usize,
            take: to - from,
        })
    }
}
