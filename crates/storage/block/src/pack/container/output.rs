//! What containers are, and the file that they are written to.

use std::io::{self, Write};

use evener_files::{OutputFile, Target};

use crate::error::Error;
use crate::hash::Hash;

/// A packed block that is written to a container.
pub struct BlockRecord<'a> {
    /// The number of its codec.
    pub codec: u8,
    /// Its packed bytes.
    pub packed: &'a [u8],
    /// Their checksum.
    pub sum: u32,
    /// Bytes of the block before packing.
    pub plain: u64,
    /// Their hash.
    pub hash: &'a Hash,
}

/// Writes blocks to a file, one after the other.
pub trait Container: Send {
    /// Writes what comes before the first block.
    fn start(&mut self, out: &mut ContainerFile) -> Result<(), Error>;
    /// Writes a block that is not zero.
    fn block(&mut self, out: &mut ContainerFile, block: &BlockRecord) -> Result<(), Error>;
    /// Writes a run of `bytes` zeros, which are whole blocks unless the image ends with them. The next call is not for
    /// zeros.
    fn zeros(&mut self, out: &mut ContainerFile, bytes: u64) -> Result<(), Error>;
    /// Writes what comes after the last block.
    fn finish(&mut self, out: &mut ContainerFile, size: u64, root: Hash) -> Result<(), Error>;
    /// Entries of the index so far.
    fn entries(&self) -> usize;
    /// Entries of the index for a run of `bytes` zeros.
    fn entries_of_zeros(&self, bytes: u64) -> u64;
}

/// The file of a container, written from the beginning to the end.
pub struct ContainerFile {
    output: OutputFile,
    buffer: Vec<u8>,
    bytes: u64,
}

/// Bytes that are gathered before they are written.
const BUFFER: usize = 256 << 10;

impl ContainerFile {
    /// A file to which nothing is written yet.
    pub fn new(output: OutputFile) -> ContainerFile {
        ContainerFile {
            output,
            buffer: Vec::with_capacity(BUFFER),
            bytes: 0,
        }
    }

    /// Whether a write may wait for a reader.
    pub fn may_wait(&self) -> bool {
        self.output.may_wait()
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        self.output.name()
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes + self.buffer.len() as u64
    }

    /// Writes bytes.
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

    /// An error of writing whose reason is not the system's.
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

    /// Writes the rest and gives the file its name.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.flush()?;
        let done: io::Result<()> = self.output.flush();
        let done = done.and_then(|()| self.output.commit(self.bytes));
        let name = self.output.name().to_owned();
        Ok(done.map_err(|reason| evener_files::Error::Commit { name, reason })?)
    }
}
