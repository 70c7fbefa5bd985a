//! Decrypting a file, or a part of it.

use std::ffi::OsStr;
use std::io::{self, Read, Seek, SeekFrom};
use std::str::FromStr;

use evener_files::{InputFile, OutputFile};
use evener_runtime::Topology;

use super::{Error, Secret, Session, open};
use crate::bulk::{Bulk, BulkSink, BulkSource, Open};
use crate::chunked::{
    CHUNK, FileKey, HEADER, HeaderError, MAX_CHUNKS, Needed, SEALED_CHUNK, Scheme, SizeError, Sizes,
};
use crate::keys::{Key, PASSPHRASE_HEADER, PassphraseError, PassphraseHeader};

/// Bytes of a text, counted from 0: from the first up to but without the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first byte.
    pub from: u64,
    /// The byte after the last; `None` for all there are.
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

/// Decrypts `input` into `output`, both names of files or `-`; of its text only `range`, if one is given, without
/// reading the rest of a file that has a size.
///
/// # Errors
/// The input cannot be read, is no encrypted file, or the secret or `context` are not its own; the range is not in it;
/// the output cannot be written.
pub fn decrypt(
    input: &OsStr,
    output: &OsStr,
    secret: &Secret,
    context: &[u8],
    range: Option<Range>,
) -> Result<Session<Open>, Error> {
    let mut file = open(input)?;
    let size = file.remaining();
    let name = file.name.clone();
    if let Some(Range { from, to: Some(to) }) = range
        && to < from
    {
        let cause = SizeError::Backward { from, to };
        return Err(Error::Size { name, cause });
    }
    let (key, before) = unlock(&mut file, secret, context)?;
    let of_size = |cause| Error::Size {
        name: name.clone(),
        cause,
    };
    // The sizes of the sealed file, without a header in front of it. Messages count that one too.
    let sizes_of = |size: u64| {
        let sealed = (size + HEADER as u64).saturating_sub(before);
        Sizes::of_sealed(sealed).map_err(|cause| match cause {
            SizeError::Impossible { .. } => of_size(SizeError::Impossible { size }),
            other => of_size(other),
        })
    };
    let sizes = size.map(sizes_of).transpose()?;
    let Some(range) = range else {
        let sink = BulkSink::new(OutputFile::named(output, &file.source_file())?, Vec::new());
        return Ok(Session {
            source: BulkSource::to_end::<Open>(file, before, 0),
            service: Bulk::new(Open(key)),
            sink,
        });
    };
    let source = |mut file: InputFile, needed: &Needed| -> Result<BulkSource, Error> {
        let skip = needed.sealed.start - HEADER as u64;
        pass(&mut file, before, skip)?;
        let bytes = needed.sealed.end - needed.sealed.start;
        let first = needed.chunks.start;
        let limit = (bytes, needed.last);
        Ok(BulkSource::limited::<Open>(
            file,
            before + skip,
            first,
            limit,
        ))
    };
    let (source, skip, take, out) = match (sizes, range.to) {
        (Some(sizes), to) => {
            let to = to.unwrap_or_else(|| sizes.plain().max(range.from));
            let needed = sizes.needed(range.from, to).map_err(of_size)?;
            let out = OutputFile::named(output, &file.source_file())?;
            (source(file, &needed)?, needed.skip, Some(needed.take), out)
        }
        // Of a pipe nobody knows how long it is; whether the range was all there shows at its end.
        (None, to) => {
            let first = (range.from / CHUNK as u64).min(MAX_CHUNKS);
            let out = OutputFile::named(output, &file.source_file())?;
            let skip = first * SEALED_CHUNK as u64;
            let passed = pass(&mut file, before, skip)?;
            if passed < skip {
                let (from, plain) = (range.from, sizes_of(before + passed)?.plain());
                let to = to.unwrap_or(from);
                return Err(of_size(SizeError::Beyond { from, to, plain }));
            }
            let inside = (range.from % CHUNK as u64) as usize;
            let source = match to {
                Some(to) => {
                    let end = to.div_ceil(CHUNK as u64).min(MAX_CHUNKS);
                    let chunks = end.max(first + 1) - first;
                    let limit = (chunks * SEALED_CHUNK as u64, false);
                    BulkSource::limited::<Open>(file, before + skip, first, limit)
                }
                None => BulkSource::to_end::<Open>(file, before + skip, first),
            };
            (source, inside, to.map(|to| to - range.from), out)
        }
    };
    Ok(Session {
        source,
        service: Bulk::new(Open(key)),
        sink: BulkSink::part(out, skip as u64, take),
    })
}

/// The key of the file, and how many bytes its header has.
fn unlock(file: &mut InputFile, secret: &Secret, context: &[u8]) -> Result<(FileKey, u64), Error> {
    let name = file.name.clone();
    let simd = Topology::detect().simd;
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

/// Goes `bytes` bytes ahead: by seeking where that can be done. Gives how many there were.
fn pass(file: &mut InputFile, at: u64, bytes: u64) -> Result<u64, Error> {
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
