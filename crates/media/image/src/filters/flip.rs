//! `flip`: mirror left and right (`h`) or top and bottom (`v`).

use std::sync::Arc;

use super::{Arg, Entry, Filter, Role};
use crate::device::{DeviceStage, View};
use crate::for_each_level;
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::plane::{PlaneGraph, Port};
use crate::row_view::RowView;
use crate::stage::{Plane, RowContext, Stage};

pub const ENTRY: Entry = Entry {
    name: "flip",
    aliases: &[],
    about: "mirror left to right (h) or top to bottom (v)",
    args: &[Arg::required("direction", "h or v")],
    role: Role::EveryPlane,
    build: |args| {
        Ok(Box::new(Flip {
            columns: args.choice("direction", &["h", "v"])? == 0,
        }))
    },
};

/// FFmpeg's name.
pub const HFLIP: Entry = Entry {
    name: "hflip",
    about: "mirror left to right",
    args: &[],
    build: |_| Ok(Box::new(Flip { columns: true })),
    ..ENTRY
};

/// FFmpeg's name.
pub const VFLIP: Entry = Entry {
    name: "vflip",
    about: "mirror top to bottom",
    args: &[],
    build: |_| Ok(Box::new(Flip { columns: false })),
    ..ENTRY
};

struct Flip {
    columns: bool,
}

impl Filter for Flip {
    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        let (right, bottom) = (plane.size.w as i32 - 1, plane.size.h as i32 - 1);
        let stage: Arc<dyn Stage> = if self.columns {
            Arc::new(FlipColumns { right })
        } else {
            Arc::new(FlipRows { bottom })
        };
        graph.push(stage, &[input], size)
    }
}

#[derive(Debug)]
struct FlipColumns {
    right: i32,
}

#[derive(Debug)]
struct FlipRows {
    bottom: i32,
}

#[inline(always)]
fn reverse_body(from: &[f32], to: &mut [f32]) {
    let n = to.len();
    let from = &from[..n];
    for i in 0..n {
        to[i] = from[n - 1 - i];
    }
}

for_each_level! {
    /// `from` backwards into `to`, of equal length.
    pub fn reverse(from: &[f32], to: &mut [f32]) = reverse_body;
}

impl Stage for FlipColumns {
    fn name(&self) -> &'static str {
        "flip"
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        taps.push((self.right - x, y));
    }

    fn combine(&self, _x: i32, _y: i32, samples: &[f32]) -> f32 {
        samples[0]
    }

    fn source(&self, out: Rect) -> Rect {
        Rect {
            x0: self.right + 1 - out.x1,
            x1: self.right + 1 - out.x0,
            ..out
        }
    }

    fn row(
        &self,
        cx: &mut RowContext<'_>,
        input: &[RowView<'_>],
        y: i32,
        x0: i32,
        out: &mut [f32],
    ) {
        let end = (self.right + 1 - x0 - input[0].rect().x0) as usize;
        reverse(cx.simd, &input[0].row(y)[end - out.len()..end], out);
    }

    fn device(&self) -> Option<DeviceStage> {
        Some(DeviceStage::View(View {
            x: (self.right, -1),
            ..View::SAME
        }))
    }

    fn weight(&self) -> f64 {
        1.0
    }
}

impl Stage for FlipRows {
    fn name(&self) -> &'static str {
        "flip"
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        taps.push((x, self.bottom - y));
    }

    fn combine(&self, _x: i32, _y: i32, samples: &[f32]) -> f32 {
        samples[0]
    }

    fn source(&self, out: Rect) -> Rect {
        Rect {
            y0: self.bottom + 1 - out.y1,
            y1: self.bottom + 1 - out.y0,
            ..out
        }
    }

    fn row(&self, _: &mut RowContext<'_>, input: &[RowView<'_>], y: i32, x0: i32, out: &mut [f32]) {
        let from = (x0 - input[0].rect().x0) as usize;
        out.copy_from_slice(&input[0].row(self.bottom - y)[from..from + out.len()]);
    }

    fn device(&self) -> Option<DeviceStage> {
        Some(DeviceStage::View(View {
            y: (self.bottom, -1),
            ..View::SAME
        }))
    }

    fn weight(&self) -> f64 {
        1.0
    }
}
