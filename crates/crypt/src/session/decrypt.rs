//! Decrypting a file, or a part of it.

use std::ffi::OsStr;
use std::io::{self, Read, Seek, SeekFrom};
use std::str::FromStr;

use evener_files::{InputFile, OutputFile};

use super::{Error, Secret, Session, open};
use crate::bulk::{Bulk, BulkSink, BulkSource, Open};
use crate::chosen;
use crate::chunked::{
    CHUNK, FileKey, HEADER, HeaderError, MAX_CHUNKS, SEALED_CHUNK, Scheme, SizeError, Sizes,
};
use crate::keys::{Key, PASSPHRASE_HEADER, PassphraseError, PassphraseHeader};

/// A range of bytes of a text, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first byte.
    pub from: u64,
    /// The byte after the last; `None` for the end.
    pub to: Option<u64>,
}

impl FromStr for Range {
    type Err = String;

    /// `FROM-TO`, or `FROM-` for the rest.
    fn from_str(text: &str) -> Result<Range, String> {
        let unclear = || format!("'{text}' is no range; write FROM-TO or FROM-, as 0-100 or 4096-");
        let (from, to) = text.split_once('-').ok_or_else(unclear)?;
        let number = |text: &str| text.parse::<u64>().map_err(|_| unclear());
        let range = Range {
            from: number(from)?,
            to: if to.is_empty() {
                None
            } else {
                Some(number(to)?)
            },
        };
        match range.to {
            Some(to) if to < range.from => {
                Err(format!("'{text}' begins after its end; write FROM-TO"))
            }
            _ => Ok(range),
        }
    }
}

/// Decrypts `input` into `output`, both names of files or `-`. With a range only that part of the text is decrypted,
/// and if the input is a file, the rest is not read.
///
/// # Errors
/// The input cannot be read or is no encrypted file; the secret or `context` is another than it was encrypted with; the
/// range is not in it; or the output cannot be written.
pub fn decrypt(
    input: &OsStr,
    output: &OsStr,
    secret: &Secret,
    context: &[u8],
    range: Option<Range>,
) -> Result<Session<Open>, Error> {
    let mut file = open(input)?;
    let size = file.remaining();
    if let Some(Range { from, to: Some(to) }) = range
        && to < from
    {
        let (name, cause) = (file.name, SizeError::Backward { from, to });
        return Err(Error::Size { name, cause });
    }
    let (key, header) = unlock(&mut file, secret, context)?;
    let sealed = Sealed { file, header };
    let sizes = size.map(|size| sealed.sizes(size)).transpose()?;
    let (source, sink) = match (range, sizes) {
        (None, _) => sealed.all(output)?,
        (Some(range), Some(sizes)) => sealed.part_of_file(output, range, sizes)?,
        (Some(range), None) => sealed.part_of_pipe(output, range)?,
    };
    Ok(Session {
        source,
        service: Bulk::new(Open(key)),
        sink,
    })
}

/// An encrypted input, read up to the end of its header.
struct Sealed {
    file: InputFile,
    /// Bytes of the header.
    header: u64,
}

impl Sealed {
    /// The sizes of an input of `size` bytes.
    fn sizes(&self, size: u64) -> Result<Sizes, Error> {
        // The header may be longer than that of the format. Messages are about the whole input.
        let sealed = (size + HEADER as u64).saturating_sub(self.header);
        Sizes::of_sealed(sealed).map_err(|cause| match cause {
            SizeError::Impossible { .. } => self.size_error(SizeError::Impossible { size }),
            other => self.size_error(other),
        })
    }

    fn size_error(&self, cause: SizeError) -> Error {
        let name = self.file.name.clone();
        Error::Size { name, cause }
    }

    fn all(self, output: &OsStr) -> Result<(BulkSource, BulkSink), Error> {
        let out = OutputFile::named(output, &self.file.source_file())?;
        let source = BulkSource::to_end::<Open>(self.file, self.header, 0);
        Ok((source, BulkSink::new(out, Vec::new())))
    }

    fn part_of_file(
        mut self,
        output: &OsStr,
        range: Range,
        sizes: Sizes,
    ) -> Result<(BulkSource, BulkSink), Error> {
        let to = range.to.unwrap_or_else(|| sizes.plain().max(range.from));
        let needed = sizes
            .needed(range.from, to)
            .map_err(|cause| self.size_error(cause))?;
        let out = OutputFile::named(output, &self.file.source_file())?;
        let skip = needed.sealed.start - HEADER as u64;
        skip_bytes(&mut self.file, self.header, skip)?;
        let limit = (needed.sealed.end - needed.sealed.start, needed.last);
        let first = needed.chunks.start;
        let source = BulkSource::limited::<Open>(self.file, self.header + skip, first, limit);
        let sink = BulkSink::part(out, needed.skip as u64, Some(needed.take));
        Ok((source, sink))
    }

    /// The length of a pipe is unknown, so whether it has the whole range shows only at its end.
    fn part_of_pipe(
        mut self,
        output: &OsStr,
        range: Range,
    ) -> Result<(BulkSource, BulkSink), Error> {
        let first = (range.from / CHUNK as u64).min(MAX_CHUNKS);
        let out = OutputFile::named(output, &self.file.source_file())?;
        let skip = first * SEALED_CHUNK as u64;
        let skipped = skip_bytes(&mut self.file, self.header, skip)?;
        if skipped < skip {
            let (from, plain) = (range.from, self.sizes(self.header + skipped)?.plain());
            let to = range.to.unwrap_or(from);
            return Err(self.size_error(SizeError::Beyond { from, to, plain }));
        }
        let start = self.header + skip;
        let source = match range.to {
            Some(to) => {
                let end = to.div_ceil(CHUNK as u64).min(MAX_CHUNKS);
                let chunks = end.max(first + 1) - first;
                let limit = (chunks * SEALED_CHUNK as u64, false);
                BulkSource::limited::<Open>(self.file, start, first, limit)
            }
            None => BulkSource::to_end::<Open>(self.file, start, first),
        };
        let take = range.to.map(|to| to - range.from);
        let sink = BulkSink::part(out, range.from % CHUNK as u64, take);
        Ok((source, sink))
    }
}

/// Reads the header: the key of the file, and the length of the header.
fn unlock(file: &mut InputFile, secret: &Secret, context: &[u8]) -> Result<(FileKey, u64), Error> {
    let name = file.name.clone();
    let simd = chosen::GCM.level();
    let opened = |key: &Key, context: &[u8], header: &[u8]| {
        let opened = FileKey::open(Scheme::Cobblestone256, key.bytes(), context, header, simd);
        opened.map_err(|cause| Error::Header {
            name: name.clone(),
            cause,
        })
    };
    let mut front = [0; PASSPHRASE_HEADER];
    let got = file.fill(&mut front, 0)?;
    let parsed = PassphraseHeader::parse(&front[..got]);
    let mut header = [0; HEADER];
    match secret {
        Secret::Key(_) if !matches!(parsed, Err(PassphraseError::NoHeader)) => {
            Err(Error::NeedsPassphrase { name })
        }
        Secret::Key(key) => {
            header[..got].copy_from_slice(&front[..got]);
            let got = got + file.fill(&mut header[got..], got as u64)?;
            Ok((opened(key, context, &header[..got])?, HEADER as u64))
        }
        Secret::Passphrase(passphrase) => {
            let wrong = |cause| Error::Passphrase {
                name: name.clone(),
                cause,
            };
            let front = parsed.map_err(wrong)?;
            let got = file.fill(&mut header, PASSPHRASE_HEADER as u64)?;
            if got < HEADER {
                let cause = HeaderError::Short { got };
                return Err(Error::Header { name, cause });
            }
            let key = front.key(passphrase).map_err(wrong)?;
            let key = opened(&key, &front.context(context), &header)?;
            Ok((key, (PASSPHRASE_HEADER + HEADER) as u64))
        }
    }
}

/// Skips `bytes` bytes, by seeking where that is possible. Returns how many there were.
fn skip_bytes(file: &mut InputFile, at: u64, bytes: u64) -> Result<u64, Error> {
    if file.is_file() {
        let ahead = i64::try_from(bytes).map_err(|_| Error::Size {
            name: file.name.clone(),
            cause: SizeError::TooLong,
        })?;
        let moved = file.file.seek(SeekFrom::Current(ahead));
        return moved.map(|_| bytes).map_err(|e| failed(file, at, e));
    }
    let read = io::copy(&mut (&mut file.file).take(bytes), &mut io::sink());
    read.map_err(|e| failed(file, at, e))
}

fn failed(file: &InputFile, byte: u64, reason: io::Error) -> Error {
    let name = file.name.clone();
    evener_files::Error::Read { name, byte, reason }.into()
}
