//! Reading y4m: headers through a small buffer, samples straight into the frame.

use std::fs::File;
use std::io::{self, IoSliceMut, Read, Seek, SeekFrom};
use std::path::Path;

use evener_files::{InputFile, SourceFile, Watch};

use crate::format::{ColourRange, Format, Ratio, Timing};
use crate::frame::Frame;
use crate::io::error::Error;
use crate::io::y4m::header::{FRAME, Header, HeaderError, MAX_LINE};

/// Bytes of a `FRAME` line without parameters.
const PLAIN_LINE: usize = FRAME.len() + 1;

/// Reads a y4m stream from a file, a pipe or memory.
///
/// One `readv` a frame fills all planes and the line that begins the next frame, and nothing is copied twice. In a file,
/// unwanted planes are skipped. Samples of 10 bits are not checked: a damaged file can hold codes above 1023.
pub struct Reader<R> {
    input: R,
    name: String,
    format: Format,
    timing: Timing,
    frames: Option<u64>,
    source: SourceFile,
    /// Whole frames read.
    read: u64,
    /// Bytes consumed, from the first byte of the header.
    byte: u64,
    buffer: LineBuffer,
    ended: bool,
    planes_wanted: usize,
    /// Warns at the end if a file changed meanwhile.
    watch: Option<Watch>,
    /// Moves an input that is a file by a number of bytes.
    seek: Option<fn(&mut R, i64) -> io::Result<u64>>,
}

impl Reader<File> {
    /// Opens a file or a named pipe.
    ///
    /// # Errors
    /// The file cannot be opened, its header cannot be used, or it is shorter than its first frame.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Reader::from_input(InputFile::open(path.as_ref())?)
    }

    /// Reads an open file or pipe from its current position.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn from_input(input: InputFile) -> Result<Self, Error> {
        input.expect_sequential();
        let (source, remaining, watch) = (input.source_file(), input.remaining(), input.watch());
        let mut reader = Reader::new(input.file, input.name)?;
        (reader.source, reader.watch) = (source, watch);
        if let Some(remaining) = remaining {
            reader.seek = Some(|file, by| file.seek(SeekFrom::Current(by)));
            let header = reader.byte;
            reader.count_frames(remaining.saturating_sub(header))?;
        }
        Ok(reader)
    }
}

impl<R: Read> Reader<R> {
    /// Reads from any reader. `name` is its name in messages.
    ///
    /// # Errors
    /// The header cannot be read or used.
    pub fn new(mut input: R, name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        let mut buffer = LineBuffer::new();
        let length = loop {
            if let Some(end) = buffer.held().iter().position(|&b| b == b'\n') {
                break end;
            }
            if buffer.held().len() >= MAX_LINE {
                let magic = Header::parse(&buffer.held()[..MAX_LINE]).err();
                let reason = magic.unwrap_or(HeaderError::TooLong);
                return Err(Error::Header { name, reason });
            }
            match buffer.fill(&mut input, MAX_LINE) {
                Ok(0) => {
                    // Text that is no y4m header at all is called that, not cut short.
                    let held = buffer.held();
                    let reason = match Header::parse(held) {
                        Err(HeaderError::Magic) if held.len() >= 10 => HeaderError::Magic,
                        _ => HeaderError::Ends(held.len()),
                    };
                    return Err(Error::Header { name, reason });
                }
                Ok(_) => {}
                Err(reason) => {
                    return Err(Error::Read {
                        name,
                        frame: 0,
                        byte: 0,
                        reason,
                    });
                }
            }
        };
        let header = match Header::parse(&buffer.held()[..length]) {
            Ok(header) => header,
            Err(reason) => return Err(Error::Header { name, reason }),
        };
        buffer.consume(length + 1);
        Ok(Reader {
            input,
            name,
            format: header.format,
            timing: header.timing,
            frames: None,
            source: SourceFile::default(),
            read: 0,
            byte: length as u64 + 1,
            buffer,
            ended: false,
            planes_wanted: header.format.planes(),
            watch: None,
            seek: None,
        })
    }

    /// Whether it reads a regular file.
    pub fn is_file(&self) -> bool {
        self.seek.is_some()
    }

    /// Size, chroma layout, depth and range of every frame.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Rate, aspect, siting and interlacing.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// Sets the range of a stream that does not name one.
    pub(crate) fn assume_range(&mut self, range: ColourRange) {
        if !self.timing.range_named {
            self.format.range = range;
            self.timing.range_named = true;
        }
    }

    /// Sets the rate, where the header has one without a meaning.
    pub(crate) fn set_rate(&mut self, rate: Ratio) {
        self.timing.rate = rate;
    }

    /// Frames of the whole stream, known for files whose length is that of a number of frames without parameters.
    pub fn frames(&self) -> Option<u64> {
        self.frames
    }

    /// The name of the input in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The input as the source of an output.
    pub fn source_file(&self) -> SourceFile {
        self.source
    }

    /// Declares that only the first `planes` planes of later frames are used. The content of the others is undefined then. A
    /// stream that is cut short within them is still an error.
    pub fn want_planes(&mut self, planes: usize) {
        self.planes_wanted = planes.min(self.format.planes());
    }

    /// Reads the next frame; `false` at the end of the stream, and after an error.
    ///
    /// # Errors
    /// `frame` is not of [`Reader::format`], the stream is damaged or cut short, or the system fails to read.
    /// The content of `frame` is then undefined.
    pub fn read(&mut self, frame: &mut Frame) -> Result<bool, Error> {
        if *frame.format() != self.format {
            return Err(Error::FrameFormat {
                name: self.name.clone(),
                stream: Box::new(self.format),
                frame: Box::new(*frame.format()),
            });
        }
        if self.ended {
            return Ok(false);
        }
        self.ended = true;
        let whole = self.frame(frame);
        match whole {
            Ok(true) => {
                self.ended = false;
                self.read += 1;
            }
            Ok(false) | Err(_) => self.watch.iter_mut().for_each(Watch::warn),
        }
        whole
    }

    /// Reads a frame, if there is one more.
    fn frame(&mut self, frame: &mut Frame) -> Result<bool, Error> {
        match self.frame_line()? {
            Some(line) => self.planes(frame, line).map(|()| true),
            None => Ok(false),
        }
    }

    /// Counts frames from the bytes behind the header.
    fn count_frames(&mut self, rest: u64) -> Result<(), Error> {
        let wanted = (PLAIN_LINE + self.format.frame_bytes()) as u64;
        // Otherwise a wrong header could ask for buffers much larger than the file.
        if rest > 0 && rest < wanted {
            let name = self.name.clone();
            return Err(Error::Truncated {
                name,
                frame: 0,
                got: rest,
                wanted,
            });
        }
        self.frames = rest.is_multiple_of(wanted).then_some(rest / wanted);
        Ok(())
    }

    /// Consumes a `FRAME` line. Returns its length, or `None` at the end of the stream.
    fn frame_line(&mut self) -> Result<Option<usize>, Error> {
        let mut wanted = PLAIN_LINE;
        let length = loop {
            let held = self.buffer.held();
            let known = held.len().min(FRAME.len());
            let follows = held
                .get(FRAME.len())
                .is_none_or(|&b| b == b'\n' || b == b' ');
            if held[..known] != FRAME[..known] || !follows {
                return Err(self.no_frame_line());
            }
            if let Some(end) = held.iter().position(|&b| b == b'\n') {
                break end + 1;
            }
            if held.len() >= MAX_LINE {
                return Err(self.no_frame_line());
            }
            if held.len() >= wanted {
                // Parameters. Bytes that are read beyond them are copied, so few are read.
                wanted = (held.len() + 32).min(MAX_LINE);
            }
            match self.buffer.fill(&mut self.input, wanted) {
                Ok(0) if self.buffer.held().is_empty() => return Ok(None),
                Ok(0) => return Err(self.truncated(self.buffer.held().len(), PLAIN_LINE)),
                Ok(_) => {}
                Err(reason) => return Err(self.failed(reason)),
            }
        };
        self.buffer.consume(length);
        self.byte += length as u64;
        Ok(Some(length))
    }

    /// Fills the wanted planes, first from the line buffer, then from the input. The next `FRAME` line without parameters is
    /// read ahead with them.
    fn planes(&mut self, frame: &mut Frame, line: usize) -> Result<(), Error> {
        let bytes = self.format.frame_bytes();
        let held = self.buffer.held().len().min(bytes);
        let skipped = match self.seek {
            Some(_) if held + self.unwanted() <= bytes => self.unwanted(),
            _ => 0,
        };
        let mut next = [0; PLAIN_LINE];
        let mut planes = frame.all_bytes_mut();
        planes.push(&mut next);
        let mut slices: Vec<IoSliceMut> = planes.into_iter().map(IoSliceMut::new).collect();
        let near = match skipped {
            0 => slices.len(),
            _ => self.planes_wanted,
        };
        let (mut near, far) = slices.split_at_mut(near);

        let mut ahead = &self.buffer.held()[..held];
        while !ahead.is_empty() {
            let n = ahead.read_vectored(near).unwrap_or(0);
            IoSliceMut::advance_slices(&mut near, n);
        }
        self.buffer.consume(held);
        let got = self.fill(near, held, bytes - skipped, line)?;
        if skipped == 0 || !self.skip(skipped, got)? {
            let got = self.fill(far, got, bytes, line)?;
            self.buffer.put(&next[..got - bytes]);
        }
        self.byte += bytes as u64;
        #[cfg(target_endian = "big")]
        if self.format.depth.bytes() == 2 {
            for plane in frame.all_bytes_mut() {
                plane.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
            }
        }
        Ok(())
    }

    /// Reads into `slices` until there are `wanted` bytes of the frame, `got` of which are there already. Returns how many
    /// there are then.
    fn fill(
        &mut self,
        mut slices: &mut [IoSliceMut],
        mut got: usize,
        wanted: usize,
        line: usize,
    ) -> Result<usize, Error> {
        while got < wanted {
            match self.input.read_vectored(slices) {
                Ok(0) => return Err(self.truncated(line + got, line)),
                Ok(n) => {
                    IoSliceMut::advance_slices(&mut slices, n);
                    got += n;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(reason) => return Err(self.failed_at(got, reason)),
            }
        }
        Ok(got)
    }

    /// Passes over the last `bytes` of a frame of which `got` were read, but for the very last: it tells whether the
    /// frame is whole, and the next line comes with it. `false` if it is not there; the input stands as before then.
    fn skip(&mut self, bytes: usize, got: usize) -> Result<bool, Error> {
        let Some(seek) = self.seek else {
            return Ok(false);
        };
        let by = bytes as i64 - 1;
        let mut last = [0; 1 + PLAIN_LINE];
        let read = seek(&mut self.input, by).and_then(|_| read_some(&mut self.input, &mut last));
        let read = match read {
            Ok(0) => seek(&mut self.input, -by).map(|_| 0),
            read => read,
        };
        match read {
            Ok(0) => Ok(false),
            Ok(n) => {
                self.buffer.put(&last[1..n]);
                Ok(true)
            }
            Err(reason) => Err(self.failed_at(got, reason)),
        }
    }

    /// Bytes of the unwanted planes at the end of a frame.
    fn unwanted(&self) -> usize {
        let planes = self.planes_wanted..self.format.planes();
        let samples: usize = planes.map(|p| self.format.plane_size(p).area()).sum();
        samples * self.format.depth.bytes()
    }

    fn no_frame_line(&self) -> Error {
        Error::FrameHeader {
            name: self.name.clone(),
            frame: self.read,
            byte: self.byte,
        }
    }

    fn truncated(&self, got: usize, line: usize) -> Error {
        let (got, wanted) = (got as u64, (line + self.format.frame_bytes()) as u64);
        Error::Truncated {
            name: self.name.clone(),
            frame: self.read,
            got,
            wanted,
        }
    }

    /// A failure after `got` bytes of a frame.
    fn failed_at(&mut self, got: usize, reason: io::Error) -> Error {
        self.byte += got as u64;
        self.failed(reason)
    }

    fn failed(&self, reason: io::Error) -> Error {
        Error::Read {
            name: self.name.clone(),
            frame: self.read,
            byte: self.byte,
            reason,
        }
    }
}

/// Bytes read but not consumed: at most a line.
struct LineBuffer {
    bytes: Box<[u8; MAX_LINE]>,
    start: usize,
    end: usize,
}

impl LineBuffer {
    fn new() -> Self {
        LineBuffer {
            bytes: Box::new([0; MAX_LINE]),
            start: 0,
            end: 0,
        }
    }

    fn held(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    fn consume(&mut self, n: usize) {
        self.start += n;
        debug_assert!(self.start <= self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Holds `bytes`, if nothing is held.
    fn put(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            debug_assert!(self.held().is_empty());
            self.bytes[..bytes.len()].copy_from_slice(bytes);
            (self.start, self.end) = (0, bytes.len());
        }
    }

    /// Reads once, until at most `total` bytes are held. Returns the number of bytes read, 0 at the end of the input.
    fn fill(&mut self, input: &mut impl Read, total: usize) -> io::Result<usize> {
        let held = self.end - self.start;
        if self.start + total > MAX_LINE {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, held);
        }
        let free = self.start + total;
        let n = read_some(input, &mut self.bytes[self.end..free])?;
        self.end += n;
        Ok(n)
    }
}

/// Reads once, again if a signal interrupted it. Returns the number of bytes read, 0 at the end of the input.
fn read_some(input: &mut impl Read, to: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(to) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}
