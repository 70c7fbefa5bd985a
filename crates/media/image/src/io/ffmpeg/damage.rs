//! Detection of cut or damaged files, which `ffmpeg` reads as far as it can with success.

use crate::io::ffmpeg::log_line::{Level, LogLine, summary};
use crate::io::ffmpeg::probe::{Probed, Stream, seconds};

/// What is expected of a whole file.
#[derive(Debug, Default)]
pub(super) struct Expected {
    /// The name of its format, which is what its demuxer calls itself.
    demuxer: String,
    /// The number of the stream that is decoded.
    stream: u32,
    /// Frames, if the file says so reliably.
    frames: Option<u64>,
    /// An estimate of the frames, as for a progress bar.
    guess: Option<u64>,
}

impl Expected {
    /// `rate` is the frames a second that FFmpeg writes of the file.
    pub(super) fn of(probed: &Probed, rate: f64) -> Expected {
        let Some(video) = probed.video() else {
            return Expected::default();
        };
        let counted = video.nb_frames.parse().ok().filter(|&n: &u64| n > 0);
        let times_rate = |seconds: f64| Some((seconds * rate).round() as u64).filter(|&n| n > 0);
        let by_time = video.seconds().and_then(times_rate);
        let steady = variable_rate(video, rate).is_none();
        // An edit list of QuickTime hides frames that are counted, and time stamps of broadcasts may jump.
        let frames = match (counted, by_time) {
            (Some(counted), Some(by_time)) if probed.format.format_name.starts_with("mov") => {
                Some(counted.min(by_time))
            }
            (Some(counted), _) => Some(counted),
            (None, by_time) => {
                by_time.filter(|_| probed.format.format_name.starts_with("matroska"))
            }
        };
        let alone = probed.streams.len() == 1;
        let of_file = seconds(&probed.format.duration).and_then(times_rate);
        let jumps = ["mpegts", "mpeg"].contains(&probed.format.format_name.as_str());
        Expected {
            demuxer: probed.format.format_name.clone(),
            stream: video.index,
            frames: frames
                .or_else(|| of_file.filter(|_| alone && !jumps))
                .filter(|_| steady),
            guess: match steady {
                true => counted.or(by_time).or(of_file),
                false => by_time.or(of_file).or(counted),
            },
        }
    }

    /// The same of so many numbered pictures.
    pub(super) fn of_pictures(count: u64, probed: &Probed, rate: f64) -> Expected {
        Expected {
            frames: Some(count),
            ..Expected::of(probed, rate)
        }
    }

    /// Leaves out frames at the start.
    pub(super) fn skip(&mut self, frames: u64) {
        for all in [&mut self.frames, &mut self.guess].into_iter().flatten() {
            *all = all.saturating_sub(frames);
        }
    }

    /// Frames to expect; may be an estimate.
    pub(super) fn frames(&self) -> Option<u64> {
        self.frames.or(self.guess)
    }

    /// FFmpeg's messages and the expected number of frames, if `frames` frames are not all of them or not whole.
    pub(super) fn missing(&self, frames: u64, said: &[LogLine]) -> Option<(String, Option<u64>)> {
        let begun = said.iter().position(|l| l.text.starts_with("Output #0"));
        // Complaints before the first frame are common for recordings that begin in the middle of a broadcast.
        let said = &said[begun.map_or(0, |at| at + 1)..];
        let errors = said.iter().any(|l| l.level == Level::Error);
        let short = self.frames.is_some_and(|expected| {
            let missing = expected.saturating_sub(frames);
            missing > if errors { 2 } else { (expected / 50).max(5) }
        });
        let damaged = said.iter().any(|line| self.tells_of_damage(line));
        (short || damaged).then(|| {
            let words = summary(said.iter().filter(|l| l.level > Level::Info));
            (words, self.frames.or(self.guess.filter(|&n| n > frames)))
        })
    }

    /// Whether a line means that something is missing. Decoders complain of much that does no harm, such as a reference that
    /// the encoder did not use. What counts is a frame that could not be decoded, or a file that could not be read.
    fn tells_of_damage(&self, line: &LogLine) -> bool {
        let says = |words: &str| line.text.contains(words);
        let of_stream = |words: &str| says(&format!("{words}{}", self.stream));
        match line.level {
            Level::Error => {
                (!self.demuxer.is_empty() && line.component == self.demuxer)
                    || says("Error while decoding stream #0:")
                    || says("Error submitting packet to decoder")
                    || says("corrupt decoded frame")
            }
            Level::Warning => {
                says("corrupt decoded frame")
                    || of_stream("corrupt input packet in stream ")
                    || of_stream("Packet corrupt (stream = ")
            }
            Level::Info | Level::Unknown => false,
        }
    }
}

/// The average rate of a stream, if it differs from `rate` by more than containers round and by so much that frames are
/// repeated or left out.
pub(super) fn variable_rate(video: &Stream, rate: f64) -> Option<f64> {
    let average = video.average_rate()?;
    let apart = (average - rate).abs();
    let frames = video
        .seconds()
        .map_or(f64::INFINITY, |seconds| apart * seconds);
    (apart > rate * 0.01 && frames > 1.5).then_some(average)
}

/// Frames that FFmpeg repeated and left out to make the rate constant, according to its last report.
pub(super) fn rate_conversion(said: &[LogLine]) -> Option<(u64, u64)> {
    let report = said.iter().rfind(|line| line.text.starts_with("frame="))?;
    let number = |key: &str| {
        let mut words = report.text.split_whitespace();
        words.find_map(|word| word.strip_prefix(key)?.parse().ok())
    };
    let (repeated, left_out) = (number("dup=")?, number("drop=")?);
    // One more or less is how the last frame is rounded.
    (repeated + left_out > 1).then_some((repeated, left_out))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(json: &str) -> Expected {
        Expected::of(&serde_json::from_str(json).unwrap(), 25.0)
    }

    fn lines(text: &str) -> Vec<LogLine> {
        text.lines().filter_map(LogLine::read).collect()
    }

    #[test]
    fn frames_are_those_that_are_shown() {
        for (stream, format, frames, expected) in [
            (
                r#""nb_frames": "200", "duration": "8""#,
                "mov,mp4",
                Some(200),
                Some(200),
            ),
            // Cut by an edit list.
            (
                r#""nb_frames": "200", "duration": "4.7""#,
                "mov,mp4",
                Some(118),
                Some(118),
            ),
            // Cut, so that it seems to be shorter.
            (
                r#""nb_frames": "200", "duration": "4""#,
                "avi",
                Some(200),
                Some(200),
            ),
            (
                r#""tags": {"DURATION": "00:00:08.0"}"#,
                "matroska,webm",
                Some(200),
                Some(200),
            ),
            // Of uneven frames the last may last long.
            (
                r#""nb_frames": "20", "duration": "8", "avg_frame_rate": "5/2""#,
                "mov",
                None,
                Some(200),
            ),
            (r#""duration": "8""#, "mpegts", None, Some(200)),
            (r#""duration": "N/A""#, "h264", None, None),
        ] {
            let json = format!(
                r#"{{"streams": [{{"codec_type": "video", {stream}}}], "format": {{"format_name": "{format}"}}}}"#
            );
            let whole = whole(&json);
            assert_eq!(
                (whole.frames, whole.frames()),
                (frames, expected),
                "{stream}"
            );
        }
    }

    #[test]
    fn harmless_words_are_no_damage_and_lost_frames_are() {
        let json = r#"{"streams": [{"codec_type": "video", "index": 1, "nb_frames": "200"}],
                       "format": {"format_name": "matroska,webm"}}"#;
        let whole = whole(json);
        let missing = |frames, text: &str| whole.missing(frames, &lines(text));
        for (frames, text) in [
            (200, ""),
            (195, ""),
            (199, "[h264 @ 0x1] [error] co located POCs unavailable"),
            (200, "[warning] x: corrupt input packet in stream 0"),
            (
                200,
                "[error] Error while decoding stream #0:1\n[info] Output #0, yuv4mpegpipe, to 'pipe:':",
            ),
        ] {
            assert_eq!(missing(frames, text), None, "{frames} {text}");
        }
        for (frames, text) in [
            (194, ""),
            (197, "[h264 @ 0x1] [error] co located POCs unavailable"),
            (200, "[matroska,webm @ 0x1] [error] File ended prematurely"),
            (
                200,
                "[info] Output #0, yuv4mpegpipe\n[error] Error while decoding stream #0:1: Invalid data",
            ),
            (200, "[warning] x: corrupt input packet in stream 1"),
        ] {
            let (_, expected) = missing(frames, text).unwrap_or_else(|| panic!("{frames} {text}"));
            assert_eq!(expected, Some(200));
        }
    }

    #[test]
    fn frames_that_are_made_up_are_counted() {
        let of = |text: &str| rate_conversion(&lines(text));
        let report = "[info] frame=   35 fps=0.0 Lsize=  158kB dup=25 drop=3 speed=1.29e+03x";
        assert_eq!(of(report), Some((25, 3)));
        assert_eq!(of(&report.replace("dup=25 drop=3 ", "")), None);
        assert_eq!(of(&report.replace("dup=25 drop=3", "dup=1 drop=0")), None);
        assert_eq!(of(""), None);
    }
}
