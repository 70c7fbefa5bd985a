//! Files that other programs compressed as one stream, which can only be read from front to back.

use std::io::{self, BufReader, ErrorKind, Read};

use crate::format::{GZIP, RAW, SEEKABLE, XZ, recognise_pipe};

/// The most memory that decompressing may take, as a power of two: 1 GiB.
const MEMORY_LOG: u32 = 30;

/// The first bytes of a stream, by which it is recognised.
pub const FRONT: usize = 64 << 10;

/// How a stream is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip, RFC 1952; several members one after the other too.
    Gzip,
    /// xz, with blocks or without.
    Xz,
    /// zstd, RFC 8878, with a seek table or without.
    Zstd,
}

impl Compression {
    /// By the first bytes of a stream. `None` if it is none of these.
    pub fn of(front: &[u8]) -> Option<Compression> {
        match recognise_pipe(front) {
            (format, _) if format.name == SEEKABLE.name => Some(Compression::Zstd),
            (format, _) if format.name == XZ.name => Some(Compression::Xz),
            (format, Some(foreign)) if format.name == RAW.name && foreign.name == GZIP => {
                Some(Compression::Gzip)
            }
            _ => None,
        }
    }

    /// What messages call it.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Gzip => GZIP,
            Compression::Xz => XZ.name,
            Compression::Zstd => SEEKABLE.name,
        }
    }

    /// Reads what `input` was before it was compressed.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn decoder(self, input: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        let input = BufReader::with_capacity(128 << 10, input);
        Ok(match self {
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
            Compression::Xz => {
                let kib = 1 << (MEMORY_LOG - 10);
                Box::new(lzma_rust2::XzReader::new_mem_limit(input, true, kib))
            }
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(input)?;
                decoder.window_log_max(MEMORY_LOG)?;
                Box::new(decoder)
            }
        })
    }
}

/// Why a stream cannot be decompressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It ends too early.
    Cut,
    /// It needs more memory than is given.
    Memory,
    /// It is invalid.
    Damaged(String),
}

impl Broken {
    /// What an error of a decoder means.
    pub fn of(error: &io::Error) -> Broken {
        let text = error.to_string();
        match error.kind() {
            ErrorKind::UnexpectedEof => Broken::Cut,
            ErrorKind::OutOfMemory => Broken::Memory,
            // The text of ZSTD_error_frameParameter_windowTooLarge.
            _ if text.contains("too much memory") => Broken::Memory,
            _ => Broken::Damaged(text),
        }
    }
}
