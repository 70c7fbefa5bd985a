//! Encoding through FFmpeg.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{ChildStdin, Stdio};

use evener_files::{Error as FileError, Place, SourceFile, Staged, one_line};

use crate::format::{Depth, Format, Timing};
use crate::frame::Frame;
use crate::io::error::Error;
use crate::io::ffmpeg::{Process, Tools, file_argument};
use crate::io::y4m;

/// Writes any file FFmpeg can encode, codec and container chosen by FFmpeg from the extension: `ffmpeg` encodes in a
/// process of its own, which is killed when this is dropped.
///
/// Frame rate, aspect and range are kept. The file appears under its name with [`Encoder::finish`]; an encoder that is
/// dropped or aborted leaves none.
pub struct Encoder {
    // Dropped in this order: a killed program cannot write to the file that is then removed.
    process: Process,
    /// `None` once the pipe is closed.
    writer: Option<y4m::Writer<ChildStdin>>,
    staged: Staged,
    name: String,
    frames: u64,
    finished: bool,
}

/// Extensions of pictures, where FFmpeg takes a `%` in the name for a number.
const PICTURES: [&str; 25] = [
    "bmp", "dpx", "exr", "j2c", "j2k", "jls", "jp2", "jpeg", "jpg", "jxl", "pam", "pbm", "pcx",
    "pfm", "pgm", "png", "ppm", "qoi", "ras", "sgi", "tga", "tif", "tiff", "xbm", "xwd",
];

/// Extensions of lists, whose parts FFmpeg writes to files of their own.
const LISTS: [&str; 4] = ["f4m", "ism", "m3u8", "mpd"];

impl Encoder {
    /// Starts encoding frames of `format` into the file `path`, which if new is not more readable than its `source`.
    ///
    /// # Errors
    /// The name has no extension or stands for several files, as a series of pictures or a playlist does, the file
    /// cannot be created there, `ffmpeg` is not installed, or frames are of floats.
    pub fn create(
        tools: &Tools,
        path: impl AsRef<Path>,
        format: &Format,
        timing: &Timing,
        source: &SourceFile,
    ) -> Result<Encoder, Error> {
        let path = path.as_ref();
        let name = one_line(&path.to_string_lossy());
        let unfit = |reason| {
            Err(Error::from(FileError::Unfit {
                name: name.clone(),
                reason,
            }))
        };
        match path.extension().and_then(OsStr::to_str) {
            None => {
                return unfit(
                    "has no extension to choose a format by; use .y4m, .mkv, .mp4 or another",
                );
            }
            Some(extension)
                if name.contains('%')
                    && PICTURES.contains(&extension.to_ascii_lowercase().as_str()) =>
            {
                return unfit(
                    "series of pictures are not written; \
                     write a .y4m, then: ffmpeg -i FILE.y4m PICTURE-%04d.png",
                );
            }
            Some(extension) if LISTS.contains(&extension.to_ascii_lowercase().as_str()) => {
                return unfit(
                    "lists of several files are not written; \
                     write a .mp4, then: ffmpeg -i FILE.mp4 -c copy LIST",
                );
            }
            Some(_) => {}
        }
        if format.depth == Depth::F32 {
            return Err(Error::FloatFrames { name });
        }
        let staged = match Place::of(path).map_err(|reason| FileError::Create {
            name: name.clone(),
            reason,
        })? {
            Place::File { path, old } => Staged::named(&path, source.mode(), old.as_ref())?,
            Place::InPlace => {
                return unfit("is a pipe or a device, which only y4m can be written to");
            }
        };
        let file = file_argument(staged.temporary().unwrap_or(path).as_os_str());
        let arguments: Vec<&OsStr> = [
            "-v",
            "error",
            "-nostdin",
            "-y",
            "-f",
            "yuv4mpegpipe",
            "-i",
            "pipe:0",
        ]
        .into_iter()
        .map(OsStr::new)
        .chain([file.as_os_str()])
        .collect();
        let pipes = (Stdio::piped(), Stdio::null());
        let mut process = Process::start(&name, &tools.ffmpeg, &arguments, pipes)?;
        let Some(pipe) = process.running.child.stdin.take() else {
            return Err(process.failed(0, None));
        };
        evener_files::widen_pipe(&pipe);
        let writer = y4m::Writer::new(pipe, name.as_str())
            .with_timing(timing)
            .with_format(format);
        Ok(Encoder {
            writer: Some(writer),
            process,
            staged,
            name,
            frames: 0,
            finished: false,
        })
    }

    /// Whole frames passed to FFmpeg.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// What messages call the output.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Passes a frame to FFmpeg.
    ///
    /// # Errors
    /// The frame is not of the stream's format, or FFmpeg failed, with its words. FFmpeg encodes behind: its failure
    /// shows a few frames later, or in [`Encoder::finish`].
    pub fn write(&mut self, frame: &Frame) -> Result<(), Error> {
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
                name: self.name.clone(),
            });
        }
        self.writer = None;
        self.process.wait(self.frames)?;
        self.staged.commit().map_err(|reason| FileError::Commit {
            name: self.name.clone(),
            reason,
        })?;
        self.finished = true;
        Ok(())
    }

    /// Stops FFmpeg and leaves no file behind. The same as dropping the encoder.
    pub fn abort(self) {}
}
