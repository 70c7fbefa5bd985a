//! Writing units to a file or a pipe.

use std::io::{self, Write};

use evener_files::{Error, OutputFile, Target};
use evener_runtime::stream::ByteCount;
use evener_runtime::{Service, Sink};

use super::unit::UnitOut;
use crate::age::armor::{Encoder, armored_len};

/// Writes units. A file gets its name only if it is complete: half of an encrypted file is useless, and half of a
/// plaintext may be mistaken for all of it.
pub struct BulkSink {
    output: OutputFile,
    /// What is written first.
    header: Vec<u8>,
    armor: Option<Encoder>,
    /// Whether blocks of zeros become holes.
    sparse: bool,
    /// Bytes to leave out at the beginning, and the most bytes to write after them.
    skip: u64,
    take: Option<u64>,
    bytes: u64,
    count: ByteCount,
    /// All was written.
    complete: bool,
}

impl BulkSink {
    /// Creates a sink that writes `header` and all units.
    pub fn new(output: OutputFile, header: Vec<u8>) -> BulkSink {
        BulkSink {
            output,
            header,
            armor: None,
            sparse: false,
            skip: 0,
            take: None,
            bytes: 0,
            count: ByteCount::default(),
            complete: false,
        }
    }

    /// Creates a sink that writes the plaintext of all units, with holes for zeros.
    pub fn text(output: OutputFile) -> BulkSink {
        BulkSink {
            sparse: true,
            ..BulkSink::new(output, Vec::new())
        }
    }

    /// Creates a sink that writes `take` bytes of all units together after the first `skip` bytes, or all bytes after
    /// them.
    pub fn part(output: OutputFile, skip: u64, take: Option<u64>) -> BulkSink {
        BulkSink {
            skip,
            take,
            ..BulkSink::text(output)
        }
    }

    /// Creates a sink that writes `header` and all units, armored as age files.
    pub fn armored(output: OutputFile, header: Vec<u8>) -> BulkSink {
        BulkSink {
            armor: Some(Encoder::default()),
            ..BulkSink::new(output, header)
        }
    }

    /// The name of the output in messages.
    pub fn name(&self) -> &str {
        self.output.name()
    }

    /// The count of written bytes.
    pub fn count(&self) -> ByteCount {
        self.count.clone()
    }

    /// The number of bytes to write for `bytes` bytes of units.
    pub fn bytes_of(&self, bytes: u64) -> u64 {
        let all = (self.header.len() as u64 + bytes).saturating_sub(self.skip);
        match self.armor {
            Some(_) => armored_len(all),
            None => self.take.map_or(all, |take| take.min(all)),
        }
    }

    /// Checks that the output has room for `bytes` bytes.
    ///
    /// # Errors
    /// The output is a smaller disk.
    pub fn fits(&self, bytes: u64) -> Result<(), Error> {
        self.output.fits(bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match &mut self.armor {
            Some(armor) => {
                let text = armor.update(bytes);
                self.write_out(&text)
            }
            None => self.write_out(bytes),
        }
    }

    fn write_out(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written = match self.sparse {
            true => self.output.write_sparse(bytes),
            false => self.output.write_all(bytes),
        };
        written.map_err(|reason| self.failed(reason))?;
        self.bytes += bytes.len() as u64;
        self.count.add(bytes.len() as u64);
        Ok(())
    }

    fn failed(&self, reason: io::Error) -> Error {
        Error::of_write(self.output.name(), self.bytes, reason)
    }
}

impl<S: Service<Output = UnitOut>> Sink<S> for BulkSink {
    type Error = Error;

    fn start(&mut self, _: &S) -> Result<(), Error> {
        let header = std::mem::take(&mut self.header);
        self.put(&header)
    }

    fn write(&mut self, unit: &UnitOut) -> Result<(), Error> {
        let bytes = unit.bytes();
        let skip = self.skip.min(unit.len() as u64);
        let rest = unit.len() as u64 - skip;
        let take = self.take.map_or(rest, |wanted| wanted.min(rest));
        self.skip -= skip;
        self.take = self.take.map(|wanted| wanted - take);
        self.put(&bytes[skip as usize..(skip + take) as usize])?;
        // A part that begins after the end is missing, even if it is empty.
        let missing = self.skip.saturating_add(self.take.unwrap_or(0));
        if unit.is_last() && missing > 0 {
            return Err(Error::Short {
                name: self.output.name().to_owned(),
                missing,
            });
        }
        self.complete |= unit.is_last() || self.take == Some(0);
        Ok(())
    }

    fn may_wait(&self) -> bool {
        self.output.may_wait()
    }

    fn finish(&mut self) -> Result<(), Error> {
        if !self.complete {
            return Ok(());
        }
        if let Some(armor) = self.armor.take() {
            self.write_out(&armor.finish())?;
        }
        let done = self
            .output
            .flush()
            .and_then(|()| self.output.commit(self.bytes));
        done.map_err(|reason| Error::Commit {
            name: self.output.name().to_owned(),
            reason,
        })
    }
}
