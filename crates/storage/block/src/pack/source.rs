//! Units of an image that is packed.

use evener_files::SourceFile;
use evener_runtime::{Service, Source};

use super::sequential::Sequential;
use super::unit::{Span, UnitIn};
use crate::error::Error;
use crate::merged::Merged;
use crate::units::unit_blocks;

/// The units of an image, in order. A long run of zeros is one unit. Only the last unit may contain a partial block.
pub struct PackSource {
    input: Input,
    block: u64,
    unit: u64,
    at: u64,
    done: bool,
}

enum Input {
    /// An image, which the workers read. Only holes are searched here.
    Image(Merged),
    /// What can only be read in order, which the source does.
    Sequential(Sequential),
}

impl PackSource {
    /// Creates a source for an image and its overlay, in blocks of `block` bytes.
    pub fn image(image: Merged, block: u32) -> PackSource {
        PackSource::new(Input::Image(image), block)
    }

    /// Creates a source for an image that is read sequentially.
    pub fn sequential(input: Sequential, block: u32) -> PackSource {
        PackSource::new(Input::Sequential(input), block)
    }

    fn new(input: Input, block: u32) -> PackSource {
        PackSource {
            input,
            block: block.into(),
            unit: u64::from(block) * unit_blocks(block) as u64,
            at: 0,
            done: false,
        }
    }

    /// The name in messages.
    pub fn name(&self) -> &str {
        match &self.input {
            Input::Image(image) => image.image().file().name(),
            Input::Sequential(input) => input.name(),
        }
    }

    /// It as the source of an output.
    pub fn source_file(&self) -> SourceFile {
        match &self.input {
            Input::Image(image) => image.source_file(),
            Input::Sequential(input) => input.source_file(),
        }
    }

    /// The image, if it can be read at any offset.
    pub fn as_image(&self) -> Option<&Merged> {
        match &self.input {
            Input::Image(image) => Some(image),
            Input::Sequential(_) => None,
        }
    }

    /// The approximate number of units. Holes reduce it.
    pub fn count(&self) -> Option<u64> {
        let image = self.as_image()?.image();
        let bytes = match image.format().name == crate::format::RAW.name {
            true => image.file().allocated(),
            false => image.size(),
        };
        Some(bytes.div_ceil(self.unit).max(1))
    }

    fn next(&self, merged: &Merged) -> Result<Option<Span>, Error> {
        let image = merged.image();
        let (start, size) = (self.at, image.size());
        if start >= size {
            // An empty image has one unit.
            let last = Span {
                last: true,
                ..Span::default()
            };
            return Ok(Some(last).filter(|_| size == 0));
        }
        // Where the run of data ends does not matter.
        if merged.extent(start, start + 1)?.zero {
            let extent = merged.extent(start, size.min(start.saturating_add(HOLE_STEP)))?;
            let end = match extent.bytes.end {
                end if end == size => end,
                // The last block may begin in the hole and end behind it.
                end => end / self.block * self.block,
            };
            if end > start {
                let len = end - start;
                let last = end == size;
                return Ok(Some(Span {
                    start,
                    len,
                    zero: true,
                    last,
                }));
            }
        }
        let len = self.unit.min(size - start);
        image.will_need(start + self.unit, len);
        let last = start + len == size;
        Ok(Some(Span {
            start,
            len,
            zero: false,
            last,
        }))
    }
}

/// A hole is searched in steps of this size, so that a run can be cancelled in a large one.
const HOLE_STEP: u64 = 1 << 40;

impl<S: Service<Input = UnitIn>> Source<S> for PackSource {
    type Error = Error;

    fn read(&mut self, unit: &mut UnitIn) -> Result<bool, Error> {
        if self.done {
            return Ok(false);
        }
        let span = match &mut self.input {
            Input::Image(_) => None,
            Input::Sequential(input) => {
                unit.bytes.resize(self.unit as usize, 0);
                let got = input.fill(&mut unit.bytes)?;
                self.done = got < unit.bytes.len();
                unit.bytes.truncate(got);
                // The last unit may be empty. It is needed to know that the end was reached.
                Some(Span {
                    start: self.at,
                    len: got as u64,
                    zero: false,
                    last: self.done,
                })
            }
        };
        let span = match &self.input {
            Input::Image(image) => self.next(image)?,
            Input::Sequential(_) => span,
        };
        self.done |= span.is_none_or(|span| span.last);
        unit.span = span.unwrap_or_default();
        self.at += unit.span.len;
        Ok(span.is_some())
    }

    fn units(&self) -> Option<u64> {
        self.count()
    }

    fn may_wait(&self) -> bool {
        match &self.input {
            Input::Image(merged) => merged.image().file().may_wait(),
            Input::Sequential(_) => true,
        }
    }
}
