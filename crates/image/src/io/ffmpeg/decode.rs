//! Decoding through FFmpeg.

use std::ffi::OsStr;
use std::process::{ChildStdout, Stdio};

use evener_files::{Error as FileError, one_line};

use crate::format::{Depth, Format, Timing};
use crate::frame::Frame;
use crate::io::error::Error;
use crate::io::ffmpeg::{Process, Tools, file_argument, probe};
use crate::io::y4m::{self, HeaderError};

/// Reads any file FFmpeg can decode: `ffmpeg` decodes in a process of its own, which is killed when this is dropped.
///
/// Frames come in the supported format closest to the file's own, at a constant rate. (10 bits with subsampled chroma
/// and an odd width come as 4:4:4.)
pub struct Decoder {
    process: Process,
    reader: y4m::Reader<ChildStdout>,
    frames: Option<u64>,
    read: u64,
    over: bool,
}

impl Decoder {
    /// Starts decoding the first video stream of a file or an address.
    ///
    /// # Errors
    /// `ffmpeg` is not installed, or cannot read the input, with its words.
    pub fn open(tools: &Tools, input: impl AsRef<OsStr>) -> Result<Decoder, Error> {
        let input = input.as_ref();
        let name = one_line(&input.to_string_lossy());
        let probed = probe::probe(tools, &name, input)?;
        let (mut process, mut reader) = start(tools, &name, input, probed.pixels)?;
        let format = reader.format();
        if has_half_a_column(format) {
            // FFmpeg's y4m writer rounds the chroma width of these down to half a sample; without subsampling it is
            // right. Known only now, because FFmpeg turns pictures upright.
            (process, reader) = start(tools, &name, input, "yuv444p10le")?;
        }
        // What FFmpeg says of the frames it writes is right even where it has converted them.
        if let Some(range) = probed.range {
            reader.assume_range(range);
        }
        Ok(Decoder {
            process,
            reader,
            frames: probed.frames,
            read: 0,
            over: false,
        })
    }

    /// Size, chroma layout, depth and range of every frame.
    pub fn format(&self) -> &Format {
        self.reader.format()
    }

    /// Rate, aspect, siting and interlacing.
    pub fn timing(&self) -> &Timing {
        self.reader.timing()
    }

    /// Frames as the container counts them, where it does. Good for progress; making the rate constant can drop and
    /// repeat frames, and a damaged file has fewer.
    pub fn frames(&self) -> Option<u64> {
        self.frames
    }

    /// What messages call the input.
    pub fn name(&self) -> &str {
        self.reader.name()
    }

    /// Reads the next frame; `false` at the end of the stream, and after an error.
    ///
    /// # Errors
    /// `frame` is not of [`Decoder::format`], or FFmpeg failed, with its words.
    pub fn read(&mut self, frame: &mut Frame) -> Result<bool, Error> {
        if self.over {
            return Ok(false);
        }
        match self.reader.read(frame) {
            Ok(true) => {
                self.read += 1;
                if self.read.is_multiple_of(64) {
                    self.process.trim_log();
                }
                Ok(true)
            }
            Ok(false) => {
                self.over = true;
                self.process.wait(self.read)?;
                Ok(false)
            }
            Err(error @ Error::FrameFormat { .. }) => Err(error),
            Err(Error::Truncated { .. }) => {
                self.over = true;
                self.process.wait(self.read)?;
                Err(self.process.failed(self.read, None))
            }
            Err(error) => {
                self.over = true;
                Err(error)
            }
        }
    }
}

/// Whether FFmpeg writes wrong chroma planes: subsampled, two bytes a sample, and an odd width.
fn has_half_a_column(format: &Format) -> bool {
    format.depth == Depth::U10 && !format.width.is_multiple_of(format.chroma.subsampling().0)
}

/// Starts FFmpeg and reads the header.
fn start(
    tools: &Tools,
    name: &str,
    input: &OsStr,
    pixels: &str,
) -> Result<(Process, y4m::Reader<ChildStdout>), Error> {
    let file = file_argument(input);
    let arguments: Vec<&OsStr> = ["-v", "error", "-nostdin", "-i"]
        .into_iter()
        .map(OsStr::new)
        .chain([file.as_os_str()])
        .chain(["-map", "0:V:0", "-f", "yuv4mpegpipe", "-strict", "-1"].map(OsStr::new))
        .chain(["-pix_fmt", pixels, "pipe:1"].map(OsStr::new))
        .collect();
    let pipes = (Stdio::null(), Stdio::piped());
    let mut process = Process::start(name, &tools.ffmpeg, &arguments, pipes)?;
    let Some(pipe) = process.stdout() else {
        return Err(process.failed(0, None));
    };
    evener_files::widen_pipe(&pipe);
    match y4m::Reader::new(pipe, name) {
        Ok(reader) => Ok((process, reader)),
        Err(Error::Header {
            name,
            reason: HeaderError::Ends(_),
        }) => {
            process.wait(0)?;
            let reason = "holds no frame of video that FFmpeg can decode";
            Err(FileError::Unfit { name, reason }.into())
        }
        Err(error) => Err(error),
    }
}
