//! Joining coded video and the other streams of its source.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Stdio;

use crate::io::error::Error;
use crate::io::ffmpeg::log_line::{LogLine, summary};
use crate::io::ffmpeg::origin::{Origin, OtherStream, StreamKind};
use crate::io::ffmpeg::process::Process;
use crate::io::ffmpeg::tools::{FileArgument, Tools, file_argument, format_of, split_args};

/// Joins encoded video and other streams in one file, without encoding again.
pub(super) struct Mux<'a> {
    pub(super) tools: &'a Tools,
    /// The name of the output in messages.
    pub(super) name: &'a str,
    /// What else goes into the file.
    pub(super) origin: Option<&'a Origin>,
    /// The encoded video.
    pub(super) video: &'a Path,
    /// Where the result goes; its extension chooses the format, unless arguments do.
    pub(super) target: &'a Path,
    /// The extension of that format.
    pub(super) extension: String,
    /// The length of the video, if it is shorter than its source: the other streams end there, too.
    pub(super) seconds: Option<f64>,
    /// Arguments that users gave for the output. What they say of coding video was done before.
    pub(super) further: &'a [OsString],
}

impl Mux<'_> {
    /// Writes the target with the streams that its format can hold. Returns which are left out, and what would hold them.
    ///
    /// # Errors
    /// FFmpeg failed, though the format can hold what it was given.
    pub(super) fn run(&self) -> Result<Vec<String>, Error> {
        let Some(origin) = self.origin else {
            let mut arguments = self.of_video(0.0);
            arguments.extend(split_args("-c copy"));
            let said = self.start(arguments, Stdio::null())?;
            return self.done(&said, Vec::new());
        };
        let all = origin.streams.iter();
        let (mut fit, unknown): (Vec<&OtherStream>, Vec<&OtherStream>) =
            all.partition(|stream| self.is_understood(stream));
        let unknown = unknown
            .into_iter()
            .map(|stream| self.left_out(origin, stream));
        let mut left_out: Vec<String> = unknown.collect();
        let mut failed = match self.join(origin, &fit) {
            Ok(said) => return self.done(&said, left_out),
            Err(error) => error,
        };
        // Each stream is tried by itself. A format that refuses one does so before it reads anything.
        let asked = fit.len();
        fit.retain(|stream| {
            let tried = self.try_alone(origin, stream);
            if let Err(words) = &tried {
                tracing::debug!("{}: stream {}: {words}", self.name, stream.index);
                left_out.push(self.left_out(origin, stream));
            }
            tried.is_ok()
        });
        if fit.len() < asked {
            failed = match self.join(origin, &fit) {
                Ok(said) => return self.done(&said, left_out),
                Err(error) => error,
            };
        }
        // The format may hold one stream of a kind only.
        let asked = fit.len();
        let mut kinds = Vec::new();
        fit.retain(|stream| {
            let is_first = !kinds.contains(&stream.kind);
            kinds.push(stream.kind);
            if !is_first {
                left_out.push(self.left_out(origin, stream));
            }
            is_first
        });
        if fit.len() == asked {
            return Err(failed);
        }
        let said = self.join(origin, &fit)?;
        self.done(&said, left_out)
    }

    fn done(&self, said: &[LogLine], left_out: Vec<String>) -> Result<Vec<String>, Error> {
        let words = summary(said);
        // If the video ended early, that was reported already.
        if !words.is_empty() && self.seconds.is_none() {
            tracing::warn!("{}: {}: {words}", self.name, self.tools.ffmpeg.display());
        }
        Ok(left_out)
    }

    fn left_out(&self, origin: &Origin, stream: &OtherStream) -> String {
        let codec = match stream.codec.as_str() {
            "" => String::new(),
            codec => format!(" ({codec})"),
        };
        let extension = &self.extension;
        let other = match stream.kind {
            StreamKind::Cover => "mp4",
            // Subtitles of mp4 itself.
            StreamKind::Subtitles if stream.codec == "mov_text" => "mp4",
            StreamKind::Audio | StreamKind::Subtitles | StreamKind::Attachment => "mkv",
        };
        let advice = match *extension == other {
            true => String::new(),
            false => format!("; write .{other} to keep it"),
        };
        format!(
            "{}{codec} of {} left out, as .{extension} cannot hold it{advice}",
            stream.kind.name(),
            origin.name,
        )
    }

    /// Whether readers would recognise the stream. MPEG transport streams take everything but label little of it, and most
    /// readers would take a cover for another video.
    fn is_understood(&self, stream: &OtherStream) -> bool {
        let extension = &self.extension;
        let transport = ["ts", "mts", "m2ts"].contains(&extension.as_str());
        let codec = stream.codec.as_str();
        match stream.kind {
            StreamKind::Cover => ["mp4", "m4v", "mov"].contains(&extension.as_str()),
            StreamKind::Attachment => !transport,
            StreamKind::Audio if transport => {
                ["aac", "ac3", "dts", "eac3", "mp2", "mp3", "opus", "truehd"].contains(&codec)
            }
            StreamKind::Subtitles if transport => ["dvb_subtitle", "dvb_teletext"].contains(&codec),
            StreamKind::Audio | StreamKind::Subtitles => true,
        }
    }

    /// Begins a file with that stream alone. Returns FFmpeg's messages if that fails.
    fn try_alone(&self, origin: &Origin, stream: &OtherStream) -> Result<(), String> {
        let started = || -> Result<(), Error> {
            let file = FileArgument::of(self.name, &origin.file)?;
            let mut arguments = split_args("-v level+error -nostdin -y -i");
            arguments.push(file.argument);
            arguments.extend(split_args(&format!("-map 0:{} -c copy -t 0", stream.index)));
            if let Some(format) = format_of(self.further) {
                arguments.extend(["-f".into(), format.to_owned()]);
            }
            self.start(arguments, file.stdin).map(drop)
        };
        started().map_err(|error| match error {
            Error::Ffmpeg { said, .. } => said.split("; ").next().unwrap_or_default().to_owned(),
            other => other.to_string(),
        })
    }

    fn join(&self, origin: &Origin, streams: &[&OtherStream]) -> Result<Vec<LogLine>, Error> {
        let file = FileArgument::of(self.name, &origin.file)?;
        let mut arguments = self.of_video(origin.start_offset);
        if origin.cut > 0.0 {
            arguments.extend(split_args(&format!("-ss {:.6}", origin.cut)));
        }
        arguments.extend(["-i".into(), file.argument]);
        arguments.extend(split_args(
            "-map 0:v -map_metadata 1 -map_chapters 1 -c copy",
        ));
        if origin.cut > 0.0 {
            // A file is read from a key frame of its video on, and sound before the cut would move all others.
            arguments.extend(split_args("-copypriorss 0"));
        }
        for stream in streams {
            arguments.extend(split_args(&format!("-map 1:{}", stream.index)));
        }
        arguments.extend_from_slice(self.further);
        arguments.extend(split_args("-c:v copy"));
        if let Some(seconds) = self.seconds {
            arguments.extend(split_args(&format!(
                "-t {:.6}",
                origin.start_offset + seconds
            )));
        }
        self.start(arguments, file.stdin)
    }

    /// Arguments that name the video, which begins at `start_offset` seconds.
    fn of_video(&self, start_offset: f64) -> Vec<OsString> {
        let mut arguments = split_args(&format!(
            "-v level+error -nostdin -y -itsoffset {start_offset:.6} -i"
        ));
        arguments.push(file_argument(self.video.as_os_str()));
        arguments
    }

    /// Runs FFmpeg to its end with the target as its output.
    fn start(&self, mut arguments: Vec<OsString>, stdin: Stdio) -> Result<Vec<LogLine>, Error> {
        arguments.push(file_argument(self.target.as_os_str()));
        let arguments: Vec<&OsStr> = arguments.iter().map(OsString::as_os_str).collect();
        let pipes = (stdin, Stdio::null());
        let mut process = Process::start(self.name, &self.tools.ffmpeg, &arguments, pipes)?;
        process.hide(self.target);
        process.wait_written(0)
    }
}
