//! Why an encrypted file is rejected. Every message is one line that follows the name of the file.

use super::{HEADER, MAX_CHUNKS, SEALED_CHUNK};

/// The key of the file cannot be derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The scheme does not accept keys of this length.
    #[error("the key has {got} bytes, the format takes {wanted}")]
    KeyLength {
        /// The length of the key.
        got: usize,
        /// The length that the scheme needs.
        wanted: usize,
    },
    /// The file ends within the header.
    #[error(
        "is not an encrypted file: it ends after {got} of the {HEADER} bytes of a header; fetch or make it again"
    )]
    Short {
        /// The available bytes.
        got: usize,
    },
    /// The commitment does not fit the key. Which of the reasons applies cannot be known.
    #[error(
        "cannot be decrypted: the key (or passphrase) or the context does not match, \
         or its header is damaged"
    )]
    Commitment,
}

/// A chunk cannot be decrypted. Chunks are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkError {
    /// The chunk differs from what was sealed at its place.
    #[error(
        "was altered: chunk {chunk}, from byte {} on, is not what was encrypted there (changed, moved, cut or with \
         bytes added); fetch it again", at(*chunk)
    )]
    Altered {
        /// The chunk.
        chunk: u64,
    },
    /// The file ends before its last chunk, or inside a tag.
    #[error(
        "was cut: it ends before the end of chunk {chunk}, which begins at byte {}; fetch it again", at(*chunk)
    )]
    Truncated {
        /// The missing chunk.
        chunk: u64,
    },
    /// The file has more chunks than the format allows.
    #[error("goes on after {MAX_CHUNKS} chunks, more than the format allows")]
    Extra {
        /// The chunk.
        chunk: u64,
    },
}

/// A size or a range is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SizeError {
    /// The file ends within the header.
    #[error("is not an encrypted file: it has {size} bytes, fewer than the header's {header}")]
    Header {
        /// The size of the file.
        size: u64,
        /// The size of the header.
        header: u64,
    },
    /// The file ends before its last chunk, or inside a tag.
    #[error(
        "has {size} bytes, a size no encrypted file has: it was cut or has bytes added; fetch it again"
    )]
    Impossible {
        /// The size of the file.
        size: u64,
    },
    /// The file would have more chunks than the format allows.
    #[error("is too long: the format holds less than {most} bytes")]
    TooLong {
        /// The number of excess bytes.
        most: u64,
    },
    /// The range starts after its end.
    #[error("the range {from}-{to} begins after its end")]
    Backward {
        /// The first byte of the range.
        from: u64,
        /// The byte after the range.
        to: u64,
    },
    /// The range ends after the plaintext.
    #[error("the range {from}-{to} reaches beyond the {plain} bytes there are")]
    Beyond {
        /// The first byte of the range.
        from: u64,
        /// The byte after the range.
        to: u64,
        /// The size of the plaintext.
        plain: u64,
    },
}

fn at(chunk: u64) -> u64 {
    (HEADER as u64).saturating_add(chunk.saturating_mul(SEALED_CHUNK as u64))
}
