//! `transpose`: a turn by 90 degrees, with or without a mirror. Samples are moved and none is blended.

use std::ops::Range;
use std::sync::Arc;

use super::warp::{Affine, Warp};
use super::{Arg, Entry, Filter, Role, resize};
use crate::device::DeviceStage;
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::bilinear::Border;
use crate::kernels::{BATCH, interleaved};
use crate::moves::Moves;
use crate::row_view::RowView;
use crate::stage::{Batched, Plane, Resample, RowContext, Stage};
use crate::weights::Method;

pub const ENTRY: Entry = Entry {
    name: "transpose",
    aliases: &[],
    about: "rotate by 90 degrees: rows become columns",
    args: &[Arg::optional(
        "dir",
        "cclock_flip",
        "clock, cclock, or these and then a flip top and bottom: clock_flip, cclock_flip; or 0 to 3 as in FFmpeg",
    )],
    role: Role::EveryPlane,
    build: |args| {
        let dirs = [
            "cclock_flip",
            "clock",
            "cclock",
            "clock_flip",
            "0",
            "1",
            "2",
            "3",
        ];
        let dir = args.choice("dir", &dirs)? % 4;
        Ok(Box::new(Transpose {
            from_right: dir >= 2,
            from_bottom: dir % 2 == 1,
        }))
    },
};

const WEIGHT: f64 = 6.0;

/// Output (x, y) is input (y, x), counted from other edges where these say so.
struct Transpose {
    from_right: bool,
    from_bottom: bool,
}

impl Filter for Transpose {
    fn output_size(&self, plane: &Plane) -> Result<Size, String> {
        let (sx, sy) = plane.subsampling;
        Ok(Size {
            w: plane.luma.h.div_ceil(sx),
            h: plane.luma.w.div_ceil(sy),
        })
    }

    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        let turned = Size {
            w: plane.size.h,
            h: plane.size.w,
        };
        // Positions are multiples of a half below 2^17, so arithmetic on them is exact.
        let centre = |size: Size| ((size.w - 1) as f32 / 2.0, (size.h - 1) as f32 / 2.0);
        let sign = |reversed| if reversed { -1.0 } else { 1.0 };
        let warp = Warp {
            name: "transpose",
            map: Affine {
                centre: centre(turned),
                target: centre(plane.size),
                x: (0.0, sign(self.from_right)),
                y: (sign(self.from_bottom), 0.0),
            },
            size: plane.size,
            border: Border::Constant(plane.fill),
            weight: WEIGHT,
            windows: None,
            before: None,
            after: None,
        };
        let stage = Transposed {
            warp: warp.stage(),
            size: plane.size,
            from_right: self.from_right,
            from_bottom: self.from_bottom,
        };
        let port = graph.push(Arc::new(stage), &[input], turned);
        if turned == size {
            return port;
        }
        // Chroma that is halved in one direction only is then halved in the other one.
        resize::push(Method::Bilinear, turned, size, port, graph)
    }

    fn turns(&self) -> bool {
        true
    }
}

/// A warp that moves samples, of which eight rows are made of eight columns by shuffles of registers.
#[derive(Debug)]
struct Transposed {
    warp: Arc<dyn Stage>,
    /// Of the input.
    size: Size,
    from_right: bool,
    from_bottom: bool,
}

impl Transposed {
    /// The row of the input that is column `x` of the output.
    fn input_row(&self, x: i32) -> i32 {
        match self.from_bottom {
            true => self.size.h as i32 - 1 - x,
            false => x,
        }
    }

    /// The column of the input that is row `y` of the output.
    fn input_column(&self, y: i32) -> i32 {
        match self.from_right {
            true => self.size.w as i32 - 1 - y,
            false => y,
        }
    }
}

impl Transposed {
    /// Outputs of rows y and on as they are in the input.
    fn moved(
        &self,
        cx: &mut RowContext<'_>,
        input: &RowView<'_>,
        y: i32,
        columns: Range<i32>,
        out: &mut [&mut [f32]],
    ) {
        let (simd, origin) = (cx.simd, input.rect().x0);
        let Ok(out) = <&mut [&mut [f32]; BATCH]>::try_from(&mut *out) else {
            for (row, y) in out.iter_mut().zip(y..) {
                let at = (self.input_column(y) - origin) as usize;
                for (o, x) in row.iter_mut().zip(columns.clone()) {
                    *o = input.row(self.input_row(x))[at];
                }
            }
            return;
        };
        let last = y + BATCH as i32 - 1;
        let first = self.input_column(y).min(self.input_column(last));
        let at = (first - origin) as usize;
        let block = cx.row(columns.len() * BATCH);
        for (i, to) in block.as_chunks_mut::<BATCH>().0.iter_mut().enumerate() {
            let row = input.row(self.input_row(columns.start + i as i32));
            *to = *row[at..].first_chunk().expect("rows have all columns");
        }
        if self.from_right {
            out.reverse();
        }
        interleaved::deinterleave(simd, block, out);
        if self.from_right {
            out.reverse();
        }
    }
}

impl Stage for Transposed {
    fn name(&self) -> &'static str {
        self.warp.name()
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        self.warp.taps(x, y, taps);
    }

    fn combine(&self, x: i32, y: i32, samples: &[f32]) -> f32 {
        self.warp.combine(x, y, samples)
    }

    fn source(&self, out: Rect) -> Rect {
        self.warp.source(out)
    }

    fn source_columns(&self, out: Rect, rows: Range<i32>) -> Range<i32> {
        self.warp.source_columns(out, rows)
    }

    fn rows(
        &self,
        cx: &mut RowContext<'_>,
        input: &[RowView<'_>],
        y: i32,
        x0: i32,
        out: &mut [&mut [f32]],
    ) {
        let (w, h) = (self.size.w as i32, self.size.h as i32);
        if w.min(h) == 1 {
            return self.warp.rows(cx, input, y, x0, out);
        }
        let columns = x0..x0 + out.first().map_or(0, |row| row.len() as i32);
        self.moved(cx, &input[0], y, columns.clone(), out);
        // There the definition takes all of the second of two samples, which may differ from it in the last bit.
        let x = self.input_row(h - 1);
        let at = (x - x0) as usize;
        for (row, y) in out.iter_mut().zip(y..) {
            if self.input_column(y) == w - 1 {
                self.warp.rows(cx, input, y, x0, &mut [row]);
            } else if columns.contains(&x) {
                self.warp.rows(cx, input, y, x, &mut [&mut row[at..=at]]);
            }
        }
    }

    fn moves(&self) -> Option<Moves> {
        let axis = |reversed, side: u32| match reversed {
            true => (side as i32 - 1, -1),
            false => (0, 1),
        };
        Some(Moves {
            turned: true,
            column: axis(self.from_right, self.size.w),
            row: axis(self.from_bottom, self.size.h),
            inside: None,
        })
    }

    fn resample(&self) -> Option<&dyn Resample> {
        self.warp.resample()
    }

    fn batched(&self) -> Option<&dyn Batched> {
        self.warp.batched()
    }

    fn device(&self) -> Option<DeviceStage> {
        self.warp.device()
    }

    fn weight(&self) -> f64 {
        WEIGHT
    }
}
