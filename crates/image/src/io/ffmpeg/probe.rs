//! What a file holds, as far as it matters for the pipe that decodes it.

use std::ffi::OsStr;

use evener_files::{Error as FileError, one_line};

use crate::format::ColourRange;
use crate::io::error::Error;
use crate::io::ffmpeg::{Tools, file_argument, output};

/// What a decoding pipe needs to know.
pub(super) struct Probed {
    /// The pixel format to ask FFmpeg for.
    pub(super) pixels: &'static str,
    /// Frames as the container counts them.
    pub(super) frames: Option<u64>,
    /// The range of the codes, where the stream has a tag for it and is not RGB, which is converted.
    pub(super) range: Option<ColourRange>,
}

/// Asks `ffprobe`, or where it is not installed `ffmpeg`, about the first video stream.
///
/// # Errors
/// Neither is installed, or the file cannot be read.
pub(super) fn probe(tools: &Tools, name: &str, input: &OsStr) -> Result<Probed, Error> {
    let file = file_argument(input);
    let arguments: Vec<&OsStr> = ["-v", "error", "-select_streams", "V:0", "-show_entries"]
        .into_iter()
        .chain([
            "stream=pix_fmt,nb_frames,color_range",
            "-of",
            "default=noprint_wrappers=1",
        ])
        .map(OsStr::new)
        .chain([OsStr::new("-i"), file.as_os_str()])
        .collect();
    if let Some(said) = output(name, &tools.ffprobe, &arguments)? {
        if !said.status.success() {
            let words = String::from_utf8_lossy(&said.stderr);
            let said = match words.lines().rfind(|l| !l.trim().is_empty()) {
                Some(line) => one_line(line.trim()),
                None => said.status.to_string(),
            };
            let program = one_line(&tools.ffprobe.to_string_lossy());
            return Err(Error::Ffmpeg {
                name: name.to_owned(),
                program,
                frames: 0,
                said,
            });
        }
        return from_ffprobe(&String::from_utf8_lossy(&said.stdout)).ok_or_else(|| {
            let reason = "holds no video; give a file that ffprobe finds a video stream in";
            let name = name.to_owned();
            FileError::Unfit { name, reason }.into()
        });
    }
    // Without an output this fails by design, after it has described the input.
    let arguments: Vec<&OsStr> = ["-hide_banner", "-nostdin", "-i"]
        .into_iter()
        .map(OsStr::new)
        .chain([file.as_os_str()])
        .collect();
    match output(name, &tools.ffmpeg, &arguments)? {
        Some(said) => {
            let found = from_ffmpeg(&String::from_utf8_lossy(&said.stderr));
            let (pixels, range) = found.unwrap_or(("yuv420p", None));
            Ok(Probed {
                pixels,
                frames: None,
                range,
            })
        }
        None => Err(Error::NoProgram {
            name: name.to_owned(),
            program: one_line(&tools.ffmpeg.to_string_lossy()),
        }),
    }
}

/// Reads `key=value` lines; `None` without a video stream.
fn from_ffprobe(lines: &str) -> Option<Probed> {
    let value = |key| {
        lines
            .lines()
            .find_map(|l| l.trim().strip_prefix(key)?.strip_prefix('='))
    };
    let name = value("pix_fmt")?;
    let pixels = closest(name).unwrap_or("yuv420p");
    let range = range(name, value("color_range").unwrap_or_default());
    let frames = value("nb_frames")
        .and_then(|n| n.parse().ok())
        .filter(|&n| n > 0);
    Some(Probed {
        pixels,
        frames,
        range,
    })
}

/// The range of the codes of a pixel format with the tag `pc` or `tv`, unless they are RGB.
fn range(pixels: &str, tag: &str) -> Option<ColourRange> {
    let has = |prefix| pixels.starts_with(prefix);
    match tag {
        _ if has("yuvj") => Some(ColourRange::Full),
        _ if closest(pixels).is_none() || is_rgb(pixels) => None,
        "pc" => Some(ColourRange::Full),
        "tv" => Some(ColourRange::Limited),
        _ => None,
    }
}

/// Whether a pixel format is of red, green and blue, or of colours in a palette.
fn is_rgb(pixels: &str) -> bool {
    pixels == "pal8" || ["rgb", "bgr", "gbr"].iter().any(|p| pixels.contains(p))
}

/// Finds the pixel format in the first line about a video stream:
/// `… Video: h264 (High), yuv420p(tv, bt709), 352x288 …`.
fn from_ffmpeg(description: &str) -> Option<(&'static str, Option<ColourRange>)> {
    let (_, stream) = description.lines().find_map(|l| l.split_once(" Video: "))?;
    stream.split(", ").find_map(|word| {
        let (name, tags) = word.split_once('(').unwrap_or((word, ""));
        let tag = tags.trim_end_matches(')');
        Some((closest(name)?, range(name, tag)))
    })
}

/// The pixel format of y4m that keeps the most of an FFmpeg pixel format; `None` for unknown names.
///
/// The `j` of full-range formats is kept, so that FFmpeg does not squeeze their range.
fn closest(name: &str) -> Option<&'static str> {
    let family = |chroma: &str, deep: bool| match (chroma, deep) {
        ("420" | "410", false) => Some("yuv420p"),
        ("420", true) => Some("yuv420p10le"),
        ("422" | "411", false) => Some("yuv422p"),
        ("422", true) => Some("yuv422p10le"),
        ("444" | "440", false) => Some("yuv444p"),
        ("444" | "440", true) => Some("yuv444p10le"),
        _ => None,
    };
    if let Some(rest) = name.strip_prefix("yuvj") {
        return match rest {
            "420p" => Some("yuvj420p"),
            "422p" | "411p" => Some("yuvj422p"),
            "444p" | "440p" => Some("yuvj444p"),
            _ => None,
        };
    }
    if let Some(rest) = name
        .strip_prefix("yuva")
        .or_else(|| name.strip_prefix("yuv"))
        && let Some((chroma, depth)) = rest.split_once('p')
    {
        return family(chroma, !depth.is_empty());
    }
    if let Some(depth) = name.strip_prefix("gray") {
        return Some(if depth.is_empty() { "gray" } else { "gray10le" });
    }
    match name {
        "ya8" | "monow" | "monob" => return Some("gray"),
        "ya16le" | "ya16be" => return Some("gray10le"),
        "nv12" | "nv21" => return family("420", false),
        "nv16" | "yuyv422" | "uyvy422" | "yvyu422" | "uyyvyy411" => return family("422", false),
        "nv24" | "nv42" | "pal8" | "ayuv" | "vuya" | "vuyx" => return family("444", false),
        _ => {}
    }
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
    if starts(&["p010", "p012", "p016"]) {
        return family("420", true);
    }
    if starts(&["p21", "nv20", "y21", "v210"]) {
        return family("422", true);
    }
    if starts(&["p41", "ayuv64", "xyz12", "xv3", "v30x"]) {
        return family("444", true);
    }
    if is_rgb(name) {
        let deep = [
            "48", "64", "f16", "f32", "p9", "p10", "p12", "p14", "p16", "x2",
        ];
        return family("444", deep.iter().any(|d| name.contains(d)));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_format_keeps_chroma_depth_and_range() {
        for (names, expected) in [
            ("yuv420p nv12 nv21 yuva420p yuv410p", "yuv420p"),
            ("yuvj420p", "yuvj420p"),
            (
                "yuv420p10le yuv420p9be yuv420p12le yuva420p16le p010le p016be",
                "yuv420p10le",
            ),
            ("yuv422p yuv411p yuyv422 uyvy422 nv16", "yuv422p"),
            ("yuvj422p", "yuvj422p"),
            (
                "yuv422p10le yuva422p12be nv20le p210le y210le",
                "yuv422p10le",
            ),
            (
                "yuv444p yuv440p yuva444p rgb24 bgra 0rgb rgb565le gbrp gbrap pal8 nv24",
                "yuv444p",
            ),
            ("yuvj444p yuvj440p", "yuvj444p"),
            (
                "yuv444p10le gbrp10le gbrap12le rgb48be rgba64le gbrpf32le x2rgb10le p410le",
                "yuv444p10le",
            ),
            ("gray ya8 monow", "gray"),
            (
                "gray9le gray10le gray12le gray16be grayf32le ya16be",
                "gray10le",
            ),
        ] {
            for name in names.split(' ') {
                assert_eq!(closest(name), Some(expected), "{name}");
            }
        }
        for unknown in ["h264", "vaapi", "352x288", "25 fps", "", "yuv", "yuv4"] {
            assert_eq!(closest(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn descriptions_are_read() {
        let probed = from_ffprobe("pix_fmt=yuv420p10le\nnb_frames=300\n").unwrap();
        assert_eq!((probed.pixels, probed.frames), ("yuv420p10le", Some(300)));
        assert_eq!(probed.range, None);
        let probed = from_ffprobe("pix_fmt=unknown\nnb_frames=N/A\n").unwrap();
        assert_eq!((probed.pixels, probed.frames), ("yuv420p", None));
        assert!(from_ffprobe("").is_none());

        let text = "  Stream #0:0: Audio: aac\n  Stream #0:1(und): Video: h264 (High) (avc1 / 0x31637661), \
                    yuvj422p(pc, bt709, progressive), 1920x1080 [SAR 1:1 DAR 16:9], 25 fps\n";
        let full = Some(ColourRange::Full);
        assert_eq!(from_ffmpeg(text), Some(("yuvj422p", full)));
        let text = text.replace("yuvj422p(pc, ", "yuv422p(tv, ");
        assert_eq!(
            from_ffmpeg(&text),
            Some(("yuv422p", Some(ColourRange::Limited)))
        );
        let text = text.replace("(tv, bt709, progressive)", "");
        assert_eq!(from_ffmpeg(&text), Some(("yuv422p", None)));
        assert_eq!(from_ffmpeg("x: No such file"), None);
    }

    #[test]
    fn a_tag_says_the_range_but_of_rgb() {
        let (full, limited) = (Some(ColourRange::Full), Some(ColourRange::Limited));
        for (pixels, tag, expected) in [
            ("yuv420p", "pc", full),
            ("yuv420p10le", "tv", limited),
            ("yuvj420p", "unknown", full),
            ("nv12", "pc", full),
            ("gray", "tv", limited),
            ("yuv420p", "unknown", None),
            ("yuv420p", "", None),
            ("rgb24", "pc", None),
            ("gbrp10le", "pc", None),
            ("pal8", "pc", None),
            ("unknown", "pc", None),
        ] {
            let lines = format!("pix_fmt={pixels}\ncolor_range={tag}\n");
            let probed = from_ffprobe(&lines).unwrap();
            assert_eq!(probed.range, expected, "{pixels} {tag}");
        }
    }
}
