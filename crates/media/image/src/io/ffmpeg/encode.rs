//! Encoding through FFmpeg.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{ChildStdin, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use evener_files::{Error as FileError, SourceFile, Staged, StagedFolder, one_line};

use crate::format::{Chroma, Depth, Format, Ratio, Timing};
use crate::frame::Frame;
use crate::graph::Rest;
use crate::io::error::Error;
use crate::io::ffmpeg::kind::Kind;
use crate::io::ffmpeg::log_line::LogLine;
use crate::io::ffmpeg::origin::Origin;
use crate::io::ffmpeg::pixels::{bits, closest};
use crate::io::ffmpeg::process::Process;
use crate::io::ffmpeg::remux::Joint;
use crate::io::ffmpeg::tools::{Tools, file_argument, split_args};
use crate::io::numbered::Numbered;
use crate::io::y4m;

/// Writes any file that FFmpeg can encode. FFmpeg chooses codec and container by the extension. `ffmpeg` encodes in a process
/// of its own, which is killed when this is dropped.
///
/// Frame rate, aspect, range and interlacing are kept, and all of the [`Origin`] of the frames that the file can hold. The
/// file appears under its name with [`Encoder::finish`]. An encoder that is dropped or aborted leaves no file.
pub struct Encoder {
    // Dropped in this order: a killed program cannot write to the file that is then removed.
    process: Process,
    /// `None` once the pipe is closed.
    writer: Option<y4m::Writer<ChildStdin>>,
    staging: Staging,
    joint: Joint,
    rate: Ratio,
    depth: Depth,
    kind: Kind,
    lost: Vec<String>,
    frames: u64,
    finished: bool,
    partial: Partial,
}

/// What becomes of a file that FFmpeg did not finish.
#[derive(Clone, Debug, Default)]
pub(crate) struct Partial {
    keep: Arc<AtomicBool>,
    /// Frames that were kept and one more; 0 before.
    kept: Arc<AtomicU64>,
}

impl Partial {
    /// Keeps the frames that are in it.
    pub(crate) fn keep(&self) {
        self.keep.store(true, Ordering::Relaxed);
    }

    /// Frames that were kept of a file that was not finished.
    pub(crate) fn kept(&self) -> Option<u64> {
        self.kept.load(Ordering::Relaxed).checked_sub(1)
    }
}

/// What `ffmpeg` does besides what it does anyway.
#[derive(Clone, Copy, Default)]
pub(crate) struct Further<'a> {
    /// Arguments of users.
    pub arguments: &'a [OsString],
    /// Filters, and files that they read.
    pub rest: Option<&'a Rest>,
}

/// Where FFmpeg writes.
enum Staging {
    File(Staged),
    Pictures(StagedFolder),
}

impl Encoder {
    /// Starts encoding frames of `format` into the file `path`. A new file is not more readable than its `source`. `origin`
    /// is what the frames were read from.
    ///
    /// # Errors
    /// FFmpeg cannot write a file of that name, the file cannot be created there, `ffmpeg` is not installed, or frames are of
    /// floats.
    pub fn create(
        tools: &Tools,
        path: impl AsRef<Path>,
        format: &Format,
        timing: &Timing,
        source: &SourceFile,
        origin: Option<&Origin>,
    ) -> Result<Encoder, Error> {
        let path = path.as_ref();
        let kind = Kind::of(tools, path, &[])?;
        let further = Further::default();
        Encoder::of_kind(kind, tools, path, format, timing, source, origin, further)
    }

    /// The same for a name whose [`Kind`] is known, with what `ffmpeg` does besides.
    #[allow(clippy::too_many_arguments)] // One more than `create`.
    pub(crate) fn of_kind(
        kind: Kind,
        tools: &Tools,
        path: &Path,
        format: &Format,
        timing: &Timing,
        source: &SourceFile,
        origin: Option<&Origin>,
        further: Further<'_>,
    ) -> Result<Encoder, Error> {
        if format.depth == Depth::F32 {
            let name = one_line(&path.to_string_lossy());
            return Err(Error::FloatFrames { name });
        }
        let mut joint = Joint::new(tools, path, source, origin)?;
        joint.further = further.arguments.to_vec();
        let (name, path) = (joint.name.as_str(), joint.path.as_path());
        let (staging, target) = match Numbered::of(&joint.path) {
            Some(pictures) if kind == Kind::Pictures => {
                let folder = StagedFolder::create(&joint.path, source.mode())?;
                let target = pictures.within(folder.path());
                (Staging::Pictures(folder), target)
            }
            _ => {
                let staged = joint.stage()?;
                let target = staged.temporary().unwrap_or(path).into();
                (Staging::File(staged), target)
            }
        };
        let (options, lost) = options(
            kind,
            &joint.extension(),
            format,
            timing,
            origin,
            further.rest,
        );
        let mut arguments = split_args(
            // Level `info` shows what the encoder takes.
            "-v level+info -hide_banner -nostats -nostdin -y -f yuv4mpegpipe -i pipe:0",
        );
        for file in further.rest.iter().flat_map(|rest| &rest.files) {
            arguments.extend(["-i".into(), file_argument(file)]);
        }
        arguments.extend(options);
        arguments.extend_from_slice(further.arguments);
        arguments.push(file_argument(&target));
        let arguments: Vec<&OsStr> = arguments.iter().map(OsString::as_os_str).collect();
        let pipes = (Stdio::piped(), Stdio::null());
        let mut process = Process::start(name, &tools.ffmpeg, &arguments, pipes)?;
        process.hide(Path::new(&target));
        let Some(pipe) = process.running.child.stdin.take() else {
            return Err(process.failed(0, None));
        };
        evener_files::widen_pipe(&pipe);
        let writer = y4m::Writer::new(pipe, name)
            .with_timing(timing)
            .with_format(format);
        Ok(Encoder {
            writer: Some(writer),
            process,
            staging,
            rate: timing.rate,
            depth: format.depth,
            kind,
            joint,
            lost,
            frames: 0,
            finished: false,
            partial: Partial::default(),
        })
    }

    /// Decides, and tells, what becomes of a file that FFmpeg does not finish.
    pub(crate) fn partial(&self) -> Partial {
        self.partial.clone()
    }

    /// Whether it writes a file for each frame.
    pub(crate) fn holds_sound(&self) -> bool {
        self.kind.holds_others()
    }

    /// Whether it writes numbered pictures.
    pub(crate) fn writes_pictures(&self) -> bool {
        matches!(self.staging, Staging::Pictures(_))
    }

    /// What of the origin the file cannot hold, as far as known before it is finished, each as a part of a sentence.
    pub fn lost(&self) -> &[String] {
        &self.lost
    }

    /// Whole frames passed to FFmpeg.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// The name of the output in messages.
    pub fn name(&self) -> &str {
        &self.joint.name
    }

    /// Passes a frame to FFmpeg.
    ///
    /// # Errors
    /// The frame is not of the stream's format, or FFmpeg failed, with its messages. FFmpeg encodes later, so its failure
    /// shows a few frames later, or in [`Encoder::finish`].
    pub fn write(&mut self, frame: &Frame) -> Result<(), Error> {
        if self.kind == Kind::Picture && self.frames == 1 {
            let name = self.joint.name.clone();
            let reason = "is one picture, and there are more frames; \
                          write numbered ones, as PICTURE-%04d.png, or one frame, by `--frames 1`";
            return Err(FileError::Unfit { name, reason }.into());
        }
        let Some(writer) = &mut self.writer else {
            return Err(self.process.failed(self.frames, None));
        };
        match writer.write(frame) {
            Ok(()) => {
                self.frames += 1;
                if self.frames.is_multiple_of(64) {
                    self.process.trim_log();
                }
                Ok(())
            }
            Err(Error::ClosedPipe { .. }) => {
                self.writer = None;
                self.process.wait(self.frames)?;
                Err(self.process.failed(self.frames, None))
            }
            Err(error) => Err(error),
        }
    }

    /// Waits until FFmpeg has encoded everything and gives the file its name. A second call does nothing.
    ///
    /// # Errors
    /// There was no frame, FFmpeg failed, or the file cannot be put in place.
    pub fn finish(&mut self) -> Result<(), Error> {
        if self.finished {
            return Ok(());
        }
        if self.frames == 0 {
            return Err(Error::NoFrames {
                name: self.joint.name.clone(),
            });
        }
        self.writer = None;
        let said = match self.process.wait_written(self.frames) {
            Ok(said) => said,
            Err(error) => {
                let frames = match &self.staging {
                    Staging::File(staged) => self.joint.frames(staged),
                    Staging::Pictures(_) => None,
                };
                self.keep_partial(frames);
                return Err(error);
            }
        };
        self.process.warn(&said);
        if let Some(bits) = fewer_bits(&said, self.depth) {
            tracing::warn!(
                "{}: its encoder keeps {bits} bits; write another kind of file, or choose one after --, such as -c:v ffv1",
                self.joint.name
            );
        }
        match &mut self.staging {
            Staging::Pictures(folder) => {
                let written = folder.commit()?;
                let all = Numbered::of(&self.joint.path).map_or(0, |one| one.files().len() as u64);
                if all > written {
                    tracing::warn!(
                        "{}: {} further pictures of that name were there and stay",
                        self.joint.name,
                        all - written
                    );
                }
            }
            Staging::File(staged) => {
                let origin = self.joint.origin.as_ref();
                if self.kind.holds_others() && origin.is_some_and(Origin::has_others) {
                    let (num, den) = (f64::from(self.rate.num), f64::from(self.rate.den));
                    match self.joint.join(staged, self.frames as f64 * den / num) {
                        Ok(joined) => *staged = joined,
                        Err(error) => {
                            self.keep_partial(Some(self.frames));
                            return Err(error);
                        }
                    }
                }
                self.joint.commit(staged)?;
            }
        }
        self.finished = true;
        Ok(())
    }

    /// Gives a file that was not finished its name if that is asked for and it holds `frames` frames.
    fn keep_partial(&mut self, frames: Option<u64>) {
        if !self.partial.keep.load(Ordering::Relaxed) || self.finished {
            return;
        }
        self.finished = true;
        let (name, extension) = (&self.joint.name, self.joint.extension());
        match (&mut self.staging, frames) {
            (Staging::File(staged), Some(frames)) => {
                if self.joint.commit(staged).is_ok() {
                    self.partial.kept.store(frames + 1, Ordering::Relaxed);
                }
            }
            (Staging::File(_), None) if ["mp4", "m4v", "mov"].contains(&extension.as_str()) => {
                tracing::warn!(
                    "{name}: nothing is kept, as a .{extension} that is not finished cannot be read; a .mkv can"
                );
            }
            (Staging::File(_), None) => {
                tracing::warn!("{name}: nothing is kept, as no frame of it can be read")
            }
            (Staging::Pictures(_), _) => tracing::warn!("{name}: no picture is kept"),
        }
    }

    /// Stops FFmpeg and leaves no file behind. The same as dropping the encoder.
    pub fn abort(self) {}
}

/// Bits of a sample that an encoder keeps, if they are fewer than those of frames, by the line of FFmpeg that describes the
/// output.
fn fewer_bits(said: &[LogLine], depth: Depth) -> Option<u32> {
    let mut output = said.iter().skip_while(|l| !l.text.starts_with("Output #0"));
    let (_, stream) = output.find_map(|l| l.text.split_once(" Video: "))?;
    let mut words = stream
        .split(", ")
        .map(|word| word.split('(').next().unwrap_or(word));
    let pixels = words.find(|word| closest(word).is_some())?;
    Some(bits(pixels)).filter(|&kept| depth.bits().is_some_and(|all| kept < all))
}

/// Options for what a y4m stream does not say, and what of it cannot be kept.
fn options(
    kind: Kind,
    extension: &str,
    format: &Format,
    timing: &Timing,
    origin: Option<&Origin>,
    rest: Option<&Rest>,
) -> (Vec<OsString>, Vec<String>) {
    let mut options = OutputOptions {
        kind,
        extension,
        arguments: Vec::new(),
        filters: Vec::new(),
        lost: Vec::new(),
    };
    if kind == Kind::Picture {
        // The name of a folder may have a `%`.
        options.arguments.extend(split_args("-update 1"));
    }
    options.interlacing(format, timing);
    if let Some(origin) = origin {
        options.colour(format, origin);
        options.mastering(origin);
        options.others(origin);
    }
    let mut filters = options.filters;
    if let Some(rest) = rest.filter(|rest| !rest.files.is_empty()) {
        filters.push("null".to_owned());
        let graph = format!("[0:v]{}[in];{}", filters.join(","), rest.text);
        let arguments = ["-filter_complex", &graph, "-map", "[out]"];
        options.arguments.extend(arguments.map(OsString::from));
        return (options.arguments, options.lost);
    }
    filters.extend(rest.map(|rest| rest.text.clone()));
    if !filters.is_empty() {
        let filters = filters.join(",");
        options.arguments.extend(["-vf".into(), filters.into()]);
    }
    (options.arguments, options.lost)
}

/// Options of `ffmpeg` for an output.
struct OutputOptions<'a> {
    kind: Kind,
    extension: &'a str,
    arguments: Vec<OsString>,
    filters: Vec<String>,
    /// What cannot be kept, each as a part of a sentence.
    lost: Vec<String>,
}

impl OutputOptions<'_> {
    fn interlacing(&mut self, format: &Format, timing: &Timing) {
        let first = match timing.interlace {
            't' => "tff",
            'b' => "bff",
            _ => return,
        };
        if self.kind.keeps_fields(format.height) {
            self.filters.push(format!("setfield={first}"));
            self.arguments.extend(split_args("-flags +ilme+ildct"));
        } else {
            self.lost.push(format!(
                "interlaced frames are written as whole ones to .{} of this size",
                self.extension
            ));
        }
    }

    fn colour(&mut self, format: &Format, origin: &Origin) {
        // Pictures and other encoders that convert need to know the matrix, too.
        let colour = &origin.colour;
        let tags = [
            ("color_primaries", &colour.primaries),
            ("color_trc", &colour.transfer),
            ("colorspace", &colour.space),
        ];
        let tags: Vec<String> = tags
            .into_iter()
            .filter_map(|(key, word)| Some(format!("{key}={}", word.as_ref()?)))
            .collect();
        if !tags.is_empty() {
            self.filters.push(format!("setparams={}", tags.join(":")));
        }
        let unusual = origin.unusual_colour(format.height);
        if !self.kind.keeps_colour() && !self.kind.is_picture() && !unusual.is_empty() {
            self.lost.push(format!(
                "colour tags ({unusual}) are not kept in .{}",
                self.extension
            ));
        }
        if format.chroma == Chroma::C420 {
            let siting = colour.siting.as_deref().unwrap_or("unspecified");
            self.arguments
                .extend(split_args(&format!("-chroma_sample_location {siting}")));
        }
    }

    fn mastering(&mut self, origin: &Origin) {
        match &origin.mastering {
            Some(mastering) if self.kind == Kind::H264 => {
                self.arguments
                    .extend(["-x264-params".into(), mastering.into()]);
            }
            Some(_) => self.lost.push(format!(
                "how the picture was mastered (HDR metadata) is not kept in .{}",
                self.extension
            )),
            None => {}
        }
    }

    /// Titles, where no second pass copies them with the other streams.
    fn others(&mut self, origin: &Origin) {
        if !self.kind.holds_others() && !origin.streams.is_empty() {
            let holds = match self.kind.is_picture() {
                true => "a picture holds none".to_owned(),
                false => format!(".{} holds only samples", self.extension),
            };
            self.lost
                .push(format!("{} left out, as {holds}", origin.other_streams()));
        } else if !origin.has_others() {
            for (key, value) in &origin.tags {
                self.arguments
                    .extend(["-metadata".into(), format!("{key}={value}").into()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_that_an_encoder_drops_are_known() {
        let text = "[info] Input #0, yuv4mpegpipe, from 'pipe:0':\n\
                    [info]   Stream #0:0: Video: rawvideo (C3[11][12] / 0xC0B3343), yuv420p12le, 64x48, 25 fps\n\
                    [info] Output #0, matroska, to 'out.mkv':\n\
                    [info]   Stream #0:0: Video: h264 (H264 / 0x34363248), yuv420p10le(tv, progressive), 64x48, q=2-31";
        let said: Vec<LogLine> = text.lines().filter_map(LogLine::read).collect();
        assert_eq!(fewer_bits(&said, Depth::U12), Some(10));
        assert_eq!(fewer_bits(&said, Depth::U10), None);
        assert_eq!(fewer_bits(&said[..2], Depth::U12), None);
        assert_eq!(fewer_bits(&[], Depth::U12), None);
    }
}
