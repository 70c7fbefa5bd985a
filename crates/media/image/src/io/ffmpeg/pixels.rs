//! FFmpeg's names of pixel formats, and what frames keep of them.

use crate::format::ColourRange;

/// The pixel formats that frames have.
pub(super) const ALL: [&str; 19] = [
    "gray",
    "yuv420p",
    "yuv422p",
    "yuv444p",
    "yuvj420p",
    "yuvj422p",
    "yuvj444p",
    "gray10le",
    "yuv420p10le",
    "yuv422p10le",
    "yuv444p10le",
    "gray12le",
    "yuv420p12le",
    "yuv422p12le",
    "yuv444p12le",
    "gray16le",
    "yuv420p16le",
    "yuv422p16le",
    "yuv444p16le",
];

/// The pixel format of y4m that keeps the most of an FFmpeg pixel format; `None` for unknown names.
///
/// The `j` of full-range formats is kept, so that FFmpeg does not squeeze their range.
pub(super) fn closest(name: &str) -> Option<&'static str> {
    let of = |chroma| {
        let deep = match bits(name) {
            ..=8 => "",
            9 | 10 => "10le",
            11 | 12 => "12le",
            _ => "16le",
        };
        let wanted = format!("{chroma}{deep}");
        ALL.into_iter().find(|one| *one == wanted)
    };
    let family = |chroma: &str| match chroma {
        "420" | "410" => of("yuv420p"),
        "422" | "411" => of("yuv422p"),
        "444" | "440" => of("yuv444p"),
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
        && let Some((chroma, _)) = rest.split_once('p')
    {
        return family(chroma);
    }
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
    match name {
        "monow" | "monob" => of("gray"),
        "nv12" | "nv21" => of("yuv420p"),
        "nv16" | "yuyv422" | "uyvy422" | "yvyu422" | "uyyvyy411" => of("yuv422p"),
        "nv24" | "nv42" | "ayuv" | "vuya" | "vuyx" => of("yuv444p"),
        _ if starts(&["gray", "ya8", "ya16"]) => of("gray"),
        _ if starts(&["p010", "p012", "p016"]) => of("yuv420p"),
        _ if starts(&["p21", "nv20", "y21", "v210"]) => of("yuv422p"),
        _ if starts(&["p41", "ayuv64", "xyz12", "xv3", "v30x"]) => of("yuv444p"),
        _ if is_rgb(name) => of("yuv444p"),
        _ => None,
    }
}

/// Bits of a sample of a pixel format; 32 for floats of any size.
pub(super) fn bits(name: &str) -> u32 {
    const BITS: [(u32, &[&str]); 6] = [
        (32, &["f16", "f32"]),
        (
            16,
            &[
                "p16", "y16", "ya16", "p016", "rgb48", "bgr48", "rgba64", "bgra64", "ayuv64",
                "p216", "p416",
            ],
        ),
        (14, &["p14", "gray14"]),
        (
            12,
            &[
                "p12", "gray12", "p012", "xyz12", "y212", "p212", "p412", "xv36",
            ],
        ),
        (
            10,
            &[
                "p10", "gray10", "p010", "y210", "v210", "p210", "p410", "nv20", "x2", "xv30",
                "v30x",
            ],
        ),
        (9, &["p9", "gray9"]),
    ];
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let found = BITS.iter().find(|(_, parts)| has(parts));
    found.map_or(8, |&(bits, _)| bits)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_format_keeps_chroma_depth_and_range() {
        for (names, expected) in [
            ("yuv420p nv12 nv21 yuva420p yuv410p", "yuv420p"),
            ("yuvj420p", "yuvj420p"),
            ("yuv420p10le yuv420p9be p010le", "yuv420p10le"),
            ("yuv420p12le p012le", "yuv420p12le"),
            ("yuva420p16le p016be yuv420p14be", "yuv420p16le"),
            ("yuv422p yuv411p yuyv422 uyvy422 nv16", "yuv422p"),
            ("yuvj422p", "yuvj422p"),
            ("yuv422p10le nv20le p210le y210le v210", "yuv422p10le"),
            ("yuva422p12be y212le", "yuv422p12le"),
            ("yuv422p16be p216le", "yuv422p16le"),
            (
                "yuv444p yuv440p yuva444p rgb24 bgra 0rgb rgb565le gbrp gbrap pal8 nv24",
                "yuv444p",
            ),
            ("yuvj444p yuvj440p", "yuvj444p"),
            (
                "yuv444p10le yuv440p10le gbrp10le x2rgb10le p410le",
                "yuv444p10le",
            ),
            ("gbrap12le xyz12le xv36le yuv440p12le", "yuv444p12le"),
            (
                "rgb48be rgba64le gbrpf32le gbrp14be ayuv64le",
                "yuv444p16le",
            ),
            ("gray ya8 monow", "gray"),
            ("gray9le gray10le", "gray10le"),
            ("gray12le", "gray12le"),
            ("gray14le gray16be grayf32le ya16be", "gray16le"),
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
        for (names, expected) in [
            ("yuv420p gray rgb24 nv12 ya8 pal8 bgr555le", 8),
            ("yuv420p9le gray9be", 9),
            ("yuv420p10le p010le gray10le x2rgb10le v210", 10),
            ("yuv422p12le gray12be gbrp12le p012le xyz12le y212le", 12),
            ("yuv444p14le gbrp14be gray14le", 14),
            (
                "yuv444p16le gray16le rgb48be rgba64le p016le ya16le p216le",
                16,
            ),
            ("grayf32le gbrpf32le", 32),
        ] {
            for name in names.split(' ') {
                assert_eq!(bits(name), expected, "{name}");
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
