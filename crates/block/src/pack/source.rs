//! Units of an image, from where it lies.

use evener_files::{InputFile, SourceFile};
use evener_runtime::{Service, Source};

use super::unit::{Span, UnitIn};
use crate::error::Error;
use crate::format::{RAW, recognise_pipe};
use crate::merged::Merged;
use crate::overlay::is_overlay;
use crate::units::unit_blocks;

/// Units of an image, in order. Long runs of zero are one unit; the last is the only one that need not have whole
/// blocks.
pub struct PackSource {
    from: From,
    block: u64,
    unit: u64,
    at: u64,
    done: bool,
}

enum From {
    /// Workers read it themselves: here only holes are looked for.
    Image(Merged),
    Pipe {
        input: InputFile,
        /// Whatever its first bytes look like it is taken for raw.
        is_raw: bool,
    },
}

impl PackSource {
    /// Of an image and what lies over it, in blocks of `block` bytes.
    pub fn image(image: Merged, block: u32) -> PackSource {
        PackSource::new(From::Image(image), block)
    }

    /// Of a pipe that delivers a raw image. One that begins as images of other formats do is refused, unless `is_raw`
    /// says that it is none.
    pub fn pipe(input: InputFile, block: u32, is_raw: bool) -> PackSource {
        PackSource::new(From::Pipe { input, is_raw }, block)
    }

    fn new(from: From, block: u32) -> PackSource {
        PackSource {
            from,
            block: block.into(),
            unit: u64::from(block) * unit_blocks(block) as u64,
            at: 0,
            done: false,
        }
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        match &self.from {
            From::Image(image) => image.image().file().name(),
            From::Pipe { input, .. } => &input.name,
        }
    }

    /// It as the source of an output.
    pub fn source_file(&self) -> SourceFile {
        match &self.from {
            From::Image(image) => image.source_file(),
            From::Pipe { input, .. } => input.source_file(),
        }
    }

    /// The image, where any place in it can be read.
    pub fn as_image(&self) -> Option<&Merged> {
        match &self.from {
            From::Image(image) => Some(image),
            From::Pipe { .. } => None,
        }
    }

    /// Units there will be, about: holes make fewer.
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
            // Of an image without a byte there is one unit too.
            let last = Span {
                last: true,
                ..Span::default()
            };
            return Ok(Some(last).filter(|_| size == 0));
        }
        // How far data goes on is of no interest.
        if merged.extent(start, start + 1)?.zero {
            let extent = merged.extent(start, size.min(start.saturating_add(ZEROS)))?;
            let end = match extent.bytes.end {
                end if end == size => end,
                // A block that begins in a hole may end behind it.
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

/// Whether the front of a pipe is that of no image, in which case its bytes would be packed and not those in it.
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

/// A hole is looked through in such steps, so that a run can be cancelled within a large one.
const ZEROS: u64 = 1 << 40;

impl<S: Service<Input = UnitIn>> Source<S> for PackSource {
    type Error = Error;

    fn read(&mut self, unit: &mut UnitIn) -> Result<bool, Error> {
        if self.done {
            return Ok(false);
        }
        let span = match &mut self.from {
            From::Image(_) => None,
            From::Pipe { input, is_raw } => {
                unit.bytes.resize(self.unit as usize, 0);
                let got = input.fill(&mut unit.bytes, self.at)?;
                self.done = got < unit.bytes.len();
                unit.bytes.truncate(got);
                if self.at == 0 && !*is_raw {
                    looks_raw(&input.name, &unit.bytes)?;
                }
                // The last may be empty: without one nobody knows that the pipe's end was seen.
                Some(Span {
                    start: self.at,
                    len: got as u64,
                    zero: false,
                    last: self.done,
                })
            }
        };
        let span = match &self.from {
            From::Image(image) => self.next(image)?,
            From::Pipe { .. } => span,
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
