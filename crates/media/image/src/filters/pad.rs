//! `pad`: a larger frame with the input in it and a colour around.

use std::sync::Arc;

use super::{Arg, Entry, Filter, Role};
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::colour::Colour;
use crate::graph::expression::{INPUT, INPUT_AND_OUTPUT};
use crate::graph::length::{self, Length, Range};
use crate::graph::plane::{PlaneGraph, Port};
use crate::moves::Moves;
use crate::row_view::RowView;
use crate::stage::{Plane, RowContext, Stage};

pub const ENTRY: Entry = Entry {
    name: "pad",
    aliases: &[],
    about: "place the frame in a larger one",
    args: &[
        Arg::length("w", Some("iw"), "the new width").also(&["width"]),
        Arg::length("h", Some("ih"), "the new height").also(&["height"]),
        Arg::length(
            "x",
            Some("0"),
            "the columns on its left; negative: as many as on its right",
        ),
        Arg::length(
            "y",
            Some("0"),
            "the rows above it; negative: as many as below it",
        ),
        Arg::optional(
            "color",
            "black",
            "the fill colour: a name, #RRGGBB, or a grey level from 0 to 1",
        ),
    ],
    role: Role::EveryPlane,
    build: |args| {
        Ok(Box::new(Pad {
            w: args.length("w", INPUT, Range::Side)?,
            h: args.length("h", INPUT_AND_OUTPUT, Range::Side)?,
            x: args.length("x", INPUT_AND_OUTPUT, Range::Anywhere)?,
            y: args.length("y", INPUT_AND_OUTPUT, Range::Anywhere)?,
            colour: args.colour("color")?,
        }))
    },
};

struct Pad {
    w: Length,
    h: Length,
    x: Length,
    y: Length,
    colour: Colour,
}

impl Pad {
    /// The new size and the position of the input, in luma samples; the position is one of a chroma sample.
    fn placed(&self, plane: &Plane) -> Result<(Size, (u32, u32)), String> {
        let (luma, (cx, cy)) = (plane.luma, plane.chroma_subsampling);
        let values = length::input(plane);
        let w = self.w.unsigned(&values)?;
        let h = self.h.unsigned(&length::input_and_width(plane, w))?;
        let values = length::input_and_output(plane, (w, h));
        let place = |wanted: i64, side: u32, of: u32, multiple: u32| {
            let room = of.checked_sub(side)?;
            let at = u32::try_from(wanted).unwrap_or(room / 2);
            (at <= room).then_some(at / multiple * multiple)
        };
        let x = place(self.x.samples(&values)?, luma.w, w, cx);
        let y = place(self.y.samples(&values)?, luma.h, h, cy);
        let (Some(x), Some(y)) = (x, y) else {
            return Err(format!(
                "{luma} does not fit there into {w}x{h}; make it larger"
            ));
        };
        Ok((Size { w, h }, (x, y)))
    }
}

impl Filter for Pad {
    fn output_size(&self, plane: &Plane) -> Result<Size, String> {
        self.colour.on(plane)?;
        let (size, _) = self.placed(plane)?;
        let (sx, sy) = plane.subsampling;
        Ok(Size {
            w: size.w.div_ceil(sx),
            h: size.h.div_ceil(sy),
        })
    }

    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        // `output_size` has refused what does not fit.
        let (x, y) = self.placed(plane).map_or((0, 0), |(_, at)| at);
        let stage = PadStage {
            dx: (x / plane.subsampling.0) as i32,
            dy: (y / plane.subsampling.1) as i32,
            input: plane.size,
            colour: self.colour.on(plane).unwrap_or(plane.fill),
        };
        graph.push(Arc::new(stage), &[input], size)
    }
}

/// Output (x, y) is input (x - dx, y - dy) where that is inside.
#[derive(Debug)]
struct PadStage {
    dx: i32,
    dy: i32,
    input: Size,
    colour: f32,
}

impl Stage for PadStage {
    fn name(&self) -> &'static str {
        "pad"
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        let (x, y) = (x - self.dx, y - self.dy);
        if (0..self.input.w as i32).contains(&x) && (0..self.input.h as i32).contains(&y) {
            taps.push((x, y));
        }
    }

    fn reads(&self) -> usize {
        1
    }

    fn scattered(&self) -> bool {
        false
    }

    fn combine(&self, _x: i32, _y: i32, samples: &[f32]) -> f32 {
        samples.first().copied().unwrap_or(self.colour)
    }

    fn source(&self, out: Rect) -> Rect {
        let (all, wanted) = (Rect::of(self.input), out.shift(-self.dx, -self.dy));
        let read = Rect {
            x0: wanted.x0.max(all.x0),
            y0: wanted.y0.max(all.y0),
            x1: wanted.x1.min(all.x1),
            y1: wanted.y1.min(all.y1),
        };
        if read.is_empty() {
            Rect::default()
        } else {
            read
        }
    }

    fn row(&self, _: &mut RowContext<'_>, input: &[RowView<'_>], y: i32, x0: i32, out: &mut [f32]) {
        let y = y - self.dy;
        let first = x0 - self.dx;
        let end = first + out.len() as i32;
        let (from, to) = (first.max(0), end.min(self.input.w as i32));
        if from >= to || !(0..self.input.h as i32).contains(&y) {
            out.fill(self.colour);
            return;
        }
        let origin = input[0].rect().x0;
        let inside = &input[0].row(y)[(from - origin) as usize..(to - origin) as usize];
        let (before, rest) = out.split_at_mut((from - first) as usize);
        let (copied, after) = rest.split_at_mut(inside.len());
        before.fill(self.colour);
        copied.copy_from_slice(inside);
        after.fill(self.colour);
    }

    fn moves(&self) -> Option<Moves> {
        let inside = Rect::of(self.input).shift(self.dx, self.dy);
        Some(Moves {
            column: (-self.dx, 1),
            row: (-self.dy, 1),
            inside: Some((inside, self.colour)),
            ..Moves::SAME
        })
    }

    fn weight(&self) -> f64 {
        1.0
    }
}
