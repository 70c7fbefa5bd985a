//! The product cipher over files and pipes, as `evener product` runs it.

use std::ffi::OsStr;
use std::fmt;

use evener_files::{FileId, OutputFile};
use evener_runtime::quantity::Size;
use evener_runtime::stream::{Report, StreamError};
use evener_runtime::{Runtime, Service};

use super::batch::{BatchSource, Chain, ChainError, LengthError, ReadError};
use super::codebook::Codebook;
use super::service::ProductService;
use super::{Direction, KEY_BYTES};
use crate::bulk::BulkSink;
use crate::chosen;
use crate::session::{self, Options};

/// A session could not be opened or did not run to its end. Every message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The key has the wrong length.
    #[error("a key of {0} bytes; the product cipher takes 16, which are 32 hexadecimal digits")]
    Key(usize),
    /// A file cannot have this number of streams.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The input is not a whole number of blocks.
    #[error(transparent)]
    Length(#[from] LengthError),
    /// A file cannot be used, or the run failed.
    #[error(transparent)]
    Session(#[from] session::Error),
}

impl Error {
    /// Whether the request can never work, whatever the files contain.
    pub fn is_request(&self) -> bool {
        match self {
            Error::Key(_) | Error::Chain(_) => true,
            Error::Length(_) => false,
            Error::Session(error) => error.is_request(),
        }
    }

    /// Whether the only error is that the reader of the output closed the pipe.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Error::Session(error) if error.is_closed_pipe())
    }
}

/// An input, the cipher and an output, ready to run. If it is dropped before it has run, there is no output.
pub struct Session {
    source: BatchSource,
    service: ProductService,
    sink: BulkSink,
}

/// Encrypts `input` into `output`, both file names or `-`, with a key of 16 bytes. With `chain`, in that many chains.
///
/// **A workload, not protection**; see [the module](super).
///
/// # Errors
/// The key or the number of chains is invalid, the input cannot be read or is not a whole number of blocks, or the
/// output cannot be written.
pub fn encrypt(
    input: &OsStr,
    output: &OsStr,
    key: &[u8],
    chain: Option<usize>,
) -> Result<Session, Error> {
    open(input, output, (key, chain), Direction::Encrypt)
}

/// Reverses [`encrypt`], with the same key and number of chains.
///
/// # Errors
/// As [`encrypt`].
pub fn decrypt(
    input: &OsStr,
    output: &OsStr,
    key: &[u8],
    chain: Option<usize>,
) -> Result<Session, Error> {
    open(input, output, (key, chain), Direction::Decrypt)
}

fn open(
    input: &OsStr,
    output: &OsStr,
    (key, chain): (&[u8], Option<usize>),
    direction: Direction,
) -> Result<Session, Error> {
    let key: &[u8; KEY_BYTES] = key.try_into().map_err(|_| Error::Key(key.len()))?;
    let chain = chain.map(Chain::new).transpose()?;
    let file = session::open(input)?;
    if let Some(bytes) = file.remaining() {
        LengthError::check(&file.name, bytes)?;
    }
    let out = OutputFile::named(output, &file.source_file()).map_err(session::Error::from)?;
    if let Some(bytes) = file.remaining() {
        out.fits(bytes).map_err(session::Error::from)?;
    }
    let sink = BulkSink::new(out, Vec::new());
    let codebook = Codebook::new(key, direction, chosen::PRODUCT.level());
    let service = ProductService::new(codebook, chain);
    Ok(Session {
        source: service.source(file),
        service,
        sink,
    })
}

impl Session {
    /// The number of bytes to read and write, if known.
    pub fn bytes(&self) -> Option<u64> {
        self.source.bytes()
    }

    /// The identity of the input, if it is a file.
    pub fn input_id(&self) -> Option<FileId> {
        self.source.id()
    }

    /// Runs to the end of the input, or until it is cancelled.
    ///
    /// # Errors
    /// Reading or writing failed, or the input ends within a block. No file is written then, but a pipe has received
    /// the blocks before.
    pub fn run(self, runtime: &Runtime, options: Options<'_>) -> Result<Report, Error> {
        runtime
            .stream(self.source)
            .through(self.service)
            .options(options)
            .named("units", "items")
            .counting(&self.sink.count())
            .into(self.sink)
            .map_err(of_stream)
    }
}

fn of_stream(error: StreamError) -> Error {
    let StreamError::Source {
        unit,
        written,
        cause,
    } = error
    else {
        return session::Error::from(error).into();
    };
    match cause.downcast::<ReadError>().map(|read| *read) {
        Ok(ReadError::Length(error)) => error.into(),
        Ok(ReadError::File(error)) => session::Error::from(error).into(),
        Err(cause) => session::Error::from(StreamError::Source {
            unit,
            written,
            cause,
        })
        .into(),
    }
}

impl fmt::Display for Session {
    /// Three lines: input, kernel and output.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "input   {}", self.source.name())?;
        if let Some(bytes) = self.bytes() {
            write!(f, ", {}", Size(bytes))?;
        }
        writeln!(f, "\nkernel  {}", self.service.key())?;
        write!(f, "output  {}", self.sink.name())
    }
}
