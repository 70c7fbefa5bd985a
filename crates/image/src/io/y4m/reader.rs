//! Reading y4m: headers through a small buffer, samples straight into the frame.

use std::fs::File;
use std::io::{self, IoSliceMut, Read};
use std::path::Path;

use evener_files::{FileId, InputFile};

use crate::format::{Format, Timing};
use crate::frame::Frame;
use crate::io::error::Error;
use crate::io::y4m::{FRAME, Header, HeaderError, MAX_LINE};

/// Bytes of a `FRAME` line without parameters.
const PLAIN_LINE: usize = FRAME.len() + 1;

/// Reads a y4m stream from a file, a pipe or memory.
///
/// One `readv` a frame fills all planes and the line that begins the next frame; nothing is copied twice.
/// Samples of 10 bits pass as they are: a damaged file can hold codes above 1023.
pub struct Reader<R> {
    input: R,
    name: String,
    format: Format,
    timing: Timing,
    frames: Option<u64>,
    id: Option<FileId>,
    /// Whole frames read.
    read: u64,
    /// Bytes consumed, from the first byte of the header.
    byte: u64,
    ahead: Ahead,
    over: bool,
}

impl Reader<File> {
    /// Opens a file or a named pipe.
    ///
    /// # Errors
    /// The file cannot be opened, its header cannot be used, or it is shorter than its first frame.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Reader::from_input(InputFile::open(path.as_ref())?)
    }

    /// Reads an open file or pipe from where it stands.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn from_input(input: InputFile) -> Result<Self, Error> {
        input.expect_sequential();
        let (id, remaining) = (input.id(), input.remaining());
        let mut reader = Reader::new(input.file, input.name)?;
        reader.id = id;
        if let Some(remaining) = remaining {
            let header = reader.byte;
            reader.count_frames(remaining.saturating_sub(header))?;
        }
        Ok(reader)
    }
}

impl<R: Read> Reader<R> {
    /// Reads from anything. `name` is what messages call it.
    ///
    /// # Errors
    /// The header cannot be read or used.
    pub fn new(mut input: R, name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        let mut ahead = Ahead::new();
        let length = loop {
            if let Some(end) = ahead.held().iter().position(|&b| b == b'\n') {
                break end;
            }
            if ahead.held().len() >= MAX_LINE {
                let magic = Header::parse(&ahead.held()[..MAX_LINE]).err();
                let reason = magic.unwrap_or(HeaderError::TooLong);
                return Err(Error::Header { name, reason });
            }
            match ahead.fill(&mut input, MAX_LINE) {
                Ok(0) => {
                    // Text that is no y4m header at all had better be called that than cut short.
                    let held = ahead.held();
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
        let header = match Header::parse(&ahead.held()[..length]) {
            Ok(header) => header,
            Err(reason) => return Err(Error::Header { name, reason }),
        };
        ahead.consume(length + 1);
        Ok(Reader {
            input,
            name,
            format: header.format,
            timing: header.timing,
            frames: None,
            id: None,
            read: 0,
            byte: length as u64 + 1,
            ahead,
            over: false,
        })
    }

    /// Size, chroma layout and depth of every frame.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Rate, aspect, range, siting and interlacing.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// Frames in the whole stream, known for files whose length fits a number of plain frames.
    pub fn frames(&self) -> Option<u64> {
        self.frames
    }

    /// What messages call the input.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The identity of a file; `None` for pipes and memory.
    pub fn id(&self) -> Option<FileId> {
        self.id
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
        if self.over {
            return Ok(false);
        }
        self.over = true;
        let Some(line) = self.frame_line()? else {
            return Ok(false);
        };
        self.planes(frame, line)?;
        self.over = false;
        self.read += 1;
        Ok(true)
    }

    /// Counts frames from the bytes behind the header.
    fn count_frames(&mut self, rest: u64) -> Result<(), Error> {
        let wanted = (PLAIN_LINE + self.format.frame_bytes()) as u64;
        // A buffer for a frame that the file has no room for would be the header's lie come true.
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

    /// Consumes a `FRAME` line; its length, or `None` where the stream ends instead.
    fn frame_line(&mut self) -> Result<Option<usize>, Error> {
        let mut wanted = PLAIN_LINE;
        let length = loop {
            let held = self.ahead.held();
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
                // Parameters: what is read beyond them is copied, so keep it short.
                wanted = (held.len() + 32).min(MAX_LINE);
            }
            match self.ahead.fill(&mut self.input, wanted) {
                Ok(0) if self.ahead.held().is_empty() => return Ok(None),
                Ok(0) => return Err(self.truncated(self.ahead.held().len(), PLAIN_LINE)),
                Ok(_) => {}
                Err(reason) => return Err(self.failed(reason)),
            }
        };
        self.ahead.consume(length);
        self.byte += length as u64;
        Ok(Some(length))
    }

    /// Fills all planes, first from what was read ahead, then from the input; and reads the next plain `FRAME` line
    /// ahead where it comes along.
    fn planes(&mut self, frame: &mut Frame, line: usize) -> Result<(), Error> {
        let wanted = self.format.frame_bytes();
        let mut next = [0; PLAIN_LINE];
        let mut planes = frame.all_bytes_mut();
        planes.push(&mut next);
        let mut slices: Vec<IoSliceMut> = planes.into_iter().map(IoSliceMut::new).collect();
        let mut rest = &mut slices[..];

        let held = self.ahead.held();
        let mut held = &held[..held.len().min(wanted)];
        let mut got = 0;
        while !held.is_empty() {
            let n = held.read_vectored(rest).unwrap_or(0);
            IoSliceMut::advance_slices(&mut rest, n);
            got += n;
        }
        self.ahead.consume(got);
        while got < wanted {
            match self.input.read_vectored(rest) {
                Ok(0) => return Err(self.truncated(line + got, line)),
                Ok(n) => {
                    IoSliceMut::advance_slices(&mut rest, n);
                    got += n;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(reason) => {
                    self.byte += got as u64;
                    return Err(self.failed(reason));
                }
            }
        }
        self.ahead.put(&next[..got - wanted]);
        self.byte += wanted as u64;
        #[cfg(target_endian = "big")]
        if self.format.depth == crate::format::Depth::U10 {
            for plane in frame.all_bytes_mut() {
                plane.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
            }
        }
        Ok(())
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
struct Ahead {
    bytes: Box<[u8; MAX_LINE]>,
    start: usize,
    end: usize,
}

impl Ahead {
    fn new() -> Self {
        Ahead {
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

    /// Holds `bytes`, where nothing was held.
    fn put(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            debug_assert!(self.held().is_empty());
            self.bytes[..bytes.len()].copy_from_slice(bytes);
            (self.start, self.end) = (0, bytes.len());
        }
    }

    /// One read, until at most `total` bytes are held; how many came, 0 at the end of the input.
    fn fill(&mut self, input: &mut impl Read, total: usize) -> io::Result<usize> {
        let held = self.end - self.start;
        if self.start + total > MAX_LINE {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, held);
        }
        let free = self.start + total;
        loop {
            match input.read(&mut self.bytes[self.end..free]) {
                Ok(n) => {
                    self.end += n;
                    return Ok(n);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}
