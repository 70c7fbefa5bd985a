//! Errors of video input and output.

use std::io;

use evener_files::{error_text, is_full};

use crate::format::Format;
use crate::graph::GraphError;
use crate::io::y4m::HeaderError;

/// A failure of video input or output. Every message is one line that says what, where and what to do.
///
/// `name` is the file as messages show it (control characters escaped), or `standard input`, `standard output`.
/// Frames are counted from 0.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be opened, created or put in place.
    #[error(transparent)]
    File(#[from] evener_files::Error),
    /// Reading failed in mid-stream.
    #[error(
        "{name}: cannot read frame {frame} at byte {byte}: {}",
        error_text(reason)
    )]
    Read {
        /// The input.
        name: String,
        /// The frame that was being read.
        frame: u64,
        /// Bytes read before the failure.
        byte: u64,
        /// What the system said.
        reason: io::Error,
    },
    /// Writing failed in mid-stream.
    #[error("{name}: cannot write frame {frame}: {}", error_text(reason))]
    Write {
        /// The output.
        name: String,
        /// The frame that was being written.
        frame: u64,
        /// What the system said.
        reason: io::Error,
    },
    /// The disk, the quota or the file system's largest file is full.
    #[error(
        "{name}: {}: {frames} whole frames ({bytes} bytes) fit; free some space or write elsewhere",
        error_text(reason)
    )]
    NoSpace {
        /// The output.
        name: String,
        /// Whole frames written.
        frames: u64,
        /// Bytes of the header and these frames.
        bytes: u64,
        /// What the system said.
        reason: io::Error,
    },
    /// The reader of the output closed the pipe (`EPIPE`), as `head` does: usually a reason to end quietly.
    #[error("{name}: the reader closed the pipe after {frames} frames")]
    ClosedPipe {
        /// The output.
        name: String,
        /// Whole frames written.
        frames: u64,
    },
    /// A y4m stream header that cannot be used.
    #[error("{name}: {reason}")]
    Header {
        /// The input.
        name: String,
        /// What is wrong with it.
        reason: HeaderError,
    },
    /// The line before a frame is not a `FRAME` line.
    #[error(
        "{name}: no FRAME line before frame {frame}, at byte {byte}; \
         the file is damaged or its header states a wrong size"
    )]
    FrameHeader {
        /// The input.
        name: String,
        /// The frame that was expected.
        frame: u64,
        /// Where the line should begin.
        byte: u64,
    },
    /// The stream ends inside a frame.
    #[error(
        "{name}: ends inside frame {frame}, {got} of {wanted} bytes into it; \
         the {frame} frames before it are whole, fetch or make the file again for the rest"
    )]
    Truncated {
        /// The input.
        name: String,
        /// The incomplete frame.
        frame: u64,
        /// Bytes of the frame, its `FRAME` line included, that are there.
        got: u64,
        /// Bytes it should have.
        wanted: u64,
    },
    /// A frame that is not of the stream's format.
    #[error("{name}: the stream is {stream}, but a frame is {frame}; all frames must be alike")]
    FrameFormat {
        /// The input or output.
        name: String,
        /// The stream's format.
        stream: Box<Format>,
        /// The frame's format.
        frame: Box<Format>,
    },
    /// Frames of floats, which no file format here keeps.
    #[error("{name}: frames of 32-bit floats cannot be written; convert them to 8 or 10 bits")]
    FloatFrames {
        /// The output.
        name: String,
    },
    /// The stream ended before its first frame, so that there is nothing to write.
    #[error("{name}: not written, the stream had no frames; check the input")]
    NoFrames {
        /// The output.
        name: String,
    },
    /// The input ends before the first frame that was asked for.
    #[error("{name}: has no frame at {start} s or later{}; use an earlier time", ends(*seconds))]
    StartsLate {
        /// The input.
        name: String,
        /// Seconds before the first frame that was asked for.
        start: f64,
        /// Its length in seconds, if that is known.
        seconds: Option<f64>,
    },
    /// Numbered pictures of different sizes.
    #[error(
        "{name}: is {size}, and the pictures before it are {expected}; \
         make all of one size, as by: ffmpeg -i PICTURE -vf scale={} OTHER",
        expected.replace('x', ":")
    )]
    PictureSize {
        /// The first picture of another size.
        name: String,
        /// Its size.
        size: String,
        /// The size of the first picture.
        expected: String,
    },
    /// A `testsrc:` description that cannot be read.
    #[error(
        "{given}: {reason}; write testsrc:WIDTHxHEIGHT:FRAMES[:FORMAT], as testsrc:640x480:100:420"
    )]
    TestSource {
        /// The description.
        given: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Filters of `ffmpeg` for an output that it does not write.
    #[error(
        "{name}: {filters}: computed by the ffmpeg that writes the output, and it does not write this one; \
         name a file such as out.mkv, or pipe into `ffmpeg -i - -vf \"{text}\" …`"
    )]
    Rest {
        /// The name of the output.
        name: String,
        /// The filters.
        filters: String,
        /// What `ffmpeg` would compute.
        text: String,
    },
    /// A filter keeps frames, and there is no memory for more.
    #[error(
        "{frames} frames are kept in memory, and there is no room for more; \
         put `trim` or `scale` before `reverse` or `loop`"
    )]
    Held {
        /// How many are kept.
        frames: u64,
    },
    /// A filter that changes with time does not fit a frame.
    #[error("frame {frame}: {reason}")]
    AtFrame {
        /// The frame, counted from 0.
        frame: u64,
        /// Why it does not fit.
        #[source]
        reason: Box<GraphError>,
    },
    /// There is no memory for the scene of a `testsrc:`.
    #[error("{name}: there is no memory for a scene of that size; make it smaller")]
    SceneMemory {
        /// The description.
        name: String,
    },
    /// A program this input or output needs is not installed.
    #[error(
        "{name}: needs the program '{program}', which is not installed \
         (Debian, Ubuntu: apt install ffmpeg); y4m files and pipes work without it"
    )]
    NoProgram {
        /// The input or output.
        name: String,
        /// The program.
        program: String,
    },
    /// A program could not be started or spoken to, though it may be installed.
    #[error("{name}: cannot run '{program}': {}", error_text(reason))]
    Program {
        /// The input or output.
        name: String,
        /// The program.
        program: String,
        /// What the system said.
        reason: io::Error,
    },
    /// A program failed.
    #[error("{name}: {program} failed{}: {said}", after(*frames))]
    Ffmpeg {
        /// The input or output.
        name: String,
        /// The program.
        program: String,
        /// Whole frames passed before it failed.
        frames: u64,
        /// Its messages, or its exit status if there are none.
        said: String,
    },
    /// A file that FFmpeg could decode only in part.
    #[error("{name}: is cut or damaged: ffmpeg {}", of_damage(*frames, *expected, said))]
    Damaged {
        /// The input.
        name: String,
        /// Frames that were read.
        frames: u64,
        /// Frames there should be, if that is known.
        expected: Option<u64>,
        /// FFmpeg's messages.
        said: String,
    },
    /// An argument for `ffmpeg` that it may not get.
    #[error("arguments of ffmpeg: `{argument}` {reason}")]
    Argument {
        /// The argument.
        argument: String,
        /// Why not, and what to do.
        reason: &'static str,
    },
    /// FFmpeg cannot write files with that extension.
    #[error(
        "{name}: ffmpeg has no format or encoder for it: {said}; use .mkv, .mp4, .y4m or another"
    )]
    NoEncoder {
        /// The output.
        name: String,
        /// FFmpeg's messages.
        said: String,
    },
}

/// The frames before a failure, as a part of a sentence.
fn after(frames: u64) -> String {
    match frames {
        0 => String::new(),
        frames => format!(" after {frames} frames"),
    }
}

/// The length of an input, as a part of a sentence.
fn ends(seconds: Option<f64>) -> String {
    seconds.map_or(String::new(), |seconds| {
        format!(", as it is {} s long", (seconds * 1000.0).round() / 1000.0)
    })
}

fn of_damage(frames: u64, expected: Option<u64>, said: &str) -> String {
    let words = if said.is_empty() {
        String::new()
    } else {
        format!(" ({said})")
    };
    match expected {
        Some(expected) if frames < expected => {
            format!(
                "read {frames} of {expected} frames{words}; fetch or make it again for the rest"
            )
        }
        _ => format!("read {frames} frames, not all of them whole{words}; fetch or make it again"),
    }
}

impl Error {
    /// The error of a failed write. A closed pipe and a full disk have their own.
    pub(crate) fn of_write(name: &str, frames: u64, bytes: u64, reason: io::Error) -> Error {
        let name = name.to_owned();
        match reason.kind() {
            io::ErrorKind::BrokenPipe => Error::ClosedPipe { name, frames },
            _ if is_full(&reason) => Error::NoSpace {
                name,
                frames,
                bytes,
                reason,
            },
            _ => Error::Write {
                name,
                frame: frames,
                reason,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_pipe_and_full_disk_are_told_apart() {
        let of = |code| Error::of_write("out", 3, 100, io::Error::from_raw_os_error(code));
        assert!(matches!(of(32), Error::ClosedPipe { frames: 3, .. }));
        for full in [27, 28, 122] {
            assert!(
                matches!(
                    of(full),
                    Error::NoSpace {
                        frames: 3,
                        bytes: 100,
                        ..
                    }
                ),
                "{full}"
            );
        }
        assert!(matches!(of(5), Error::Write { frame: 3, .. }));
    }
}
