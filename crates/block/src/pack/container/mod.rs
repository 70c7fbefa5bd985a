//! How packed blocks are written down.

mod evb;
mod seekable;

use std::io::{self, Write};

use evener_files::{OutputFile, Target};
use serde::Serialize;

use crate::codec::{Codec, ZSTD};
use crate::error::Error;
use crate::format::MAX_BLOCKS;
use crate::hash::Hash;

/// A block as it is written down.
pub struct Packing<'a> {
    /// Number of its codec.
    pub codec: u8,
    /// What the codec made of it.
    pub packed: &'a [u8],
    /// The sum of that.
    pub sum: u32,
    /// Bytes of the block.
    pub plain: u64,
    /// Their hash.
    pub hash: &'a Hash,
}

/// Writes blocks down, one after the other.
pub trait Container: Send {
    /// What comes before the first block.
    fn start(&mut self, out: &mut Out) -> Result<(), Error>;
    /// A block that is not zero.
    fn block(&mut self, out: &mut Out, block: &Packing) -> Result<(), Error>;
    /// A run of `bytes` bytes that are zero, whole blocks unless the image ends with them; the next is none.
    fn zeros(&mut self, out: &mut Out, bytes: u64) -> Result<(), Error>;
    /// What comes after the last block.
    fn finish(&mut self, out: &mut Out, size: u64, root: Hash) -> Result<(), Error>;
    /// Entries of the index so far.
    fn entries(&self) -> usize;
    /// Entries that a run of `bytes` bytes that are zero takes.
    fn entries_of_zeros(&self, bytes: u64) -> u64;
}

/// The container for blocks of `codec`.
pub fn of(codec: &'static Codec, level: i32, block: u32) -> Box<dyn Container> {
    match *codec == ZSTD {
        true => Box::new(seekable::Seekable::new(level, block)),
        false => Box::new(evb::Evb::new(block)),
    }
}

/// What was packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Packed {
    /// Bytes of the image.
    pub size: u64,
    /// Bytes of the container.
    pub packed_size: u64,
    /// Blocks of the image.
    pub blocks: u64,
    /// Those of them that are zero.
    pub zero_blocks: u64,
    /// The hash over all of them.
    pub root: Option<Hash>,
}

/// A file that is written from front to back.
pub struct Out {
    output: OutputFile,
    buffer: Vec<u8>,
    bytes: u64,
}

/// What is gathered before it is written.
const BUFFER: usize = 256 << 10;

impl Out {
    /// Nothing is written yet.
    pub fn new(output: OutputFile) -> Out {
        Out {
            output,
            buffer: Vec::with_capacity(BUFFER),
            bytes: 0,
        }
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        self.output.name()
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes + self.buffer.len() as u64
    }

    /// Writes.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.flush()?;
        }
        match bytes.len() < BUFFER {
            true => self.buffer.extend_from_slice(bytes),
            false => self.write(bytes)?,
        }
        Ok(())
    }

    /// What is said when something cannot be written for a reason other than the system's.
    pub fn failed(&self, reason: &'static str) -> Error {
        let reason = io::Error::other(reason);
        evener_files::Error::of_write(self.name(), self.bytes(), reason).into()
    }

    fn flush(&mut self) -> Result<(), Error> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let done = self.write(&buffer);
        buffer.clear();
        self.buffer = buffer;
        done
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written = self.output.write_all(bytes);
        let (name, before) = (self.output.name(), self.bytes);
        written.map_err(|reason| evener_files::Error::of_write(name, before, reason))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Gives the file its name.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.flush()?;
        let done: io::Result<()> = self.output.flush();
        let done = done.and_then(|()| self.output.commit(self.bytes));
        let name = self.output.name().to_owned();
        Ok(done.map_err(|reason| evener_files::Error::Commit { name, reason })?)
    }
}

/// Refuses an image that nobody would open again. `zeros` are bytes that are zero and not written yet.
pub fn check_entries(container: &dyn Container, out: &Out, zeros: u64) -> Result<(), Error> {
    match container.entries() as u64 + container.entries_of_zeros(zeros) > MAX_BLOCKS {
        true => Err(Error::Unsupported {
            name: out.name().to_owned(),
            format: "packed",
            what: format!(
                "would have more than {MAX_BLOCKS} blocks; choose larger ones with --block"
            ),
        }),
        false => Ok(()),
    }
}
