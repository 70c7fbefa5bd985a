//! Units of an image that is packed.

use evener_files::{InputFile, SourceFile};
use evener_runtime::{Service, Source};

use super::unit::{Span, UnitIn};
use crate::error::Error;
use crate::format::{RAW, recognise_pipe};
use crate::merged::Merged;
use crate::overlay::is_overlay;
use crate::units::unit_blocks;

/// The units of an image, in order. A long run of zeros is one unit. Only the last unit may have a part of a block.
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
    Pipe {
        input: InputFile,
        /// It is taken for raw, whatever its first bytes look like.
        is_raw: bool,
    },
}

impl PackSource {
    /// The units of an image and its overlay, in blocks of `block` bytes.
    pub fn image(image: Merged, block: u32) -> PackSource {
        PackSource::new(Input::Image(image), block)
    }

    /// The units of a raw image that a pipe delivers. If it begins like an image of another format, it is refused,
    /// unless `is_raw`.
    pub fn pipe(input: InputFile, block: u32, is_raw: bool) -> PackSource {
        PackSource::new(Input::Pipe { input, is_raw }, block)
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

    /// What messages call it.
    pub fn name(&self) -> &str {
        match &self.input {
            Input::Image(image) => image.image().file().name(),
            Input::Pipe { input, .. } => &input.name,
        }
    }

    /// It as the source of an output.
    pub fn source_file(&self) -> SourceFile {
        match &self.input {
            Input::Image(image) => image.source_file(),
            Input::Pipe { input, .. } => input.source_file(),
        }
    }

    /// The image, if it is a file.
    pub fn as_image(&self) -> Option<&Merged> {
        match &self.input {
            Input::Image(image) => Some(image),
            Input::Pipe { .. } => None,
        }
    }

    /// About how many units there will be. Holes make fewer.
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

/// Refuses a pipe that begins like an image of another format: its bytes would be packed instead of the bytes in it.
fn looks_raw(name: &str, front: &[u8]) -> Result<(), Error> {
    let refused = |format: String| {
        let name = name.to_owned();
        Err(Error::Piped { name, format })
    };
    if is_overlay(front) {
        return refused("an overlay".to_owned());
    }
    match recognise_pipe(front) {
        (format, _) if format.name != RAW.name => refused(format!("an image in {}", format.name)),
        (_, Some(foreign)) => {
            foreign.warn(name);
            Ok(())
        }
        _ => Ok(()),
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
            Input::Pipe { input, is_raw } => {
                unit.bytes.resize(self.unit as usize, 0);
                let got = input.fill(&mut unit.bytes, self.at)?;
                self.done = got < unit.bytes.len();
                unit.bytes.truncate(got);
                if self.at == 0 && !*is_raw {
                    looks_raw(&input.name, &unit.bytes)?;
                }
                // The last unit may be empty. It is needed to know that the end of the pipe was reached.
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
            Input::Pipe { .. } => span,
        };
        self.done |= span.is_none_or(|span| span.last);
        unit.span = span.unwrap_or_default();
        self.at += unit.span.len;
        Ok(span.is_some())
    }

    fn units(&self) -> Option<u64> {
        self.count()
    }
}
