//! Encrypting and decrypting memory.
//!
//! ```
//! use evener_crypt::keys::Key;
//! use evener_crypt::session::{Memory, Options, Secret};
//! use evener_runtime::Runtime;
//!
//! let (runtime, secret) = (Runtime::new()?, Secret::Key(Key::generate()?));
//! let session = Memory::encrypt(&b"text"[..], 4, &secret, b"")?;
//! let mut sealed = Vec::with_capacity(session.bytes() as usize);
//! session.run(&mut sealed, &runtime, Options::default())?;
//! let session = Memory::decrypt(std::io::Cursor::new(sealed.clone()), sealed.len() as u64, &secret, b"")?;
//! let mut text = Vec::new();
//! session.run(&mut text, &runtime, Options::default())?;
//! assert_eq!(text, b"text");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io::{Read, Write};

use evener_runtime::Runtime;
use evener_runtime::stream::{Report, StreamError};

use super::decrypt::unlock;
use super::encrypt::new_key;
use super::{Error, Options, Secret};
use crate::bulk::{Bulk, Counter, Open, Operation, ReadSource, Seal, WriteSink};
use crate::chosen;
use crate::chunked::Layout;
use crate::ctr::Ctr;

/// What messages call the input.
pub(super) const NAME: &str = "input";

/// The bytes of a reader, such as memory, with an operation on them.
pub struct Memory<O, R> {
    reader: R,
    bytes: u64,
    header: Vec<u8>,
    service: Bulk<O>,
}

impl<R: Read + Send + 'static> Memory<Seal, R> {
    /// Encrypts `bytes` bytes from `reader`, as [`encrypt`](super::encrypt) does with a file.
    ///
    /// # Errors
    /// There is no randomness or memory for a key.
    pub fn encrypt(
        reader: R,
        bytes: u64,
        secret: &Secret,
        context: &[u8],
    ) -> Result<Memory<Seal, R>, Error> {
        let (key, header) = new_key(NAME, secret, context)?;
        Ok(Memory {
            reader,
            bytes,
            header,
            service: Bulk::new(Seal(key)),
        })
    }
}

impl<R: Read + Send + 'static> Memory<Open, R> {
    /// Decrypts `bytes` bytes from `reader`, as [`decrypt`](super::decrypt()) does with a file.
    ///
    /// # Errors
    /// They are not encrypted, or with another secret or `context`.
    pub fn decrypt(
        mut reader: R,
        bytes: u64,
        secret: &Secret,
        context: &[u8],
    ) -> Result<Memory<Open, R>, Error> {
        let (key, header) = unlock(NAME, secret, context, |buffer, byte| {
            let mut got = 0;
            while got < buffer.len() {
                match reader.read(&mut buffer[got..]) {
                    Ok(0) => break,
                    Ok(some) => got += some,
                    Err(reason) => {
                        let name = NAME.to_owned();
                        return Err(evener_files::Error::Read { name, byte, reason }.into());
                    }
                }
            }
            Ok(got)
        })?;
        let sizes = Layout::CHUNKED.after(header).of_sealed(bytes);
        sizes.map_err(|cause| Error::Size {
            name: NAME.to_owned(),
            cause,
        })?;
        Ok(Memory {
            reader,
            bytes: bytes - header,
            header: Vec::new(),
            service: Bulk::new(Open(key)),
        })
    }
}

impl<R: Read + Send + 'static> Memory<Counter, R> {
    /// Encrypts or decrypts `bytes` bytes from `reader`, as [`counter`](super::counter()) does with a file.
    ///
    /// # Errors
    /// The key or the counter has the wrong length.
    pub fn counter(
        reader: R,
        bytes: u64,
        (key, iv): (&[u8], &[u8]),
        at: u64,
    ) -> Result<Memory<Counter, R>, Error> {
        let ctr = Ctr::new(key, iv, chosen::CTR.level())?;
        Ok(Memory {
            reader,
            bytes,
            header: Vec::new(),
            service: Bulk::new(Counter { ctr, at }),
        })
    }
}

impl<O: Operation + 'static, R: Read + Send + 'static> Memory<O, R> {
    /// The number of bytes to write.
    pub fn bytes(&self) -> u64 {
        let read = usize::try_from(self.bytes).expect("it is in memory");
        (self.header.len() + O::written(read, true)) as u64
    }

    /// Writes the result to `writer`. After an error or a cancellation, discard its contents.
    ///
    /// # Errors
    /// Reading, computing or writing failed, or the input was altered.
    pub fn run(
        self,
        writer: impl Write + Send,
        runtime: &Runtime,
        options: Options<'_>,
    ) -> Result<Report, Error> {
        let first_error = self.service.first_error();
        runtime
            .stream(ReadSource::new::<O>(self.reader, self.bytes))
            .through(self.service)
            .options(options)
            .named("MiB", "chunks")
            .rate_named("MiB/s")
            .into(WriteSink::new(writer, self.header))
            .map_err(|error| match (&error, first_error.take()) {
                (StreamError::Unit { .. }, Some(cause)) => Error::Refused {
                    name: NAME.to_owned(),
                    cause,
                },
                _ => error.into(),
            })
    }
}
