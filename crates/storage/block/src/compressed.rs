//! Files that other programs compressed as one stream, which can only be read from front to back.

use std::fmt;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use flate2::bufread::GzDecoder;

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
            Compression::Gzip => Box::new(Members(Some(GzDecoder::new(input)))),
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

/// The members of a gzip file, one after the other. Zeros behind the last are left out, as gzip does: tapes and block
/// devices have them.
struct Members<R>(Option<GzDecoder<R>>);

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let read = member.read(room)?;
            if read > 0 || room.is_empty() {
                return Ok(read);
            }
            let next = member.get_mut();
            let mut zeros = false;
            let first = loop {
                let some = next.fill_buf()?;
                let zero = some.iter().take_while(|&&byte| byte == 0).count();
                let (first, is_end) = (some.get(zero).copied(), some.is_empty());
                zeros |= zero > 0;
                next.consume(zero);
                if first.is_some() || is_end {
                    break first;
                }
            };
            match first {
                None => self.0 = None,
                // The first byte of a member.
                Some(0x1f) if !zeros => {
                    self.0 = self.0.take().map(|m| GzDecoder::new(m.into_inner()))
                }
                Some(_) => return Err(io::Error::new(ErrorKind::InvalidData, Trailing)),
            }
        }
        Ok(0)
    }
}

/// Something lies behind the end of a stream.
#[derive(Debug)]
struct Trailing;

impl fmt::Display for Trailing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("something lies behind its end")
    }
}

impl std::error::Error for Trailing {}

/// Why a stream cannot be decompressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It ends too early.
    Cut,
    /// It needs more memory than is given.
    Memory,
    /// It is whole, and something else lies behind its end.
    Trailing,
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
            _ if error.get_ref().is_some_and(|inner| inner.is::<Trailing>()) => Broken::Trailing,
            _ => Broken::Damaged(text),
        }
    }
}
