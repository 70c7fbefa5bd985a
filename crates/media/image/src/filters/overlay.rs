//! `overlay`: a picture over the frame, as opaque as it says: v + opacity·(picture - v).

use std::sync::Arc;

use super::{Arg, Entry, Filter, Role};
use crate::for_each_level;
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::expression::Names;
use crate::graph::length::{Length, Range};
use crate::graph::plane::{PlaneGraph, Port};
use crate::io::ffmpeg::Picture;
use crate::row_view::RowView;
use crate::sequence::{Moment, Still};
use crate::stage::{Component, Plane, RowContext, Stage};

/// The sizes of frame and picture, by FFmpeg's names, and the number and the time of a frame.
pub(crate) const NAMES: Names = &[
    ("W", 0),
    ("H", 1),
    ("w", 2),
    ("h", 3),
    ("main_w", 0),
    ("main_h", 1),
    ("overlay_w", 2),
    ("overlay_h", 3),
    ("n", N),
    ("t", T),
];
pub(super) const N: usize = 4;
pub(super) const T: usize = 5;

pub const ENTRY: Entry = Entry {
    name: "overlay",
    aliases: &[],
    about: "put an image over the frame, with its alpha",
    args: &[
        Arg::required("picture", "the name of a file that ffmpeg reads"),
        Arg::length(
            "x",
            Some("0"),
            "the column of its left side; W and w are the widths of frame and image",
        ),
        Arg::length(
            "y",
            Some("0"),
            "the row of its upper side; H and h are the heights",
        ),
    ],
    role: Role::EveryPlane,
    build: |args| {
        Ok(Box::new(Overlay {
            picture: Arc::new(args.picture("picture")?),
            x: args.length("x", NAMES, Range::Anywhere)?,
            y: args.length("y", NAMES, Range::Anywhere)?,
        }))
    },
};

#[derive(Clone)]
pub(super) struct Overlay {
    pub picture: Arc<Picture>,
    pub x: Length,
    pub y: Length,
}

impl Overlay {
    /// The position in luma samples, at a whole chroma sample.
    fn placed(&self, plane: &Plane) -> Result<(i32, i32), String> {
        let (frame, picture) = (plane.luma, self.picture.size);
        let values = [frame.w, frame.h, picture.w, picture.h, 0, 0].map(f64::from);
        let (cx, cy) = plane.chroma_subsampling;
        let at =
            |v: i64, multiple: u32| (v.div_euclid(multiple.into()) * i64::from(multiple)) as i32;
        Ok((
            at(self.x.samples(&values)?, cx),
            at(self.y.samples(&values)?, cy),
        ))
    }
}

impl Filter for Overlay {
    fn at(&self, moment: &Moment) -> Option<Still> {
        if !self.x.moves(N, T) && !self.y.moves(N, T) {
            return None;
        }
        Some(Still {
            key: vec![moment.n],
            filter: Arc::new(Overlay {
                x: self.x.at((N, T), moment),
                y: self.y.at((N, T), moment),
                ..self.clone()
            }),
        })
    }

    fn output_size(&self, plane: &Plane) -> Result<Size, String> {
        if plane.component == Component::Rgb {
            return Err("there is no overlay on red, green and blue".to_owned());
        }
        self.placed(plane)?;
        Ok(plane.size)
    }

    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        // `output_size` has refused what has no place.
        let (x, y) = self.placed(plane).unwrap_or((0, 0));
        let (sx, sy) = plane.subsampling;
        let stage = OverlayStage {
            at: (x / sx as i32, y / sy as i32),
            picture: OnPlane::of(&self.picture, plane),
        };
        graph.push(Arc::new(stage), &[input], size)
    }
}

/// A picture on a plane.
struct OnPlane {
    size: Size,
    /// Opacity from 0 to 1.
    opacity: Vec<f32>,
    /// Values times their opacity.
    values: Vec<f32>,
}

impl OnPlane {
    /// The mean of the samples of the picture that lie in each sample of the plane, those that are transparent for nothing.
    fn of(picture: &Picture, plane: &Plane) -> OnPlane {
        let (sx, sy) = plane.subsampling;
        let size = Size {
            w: picture.size.w.div_ceil(sx),
            h: picture.size.h.div_ceil(sy),
        };
        let (mut opacity, mut values) = (Vec::new(), Vec::new());
        for y in 0..size.h {
            for x in 0..size.w {
                let (mut opaque, mut sum) = (0.0, 0.0);
                for (dx, dy) in (0..sy).flat_map(|dy| (0..sx).map(move |dx| (dx, dy))) {
                    let (x, y) = (x * sx + dx, y * sy + dy);
                    if x < picture.size.w && y < picture.size.h {
                        let at = y as usize * picture.size.w as usize + x as usize;
                        let (value, alpha) = value(picture.samples[at], plane.component);
                        opaque += alpha;
                        sum += alpha * value;
                    }
                }
                let count = (sx * sy) as f32;
                opacity.push(opaque / count);
                values.push(sum / count);
            }
        }
        OnPlane {
            size,
            opacity,
            values,
        }
    }
}

/// The value of a sample on a plane, by BT.601, and its opacity.
fn value(sample: [u8; 4], component: Component) -> (f32, f32) {
    let [red, green, blue, alpha] = sample.map(|code| f32::from(code) / 255.0);
    let luma = 0.299 * red + 0.587 * green + 0.114 * blue;
    let value = match component {
        Component::Luma | Component::Rgb => luma,
        Component::Cb => (blue - luma) / 1.772 + 0.5,
        Component::Cr => (red - luma) / 1.402 + 0.5,
    };
    (value, alpha)
}

struct OverlayStage {
    /// The position of the picture.
    at: (i32, i32),
    picture: OnPlane,
}

impl std::fmt::Debug for OverlayStage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Overlay({} at {:?})", self.picture.size, self.at)
    }
}

#[inline(always)]
fn over(v: f32, value: f32, opacity: f32) -> f32 {
    v * (1.0 - opacity) + value
}

#[inline(always)]
fn over_body(from: &[f32], values: &[f32], opacity: &[f32], out: &mut [f32]) {
    let n = out.len();
    let (from, values, opacity) = (&from[..n], &values[..n], &opacity[..n]);
    for i in 0..n {
        let (v, value, opacity) = (from[i], values[i], opacity[i]);
        out[i] = over(v, value, opacity);
    }
}

for_each_level! {
    fn overlaid(from: &[f32], values: &[f32], opacity: &[f32], out: &mut [f32]) = over_body;
}

impl Stage for OverlayStage {
    fn name(&self) -> &'static str {
        "overlay"
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        taps.push((x, y));
    }

    fn reads(&self) -> usize {
        1
    }

    fn scattered(&self) -> bool {
        false
    }

    fn combine(&self, x: i32, y: i32, samples: &[f32]) -> f32 {
        let (x, y) = (x - self.at.0, y - self.at.1);
        let Size { w, h } = self.picture.size;
        if !(0..w as i32).contains(&x) || !(0..h as i32).contains(&y) {
            return samples[0];
        }
        let at = y as usize * w as usize + x as usize;
        over(
            samples[0],
            self.picture.values[at],
            self.picture.opacity[at],
        )
    }

    fn source(&self, out: Rect) -> Rect {
        out
    }

    fn row(
        &self,
        cx: &mut RowContext<'_>,
        input: &[RowView<'_>],
        y: i32,
        x0: i32,
        out: &mut [f32],
    ) {
        let from = (x0 - input[0].rect().x0) as usize;
        let from = &input[0].row(y)[from..from + out.len()];
        let Size { w, h } = self.picture.size;
        let (left, row) = (x0 - self.at.0, y - self.at.1);
        let first = left.max(0);
        let end = (left + out.len() as i32).min(w as i32);
        out.copy_from_slice(from);
        if first >= end || !(0..h as i32).contains(&row) {
            return;
        }
        let columns = (first - left) as usize..(end - left) as usize;
        let start = row as usize * w as usize;
        let part = start + first as usize..start + end as usize;
        let (values, opacity) = (
            &self.picture.values[part.clone()],
            &self.picture.opacity[part],
        );
        overlaid(
            cx.simd,
            &from[columns.clone()],
            values,
            opacity,
            &mut out[columns],
        );
    }

    fn weight(&self) -> f64 {
        3.0
    }
}
