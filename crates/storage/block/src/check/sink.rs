//! Writing unpacked units to a file or a pipe.

use std::convert::Infallible;
use std::io::{self, Write};
use std::sync::Arc;

use evener_files::{OutputFile, Target};
use evener_runtime::stream::ByteCount;
use evener_runtime::{Service, Sink};

use super::unit::UnitOut;
use crate::error::Error;
use crate::image::Image;
use crate::zero::is_zero;

/// Writes bytes that are not zero, and leaves holes if the output supports them. A file gets its name only if the
/// whole image was written and did not change meanwhile.
pub struct UnpackSink {
    image: Arc<Image>,
    output: OutputFile,
    bytes: u64,
    /// Zeros that are not written yet.
    zeros: u64,
    count: ByteCount,
    complete: bool,
}

/// Holes are not smaller than a page of a file system.
const PAGE: usize = 4096;

impl UnpackSink {
    /// Creates a sink for an empty output.
    pub fn new(image: Arc<Image>, output: OutputFile) -> UnpackSink {
        UnpackSink {
            image,
            output,
            bytes: 0,
            zeros: 0,
            count: ByteCount::default(),
            complete: false,
        }
    }

    /// The name of the output in messages.
    pub fn name(&self) -> &str {
        self.output.name()
    }

    /// Counts the bytes of the image that are written.
    pub(crate) fn count(&self) -> ByteCount {
        self.count.clone()
    }

    fn done(&self, result: io::Result<()>) -> Result<(), Error> {
        let name = self.output.name();
        Ok(result.map_err(|reason| evener_files::Error::of_write(name, self.bytes, reason))?)
    }

    fn flush_zeros(&mut self) -> Result<(), Error> {
        let zeros = std::mem::take(&mut self.zeros);
        if zeros > 0 {
            let skipped = self.output.skip(zeros);
            self.done(skipped)?;
            self.bytes += zeros;
        }
        Ok(())
    }

    /// Runs of zero pages become holes. Other runs of pages are written at once.
    fn put(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let zero = is_zero(&bytes[..bytes.len().min(PAGE)]);
            let pages = bytes.chunks(PAGE).take_while(|page| is_zero(page) == zero);
            let (run, rest) = bytes.split_at(pages.map(<[u8]>::len).sum());
            if zero {
                self.zeros += run.len() as u64;
            } else {
                self.flush_zeros()?;
                let written = self.output.write_all(run);
                self.done(written)?;
                self.bytes += run.len() as u64;
            }
            bytes = rest;
        }
        Ok(())
    }
}

impl<S: Service<Output = UnitOut>> Sink<S> for UnpackSink {
    type Error = Error;

    fn write(&mut self, unit: &UnitOut) -> Result<(), Error> {
        let rows = unit.rows();
        let (pieces, last) = &*unit.pieces();
        for (piece, row) in pieces.iter().zip(0..) {
            match piece.zero {
                true => self.zeros += piece.len,
                false => self.put(&rows[row * unit.width()..][..piece.len as usize])?,
            }
            self.count.add(piece.len);
        }
        self.complete |= last;
        Ok(())
    }

    fn may_wait(&self) -> bool {
        self.output.may_wait()
    }

    fn finish(&mut self) -> Result<(), Error> {
        if !self.complete {
            return Ok(());
        }
        self.image.unchanged()?;
        self.flush_zeros()?;
        let done = self
            .output
            .flush()
            .and_then(|()| self.output.commit(self.bytes));
        let name = self.output.name().to_owned();
        Ok(done.map_err(|reason| evener_files::Error::Commit { name, reason })?)
    }
}

/// Counts the bytes that were checked.
#[derive(Default)]
pub struct CountSink {
    pub(crate) count: ByteCount,
}

impl<S: Service<Output = UnitOut>> Sink<S> for CountSink {
    type Error = Infallible;

    fn write(&mut self, unit: &UnitOut) -> Result<(), Infallible> {
        let bytes = unit.pieces().0.iter().map(|piece| piece.len).sum();
        self.count.add(bytes);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn inline(&self) -> bool {
        true
    }
}
