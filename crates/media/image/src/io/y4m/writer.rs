//! Writing y4m: one `writev` a frame.

use std::io::{self, IoSlice, Write};
use std::path::Path;

use evener_files::{Error as FileError, OutputFile, SourceFile, Target};

use crate::format::{Format, Timing};
use crate::frame::Frame;
use crate::io::error::Error;
use crate::io::y4m::header::Header;

const PLAIN_LINE: &[u8] = b"FRAME\n";

/// Writes a y4m stream to a file, a pipe or memory.
///
/// A file appears under its name with [`Writer::finish`]. A writer that is dropped or aborted leaves no file. Nothing is
/// buffered: after [`Writer::write`] the operating system has the whole frame.
pub struct Writer<W: Write> {
    out: W,
    name: String,
    timing: Option<Timing>,
    format: Option<Format>,
    begun: bool,
    /// A write failed, so a part of a header or frame may follow the good bytes.
    broken: bool,
    /// Whole frames written.
    frames: u64,
    /// Bytes of the header and these frames.
    bytes: u64,
    finished: bool,
}

impl Writer<OutputFile> {
    /// Writes a file, or into the pipe or device of that name.
    ///
    /// # Errors
    /// The file cannot be created there.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        let out = OutputFile::create(path.as_ref(), &SourceFile::default())?;
        let name = out.name().to_owned();
        Ok(Writer::new(out, name))
    }

    /// Whether a write may wait for a reader.
    pub fn may_wait(&self) -> bool {
        self.out.may_wait()
    }

    /// Writes to the standard output.
    ///
    /// # Errors
    /// It is closed or a terminal.
    pub fn stdout() -> Result<Self, Error> {
        let out = OutputFile::stdout()?;
        let name = out.name().to_owned();
        Ok(Writer::new(out, name))
    }
}

impl<W: Write> Writer<W> {
    /// Writes to any writer. `name` is its name in messages.
    pub fn new(out: W, name: impl Into<String>) -> Self {
        Writer {
            out,
            name: name.into(),
            timing: None,
            format: None,
            begun: false,
            broken: false,
            frames: 0,
            bytes: 0,
            finished: false,
        }
    }

    /// Sets the timing; progressive at 25 frames a second otherwise.
    #[must_use]
    pub fn with_timing(mut self, timing: &Timing) -> Self {
        self.timing = Some(*timing);
        self
    }

    /// Sets the format, which is otherwise that of the first frame. Then a stream without frames has a header, too.
    #[must_use]
    pub fn with_format(mut self, format: &Format) -> Self {
        self.format = Some(*format);
        self
    }

    /// Sets the format and the timing if they are not set yet.
    pub fn describe(&mut self, format: &Format, timing: Option<&Timing>) {
        self.format.get_or_insert(*format);
        self.timing = self.timing.or(timing.copied());
    }

    /// The format, once it is known.
    pub fn format(&self) -> Option<&Format> {
        self.format.as_ref()
    }

    /// The timing in the header.
    pub fn timing(&self) -> Timing {
        self.timing.unwrap_or_default()
    }

    /// Whole frames written.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// The name of the output in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The writer below.
    pub fn get_ref(&self) -> &W {
        &self.out
    }

    /// Returns the writer below.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Writes a frame, and the header before the first one.
    ///
    /// # Errors
    /// The frame is of floats or not of the stream's format; the reader of a pipe is gone ([`Error::ClosedPipe`]); the disk
    /// is full ([`Error::NoSpace`]); another system error. After a system error nothing can be written, but
    /// [`Writer::finish`] keeps the whole frames.
    pub fn write(&mut self, frame: &Frame) -> Result<(), Error> {
        let format = *self.format.get_or_insert(*frame.format());
        if format != *frame.format() {
            return Err(Error::FrameFormat {
                name: self.name.clone(),
                stream: Box::new(format),
                frame: Box::new(*frame.format()),
            });
        }
        self.begin(format)?;
        let planes: Vec<_> = (0..format.planes()).map(|p| frame.plane_bytes(p)).collect();
        let swapped: Vec<Vec<u8>>;
        let mut slices = vec![IoSlice::new(PLAIN_LINE)];
        if cfg!(target_endian = "big") && format.depth.bytes() == 2 {
            let swap = |plane: &[u8]| plane.chunks_exact(2).flat_map(|c| [c[1], c[0]]).collect();
            swapped = planes.iter().map(|p| swap(p)).collect();
            slices.extend(swapped.iter().map(|p| IoSlice::new(p)));
        } else {
            slices.extend(planes.iter().map(|p| IoSlice::new(p)));
        }
        write_all(&mut self.out, &mut slices).map_err(|e| self.failed(e))?;
        self.frames += 1;
        self.bytes += (PLAIN_LINE.len() + format.frame_bytes()) as u64;
        Ok(())
    }

    /// Leaves no file behind. The same as dropping the writer.
    pub fn abort(self) {}

    fn begin(&mut self, format: Format) -> Result<(), Error> {
        if self.broken {
            return Err(self.failed(io::Error::other("an earlier write failed")));
        }
        if self.begun {
            return Ok(());
        }
        let Some(line) = (Header {
            format,
            timing: self.timing(),
        })
        .line() else {
            return Err(Error::FloatFrames {
                name: self.name.clone(),
            });
        };
        self.out
            .write_all(line.as_bytes())
            .map_err(|e| self.failed(e))?;
        self.bytes = line.len() as u64;
        self.begun = true;
        Ok(())
    }

    fn failed(&mut self, reason: io::Error) -> Error {
        self.broken = true;
        Error::of_write(&self.name, self.frames, self.bytes, reason)
    }
}

impl<W: Target> Writer<W> {
    /// Ends the stream and gives a file its name. After a failed [`Writer::write`] the file has the whole frames. A second
    /// call does nothing.
    ///
    /// # Errors
    /// There was no frame and no format is set, or the file cannot be put in place.
    pub fn finish(&mut self) -> Result<(), Error> {
        if self.finished {
            return Ok(());
        }
        match self.format {
            Some(_) if self.begun => {}
            Some(format) => self.begin(format)?,
            None => {
                return Err(Error::NoFrames {
                    name: self.name.clone(),
                });
            }
        }
        self.out.flush().map_err(|e| self.failed(e))?;
        self.out
            .commit(self.bytes)
            .map_err(|reason| FileError::Commit {
                name: self.name.clone(),
                reason,
            })?;
        self.finished = true;
        Ok(())
    }
}

fn write_all(out: &mut impl Write, slices: &mut [IoSlice]) -> io::Result<()> {
    let mut rest = slices;
    while !rest.is_empty() {
        match out.write_vectored(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => IoSlice::advance_slices(&mut rest, n),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
