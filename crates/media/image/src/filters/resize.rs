//! `resize`: another size, pixel centres aligned: output x lies at (x + ½)·scale − ½. Where a side shrinks, the windows of
//! outputs grow with the ratio: see [`Method`].

use std::sync::Arc;

use super::shrink::{self, Direction};
use super::warp::{Affine, Warp};
use super::{Arg, Entry, Filter, Role};
use crate::format::Size;
use crate::graph::args::{ArgError, Args};
use crate::graph::expression::{INPUT_AND_HEIGHT, INPUT_AND_OUTPUT};
use crate::graph::length::{self, Length, Range};
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::bilinear::Border;
use crate::stage::Plane;
use crate::weights::{Method, Separable, Weights};

const W: &str = "the new width; -1 keeps the aspect, -2 too, and gives an even number";
const H: &str = "the new height; -1 and -2 as for the width";
const FLAGS: &str = "the method: bilinear, bicubic, lanczos, area or neighbor; \
    more flags of FFmpeg, joined by +, change nothing";

/// Names of methods, all that FFmpeg has for those that are here.
const METHODS: [(&str, Method); 2] = [
    // Spelled so in other places.
    ("neighbour", Method::Neighbor),
    // FFmpeg computes it faster and less well.
    ("fast_bilinear", Method::Bilinear),
];

/// Flags of FFmpeg's scaler about its arithmetic, which is always the better one here, and about what it prints.
const OTHERS: [&str; 6] = [
    "accurate_rnd",
    "full_chroma_int",
    "full_chroma_inp",
    "bitexact",
    "error_diffusion",
    "print_info",
];

pub const ENTRY: Entry = Entry {
    name: "resize",
    aliases: &[],
    about: "resize to w:h luma samples, smoothed when shrinking",
    args: &[
        Arg::length("w", None, W).also(&["width"]),
        Arg::length("h", None, H).also(&["height"]),
        Arg::optional("flags", "bilinear", FLAGS),
    ],
    role: Role::EveryPlane,
    build: |args| Ok(Box::new(Resize::of(args)?)),
};

/// FFmpeg's name.
pub const SCALE: Entry = Entry {
    name: "scale",
    args: &[
        Arg::length("w", Some("iw"), W).also(&["width"]),
        Arg::length("h", Some("ih"), H).also(&["height"]),
        Arg::optional("flags", "bicubic", FLAGS).also(&["sws_flags"]),
        Arg::optional(
            "force_original_aspect_ratio",
            "disable",
            "decrease or increase one side to keep the aspect, or disable",
        ),
        Arg::optional(
            "force_divisible_by",
            "1",
            "what both sides are then multiples of",
        ),
    ],
    build: |args| {
        let force = ["disable", "decrease", "increase", "0", "1", "2"];
        let keep = match args.choice("force_original_aspect_ratio", &force)? % 3 {
            0 => None,
            1 => Some(Keep::Inside),
            _ => Some(Keep::Around),
        };
        let multiple = args.integer("force_divisible_by", 1..=256)?;
        let keep = keep.map(|keep| (keep, multiple));
        let size = match args.given("h") {
            true => None,
            false => args.size("w", Range::Side)?,
        };
        Ok(Box::new(match size {
            Some((w, h)) => Resize {
                w,
                h,
                keep,
                method: method(args)?,
            },
            None => Resize {
                keep,
                ..Resize::of(args)?
            },
        }))
    },
    ..ENTRY
};

/// How the aspect is kept of a size that is given.
#[derive(Clone, Copy)]
enum Keep {
    /// The largest that fits into it.
    Inside,
    /// The smallest that covers it.
    Around,
}

struct Resize {
    w: Length,
    h: Length,
    /// Both sides are multiples of the number then.
    keep: Option<(Keep, u32)>,
    method: Method,
}

/// The method that the flags name, the last one of several.
fn method(args: &Args<'_>) -> Result<Method, ArgError> {
    let known = || Method::NAMES.iter().chain(&METHODS);
    let names: Vec<&str> = known().map(|(name, _)| *name).chain(OTHERS).collect();
    let flags = args.choices("flags", '+', &names)?;
    let methods = flags.into_iter().rev().find_map(|flag| known().nth(flag));
    // Without a method FFmpeg's is bicubic.
    Ok(methods.map_or(Method::Bicubic, |(_, method)| *method))
}

impl Resize {
    fn of(args: &Args<'_>) -> Result<Resize, ArgError> {
        Ok(Resize {
            w: args.length("w", INPUT_AND_HEIGHT, Range::SideOrAspect)?,
            h: args.length("h", INPUT_AND_OUTPUT, Range::SideOrAspect)?,
            keep: None,
            method: method(args)?,
        })
    }

    /// In luma samples.
    fn wanted(&self, plane: &Plane) -> Result<(u32, u32), String> {
        let luma = plane.luma;
        // A width that follows from the height is computed after it.
        let values = length::input_and_height(plane, &self.h);
        let w = self.w.samples(&values)?;
        let values = length::input_and_width(plane, u32::try_from(w).unwrap_or(0));
        let h = self.h.samples(&values)?;
        // A side that follows the other one: `from` of it is to `side` as `other` is to `by`, in multiples.
        let follow = |multiple: i64, from: u32, by: u32, other: i64| {
            let by = i64::from(by) * multiple;
            ((other * i64::from(from) + by / 2) / by).max(1) * multiple
        };
        let (w, h) = match (w, h) {
            (..0, ..0) => {
                let down = |side: u32, to: i64| (i64::from(side) / to).max(1) * to;
                (down(luma.w, -w), down(luma.h, -h))
            }
            (..0, _) => (follow(-w, luma.w, luma.h, h), h),
            (_, ..0) => (w, follow(-h, luma.h, luma.w, w)),
            (w, h) => (w, h),
        };
        let (w, h) = match self.keep {
            None => (w, h),
            Some((keep, multiple)) => {
                let (to_w, to_h) = (follow(1, luma.w, luma.h, h), follow(1, luma.h, luma.w, w));
                let multiple = i64::from(multiple);
                let side = |given: i64, follows: i64| match keep {
                    Keep::Inside => given.min(follows) / multiple * multiple,
                    Keep::Around => (given.max(follows) + multiple - 1) / multiple * multiple,
                };
                (side(w, to_w), side(h, to_h))
            }
        };
        let side = |v: i64| u32::try_from(v).ok().filter(|v| (1..=65536).contains(v));
        match (side(w), side(h)) {
            (Some(w), Some(h)) => Ok((w, h)),
            _ => Err(format!(
                "{luma} would become {w}x{h}; name both sides, from 1 to 65536"
            )),
        }
    }
}

impl Filter for Resize {
    fn stretches(&self) -> bool {
        true
    }

    fn output_size(&self, plane: &Plane) -> Result<Size, String> {
        let (sx, sy) = plane.subsampling;
        let (w, h) = self.wanted(plane)?;
        Ok(Size {
            w: w.div_ceil(sx),
            h: h.div_ceil(sy),
        })
    }

    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        push(self.method, plane.size, size, input, graph)
    }
}

/// Adds the stages that make a plane of size `to` of one of size `from`.
pub(super) fn push(
    method: Method,
    from: Size,
    to: Size,
    input: Port,
    graph: &mut PlaneGraph,
) -> Port {
    let shrinks = (to.w < from.w, to.h < from.h);
    if shrinks != (false, false) || !matches!(method, Method::Bilinear | Method::Area) {
        let columns = (Direction::Horizontal, (from.w, to.w));
        let rows = (Direction::Vertical, (from.h, to.h));
        // A side that shrinks comes first, so that the other stage has less to do; rows, which cost less, before columns.
        let order = if shrinks.1 {
            [rows, columns]
        } else {
            [columns, rows]
        };
        return order.into_iter().fold(input, |input, (direction, sides)| {
            shrink::push(method, direction, sides, input, graph)
        });
    }
    // Where both sides grow, an output reads four samples, which is the kernel of rotations too.
    let scale = |from: u32, to: u32| (f64::from(from) / f64::from(to)) as f32;
    // (x + ½)·scale − ½ is scale·(x − centre of the output) + centre of the input.
    let centre = |size: Size| ((size.w - 1) as f32 / 2.0, (size.h - 1) as f32 / 2.0);
    let map = Affine {
        centre: centre(to),
        target: centre(from),
        x: (scale(from.w, to.w), 0.0),
        y: (0.0, scale(from.h, to.h)),
    };
    let windows = |from, to| Some(Arc::new(Weights::resampling(Method::Bilinear, from, to)));
    let warp = Warp {
        name: "resize",
        map,
        size: from,
        border: Border::Replicate,
        weight: 36.0,
        windows: Some(Separable::Windows(
            windows(from.w, to.w),
            windows(from.h, to.h),
        )),
        before: None,
        after: None,
    };
    graph.push(warp.stage(), &[input], to)
}
