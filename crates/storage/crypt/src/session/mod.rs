//! Encrypting and decrypting files and pipes, as `evener encrypt`, `decrypt` and `ctr` do.
//!
//! ```no_run
//! use evener_crypt::keys::Key;
//! use evener_crypt::session::{self, Options, Secret};
//! use evener_runtime::Runtime;
//!
//! let secret = Secret::Key(Key::generate()?);
//! let session = session::encrypt("disk.img".as_ref(), "disk.img.evener".as_ref(), &secret, b"")?;
//! println!("{}", session.run(&Runtime::new()?, Options::default())?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod age;
mod check;
mod counter;
mod decrypt;
mod encrypt;
mod error;
mod foreign;
mod header;
mod inspect;
mod memory;
mod names;
mod rewrap;
mod secret;

use std::fmt;

use evener_files::{FileId, InputFile};
use evener_runtime::quantity::Size;
use evener_runtime::stream::{Report, StreamError};
use evener_runtime::{Runtime, Service};

use crate::bulk::{Bulk, BulkSink, BulkSource, Operation};

pub use age::{Recipients, encrypt_age, identity_file, new_identity_file, recipient_file};
pub use check::{check, check_passphrase, check_rewrap};
pub use counter::counter;
pub use decrypt::{Decryption, Opener, Range, decrypt, verify};
pub use encrypt::encrypt;
pub use error::Error;
pub use evener_runtime::stream::{OnProgress, RunOptions as Options};
pub use header::{decrypted_len, encrypted_len, header_len, key_of_header, new_header};
pub use inspect::{Format, Inspected, inspect};
pub use memory::Memory;
pub use names::{opened_in, sealed_in};
pub use rewrap::{Rewrap, Rewrapped, rewrap};
pub use secret::{Secret, SecretWarning, key_file, new_key_file, passphrase_fd, passphrase_file};

/// An input, an operation and an output, ready to run. If it is dropped before it has run, there is no output.
pub struct Session<O> {
    source: BulkSource,
    service: Bulk<O>,
    sink: BulkSink,
}

impl<O: Operation> Session<O> {
    /// The number of bytes to write, if known.
    pub fn bytes(&self) -> Option<u64> {
        let read = usize::try_from(self.source.bytes()?).ok()?;
        let written = O::written(read, self.source.is_whole());
        Some(self.sink.bytes_of(written as u64))
    }

    /// The identity of the input, if it is a file.
    pub fn input_id(&self) -> Option<FileId> {
        self.source.id()
    }

    /// Runs to the end of the input, or until it is cancelled.
    ///
    /// # Errors
    /// Reading, computing or writing failed, or the input was altered.
    pub fn run(self, runtime: &Runtime, options: Options<'_>) -> Result<Report, Error>
    where
        O: 'static,
    {
        if let Some(bytes) = self.bytes() {
            self.sink.fits(bytes)?;
        }
        let Session {
            source,
            service,
            sink,
        } = self;
        let (first_error, name) = (service.first_error(), source.name().to_owned());
        runtime
            .stream(source)
            .through(service)
            .options(options)
            .named("MiB", "chunks")
            .rate_named("MiB/s")
            .counting(&sink.count())
            .into(sink)
            .map_err(|error| match (&error, first_error.take()) {
                (StreamError::Unit { .. }, Some(cause)) => Error::Refused { name, cause },
                _ => error.into(),
            })
    }
}

impl<O: Operation> fmt::Display for Session<O> {
    /// Three lines: input, kernel and output.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "input   {}", self.source.name())?;
        if let Some(bytes) = self.source.bytes() {
            write!(f, ", {}", Size(bytes))?;
        }
        writeln!(f, "\nkernel  {}", self.service.key())?;
        write!(f, "output  {}", self.sink.name())
    }
}

/// What is said of a terminal as the input.
const NO_TERMINAL: &str = "is a terminal; name a file, or pipe something in";

/// Opens an input: `-` is the standard input.
pub(crate) fn open(input: &std::ffi::OsStr) -> Result<InputFile, Error> {
    let file = InputFile::named(input, NO_TERMINAL)?;
    file.expect_sequential();
    Ok(file)
}
