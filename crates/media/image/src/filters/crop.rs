//! `crop`: a part of the frame: a centred share, or a size in luma samples, centred unless a position is given.

use std::sync::Arc;

use evener_runtime::Simd;

use super::{Arg, Entry, Filter, Role};
use crate::device::{DeviceStage, View};
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::expression::{AT_MOMENT, INPUT, INPUT_AND_OUTPUT};
use crate::graph::length::{self, Length, Range};
use crate::graph::plane::{PlaneGraph, Port};
use crate::row_view::RowView;
use crate::sequence::{Moment, Still};
use crate::stage::{Plane, RowContext, Stage};

pub const ENTRY: Entry = Entry {
    name: "crop",
    aliases: &[],
    about: "keep part of the frame: a centred fraction, or w:h:x:y in luma samples, centred by default",
    args: &[
        Arg::alone(
            "fraction",
            "0.8",
            "the fraction of width and height to keep",
        ),
        Arg::length("w", Some("iw"), "the width to keep").also(&["out_w"]),
        Arg::length("h", Some("ih"), "the height to keep").also(&["out_h"]),
        Arg::length("x", Some("(iw-ow)/2"), "the columns to drop on the left"),
        Arg::length("y", Some("(ih-oh)/2"), "the rows to drop at the top"),
    ],
    role: Role::EveryPlane,
    build: |args| {
        if !["w", "h", "x", "y"].iter().any(|name| args.given(name)) {
            return Ok(Box::new(Crop::Fraction(args.share("fraction")?)));
        }
        let part = Part {
            w: args.length("w", INPUT, Range::Side)?,
            h: args.length("h", INPUT_AND_OUTPUT, Range::Side)?,
            x: args.length("x", AT_MOMENT, Range::Inside)?,
            y: args.length("y", AT_MOMENT, Range::Inside)?,
            moving: false,
        };
        Ok(Box::new(Crop::Part(Box::new(part))))
    },
};

/// The values of the number and the time of a frame, in expressions.
const N: usize = 7;
const T: usize = 8;

enum Crop {
    /// Centred, this share of each side.
    Fraction(f64),
    /// A size and a position.
    Part(Box<Part>),
}

/// In luma samples.
#[derive(Clone)]
struct Part {
    w: Length,
    h: Length,
    x: Length,
    y: Length,
    /// The position changes with time, and what would reach outside is moved inside.
    moving: bool,
}

/// What is kept of a plane.
struct Kept {
    size: Size,
    x: u32,
    y: u32,
}

impl Crop {
    /// Size and offset on luma; offsets are not rounded to whole chroma samples yet.
    fn wanted(&self, plane: &Plane) -> Result<Kept, String> {
        let (luma, (cx, cy)) = (plane.luma, plane.chroma_subsampling);
        // Sizes are rounded to whole chroma samples before centring; rounding afterwards would miss the centre.
        match self {
            Crop::Part(part) => {
                let Part { w, h, x, y, moving } = &**part;
                let values = length::input(plane);
                let w = w.nearest(&values)?;
                let h = h.nearest(&length::input_and_width(plane, w))?;
                if w > luma.w || h > luma.h {
                    return Err(format!(
                        "{w}x{h} reaches outside the {luma} it is cut from; make it smaller"
                    ));
                }
                let size = Size {
                    w: w / cx * cx,
                    h: h / cy * cy,
                };
                let values = length::input_and_output(plane, (size.w, size.h));
                if *moving {
                    let inside =
                        |v: f64, most: u32| v.clamp(0.0, f64::from(most)).round_ties_even() as u32;
                    return Ok(Kept {
                        size,
                        x: inside(x.value(&values), luma.w - size.w),
                        y: inside(y.value(&values), luma.h - size.h),
                    });
                }
                let (x, y) = (x.nearest(&values)?, y.nearest(&values)?);
                Ok(Kept { size, x, y })
            }
            Crop::Fraction(fraction) => {
                // Fractions are decimal: 0.29 of 100 is 29, though the nearest binary number gives a little less.
                let share = |side: u32| (f64::from(side) * fraction + 1e-9).floor() as u32;
                let size = Size {
                    w: share(luma.w).min(luma.w) / cx * cx,
                    h: share(luma.h).min(luma.h) / cy * cy,
                };
                Ok(Kept {
                    size,
                    x: (luma.w - size.w) / 2,
                    y: (luma.h - size.h) / 2,
                })
            }
        }
    }

    /// Size and offset on a plane.
    fn kept(&self, plane: &Plane) -> Result<Kept, String> {
        let (luma, chroma) = (plane.luma, plane.chroma_subsampling);
        let Kept { size, x, y } = self.wanted(plane)?;
        if u64::from(size.w) + u64::from(x) > u64::from(luma.w)
            || u64::from(size.h) + u64::from(y) > u64::from(luma.h)
        {
            return Err(format!(
                "{size} at {x},{y} reaches outside the {luma} it is cut from; make it smaller"
            ));
        }
        let (cx, cy) = chroma;
        let (sx, sy) = plane.subsampling;
        let on_plane = |v: u32, chroma: u32, own: u32| v / chroma * chroma / own;
        let kept = Kept {
            size: Size {
                w: on_plane(size.w, cx, sx),
                h: on_plane(size.h, cy, sy),
            },
            x: on_plane(x, cx, sx),
            y: on_plane(y, cy, sy),
        };
        if kept.size.area() == 0 {
            return Err(format!(
                "nothing would be left of {luma}; keep at least {cx}x{cy}"
            ));
        }
        Ok(kept)
    }
}

impl Filter for Crop {
    fn at(&self, moment: &Moment) -> Option<Still> {
        let Crop::Part(part) = self else { return None };
        if !part.x.moves(N, T) && !part.y.moves(N, T) {
            return None;
        }
        let still = Part {
            x: part.x.at((N, T), moment),
            y: part.y.at((N, T), moment),
            moving: true,
            ..(**part).clone()
        };
        Some(Still {
            key: vec![moment.n],
            filter: Arc::new(Crop::Part(Box::new(still))),
        })
    }

    fn output_size(&self, plane: &Plane) -> Result<Size, String> {
        Ok(self.kept(plane)?.size)
    }

    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        // `output_size` has refused crops that do not fit.
        let (dx, dy) = self
            .kept(plane)
            .map_or((0, 0), |kept| (kept.x as i32, kept.y as i32));
        graph.push(Arc::new(CropStage { dx, dy }), &[input], size)
    }
}

#[derive(Debug)]
struct CropStage {
    dx: i32,
    dy: i32,
}

impl Stage for CropStage {
    fn name(&self) -> &'static str {
        "crop"
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        taps.push((x + self.dx, y + self.dy));
    }

    fn offsets(&self) -> Option<Vec<(i32, i32)>> {
        Some(vec![(self.dx, self.dy)])
    }

    fn combine(&self, _x: i32, _y: i32, samples: &[f32]) -> f32 {
        samples[0]
    }

    fn combine_run(&self, _simd: Simd, samples: &[f32], out: &mut [f32]) {
        out.copy_from_slice(samples);
    }

    fn source(&self, out: Rect) -> Rect {
        out.shift(self.dx, self.dy)
    }

    fn row(&self, _: &mut RowContext<'_>, input: &[RowView<'_>], y: i32, x0: i32, out: &mut [f32]) {
        let from = (x0 + self.dx - input[0].rect().x0) as usize;
        out.copy_from_slice(&input[0].row(y + self.dy)[from..from + out.len()]);
    }

    fn translation(&self) -> Option<(i32, i32)> {
        Some((self.dx, self.dy))
    }

    fn device(&self) -> Option<DeviceStage> {
        Some(DeviceStage::View(View {
            x: (self.dx, 1),
            y: (self.dy, 1),
        }))
    }

    fn weight(&self) -> f64 {
        1.0
    }
}
