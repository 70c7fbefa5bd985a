//! Decrypting a file, or a part of it.

use std::ffi::OsStr;
use std::fmt;
use std::io::{Read, Seek, SeekFrom};
use std::str::FromStr;

use evener_files::{FileId, OutputFile};
use evener_runtime::Runtime;
use evener_runtime::stream::{Report, RunOptions as Options};

use super::age::unlock_age;
use super::{Error, Secret, Session, foreign, open};
use crate::age::{self, Identity};
use crate::bulk::{Bulk, BulkSink, BulkSource, Input, Open, Operation};
use crate::chosen;
use crate::chunked::{FileKey, HEADER, HeaderError, Layout, Scheme, SizeError, Sizes};
use crate::keys::{Key, PASSPHRASE_HEADER, PassphraseError, PassphraseHeader};

/// A range of plaintext bytes, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// From some byte on.
    Between {
        /// The first byte.
        from: u64,
        /// The byte after the range; `None` for the end.
        to: Option<u64>,
    },
    /// The last bytes, this many, or all if there are fewer.
    Last(u64),
}

impl FromStr for Range {
    type Err = String;

    /// `FROM-TO`, `FROM-` for the rest, or `-COUNT` for the last bytes.
    fn from_str(text: &str) -> Result<Range, String> {
        let unclear = || {
            format!(
                "'{text}' is not a range; write FROM-TO, FROM- or -COUNT, as 0-100, 4096- or -500"
            )
        };
        let (from, to) = text.split_once('-').ok_or_else(unclear)?;
        let number = |text: &str| text.parse::<u64>().map_err(|_| unclear());
        match (from, to) {
            ("", count) => Ok(Range::Last(number(count)?)),
            (from, "") => Ok(Range::Between {
                from: number(from)?,
                to: None,
            }),
            (from, to) => {
                let (from, to) = (number(from)?, number(to)?);
                match to < from {
                    true => Err(format!("'{text}' begins after its end; write FROM-TO")),
                    false => Ok(Range::Between { from, to: Some(to) }),
                }
            }
        }
    }
}

/// The bytes from one on, up to another or the end.
#[derive(Clone, Copy)]
struct Span {
    from: u64,
    to: Option<u64>,
}

/// The secret that decrypts a file.
#[derive(Clone, Copy)]
pub enum Opener<'a> {
    /// A key, or a passphrase.
    Secret(&'a Secret),
    /// Identities, for an age file. The first match is used.
    Identities(&'a [Identity]),
}

impl<'a> From<&'a Secret> for Opener<'a> {
    fn from(secret: &'a Secret) -> Opener<'a> {
        Opener::Secret(secret)
    }
}

/// A file that is ready to be decrypted.
pub enum Decryption {
    /// A file in the format of chunked encryption.
    Chunked(Session<Open>),
    /// An age file.
    Age(Session<age::Open>),
}

impl Decryption {
    /// The number of bytes to write, if known.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Decryption::Chunked(session) => session.bytes(),
            Decryption::Age(session) => session.bytes(),
        }
    }

    /// The identity of the input, if it is a file.
    pub fn input_id(&self) -> Option<FileId> {
        match self {
            Decryption::Chunked(session) => session.input_id(),
            Decryption::Age(session) => session.input_id(),
        }
    }

    /// Runs to the end of the input, or until it is cancelled.
    ///
    /// # Errors
    /// Reading, decrypting or writing failed, or the input was altered.
    pub fn run(self, runtime: &Runtime, options: Options<'_>) -> Result<Report, Error> {
        match self {
            Decryption::Chunked(session) => session.run(runtime, options),
            Decryption::Age(session) => session.run(runtime, options),
        }
    }
}

impl fmt::Display for Decryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Decryption::Chunked(session) => session.fmt(f),
            Decryption::Age(session) => session.fmt(f),
        }
    }
}

/// Decrypts `input` into `output`, both file names or `-`. The first bytes of the input determine its format. With a
/// range, only that part is decrypted, and if the input is a file, the rest is not read. A terminal as the output
/// gets only text.
///
/// # Errors
/// The input cannot be read or is not an encrypted file; the secret or `context` is wrong; the range is outside the
/// plaintext; or the output cannot be written.
pub fn decrypt<'a>(
    input: &OsStr,
    output: &OsStr,
    opener: impl Into<Opener<'a>>,
    context: &[u8],
    range: Option<Range>,
) -> Result<Decryption, Error> {
    let mut file = open(input)?;
    let size = file.remaining();
    if let Some(Range::Between { from, to: Some(to) }) = range
        && to < from
    {
        let (name, cause) = (file.name, SizeError::Backward { from, to });
        return Err(Error::Size { name, cause });
    }
    let name = file.name.clone();
    let mut front = [0; PASSPHRASE_HEADER];
    let got = file.fill(&mut front, 0)?;
    let (front, opener) = (&front[..got], opener.into());
    if let Some(armored) = age::recognise(front) {
        let (key, input, header) = unlock_age(file, front, armored, opener, context)?;
        let size = size.filter(|_| !armored);
        let sealed = Sealed::new::<age::Open>(input, header, size, age::LAYOUT);
        return Ok(Decryption::Age(sealed.session(
            age::Open(key),
            output,
            range,
        )?));
    }
    let foreign = foreign::recognise(front);
    let Opener::Secret(secret) = opener else {
        return Err(match foreign {
            Some(what) => Error::Foreign { name, what },
            None => Error::NotAge { name },
        });
    };
    let mut rest = front;
    let unlocked = unlock(&name, secret, context, |buffer, byte| {
        let known = rest.read(buffer).unwrap_or(0);
        Ok(known + file.fill(&mut buffer[known..], byte + known as u64)?)
    });
    let (key, header) = unlocked.map_err(|error| match (&error, foreign) {
        (Error::Header { .. } | Error::Passphrase { .. }, Some(what)) => {
            Error::Foreign { name, what }
        }
        _ => error,
    })?;
    let sealed = Sealed::new::<Open>(file.into(), header, size, Layout::CHUNKED);
    Ok(Decryption::Chunked(sealed.session(
        Open(key),
        output,
        range,
    )?))
}

/// Decrypts `input`, a file name or `-`, and writes nothing. If the session runs to its end, the file is unaltered.
///
/// # Errors
/// As [`decrypt()`].
pub fn verify<'a>(
    input: &OsStr,
    opener: impl Into<Opener<'a>>,
    context: &[u8],
) -> Result<Decryption, Error> {
    decrypt(input, OsStr::new("/dev/null"), opener, context, None)
}

/// An encrypted input, read up to its first chunk.
struct Sealed {
    input: Input,
    layout: Layout,
    /// Bytes of the whole input, if that is known.
    size: Option<u64>,
}

impl Sealed {
    fn new<O: Operation>(input: Input, header: u64, size: Option<u64>, layout: Layout) -> Sealed {
        assert_eq!(layout.chunk, O::WRITTEN as u64);
        Sealed {
            input,
            layout: layout.after(header),
            size,
        }
    }

    fn session<O: Operation>(
        self,
        operation: O,
        output: &OsStr,
        range: Option<Range>,
    ) -> Result<Session<O>, Error> {
        let sizes = self.size.map(|size| self.sizes(size)).transpose()?;
        let span = match (range, sizes) {
            (None, _) => None,
            (Some(Range::Between { from, to }), _) => Some(Span { from, to }),
            (Some(Range::Last(count)), Some(sizes)) => Some(Span {
                from: sizes.plain().saturating_sub(count),
                to: None,
            }),
            (Some(Range::Last(_)), None) => {
                let name = self.input.file.name;
                return Err(Error::NoEnd { name });
            }
        };
        let (source, sink) = match (span, sizes) {
            (None, _) => self.all::<O>(output)?,
            (Some(span), Some(sizes)) => self.part_of_file::<O>(output, span, sizes)?,
            (Some(span), None) => self.part_of_pipe::<O>(output, span)?,
        };
        Ok(Session {
            source,
            service: Bulk::new(operation),
            sink,
        })
    }

    fn sizes(&self, size: u64) -> Result<Sizes, Error> {
        let sizes = self.layout.of_sealed(size);
        sizes.map_err(|cause| self.size_error(cause))
    }

    fn size_error(&self, cause: SizeError) -> Error {
        let name = self.input.file.name.clone();
        Error::Size { name, cause }
    }

    fn all<O: Operation>(self, output: &OsStr) -> Result<(BulkSource, BulkSink), Error> {
        let out = OutputFile::shown(output, &self.input.file.source_file().kept())?;
        let source = BulkSource::to_end::<O>(self.input, self.layout.header, 0);
        Ok((source, BulkSink::text(out)))
    }

    fn part_of_file<O: Operation>(
        mut self,
        output: &OsStr,
        range: Span,
        sizes: Sizes,
    ) -> Result<(BulkSource, BulkSink), Error> {
        let to = range.to.unwrap_or_else(|| sizes.plain().max(range.from));
        let needed = sizes
            .needed(range.from, to)
            .map_err(|cause| self.size_error(cause))?;
        let out = OutputFile::shown(output, &self.input.file.source_file())?;
        let skip = needed.sealed.start - self.layout.header;
        self.skip(skip)?;
        let limit = (needed.sealed.end - needed.sealed.start, needed.last);
        let first = needed.chunks.start;
        let source = BulkSource::limited::<O>(self.input, needed.sealed.start, first, limit);
        let sink = BulkSink::part(out, needed.skip as u64, Some(needed.take));
        Ok((source, sink))
    }

    /// The length of a pipe is unknown, so whether it has the whole range shows only at its end.
    fn part_of_pipe<O: Operation>(
        mut self,
        output: &OsStr,
        range: Span,
    ) -> Result<(BulkSource, BulkSink), Error> {
        let layout = self.layout;
        let (chunk, header) = (layout.chunk, layout.header);
        // Where the last chunk may be a whole one, a range may begin after all chunks.
        let before = range.from.saturating_sub(u64::from(layout.full_last));
        let first = (before / chunk).min(layout.max_chunks);
        let out = OutputFile::shown(output, &self.input.file.source_file())?;
        let skip = first.saturating_mul(layout.sealed_chunk());
        let skipped = self.skip(skip)?;
        if skipped < skip {
            let (from, plain) = (range.from, self.sizes(header + skipped)?.plain());
            let to = range.to.unwrap_or(from);
            return Err(self.size_error(SizeError::Beyond { from, to, plain }));
        }
        let start = header + skip;
        let source = match range.to {
            Some(to) => {
                let end = to.div_ceil(chunk).min(layout.max_chunks);
                let chunks = end.max(first + 1) - first;
                let limit = (chunks.saturating_mul(layout.sealed_chunk()), false);
                BulkSource::limited::<O>(self.input, start, first, limit)
            }
            None => BulkSource::to_end::<O>(self.input, start, first),
        };
        let take = range.to.map(|to| to - range.from);
        let sink = BulkSink::part(out, range.from - first * chunk, take);
        Ok((source, sink))
    }

    /// Skips `bytes` bytes, by seeking where that is possible. Returns how many there were.
    fn skip(&mut self, bytes: u64) -> Result<u64, Error> {
        let at = self.layout.header;
        let file = &mut self.input.file;
        if file.is_file() && self.input.armor.is_none() {
            let most = self.layout.max_chunks.saturating_mul(self.layout.chunk);
            let ahead = i64::try_from(bytes).map_err(|_| Error::Size {
                name: file.name.clone(),
                cause: SizeError::TooLong { most },
            })?;
            let moved = file.file.seek(SeekFrom::Current(ahead));
            return moved.map(|_| bytes).map_err(|reason| {
                let (name, byte) = (file.name.clone(), at);
                evener_files::Error::Read { name, byte, reason }.into()
            });
        }
        let mut room = vec![0; BLOCK];
        let mut skipped = 0;
        while skipped < bytes {
            let wanted = (bytes - skipped).min(BLOCK as u64) as usize;
            let got = self.input.fill(&mut room[..wanted], at + skipped)?;
            skipped += got as u64;
            if got < wanted {
                break;
            }
        }
        Ok(skipped)
    }
}

/// Bytes of an input that are read at once to skip them.
const BLOCK: usize = 1 << 20;

/// Reads the header of an input that messages call `name`: the key of the file, and the length of the header. `fill` fills
/// a buffer with the next bytes, the first of which it is told, as far as there are any.
pub(super) fn unlock(
    name: &str,
    secret: &Secret,
    context: &[u8],
    mut fill: impl FnMut(&mut [u8], u64) -> Result<usize, Error>,
) -> Result<(FileKey, u64), Error> {
    let name = name.to_owned();
    let simd = chosen::GCM.level();
    let opened = |key: &Key, context: &[u8], header: &[u8]| {
        let opened = FileKey::open(Scheme::Cobblestone256, key.bytes(), context, header, simd);
        opened.map_err(|cause| Error::Header {
            name: name.clone(),
            cause,
        })
    };
    let mut front = [0; PASSPHRASE_HEADER];
    let got = fill(&mut front, 0)?;
    let parsed = PassphraseHeader::parse(&front[..got]);
    let mut header = [0; HEADER];
    match secret {
        Secret::Key(_) if !matches!(parsed, Err(PassphraseError::NoHeader)) => {
            Err(Error::NeedsPassphrase { name })
        }
        Secret::Key(key) => {
            header[..got].copy_from_slice(&front[..got]);
            let got = got + fill(&mut header[got..], got as u64)?;
            Ok((opened(key, context, &header[..got])?, HEADER as u64))
        }
        Secret::Passphrase(passphrase) => {
            let wrong = |cause| Error::Passphrase {
                name: name.clone(),
                cause,
            };
            let front = parsed.map_err(wrong)?;
            let got = fill(&mut header, PASSPHRASE_HEADER as u64)?;
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
