//! Decoding through FFmpeg.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::PathBuf;
use std::process::{ChildStdout, Stdio};

use evener_files::{Error as FileError, one_line};

use crate::format::{Format, Ratio, Timing};
use crate::frame::Frame;
use crate::io::error::Error;
use crate::io::ffmpeg::damage::{Expected, rate_conversion, variable_rate};
use crate::io::ffmpeg::origin::{Origin, matrix_for};
use crate::io::ffmpeg::pixels::{ALL, closest, is_rgb, range};
use crate::io::ffmpeg::probe::{self, Probed};
use crate::io::ffmpeg::process::Process;
use crate::io::ffmpeg::tools::{FileArgument, Tools, is_address, split_args};
use crate::io::numbered::Sequence;
use crate::io::y4m::{self, HeaderError};

/// Reads any file that FFmpeg can decode. `ffmpeg` decodes in a process of its own, which is killed when this is dropped.
///
/// Frames have the supported format closest to the file's own, and a constant rate. (More than 8 bits with subsampled chroma and an
/// odd width become 4:4:4.) RGB is converted to the YUV that players assume for its height: BT.709 from 720 rows on, BT.601
/// below, in limited range.
pub struct Decoder {
    process: Process,
    reader: y4m::Reader<ChildStdout>,
    expected: Expected,
    origin: Origin,
    /// What another start needs, of files whose frames can be found by their times.
    seekable: Option<(Tools, Probed, String)>,
    /// Numbered pictures, and what tells their sizes.
    pictures: Option<(Tools, Sequence)>,
    /// The file's own rate is not constant, which a note says already.
    varies: bool,
    read: u64,
    ended: bool,
}

impl Decoder {
    /// Starts decoding the first video stream of a file or an address.
    ///
    /// # Errors
    /// `ffmpeg` is not installed, or cannot read the input, with its messages.
    pub fn open(tools: &Tools, input: impl AsRef<OsStr>) -> Result<Decoder, Error> {
        Decoder::open_with(tools, input.as_ref(), None)
    }

    fn open_with(
        tools: &Tools,
        input: &OsStr,
        pictures: Option<Sequence>,
    ) -> Result<Decoder, Error> {
        let name = one_line(&input.to_string_lossy());
        let options = match &pictures {
            Some(pictures) => split_args(&format!("-start_number {}", pictures.first)),
            None => Vec::new(),
        };
        let probed = probe::probe(tools, &name, input, &options)?;
        let mut origin = Origin::new(input, &name, &probed);
        origin.options = options;
        let pixels = probed.video().and_then(|video| closest(&video.pix_fmt));
        let pixels = pixels.unwrap_or("yuv420p");
        let start = |pixels, size| {
            let file = FileArgument::of(&origin.name, &origin.file)?;
            let frames = pictures.as_ref().map(Sequence::count);
            let part = Part {
                from: None,
                size,
                frames,
            };
            start(tools, &origin, &probed, Pixels::Named(pixels), file, part)
        };
        let (mut process, mut reader) = start(pixels, None)?;
        let mut pixels = pixels.to_owned();
        let format = reader.format();
        if has_half_a_column(format) {
            // FFmpeg's y4m writer rounds the chroma width of these down to half a sample, so they are read without
            // subsampling. The width is known only now, because FFmpeg turns pictures upright.
            let bits = format.depth.bits().unwrap_or_default();
            pixels = format!("yuv444p{bits}le");
            (process, reader) = start(&pixels, None)?;
        }
        if let Some(pictures) = &pictures {
            // FFmpeg would scale others to the size of the first, which is known only now.
            let size = (reader.format().width, reader.format().height);
            (process, reader) = start(&pixels, Some(size))?;
            if pictures.beyond > 0 {
                origin.lost.push(format!(
                    "it ends before the picture {}, which is missing; {} further ones are not read",
                    pictures.first + pictures.count(),
                    pictures.beyond
                ));
            }
        }
        let rate = reader.timing().rate;
        let rate = f64::from(rate.num) / f64::from(rate.den);
        let average = probed.video().and_then(|video| variable_rate(video, rate));
        if let Some(average) = average {
            origin.lost.push(format!(
                "its frame rate varies ({} on average) and is made {}",
                short(average),
                short(rate),
            ));
        }
        // A range in FFmpeg's own header comes first, since it holds after conversions, too.
        let tag = probed
            .video()
            .and_then(|video| range(&video.pix_fmt, &video.color_range));
        if let Some(range) = tag {
            reader.assume_range(range);
        }
        let expected = match &pictures {
            Some(pictures) => Expected::of_pictures(pictures.count(), &probed, rate),
            None => Expected::of(&probed, rate),
        };
        let can_seek = probed.is_seekable() && !is_address(input);
        Ok(Decoder {
            process,
            reader,
            expected,
            seekable: can_seek.then(|| (tools.clone(), probed, pixels)),
            origin,
            pictures: pictures.map(|pictures| (tools.clone(), pictures)),
            varies: average.is_some(),
            read: 0,
            ended: false,
        })
    }

    /// Starts decoding numbered pictures, `rate` a second, named by a pattern such as `frames-%05d.png`.
    ///
    /// # Errors
    /// As [`Decoder::open`].
    pub(crate) fn of_pictures(
        tools: &Tools,
        pattern: &OsStr,
        rate: Ratio,
        pictures: Sequence,
    ) -> Result<Decoder, Error> {
        let mut decoder = Decoder::open_with(tools, pattern, Some(pictures))?;
        decoder.reader.set_rate(rate);
        Ok(decoder)
    }

    /// Starts decoding the first video stream of a pipe, which messages call `name`. It is read once, so nothing is known
    /// of it before, and other streams are left out.
    ///
    /// # Errors
    /// As [`Decoder::open`]; or frames have more than 8 bits, subsampled chroma and an odd width.
    pub(crate) fn of_pipe(tools: &Tools, name: String, pipe: File) -> Result<Decoder, Error> {
        let probed = Probed::default();
        let mut origin = Origin::new(OsStr::new("pipe:0"), &name, &probed);
        origin.lost.push(
            "audio, titles and colour tags are dropped: a pipe can be read only once".to_owned(),
        );
        let file = FileArgument {
            argument: "pipe:0".into(),
            stdin: pipe.into(),
        };
        let part = Part::default();
        let (process, reader) = start(tools, &origin, &probed, Pixels::Nearest, file, part)?;
        if has_half_a_column(reader.format()) {
            let reason = "has more than 8 bits and an odd width, which cannot be read from a pipe; give a file";
            return Err(FileError::Unfit { name, reason }.into());
        }
        Ok(Decoder {
            process,
            reader,
            expected: Expected::default(),
            origin,
            seekable: None,
            pictures: None,
            varies: false,
            read: 0,
            ended: false,
        })
    }

    /// Passes over frames before the first is read, where that is faster than reading them. Returns how many are left to
    /// be read and dropped.
    ///
    /// # Errors
    /// As [`Decoder::open`].
    pub(crate) fn skip(&mut self, frames: u64) -> Result<u64, Error> {
        let timing = *self.reader.timing();
        let from = Begin::at(frames, timing.rate, self.origin.start_offset);
        let (Some((tools, probed, pixels)), Some(from)) = (&self.seekable, from) else {
            return Ok(frames);
        };
        let file = FileArgument::of(&self.origin.name, &self.origin.file)?;
        let pixels = Pixels::Named(pixels);
        let part = Part {
            from: Some(from),
            ..Part::default()
        };
        match start(tools, &self.origin, probed, pixels, file, part) {
            Ok((process, mut reader)) => {
                if self.reader.timing().range_named {
                    reader.assume_range(self.reader.format().range);
                }
                (self.process, self.reader) = (process, reader);
            }
            // The file ends before.
            Err(Error::File(FileError::Unfit { .. })) => self.ended = true,
            Err(error) => return Err(error),
        }
        self.expected.skip(frames);
        Ok(0)
    }

    /// Size, chroma layout, depth and range of every frame.
    pub fn format(&self) -> &Format {
        self.reader.format()
    }

    /// Rate, aspect, siting and interlacing.
    pub fn timing(&self) -> &Timing {
        self.reader.timing()
    }

    /// Frames to expect, if the file says how many or how long it is. An estimate for progress, which may be off by a few.
    pub fn frames(&self) -> Option<u64> {
        self.expected.frames()
    }

    /// What the file holds besides the frames.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The name of the input in messages.
    pub fn name(&self) -> &str {
        self.reader.name()
    }

    /// Reads the next frame; `false` at the end of the stream, and after an error.
    ///
    /// # Errors
    /// `frame` is not of [`Decoder::format`], FFmpeg failed, or the file is cut or damaged, with FFmpeg's messages.
    pub fn read(&mut self, frame: &mut Frame) -> Result<bool, Error> {
        if self.ended {
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
                self.ended = true;
                let said = self.process.wait(self.read);
                let mut said = said.map_err(|error| self.of_sizes(error))?;
                // The demuxer of pictures reads ahead, and misses those that are behind the last.
                let whole = |(_, all): &(_, Sequence)| all.count() == self.read;
                if self.pictures.as_ref().is_some_and(whole) {
                    said.retain(|line| {
                        line.component != "image2"
                            && !(line.component.is_empty()
                                && line.text.ends_with(": Input/output error"))
                    });
                }
                if let Some((said, expected)) = self.expected.missing(self.read, &said) {
                    return Err(Error::Damaged {
                        name: self.reader.name().to_owned(),
                        frames: self.read,
                        expected,
                        said,
                    });
                }
                self.process.warn(&said);
                // Some containers claim a constant rate that is not constant.
                if let Some((repeated, left_out)) = rate_conversion(&said).filter(|_| !self.varies)
                {
                    tracing::warn!(
                        "{}: its frame rate varies; {repeated} frames were repeated and {left_out} left out",
                        self.reader.name()
                    );
                }
                self.origin.set_read_to_end();
                Ok(false)
            }
            Err(error @ Error::FrameFormat { .. }) => Err(error),
            Err(Error::Truncated { .. }) => {
                self.ended = true;
                let waited = self.process.wait(self.read).map(drop);
                waited.map_err(|error| self.of_sizes(error))?;
                Err(self.process.failed(self.read, None))
            }
            Err(error) => {
                self.ended = true;
                Err(error)
            }
        }
    }
}

impl Decoder {
    /// The error of numbered pictures, if that is their size.
    fn of_sizes(&self, error: Error) -> Error {
        let (Error::Ffmpeg { said, .. }, Some((tools, pictures))) = (&error, &self.pictures) else {
            return error;
        };
        if !said.contains("Error reinitializing filters") && !said.contains("Invalid too big") {
            return error;
        }
        let size = |file: &PathBuf| probe::size_of(tools, file);
        let Some(expected) = pictures.files.first().and_then(size) else {
            return error;
        };
        // Some that FFmpeg decoded may not have come through the pipe.
        let mut rest = pictures.files.iter().skip(self.read as usize);
        let other = rest.find_map(|file| Some((file, size(file)?)).filter(|s| s.1 != expected));
        let shown = |(w, h): (u32, u32)| format!("{w}x{h}");
        match other {
            Some((file, size)) => Error::PictureSize {
                name: one_line(&file.strip_prefix("./").unwrap_or(file).to_string_lossy()),
                size: shown(size),
                expected: shown(expected),
            },
            None => error,
        }
    }
}

/// Whether FFmpeg writes wrong chroma planes: subsampled, two bytes a sample, and an odd width.
fn has_half_a_column(format: &Format) -> bool {
    format.depth.bytes() == 2 && !format.width.is_multiple_of(format.chroma.subsampling().0)
}

/// A rate with no more digits than it needs.
fn short(rate: f64) -> String {
    let text = format!("{rate:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The pixel format that FFmpeg converts to.
#[derive(Clone, Copy)]
enum Pixels<'a> {
    /// One that is known to fit.
    Named(&'a str),
    /// The nearest that frames have.
    Nearest,
}

/// Seconds that are decoded before the frame that is asked for. Indices of some containers are not of key frames, and a
/// decoder gives nothing before the first of those.
const AHEAD: f64 = 20.0;

/// What is read of a file; all of it by default.
#[derive(Clone, Copy, Default)]
struct Part {
    from: Option<Begin>,
    /// The size that all frames must have.
    size: Option<(u32, u32)>,
    /// The most frames.
    frames: Option<u64>,
}

/// A frame to begin with.
#[derive(Clone, Copy)]
struct Begin {
    /// Seconds from the start of the file to half a frame before.
    seconds: f64,
    half: f64,
}

impl Begin {
    /// `None` if reading from the start on is as good.
    fn at(frame: u64, rate: Ratio, start_offset: f64) -> Option<Begin> {
        let half = 0.5 * f64::from(rate.den) / f64::from(rate.num);
        let seconds = (2.0 * frame as f64 - 1.0) * half + start_offset;
        (seconds > AHEAD).then_some(Begin { seconds, half })
    }
}

/// Starts FFmpeg and reads the header.
fn start(
    tools: &Tools,
    origin: &Origin,
    probed: &Probed,
    pixels: Pixels<'_>,
    file: FileArgument,
    Part { from, size, frames }: Part,
) -> Result<(Process, y4m::Reader<ChildStdout>), Error> {
    let name = &origin.name;
    let video = probed.video();
    // Level `info` shows where the output begins: messages before that are about the beginning of the file.
    let mut arguments = split_args("-v level+info -hide_banner -nostats -nostdin");
    let mut filters = Vec::new();
    if let Some((w, h)) = size {
        // A frame of no columns is an error.
        filters.push(format!(
            "crop=w='if(eq(iw,{w})*eq(ih,{h}),{w},0)':h={h}:x=0:y=0:exact=1"
        ));
    }
    if let Some(Begin { seconds, half }) = from {
        arguments.extend(split_args(&format!("-ss {:.6}", seconds - AHEAD)));
        filters.push(format!(
            "trim=start={AHEAD},setpts=PTS-{:.9}/TB",
            AHEAD + half
        ));
    } else if origin.start_offset != 0.0 {
        // Otherwise the first frame would be repeated from the start of the file on.
        arguments.extend(split_args(&format!(
            "-itsoffset {:.6}",
            -origin.start_offset
        )));
    }
    arguments.extend_from_slice(&origin.options);
    arguments.extend(["-i".into(), file.argument, "-map".into()]);
    let stream = video.filter(|video| !video.codec_name.is_empty());
    arguments.push(stream.map_or("0:V:0".into(), |video| format!("0:{}", video.index).into()));
    match (pixels, video.filter(|video| is_rgb(&video.pix_fmt))) {
        (Pixels::Named(pixels), Some(video)) => {
            let matrix = matrix_for(video.height);
            filters.push(format!(
                "scale=out_color_matrix={matrix}:out_range=tv,format={pixels}"
            ));
        }
        (Pixels::Named(_), None) => {}
        (Pixels::Nearest, _) => {
            filters.push(format!("format={}", ALL.join("|")));
        }
    }
    if !filters.is_empty() {
        arguments.extend(["-vf".into(), filters.join(",").into()]);
    }
    if let Pixels::Named(pixels) = pixels {
        arguments.extend(["-pix_fmt".into(), pixels.into()]);
    }
    if let Some(frames) = frames {
        arguments.extend(split_args(&format!("-frames:v {frames}")));
    }
    arguments.extend(split_args("-f yuv4mpegpipe -strict -1 pipe:1"));
    let arguments: Vec<&OsStr> = arguments.iter().map(OsString::as_os_str).collect();
    let pipes = (file.stdin, Stdio::piped());
    let mut process = Process::start(name, &tools.ffmpeg, &arguments, pipes)?;
    let Some(pipe) = process.stdout() else {
        return Err(process.failed(0, None));
    };
    evener_files::widen_pipe(&pipe);
    match y4m::Reader::new(pipe, name.as_str()) {
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
