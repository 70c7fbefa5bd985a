//! Which formats of video filters take.

use evener_image::{Chroma, ColourRange, Depth, Format};
use gst_video::{VideoColorRange, VideoFormat, VideoInfo};

/// A format of GStreamer, and what it is for filters. Codes of two bytes are in the machine's order.
const TABLE: &[(VideoFormat, Chroma, Depth)] = &[
    (VideoFormat::Gray8, Chroma::Mono, Depth::U8),
    (VideoFormat::I420, Chroma::C420, Depth::U8),
    (VideoFormat::Y42b, Chroma::C422, Depth::U8),
    (VideoFormat::Y444, Chroma::C444, Depth::U8),
    (VideoFormat::I42010le, Chroma::C420, Depth::U10),
    (VideoFormat::I42210le, Chroma::C422, Depth::U10),
    (VideoFormat::Y44410le, Chroma::C444, Depth::U10),
    (VideoFormat::I42012le, Chroma::C420, Depth::U12),
    (VideoFormat::I42212le, Chroma::C422, Depth::U12),
    (VideoFormat::Y44412le, Chroma::C444, Depth::U12),
];

/// The formats, as caps name them.
pub fn names() -> impl Iterator<Item = VideoFormat> {
    TABLE.iter().map(|&(format, ..)| format)
}

/// What frames of `info` are for filters, if they take them.
pub fn read(info: &VideoInfo) -> Option<Format> {
    let found = TABLE.iter().find(|(format, ..)| *format == info.format());
    let &(_, chroma, depth) = found?;
    let range = match info.colorimetry().range() {
        VideoColorRange::Range0_255 => ColourRange::Full,
        _ => ColourRange::Limited,
    };
    Some(Format {
        width: info.width(),
        height: info.height(),
        chroma,
        depth,
        range,
    })
}

/// The frames that `format` is, with the rate and the colours of `input`.
pub fn write(format: &Format, input: &VideoInfo) -> Option<VideoInfo> {
    let of = |&&(_, chroma, depth): &&(VideoFormat, Chroma, Depth)| {
        (chroma, depth) == (format.chroma, format.depth)
    };
    let &(name, ..) = TABLE.iter().find(of)?;
    let info = VideoInfo::builder(name, format.width, format.height)
        .fps(input.fps())
        .par(input.par())
        .interlace_mode(input.interlace_mode())
        .colorimetry(&input.colorimetry());
    info.build().ok()
}
