//! FFmpeg's names of pixel formats, and what frames keep of them.

use crate::format::ColourRange;

/// The pixel format of y4m that keeps the most of an FFmpeg pixel format; `None` for unknown names.
///
/// The `j` of full-range formats is kept, so that FFmpeg does not squeeze their range.
pub(super) fn closest(name: &str) -> Option<&'static str> {
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

/// The range of a pixel format with the tag `pc` or `tv`; `None` for RGB, which is converted.
pub(super) fn range(name: &str, tag: &str) -> Option<ColourRange> {
    match tag {
        _ if name.starts_with("yuvj") => Some(ColourRange::Full),
        _ if closest(name).is_none() || is_rgb(name) => None,
        "pc" => Some(ColourRange::Full),
        "tv" => Some(ColourRange::Limited),
        _ => None,
    }
}

/// Whether a pixel format is of red, green and blue, or of colours in a palette.
pub(super) fn is_rgb(name: &str) -> bool {
    name == "pal8" || ["rgb", "bgr", "gbr"].iter().any(|p| name.contains(p))
}

/// Whether a pixel format has a plane or channel of alpha.
pub(super) fn has_alpha(name: &str) -> bool {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
    starts(&[
        "yuva", "ya8", "ya16", "gbrap", "rgba", "bgra", "argb", "abgr", "ayuv", "vuya",
    ])
}

/// Bits of a sample, if they are more than the 10 of the deepest frames; 32 for floats of any size.
pub(super) fn too_deep(name: &str) -> Option<u32> {
    let has = |parts: &[&str]| parts.iter().any(|p| name.contains(p));
    let bits = if has(&["f16", "f32"]) {
        32
    } else if has(&[
        "p16", "y16", "ya16", "p016", "rgb48", "bgr48", "rgba64", "bgra64", "ayuv64",
    ]) || ["p216", "p416"].iter().any(|p| name.starts_with(p))
    {
        16
    } else if has(&["p14", "gray14"]) {
        14
    } else if has(&[
        "p12", "gray12", "p012", "xyz12", "y212", "p212", "p412", "xv36",
    ]) {
        12
    } else {
        return None;
    };
    Some(bits)
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
    fn what_frames_cannot_keep_is_known_by_name() {
        for name in [
            "yuva420p",
            "yuva444p12le",
            "rgba",
            "bgra",
            "gbrap",
            "ya8",
            "rgba64le",
        ] {
            assert!(has_alpha(name), "{name}");
        }
        for name in ["yuv420p", "rgb24", "rgb0", "gbrp", "gray", "nv12", "pal8"] {
            assert!(!has_alpha(name), "{name}");
        }
        for (names, bits) in [
            (
                "yuv420p yuv420p9le yuv420p10le p010le gray gray10le x2rgb10le rgb24 v210",
                None,
            ),
            (
                "yuv422p12le gray12be gbrp12le p012le xyz12le y212le",
                Some(12),
            ),
            ("yuv444p14le gbrp14be gray14le", Some(14)),
            (
                "yuv444p16le gray16le rgb48be rgba64le p016le ya16le p216le",
                Some(16),
            ),
            ("grayf32le gbrpf32le", Some(32)),
        ] {
            for name in names.split(' ') {
                assert_eq!(too_deep(name), bits, "{name}");
            }
        }
    }

    #[test]
    fn a_tag_says_the_range_but_of_rgb() {
        let (full, limited) = (Some(ColourRange::Full), Some(ColourRange::Limited));
        for (name, tag, expected) in [
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
            assert_eq!(range(name, tag), expected, "{name} {tag}");
        }
    }
}
