//! What a file holds, as far as it matters for the pipe that decodes it.

use std::ffi::OsStr;

use evener_files::{Error as FileError, one_line};

use crate::io::error::Error;
use crate::io::ffmpeg::{Tools, file_argument, output};

/// What a decoding pipe needs to know.
pub(super) struct Probed {
    /// The pixel format to ask FFmpeg for.
    pub(super) pixels: &'static str,
    /// Frames as the container counts them.
    pub(super) frames: Option<u64>,
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
            "stream=pix_fmt,nb_frames",
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
        Some(said) => Ok(Probed {
            pixels: from_ffmpeg(&String::from_utf8_lossy(&said.stderr)).unwrap_or("yuv420p"),
            frames: None,
        }),
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
    let pixels = closest(value("pix_fmt")?).unwrap_or("yuv420p");
    let frames = value("nb_frames")
        .and_then(|n| n.parse().ok())
        .filter(|&n| n > 0);
    Some(Probed { pixels, frames })
}

/// Finds the pixel format in the first line about a video stream:
/// `… Video: h264 (High), yuv420p(tv, bt709), 352x288 …`.
fn from_ffmpeg(description: &str) -> Option<&'static str> {
    let (_, stream) = description.lines().find_map(|l| l.split_once(" Video: "))?;
    stream
        .split(", ")
        .filter_map(|word| word.split('(').next())
        .find_map(closest)
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
    if ["rgb", "bgr", "gbr"].iter().any(|p| name.contains(p)) {
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
        let probed = from_ffprobe("pix_fmt=unknown\nnb_frames=N/A\n").unwrap();
        assert_eq!((probed.pixels, probed.frames), ("yuv420p", None));
        assert!(from_ffprobe("").is_none());

        let text = "  Stream #0:0: Audio: aac\n  Stream #0:1(und): Video: h264 (High) (avc1 / 0x31637661), \
                    yuvj422p(pc, bt709, progressive), 1920x1080 [SAR 1:1 DAR 16:9], 25 fps\n";
        assert_eq!(from_ffmpeg(text), Some("yuvj422p"));
        assert_eq!(from_ffmpeg("x: No such file"), None);
    }
}
