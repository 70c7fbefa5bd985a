//! `format`: chroma layout, depth and range by FFmpeg's names of pixel formats.

use super::{Arg, Entry, Filter, Role, resize};
use crate::format::{Chroma, ColourRange, Depth, Format, Size, Video};
use crate::graph::bind::Inputs;
use crate::graph::plane::Port;
use crate::stage::{GREY, Plane};
use crate::weights::Method;

pub const ENTRY: Entry = Entry {
    name: "format",
    aliases: &[],
    about: "change chroma layout, depth and range, by FFmpeg's names",
    args: &[Arg::required(
        "pix_fmts",
        "pixel formats such as yuv420p, yuv444p10le or gray, separated by `|`; the first that is there is taken",
    )],
    role: Role::EveryPlane,
    build: |args| {
        let kinds = args.parsed("pix_fmts", |text| {
            let kinds: Vec<Kind> = text.split('|').filter_map(Kind::of).collect();
            match kinds.is_empty() {
                true => {
                    Err("it is no format that is known here, such as yuv420p or gray".to_owned())
                }
                false => Ok(kinds),
            }
        })?;
        Ok(Box::new(To { kinds }))
    },
};

/// What a name says of a format.
#[derive(Clone, Copy, PartialEq)]
struct Kind {
    chroma: Chroma,
    depth: Depth,
    /// `None` if it stays as it is.
    range: Option<ColourRange>,
}

impl Kind {
    fn of(name: &str) -> Option<Kind> {
        let name = name.strip_suffix("le").unwrap_or(name);
        let full = Some(ColourRange::Full);
        let kind = |chroma, depth, range| {
            Some(Kind {
                chroma,
                depth,
                range,
            })
        };
        match name {
            "nv12" | "nv21" | "yuva420p" => return kind(Chroma::C420, Depth::U8, None),
            "yuyv422" | "uyvy422" | "yuva422p" => return kind(Chroma::C422, Depth::U8, None),
            "yuva444p" => return kind(Chroma::C444, Depth::U8, None),
            "p010" => return kind(Chroma::C420, Depth::U10, None),
            "yuvj420p" => return kind(Chroma::C420, Depth::U8, full),
            "yuvj422p" => return kind(Chroma::C422, Depth::U8, full),
            "yuvj444p" => return kind(Chroma::C444, Depth::U8, full),
            // Frames from files are never red, green and blue here; nothing is lost at 4:4:4.
            "rgb24" | "bgr24" | "gbrp" | "rgba" | "bgra" | "argb" | "abgr" | "rgb0" | "bgr0"
            | "0rgb" | "0bgr" => return kind(Chroma::C444, Depth::U8, None),
            _ => {}
        }
        let layouts = [
            ("yuv420p", Chroma::C420, None),
            ("yuv422p", Chroma::C422, None),
            ("yuv444p", Chroma::C444, None),
            ("gray", Chroma::Mono, full),
        ];
        let depths = [
            ("", Depth::U8),
            ("8", Depth::U8),
            ("10", Depth::U10),
            ("12", Depth::U12),
            ("16", Depth::U16),
        ];
        layouts.into_iter().find_map(|(layout, chroma, range)| {
            let bits = name.strip_prefix(layout)?;
            let (_, depth) = depths.into_iter().find(|(digits, _)| *digits == bits)?;
            kind(chroma, depth, range)
        })
    }

    fn applied(self, format: &Format) -> Format {
        let Kind {
            chroma,
            depth,
            range,
        } = self;
        // Gray is of full range for FFmpeg, and what is made of it stays so.
        let range = range.unwrap_or(format.range);
        Format {
            chroma,
            depth,
            range,
            ..*format
        }
    }
}

struct To {
    kinds: Vec<Kind>,
}

impl Filter for To {
    fn video(&self, inputs: &[Video]) -> Result<Video, String> {
        let Video { format, timing } = inputs[0];
        if format.chroma == Chroma::Rgb || format.depth == Depth::F32 {
            return Err(
                "frames of floats, or of red, green and blue, keep their format".to_owned(),
            );
        }
        let mut formats = self.kinds.iter().map(|kind| kind.applied(&format));
        let same = formats.clone().any(|to| to == format);
        let format = match (same, formats.next()) {
            (false, Some(to)) => to,
            _ => format,
        };
        Ok(Video { format, timing })
    }

    fn join(&self, plane: &Plane, size: Size, inputs: &mut Inputs<'_, '_>) -> Port {
        if inputs.plane() >= inputs.format(0).planes() {
            return Port::Constant(GREY);
        }
        match inputs.own() {
            Port::Constant(value) => Port::Constant(value),
            port if plane.size == size => port,
            port => resize::push(Method::Bicubic, plane.size, size, port, inputs.graph()),
        }
    }
}
