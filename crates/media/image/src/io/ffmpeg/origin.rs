//! What a file holds besides the frames of its video, to be kept in outputs.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::format::Ratio;
use crate::io::ffmpeg::pixels::{bits, has_alpha, is_rgb};
use crate::io::ffmpeg::probe::{Probed, SideData, Stream, meaningful, seconds};
use crate::io::ffmpeg::tools::is_address;

/// What a file that FFmpeg reads holds besides the frames: other streams, titles, chapters and colour tags.
/// [`create_output`](crate::io::create_output) keeps what the output can hold.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The file as it was named.
    pub(super) file: OsString,
    /// Its name in messages.
    pub(super) name: String,
    /// Options of FFmpeg for reading it.
    pub(super) options: Vec<OsString>,
    pub(super) colour: Colour,
    /// Parameters of x264 for how the picture was mastered.
    pub(super) mastering: Option<String>,
    /// Streams to copy.
    pub(super) streams: Vec<OtherStream>,
    /// Title, artist and the like.
    pub(super) tags: BTreeMap<String, String>,
    pub(super) has_chapters: bool,
    /// Seconds from the start of the file to the first frame.
    pub(super) start_offset: f64,
    /// Seconds at the start of the file that are left out; the video then begins at 0.
    pub(super) cut: f64,
    /// What decoding loses, each as a part of a sentence.
    pub(super) lost: Vec<String>,
    /// Whether the video was read to its end.
    read_to_end: Arc<AtomicBool>,
}

/// Colour tags, by FFmpeg's names, as far as the file has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Colour {
    /// The matrix between RGB and YUV.
    pub space: Option<String>,
    /// The primaries.
    pub primaries: Option<String>,
    /// The transfer function.
    pub transfer: Option<String>,
    /// Where chroma samples sit.
    pub siting: Option<String>,
}

/// A stream other than the video.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OtherStream {
    pub(super) index: u32,
    pub(super) kind: StreamKind,
    pub(super) codec: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamKind {
    Audio,
    Subtitles,
    Attachment,
    Cover,
}

impl StreamKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            StreamKind::Audio => "audio",
            StreamKind::Subtitles => "subtitles",
            StreamKind::Attachment => "attachment",
            StreamKind::Cover => "cover picture",
        }
    }
}

/// Tags that describe the file itself.
const OWN_TAGS: [&str; 6] = [
    "encoder",
    "major_brand",
    "minor_version",
    "compatible_brands",
    "duration",
    "creation_time",
];

/// Side data that is kept, that belongs to the stream, or that is not about the picture.
const UNDERSTOOD: [&str; 7] = [
    MASTERING,
    LIGHT,
    "Display Matrix",
    "CPB properties",
    "H.26[45] User Data Unregistered SEI message",
    "Active format description",
    "GOP timecode",
];
const MASTERING: &str = "Mastering display metadata";
const LIGHT: &str = "Content light level metadata";

impl Origin {
    pub(super) fn new(file: &OsStr, name: &str, probed: &Probed) -> Origin {
        let none = Stream::default();
        let video = probed.video().unwrap_or(&none);
        let mut lost = Vec::new();
        let streams = if is_address(file) {
            if probed.streams.iter().any(|s| s.codec_type == "audio") {
                lost.push("audio is dropped: it is only copied from files".to_owned());
            }
            Vec::new()
        } else {
            others(probed, video, &mut lost)
        };
        let pixels = video.pix_fmt.as_str();
        let alpha_beside = video
            .tags
            .get("alpha_mode")
            .or_else(|| video.tags.get("ALPHA_MODE"));
        if has_alpha(pixels) || alpha_beside.is_some_and(|mode| mode == "1") {
            lost.push(
                "alpha is left out; filter it by itself: ffmpeg -i INPUT -vf alphaextract ALPHA.mkv"
                    .to_owned(),
            );
        }
        if bits(pixels) == 32 {
            lost.push("its floats become codes of 16 bits".to_owned());
        }
        let start = seconds(&probed.format.start_time).unwrap_or(0.0);
        let begins = seconds(&video.start_time).unwrap_or(start);
        if begins.abs() > 1.0 / video.average_rate().unwrap_or(25.0) && start != 0.0 {
            lost.push(format!(
                "its time begins at {begins:.3} s, and that of the output at 0"
            ));
        }
        let mut unknown: Vec<&str> = video.side_data_list.iter().filter_map(kind_of).collect();
        unknown.retain(|kind| !UNDERSTOOD.contains(kind));
        unknown.dedup();
        if !unknown.is_empty() {
            lost.push(format!("not kept: {}", unknown.join(", ")));
        }
        let mut tags = probed.format.tags.clone();
        tags.retain(|key, _| !OWN_TAGS.contains(&key.to_ascii_lowercase().as_str()));
        Origin {
            file: file.to_owned(),
            name: name.to_owned(),
            options: Vec::new(),
            colour: Colour::of(video),
            mastering: mastering(&video.side_data_list),
            streams,
            tags,
            has_chapters: !probed.chapters.is_empty() && !is_address(file),
            start_offset: begins - start,
            cut: 0.0,
            lost,
            read_to_end: Arc::default(),
        }
    }

    /// The same without its audio.
    #[must_use]
    pub fn without_audio(mut self) -> Origin {
        self.streams.retain(|s| s.kind != StreamKind::Audio);
        self
    }

    /// The same without its first seconds of the video, which other streams then lack too.
    #[must_use]
    pub(crate) fn without_seconds(mut self, skipped: f64) -> Origin {
        if skipped > 0.0 {
            self.cut = self.start_offset + skipped;
            self.start_offset = 0.0;
        }
        self
    }

    /// The file as it was named.
    pub(crate) fn file(&self) -> &OsStr {
        &self.file
    }

    /// The name of the file in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What any output loses, each as a part of a sentence.
    pub fn lost(&self) -> &[String] {
        &self.lost
    }

    /// Whether it has sound that is copied.
    pub fn has_audio(&self) -> bool {
        let mut streams = self.streams.iter();
        streams.any(|stream| stream.kind == StreamKind::Audio)
    }

    /// Its colour tags.
    pub fn colour(&self) -> &Colour {
        &self.colour
    }

    /// Whether it holds other streams or chapters, which FFmpeg has to copy.
    pub fn has_others(&self) -> bool {
        !self.streams.is_empty() || self.has_chapters
    }

    /// Whether it holds a title or the like.
    pub fn has_tags(&self) -> bool {
        !self.tags.is_empty()
    }

    /// Whether it says how the picture was mastered (HDR metadata).
    pub fn has_mastering(&self) -> bool {
        self.mastering.is_some()
    }

    /// The kinds of the other streams, such as `audio, subtitles`; empty if there are none.
    pub fn other_streams(&self) -> String {
        let mut names: Vec<&str> = self.streams.iter().map(|s| s.kind.name()).collect();
        names.dedup();
        names.join(", ")
    }

    /// The colour tags that readers do not assume, by FFmpeg's names.
    pub(crate) fn unusual_colour(&self, height: u32) -> String {
        let usual = ["bt709", "smpte170m", "bt470bg"];
        let words = [
            &self.colour.space,
            &self.colour.primaries,
            &self.colour.transfer,
        ];
        let words = words.into_iter().flatten().map(String::as_str);
        let is_usual = |word: &&str| usual.contains(word) && (*word == "bt709") == (height >= HD);
        let mut unusual: Vec<&str> = words.filter(|w| !is_usual(w)).collect();
        unusual.dedup();
        unusual.join(", ")
    }

    /// Notes that the video was read to its end.
    pub(super) fn set_read_to_end(&self) {
        self.read_to_end.store(true, Ordering::Relaxed);
    }

    /// Whether it was.
    pub(super) fn is_read_to_end(&self) -> bool {
        self.read_to_end.load(Ordering::Relaxed)
    }
}

/// The streams to copy. Adds the others to `lost`.
fn others(probed: &Probed, video: &Stream, lost: &mut Vec<String>) -> Vec<OtherStream> {
    let mut copied = Vec::new();
    let mut left_out = Vec::new();
    for stream in probed.streams.iter().filter(|s| s.index != video.index) {
        let kind = match stream.codec_type.as_str() {
            "audio" => StreamKind::Audio,
            "subtitle" => StreamKind::Subtitles,
            "attachment" => StreamKind::Attachment,
            "video" if stream.is_attached() => StreamKind::Cover,
            "video" => {
                left_out.push("further streams of video".to_owned());
                continue;
            }
            _ => {
                left_out.push("streams of data".to_owned());
                continue;
            }
        };
        copied.push(OtherStream {
            index: stream.index,
            kind,
            codec: stream.codec_name.clone(),
        });
    }
    left_out.dedup();
    if !left_out.is_empty() {
        lost.push(format!("left out: {}", left_out.join(", ")));
    }
    copied
}

/// Rows from which on players assume BT.709 for video without tags.
const HD: u32 = 720;

/// The matrix for RGB of this height, which is the one that players assume.
pub(super) fn matrix_for(height: u32) -> &'static str {
    if height >= HD { "bt709" } else { "smpte170m" }
}

impl Colour {
    fn of(video: &Stream) -> Colour {
        let word = |word| meaningful(word).map(str::to_owned);
        let space = match is_rgb(&video.pix_fmt) {
            // They are converted.
            true => Some(matrix_for(video.height).to_owned()),
            false => word(&video.color_space),
        };
        Colour {
            space,
            primaries: word(&video.color_primaries),
            transfer: word(&video.color_transfer),
            siting: word(&video.chroma_location),
        }
    }
}

fn kind_of(data: &SideData) -> Option<&str> {
    data.get("side_data_type")?.as_str()
}

/// How the picture was mastered, as parameters of x264.
fn mastering(all: &[SideData]) -> Option<String> {
    let find = |kind| all.iter().find(|data| kind_of(data) == Some(kind));
    let display = find(MASTERING).and_then(|data| {
        // In steps of 0.00002 and of 0.0001 candela for each square metre.
        let value = |key: &str, steps: f64| {
            let ratio = ratio(data.get(key)?)?;
            Some((f64::from(ratio.num) / f64::from(ratio.den) * steps).round() as u64)
        };
        let point = |name: &str| {
            let at = |axis: &str| value(&format!("{name}_{axis}"), 50000.0);
            Some(format!("({},{})", at("x")?, at("y")?))
        };
        let light = |key| value(key, 10000.0);
        Some(format!(
            "mastering-display=G{}B{}R{}WP{}L({},{})",
            point("green")?,
            point("blue")?,
            point("red")?,
            point("white_point")?,
            light("max_luminance")?,
            light("min_luminance")?,
        ))
    });
    let light = find(LIGHT).and_then(|data| {
        let value = |key| data.get(key)?.as_u64();
        Some(format!(
            "cll={},{}",
            value("max_content")?,
            value("max_average")?
        ))
    });
    let both: Vec<String> = [display, light].into_iter().flatten().collect();
    (!both.is_empty()).then(|| both.join(":"))
}

fn ratio(value: &Value) -> Option<Ratio> {
    let (num, den) = value.as_str()?.split_once('/')?;
    let ratio = Ratio {
        num: num.parse().ok()?,
        den: den.parse().ok()?,
    };
    (ratio.den > 0).then_some(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(json: &str) -> Origin {
        Origin::new(
            OsStr::new("in.mkv"),
            "in.mkv",
            &serde_json::from_str(json).unwrap(),
        )
    }

    #[test]
    fn what_is_lost_is_said_and_what_is_not_is_not() {
        let of = |stream: &str| {
            origin(&format!(
                r#"{{"streams": [{{"codec_type": "video", {stream}}}]}}"#
            ))
            .lost
        };
        for alpha in [
            r#""pix_fmt": "yuva420p""#,
            r#""pix_fmt": "yuv420p", "tags": {"alpha_mode": "1"}"#,
        ] {
            let said = of(alpha);
            assert!(
                said.len() == 1 && said[0].starts_with("alpha is left out; "),
                "{said:?}"
            );
        }
        assert_eq!(of(r#""pix_fmt": "yuv420p16le""#), [""; 0]);
        assert_eq!(
            of(r#""pix_fmt": "gbrpf32le""#),
            ["its floats become codes of 16 bits"]
        );
        let side_data = r#""side_data_list": [{"side_data_type": "Stereo 3D"}, {"side_data_type": "Display Matrix"}]"#;
        assert_eq!(of(side_data), ["not kept: Stereo 3D"]);
        assert_eq!(
            of(r#""pix_fmt": "yuv420p10le", "start_time": "0.000""#),
            [""; 0]
        );

        let late = r#"{"streams": [{"codec_type": "video", "start_time": "1.48", "avg_frame_rate": "25/1"}],
                       "format": {"start_time": "1.4"}}"#;
        assert_eq!(
            origin(late).lost,
            ["its time begins at 1.480 s, and that of the output at 0"]
        );
        let late = origin(&late.replace(r#""1.4""#, r#""0""#));
        assert!(
            late.lost.is_empty() && (late.start_offset - 1.48).abs() < 1e-9,
            "{late:?}"
        );
    }

    #[test]
    fn streams_are_told_apart() {
        let json = r#"{"streams": [
            {"index": 0, "codec_type": "audio", "codec_name": "aac"},
            {"index": 1, "codec_type": "video"},
            {"index": 2, "codec_type": "video"},
            {"index": 3, "codec_type": "video", "disposition": {"attached_pic": 1}},
            {"index": 4, "codec_type": "subtitle"},
            {"index": 5, "codec_type": "data"}]}"#;
        let all = origin(json);
        let indices = |of: &Origin| of.streams.iter().map(|s| s.index).collect::<Vec<_>>();
        assert_eq!(indices(&all), [0, 3, 4]);
        assert_eq!(all.other_streams(), "audio, cover picture, subtitles");
        assert_eq!(
            all.lost,
            ["left out: further streams of video, streams of data"]
        );
        assert_eq!(indices(&all.without_audio()), [3, 4]);
    }

    #[test]
    fn mastering_is_in_the_units_of_x264() {
        let json = r#"{"streams": [{"codec_type": "video", "side_data_list": [
            {"side_data_type": "Mastering display metadata",
             "red_x": "34000/50000", "red_y": "16000/50000", "green_x": "13250/50000", "green_y": "34500/50000",
             "blue_x": "7500/50000", "blue_y": "3000/50000", "white_point_x": "15635/50000",
             "white_point_y": "16450/50000", "min_luminance": "1/10000", "max_luminance": "1000/1"},
            {"side_data_type": "Content light level metadata", "max_content": 1000, "max_average": 400}]}]}"#;
        assert_eq!(
            origin(json).mastering.as_deref(),
            Some(
                "mastering-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1):cll=1000,400"
            )
        );
    }

    #[test]
    fn rgb_is_tagged_as_it_is_converted() {
        for (pixels, height, space) in [("gbrp", 720, "bt709"), ("rgb24", 576, "smpte170m")] {
            let json = format!(
                r#"{{"streams": [{{"codec_type": "video", "pix_fmt": "{pixels}", "height": {height},
                    "color_space": "gbr", "color_transfer": "iec61966-2-1", "color_primaries": "unknown"}}]}}"#
            );
            let expected = Colour {
                space: Some(space.to_owned()),
                transfer: Some("iec61966-2-1".to_owned()),
                ..Colour::default()
            };
            assert_eq!(origin(&json).colour, expected);
        }
    }

    #[test]
    fn colours_that_readers_assume_are_usual() {
        let of = |space: &str, height| {
            let json =
                format!(r#"{{"streams": [{{"codec_type": "video", "color_space": "{space}"}}]}}"#);
            origin(&json).unusual_colour(height)
        };
        assert_eq!(of("bt709", 1080), "");
        assert_eq!(of("smpte170m", 480), "");
        assert_eq!(of("bt709", 480), "bt709");
        assert_eq!(of("bt2020nc", 2160), "bt2020nc");
    }
}
