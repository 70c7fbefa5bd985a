//! What a file holds, according to FFmpeg.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use evener_files::{Error as FileError, one_line};
use serde::Deserialize;

use crate::io::error::Error;
use crate::io::ffmpeg::log_line::{LogLine, summary};
use crate::io::ffmpeg::pixels::closest;
use crate::io::ffmpeg::process::output;
use crate::io::ffmpeg::tools::{FileArgument, Tools};

/// The answer of `ffprobe` about a file. Without `ffprobe` only the pixel format is known.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Probed {
    pub(super) streams: Vec<Stream>,
    pub(super) format: Container,
    pub(super) chapters: Vec<serde_json::Value>,
    /// Asked for only if it may have side data that streams do not have.
    frames: Vec<FirstFrame>,
}

/// A stream of a file. Numbers are text, as in the answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Stream {
    pub(super) index: u32,
    pub(super) codec_type: String,
    pub(super) codec_name: String,
    pub(super) pix_fmt: String,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) color_range: String,
    pub(super) color_space: String,
    pub(super) color_primaries: String,
    pub(super) color_transfer: String,
    pub(super) chroma_location: String,
    pub(super) avg_frame_rate: String,
    pub(super) start_time: String,
    pub(super) duration: String,
    pub(super) nb_frames: String,
    nb_read_frames: String,
    pub(super) disposition: BTreeMap<String, u32>,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) side_data_list: Vec<SideData>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Container {
    pub(super) format_name: String,
    pub(super) start_time: String,
    pub(super) duration: String,
    pub(super) tags: BTreeMap<String, String>,
}

/// Side data of a stream or a frame, its values by their names.
pub(super) type SideData = BTreeMap<String, serde_json::Value>;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FirstFrame {
    side_data_list: Vec<SideData>,
}

impl Stream {
    /// Whether it is a picture of the file, such as the cover of an album, and not its video.
    pub(super) fn is_attached(&self) -> bool {
        let is = |what| self.disposition.get(what).is_some_and(|&n| n != 0);
        is("attached_pic") || is("timed_thumbnails")
    }

    /// Frames a second on average.
    pub(super) fn average_rate(&self) -> Option<f64> {
        let (num, den) = self.avg_frame_rate.split_once('/')?;
        let rate = seconds(num)? / seconds(den)?;
        (rate.is_finite() && rate > 0.0).then_some(rate)
    }

    /// Its length in seconds, from the duration or from Matroska's tag, which is the time of its end.
    pub(super) fn seconds(&self) -> Option<f64> {
        seconds(&self.duration).or_else(|| {
            let mut tags = self.tags.iter();
            let (_, noted) = tags.find(|(key, _)| key.eq_ignore_ascii_case("duration"))?;
            let mut parts = noted.splitn(3, ':').map(seconds);
            let (h, m, s) = (parts.next()??, parts.next()??, parts.next()??);
            Some((h * 60.0 + m) * 60.0 + s - seconds(&self.start_time).unwrap_or(0.0))
        })
    }
}

/// A number of seconds; `None` for `N/A`.
pub(super) fn seconds(text: &str) -> Option<f64> {
    text.parse().ok().filter(|n: &f64| n.is_finite())
}

/// A value of FFmpeg's, unless it means unknown.
pub(super) fn meaningful(word: &str) -> Option<&str> {
    let plain = word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let says_nothing = ["", "unknown", "unspecified", "reserved"].contains(&word);
    (plain && !says_nothing).then_some(word)
}

/// Containers in which FFmpeg finds frames by their times. In others it may be some frames off (AVI, MPEG program
/// streams), or there are no times (streams without a container).
const SEEKABLE: [&str; 6] = ["flv", "matroska", "mov", "mpegts", "nut", "ogg"];

impl Probed {
    /// Whether the frame at a time can be found without reading those before it.
    pub(super) fn is_seekable(&self) -> bool {
        let mut names = self.format.format_name.split(',');
        names.any(|name| SEEKABLE.contains(&name))
    }

    /// The stream that is decoded: the first of video.
    pub(super) fn video(&self) -> Option<&Stream> {
        let mut streams = self.streams.iter();
        streams.find(|s| s.codec_type == "video" && !s.is_attached())
    }
}

/// Asks `ffprobe`, or where it is not installed `ffmpeg`, about a file. `options` are those of the input.
///
/// # Errors
/// Neither is installed, or the file cannot be read or holds no video.
pub(super) fn probe(
    tools: &Tools,
    name: &str,
    input: &OsStr,
    options: &[OsString],
) -> Result<Probed, Error> {
    let Some(mut probed) = ask(
        tools,
        name,
        input,
        options,
        &["-show_streams", "-show_format", "-show_chapters"],
    )?
    else {
        return describe(tools, name, input, options);
    };
    let Some(video) = probed.video() else {
        let reason = "holds no video; give a file that ffprobe finds a video stream in";
        let name = name.to_owned();
        return Err(FileError::Unfit { name, reason }.into());
    };
    // Mastering metadata may be in the frames alone.
    if ["smpte2084", "arib-std-b67"].contains(&video.color_transfer.as_str()) {
        let index = video.index.to_string();
        let first = [
            "-select_streams",
            &index,
            "-read_intervals",
            "%+#1",
            "-show_frames",
        ];
        if let Some(more) = ask(tools, name, input, options, &first)?
            && let Some(frame) = more.frames.into_iter().next()
            && let Some(video) = probed
                .streams
                .iter_mut()
                .find(|s| s.index.to_string() == index)
        {
            video.side_data_list.extend(frame.side_data_list);
        }
    }
    Ok(probed)
}

/// The frames of a file of video that may have no end, as far as they can be decoded; `None` if there are none.
pub(super) fn count_frames(tools: &Tools, name: &str, file: &Path) -> Option<u64> {
    let what = ["-count_frames", "-select_streams", "v:0", "-show_entries"];
    let what = [&what[..], &["stream=nb_read_frames,index"]].concat();
    let probed = ask(tools, name, file.as_os_str(), &[], &what).ok()??;
    let count = probed.streams.first()?.nb_read_frames.parse().ok()?;
    Some(count).filter(|&count| count > 0)
}

/// The width and height of a picture; `None` if it cannot be read.
pub(super) fn size_of(tools: &Tools, file: &Path) -> Option<(u32, u32)> {
    let what = ["-select_streams", "v:0", "-show_entries"];
    let what = [&what[..], &["stream=width,height"]].concat();
    let probed = ask(tools, "", file.as_os_str(), &[], &what).ok()??;
    let first = probed.streams.first()?;
    Some((first.width, first.height))
}

/// What `ffprobe` answers; `None` if it is not installed.
fn ask(
    tools: &Tools,
    name: &str,
    input: &OsStr,
    options: &[OsString],
    what: &[&str],
) -> Result<Option<Probed>, Error> {
    let file = FileArgument::of(name, input)?;
    let arguments: Vec<&OsStr> = ["-v", "level+error", "-of", "json"]
        .iter()
        .chain(what)
        .map(OsStr::new)
        .chain(options.iter().map(OsString::as_os_str))
        .chain([OsStr::new("-i"), &file.argument])
        .collect();
    let Some((said, log)) = output(name, &tools.ffprobe, &arguments, file.stdin)? else {
        return Ok(None);
    };
    let failed = |said: String| Error::Ffmpeg {
        name: name.to_owned(),
        program: one_line(&tools.ffprobe.to_string_lossy()),
        frames: 0,
        said,
    };
    if !said.status.success() {
        let words = summary(log.last());
        let words = match words.strip_prefix(&format!("{}: ", file.argument.to_string_lossy())) {
            Some(words) => words.to_owned(),
            None if words.is_empty() => said.status.to_string(),
            None => words,
        };
        return Err(failed(words));
    }
    let text = String::from_utf8_lossy(&said.stdout);
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|error| failed(format!("its answer cannot be understood: {error}")))
}

/// Asks `ffmpeg`, whose answer is a text for people.
fn describe(
    tools: &Tools,
    name: &str,
    input: &OsStr,
    options: &[OsString],
) -> Result<Probed, Error> {
    let file = FileArgument::of(name, input)?;
    // Without an output this fails by design, after it has described the input.
    let arguments: Vec<&OsStr> = ["-hide_banner", "-nostdin"]
        .iter()
        .map(OsStr::new)
        .chain(options.iter().map(OsString::as_os_str))
        .chain([OsStr::new("-i"), &file.argument])
        .collect();
    match output(name, &tools.ffmpeg, &arguments, file.stdin)? {
        Some((_, log)) => {
            let (pix_fmt, color_range) = pixel_format(&log).unwrap_or_default();
            Ok(Probed {
                streams: vec![Stream {
                    codec_type: "video".to_owned(),
                    pix_fmt,
                    color_range,
                    ..Stream::default()
                }],
                ..Probed::default()
            })
        }
        None => Err(Error::NoProgram {
            name: name.to_owned(),
            program: one_line(&tools.ffmpeg.to_string_lossy()),
        }),
    }
}

/// Finds the pixel format and the range in the first line about a video stream:
/// `… Video: h264 (High), yuv420p(tv, bt709), 352x288 …`.
fn pixel_format(log: &[LogLine]) -> Option<(String, String)> {
    let (_, stream) = log.iter().find_map(|l| l.text.split_once(" Video: "))?;
    stream.split(", ").find_map(|word| {
        let (name, range) = word.split_once('(').unwrap_or((word, ""));
        closest(name)?;
        Some((name.to_owned(), range.trim_end_matches(')').to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_read() {
        let lines =
            |text: &str| -> Vec<LogLine> { text.lines().filter_map(LogLine::read).collect() };
        let text = "  Stream #0:0: Audio: aac\n  Stream #0:1(und): Video: h264 (High) (avc1 / 0x31637661), \
                    yuvj422p(pc, bt709, progressive), 1920x1080 [SAR 1:1 DAR 16:9], 25 fps\n";
        let found = |text: &str| pixel_format(&lines(text));
        let both = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(found(text), both("yuvj422p", "pc"));
        let text = text.replace("(pc, bt709, progressive)", "(tv)");
        assert_eq!(found(&text), both("yuvj422p", "tv"));
        assert_eq!(found(&text.replace("(tv)", "")), both("yuvj422p", ""));
        assert_eq!(pixel_format(&lines("x: No such file")), None);
    }

    #[test]
    fn lengths_are_read_as_containers_note_them() {
        let stream = |json: &str| serde_json::from_str::<Stream>(json).unwrap();
        assert_eq!(stream(r#"{"duration": "2.5"}"#).seconds(), Some(2.5));
        let noted = r#"{"duration": "N/A", "tags": {"DURATION": "01:02:03.500000000"}}"#;
        assert_eq!(stream(noted).seconds(), Some(3723.5));
        let late = noted.replace("N/A", "N/A\", \"start_time\": \"0.5");
        assert_eq!(stream(&late).seconds(), Some(3723.0));
        for nothing in [r#"{}"#, r#"{"tags": {"DURATION": "soon"}}"#] {
            assert_eq!(stream(nothing).seconds(), None, "{nothing}");
        }
        assert_eq!(
            stream(r#"{"avg_frame_rate": "30000/1001"}"#).average_rate(),
            Some(30000.0 / 1001.0)
        );
        assert_eq!(stream(r#"{"avg_frame_rate": "0/0"}"#).average_rate(), None);
    }

    #[test]
    fn the_video_is_no_cover() {
        let json = r#"{"streams": [
            {"index": 0, "codec_type": "video", "disposition": {"attached_pic": 1}},
            {"index": 1, "codec_type": "audio"},
            {"index": 2, "codec_type": "video", "pix_fmt": "gray"}]}"#;
        let probed: Probed = serde_json::from_str(json).unwrap();
        assert_eq!(probed.video().map(|s| s.index), Some(2));
    }
}
