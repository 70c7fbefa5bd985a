//! Units from and to memory, or any reader and writer.

use std::io::{self, ErrorKind, Read, Write};

use evener_runtime::{Service, Sink, Source};

use super::Operation;
use super::unit::{UnitIn, UnitOut};

/// The contents of a reader, in units. The last unit is marked, and may be empty, so [`Operation::FULL_LAST`] must be
/// false.
pub struct ReadSource<R> {
    reader: R,
    next: u64,
    rows: u64,
    units: u64,
    done: bool,
}

impl<R: Read> ReadSource<R> {
    /// Reads the rows of `O` from `bytes` bytes of `reader`.
    pub fn new<O: Operation>(reader: R, bytes: u64) -> ReadSource<R> {
        ReadSource {
            reader,
            next: 0,
            rows: O::ROWS as u64,
            units: bytes / (O::ROWS * O::READ) as u64 + 1,
            done: false,
        }
    }
}

impl<R: Read + Send, S: Service<Input = UnitIn>> Source<S> for ReadSource<R> {
    type Error = io::Error;

    fn read(&mut self, unit: &mut UnitIn) -> Result<bool, io::Error> {
        if self.done {
            return Ok(false);
        }
        let room = unit.room();
        let (all, mut got) = (room.len(), 0);
        while got < all {
            match self.reader.read(&mut room[got..]) {
                Ok(0) => break,
                Ok(some) => got += some,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        unit.keep(got);
        unit.first = self.next;
        self.next += self.rows;
        unit.last = got < all;
        self.done = unit.last;
        Ok(true)
    }

    fn units(&self) -> Option<u64> {
        Some(self.units)
    }
}

/// Writes units one after the other.
pub struct WriteSink<W> {
    writer: W,
    /// What is written first.
    header: Vec<u8>,
}

impl<W: Write> WriteSink<W> {
    /// Writes `header` and all units.
    pub fn new(writer: W, header: Vec<u8>) -> WriteSink<W> {
        WriteSink { writer, header }
    }
}

impl<W: Write + Send, S: Service<Output = UnitOut>> Sink<S> for WriteSink<W> {
    type Error = io::Error;

    fn start(&mut self, _: &S) -> Result<(), io::Error> {
        self.writer.write_all(&std::mem::take(&mut self.header))
    }

    fn write(&mut self, unit: &UnitOut) -> Result<(), io::Error> {
        self.writer.write_all(&unit.bytes()[..unit.len()])
    }

    fn finish(&mut self) -> Result<(), io::Error> {
        self.writer.flush()
    }
}
