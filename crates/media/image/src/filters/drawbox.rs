//! `drawbox`: a rectangle or its frame in a colour, as opaque as it says: v + opacity·(colour - v).
//!
//! Rows without the box are copied, so the bound is memory.

use std::ops::Range;
use std::sync::Arc;

use super::{Arg, Entry, Filter, Role};
use crate::for_each_level;
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::colour::Colour;
use crate::graph::expression::{Expression, Names};
use crate::graph::plane::{PlaneGraph, Port};
use crate::row_view::RowView;
use crate::stage::{Plane, RowContext, Stage};

/// The box, whose values may depend on each other, and the frame.
const NAMES: Names = &[
    ("x", 0),
    ("y", 1),
    ("w", 2),
    ("h", 3),
    ("t", 4),
    ("iw", 5),
    ("ih", 6),
    ("in_w", 5),
    ("in_h", 6),
    ("hsub", 7),
    ("vsub", 8),
    ("fill", 9),
];
/// Thicker than any box.
const FILL: f64 = 1e9;
/// How often expressions that depend on each other are evaluated, as in FFmpeg.
const ROUNDS: usize = 6;

pub const ENTRY: Entry = Entry {
    name: "drawbox",
    aliases: &[],
    about: "draw a rectangle or fill it, in luma samples",
    args: &[
        Arg::length("x", Some("0"), "the column of its left side"),
        Arg::length("y", Some("0"), "the row of its upper side"),
        Arg::length("w", Some("0"), "the width; 0 is that of the frame").also(&["width"]),
        Arg::length("h", Some("0"), "the height; 0 is that of the frame").also(&["height"]),
        Arg::optional(
            "color",
            "black",
            "a name, #RRGGBB, or a grey level from 0 to 1; with @ and an opacity",
        )
        .also(&["c"]),
        Arg::length("t", Some("3"), "the thickness, inwards; `fill` fills it").also(&["thickness"]),
    ],
    role: Role::EveryPlane,
    build: |args| {
        let side = |name| args.expression(name, NAMES, &[]);
        let (colour, opacity) = args.translucent("color")?;
        Ok(Box::new(DrawBox {
            sides: [side("x")?, side("y")?, side("w")?, side("h")?, side("t")?],
            colour,
            opacity,
        }))
    },
};

struct DrawBox {
    /// x, y, w, h and t.
    sides: [Expression; 5],
    colour: Colour,
    opacity: f32,
}

impl DrawBox {
    /// Columns and rows of the box and its thickness, in luma samples.
    fn placed(&self, plane: &Plane) -> Result<(Range<i64>, Range<i64>, i64), String> {
        let (luma, (cx, cy)) = (plane.luma, plane.chroma_subsampling);
        let (iw, ih) = (f64::from(luma.w), f64::from(luma.h));
        let none = f64::NAN;
        let mut values = [
            none,
            none,
            none,
            none,
            none,
            iw,
            ih,
            f64::from(cx),
            f64::from(cy),
            FILL,
        ];
        for _ in 0..ROUNDS {
            for (i, side) in self.sides.iter().enumerate() {
                values[i] = side.value(&values);
            }
        }
        let names = ["x", "y", "w", "h", "t"];
        let mut whole = [0; 5];
        for (i, name) in names.into_iter().enumerate() {
            let near = (-FILL..=FILL).contains(&values[i]);
            if !near {
                return Err(format!(
                    "`{name}` is {}, not a number of samples",
                    values[i]
                ));
            }
            whole[i] = values[i] as i64;
        }
        let [x, y, w, h, t] = whole;
        if w < 0 || h < 0 {
            return Err(format!("a box of {w}x{h} is none; give no negative size"));
        }
        let w = if w == 0 { luma.w.into() } else { w };
        let h = if h == 0 { luma.h.into() } else { h };
        Ok((x..x + w, y..y + h, t))
    }
}

/// Of one direction: the samples of a plane that the box covers, and those of them that its sides do not.
fn spans(sides: &Range<i64>, t: i64, length: u32, step: u32) -> (Range<i32>, Range<i32>) {
    // A sample of chroma belongs to what any of its samples of luma belongs to.
    let hole = sides.start + t.max(0)..sides.end - t.max(0);
    let within =
        |range: &Range<i64>| range.start.clamp(0, length.into())..range.end.clamp(0, length.into());
    let (outer, step) = (within(sides), i64::from(step));
    let covered = outer.start / step..(outer.end + step - 1) / step;
    let first = match hole.start.max(outer.start) {
        // No side is on this end of the plane.
        at if hole.start <= outer.start => at / step,
        at => (at + step - 1) / step,
    };
    let end = match hole.end.min(outer.end) {
        at if hole.end >= outer.end => (at + step - 1) / step,
        at => at.max(0) / step,
    };
    let i32s = |range: Range<i64>| range.start as i32..range.end as i32;
    match outer.is_empty() {
        true => (0..0, 0..0),
        false => (i32s(covered), i32s(first..end.max(first))),
    }
}

impl Filter for DrawBox {
    fn output_size(&self, plane: &Plane) -> Result<Size, String> {
        self.colour.on(plane)?;
        self.placed(plane).map(|_| plane.size)
    }

    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        // `output_size` has refused what has no place.
        let (Ok((x, y, t)), Ok(colour)) = (self.placed(plane), self.colour.on(plane)) else {
            return input;
        };
        let (columns, inner_columns) = spans(&x, t, plane.luma.w, plane.subsampling.0);
        let (rows, inner_rows) = spans(&y, t, plane.luma.h, plane.subsampling.1);
        if t <= 0 || columns.is_empty() || rows.is_empty() {
            return input;
        }
        let stage = DrawBoxStage {
            columns,
            rows,
            inner_columns,
            inner_rows,
            kept: 1.0 - self.opacity,
            added: colour * self.opacity,
        };
        graph.push(Arc::new(stage), &[input], size)
    }
}

/// Samples in `columns` and `rows`, but not in both inner ones.
#[derive(Debug)]
struct DrawBoxStage {
    columns: Range<i32>,
    rows: Range<i32>,
    inner_columns: Range<i32>,
    inner_rows: Range<i32>,
    /// The share of the sample.
    kept: f32,
    /// The share of the colour.
    added: f32,
}

#[inline(always)]
fn over(kept: f32, added: f32, v: f32) -> f32 {
    v.mul_add(kept, added)
}

#[inline(always)]
fn over_body(kept: f32, added: f32, from: &[f32], out: &mut [f32]) {
    let n = out.len();
    let from = &from[..n];
    for i in 0..n {
        out[i] = over(kept, added, from[i]);
    }
}

for_each_level! {
    fn drawn(kept: f32, added: f32, from: &[f32], out: &mut [f32]) = over_body;
}

impl Stage for DrawBoxStage {
    fn name(&self) -> &'static str {
        "drawbox"
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
        let inner = self.inner_columns.contains(&x) && self.inner_rows.contains(&y);
        match self.columns.contains(&x) && self.rows.contains(&y) && !inner {
            true => over(self.kept, self.added, samples[0]),
            false => samples[0],
        }
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
        out.copy_from_slice(from);
        if !self.rows.contains(&y) {
            return;
        }
        let end = x0 + out.len() as i32;
        let hole = match self.inner_rows.contains(&y) {
            true => self.inner_columns.clone(),
            false => self.columns.end..self.columns.end,
        };
        for side in [self.columns.start..hole.start, hole.end..self.columns.end] {
            let (first, last) = (side.start.max(x0), side.end.min(end));
            if first < last {
                let part = (first - x0) as usize..(last - x0) as usize;
                drawn(
                    cx.simd,
                    self.kept,
                    self.added,
                    &from[part.clone()],
                    &mut out[part],
                );
            }
        }
    }

    fn weight(&self) -> f64 {
        2.0
    }
}

#[cfg(test)]
mod tests {
    use super::spans;

    #[test]
    fn chroma_belongs_to_any_luma_of_it() {
        assert_eq!(spans(&(3..10), 1, 16, 1), (3..10, 4..9));
        // Luma 3 and 9 are in chroma 1 and 4.
        assert_eq!(spans(&(3..10), 1, 16, 2), (1..5, 2..4));
        assert_eq!(spans(&(2..10), 1, 16, 2), (1..5, 2..4));
        // The sides are beyond the plane.
        assert_eq!(spans(&(-9..40), 3, 16, 2), (0..8, 0..8));
        assert_eq!(spans(&(-2..5), 2, 16, 1), (0..5, 0..3));
        assert_eq!(spans(&(0..16), 1_000_000, 16, 2).0, 0..8);
        assert!(spans(&(0..16), 1_000_000, 16, 2).1.is_empty());
        assert!(spans(&(20..30), 3, 16, 1).0.is_empty());
        // Of an odd plane the last chroma has one luma sample.
        assert_eq!(spans(&(1..6), 1, 5, 2), (0..3, 1..3));
    }
}
