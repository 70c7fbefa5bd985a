//! The stages of a deinterlacer that follows motion: `bwdif`, by Weston's filters (J. Weston, UK patent 2 202 408 and BBC
//! R&D's w3fdif, coefficients divided by 2^13) and yadif's checks in time and space.
//!
//! Where a picture is still, a missing row is the mean of the rows before and after it in time. Where it moves, the row is
//! interpolated from its neighbours above and below, and high frequencies are taken from the frames beside it. Either way,
//! the result is near the mean in time, by as much as rows around it change.
//!
//! In FFmpeg the first frame, of which none comes before, is interpolated from itself alone ([`Intra`]), as is the last
//! field where each field becomes a frame. Where each frame becomes one, the last one is its own next frame.
//!
//! An output reads 18 samples, of three frames, and takes about 60 operations, so arithmetic is the bound: with
//! AVX2 1 ns a sample of the rows that are interpolated.

use std::sync::Arc;

use crate::for_each_level;
use crate::geometry::Rect;
use crate::row_view::RowView;
use crate::stage::{Plane, RowContext, Stage};

/// The name of the filter and its stages.
pub const NAME: &str = "bwdif";

/// Which field is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Whether it is the one of rows 0, 2, 4 and on.
    pub top: bool,
    /// Whether it is the later one of its frame.
    pub second: bool,
}

impl Field {
    /// Whether row `y` is of the field.
    fn has(self, y: i32) -> bool {
        (y % 2 == 0) == self.top
    }
}

/// Low frequencies of where it moves: of the nearest rows, and of those after them.
const LOW: [f32; 2] = [4309.0 / 8192.0, -213.0 / 8192.0];
/// High frequencies, of the mean of two frames: the row itself, those two rows away and those four rows away.
const HIGH: [f32; 3] = [5570.0 / 32768.0, -3801.0 / 32768.0, 1016.0 / 32768.0];
/// Of one frame alone.
const ALONE: [f32; 2] = [5077.0 / 8192.0, -981.0 / 8192.0];

/// The rows of each input that an output reads, in the order of the taps.
const ROWS: [i32; 9] = [-4, -3, -2, -1, 0, 1, 2, 3, 4];

/// The stage that interpolates the other field of a frame: its inputs are the frame before, the frame, and the next one.
#[derive(Clone, Copy, Debug)]
pub struct Bwdif {
    field: Field,
    height: i32,
    /// Changes up to this are no change. With codes, three quarters of one: FFmpeg cuts halves off.
    still: f32,
    /// Differences up to this are none. With codes, a quarter of one.
    alike: f32,
}

impl Bwdif {
    /// That of a plane.
    pub fn new(plane: &Plane, field: Field) -> Self {
        let code = match plane.codes.depth.bits() {
            Some(_) => plane.codes.span().recip(),
            None => 0.0,
        };
        Bwdif {
            field,
            height: plane.size.h as i32,
            still: 0.75 * code,
            alike: 0.25 * code,
        }
    }

    /// It as a stage.
    pub fn shared(plane: &Plane, field: Field) -> Arc<dyn Stage> {
        Arc::new(Bwdif::new(plane, field))
    }

    /// The row `dy` away from row `y`, or as far on the other side.
    fn row_at(&self, y: i32, dy: i32) -> i32 {
        let last = self.height - 1;
        match y + dy {
            row if (0..=last).contains(&row) => row,
            _ => (y - dy).clamp(0, last),
        }
    }

    fn part(&self, y: i32) -> Part {
        match (y < 4 || y + 5 > self.height, y < 2 || y + 3 > self.height) {
            (false, _) => Part::Inside,
            (true, false) => Part::Near,
            (true, true) => Part::Edge,
        }
    }
}

/// How near the upper or lower edge a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// All rows are there.
    Inside,
    /// Of the rows two away all are there; the sample is the mean of its neighbours.
    Near,
    /// So it is, without a check in space.
    Edge,
}

#[inline(always)]
fn least(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[inline(always)]
fn most(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// What an output is computed from: each has a value for each of the rows around it.
trait Around: Copy {
    const INSIDE: bool;
    const CHECKED: bool;
}

#[derive(Clone, Copy)]
struct Inside;
#[derive(Clone, Copy)]
struct Near;
#[derive(Clone, Copy)]
struct Edge;

impl Around for Inside {
    const INSIDE: bool = true;
    const CHECKED: bool = true;
}
impl Around for Near {
    const INSIDE: bool = false;
    const CHECKED: bool = true;
}
impl Around for Edge {
    const INSIDE: bool = false;
    const CHECKED: bool = false;
}

/// The samples around an output, by row: `before`, `frame` and `next` in the order of the inputs; `early` and `late` are of
/// the fields before and after in time.
struct Samples {
    before: [f32; 2],
    frame: [f32; 4],
    next: [f32; 2],
    early: [f32; 5],
    late: [f32; 5],
}

#[inline(always)]
fn interpolated<A: Around>(bwdif: Bwdif, _: A, s: &Samples) -> f32 {
    let [above3, above, below, below3] = s.frame;
    let sum = |i: usize| s.early[i] + s.late[i];
    let change = (s.early[2] - s.late[2]).abs();
    let mean = 0.5 * sum(2);
    let changed = |field: [f32; 2]| (field[0] - above).abs() + (field[1] - below).abs();
    let moved = 0.5 * most(change, most(changed(s.before), changed(s.next)));
    let mut room = moved;
    if A::CHECKED {
        let (b, f) = (0.5 * sum(1) - above, 0.5 * sum(3) - below);
        let (up, down) = (mean - above, mean - below);
        let high = most(most(down, up), least(b, f));
        let low = least(least(down, up), most(b, f));
        room = most(room, most(low, -high));
    }
    let value = if A::INSIDE {
        let high = HIGH[0] * sum(2) + HIGH[1] * (sum(1) + sum(3)) + HIGH[2] * (sum(0) + sum(4));
        let low = LOW[0] * (above + below) + LOW[1] * (above3 + below3);
        let alone = ALONE[0] * (above + below) + ALONE[1] * (above3 + below3);
        let edge = (above - below).abs() > change + bwdif.alike;
        if edge { high + low } else { alone }
    } else {
        0.5 * (above + below)
    };
    let value = least(most(value, mean - room), mean + room);
    if moved <= bwdif.still { mean } else { value }
}

/// Rows of samples, as in [`Samples`].
struct Lines<'a> {
    before: [&'a [f32]; 2],
    frame: [&'a [f32]; 4],
    next: [&'a [f32]; 2],
    early: [&'a [f32]; 5],
    late: [&'a [f32]; 5],
}

#[inline(always)]
fn lines_body<A: Around>(bwdif: Bwdif, around: A, from: &Lines<'_>, out: &mut [f32]) {
    let n = out.len();
    let [b0, b1] = from.before;
    let [f0, f1, f2, f3] = from.frame;
    let [n0, n1] = from.next;
    let [e0, e1, e2, e3, e4] = from.early;
    let [l0, l1, l2, l3, l4] = from.late;
    let (b0, b1, n0, n1) = (&b0[..n], &b1[..n], &n0[..n], &n1[..n]);
    let (f0, f1, f2, f3) = (&f0[..n], &f1[..n], &f2[..n], &f3[..n]);
    let (e0, e1, e2, e3, e4) = (&e0[..n], &e1[..n], &e2[..n], &e3[..n], &e4[..n]);
    let (l0, l1, l2, l3, l4) = (&l0[..n], &l1[..n], &l2[..n], &l3[..n], &l4[..n]);
    for i in 0..n {
        let samples = Samples {
            before: [b0[i], b1[i]],
            frame: [f0[i], f1[i], f2[i], f3[i]],
            next: [n0[i], n1[i]],
            early: [e0[i], e1[i], e2[i], e3[i], e4[i]],
            late: [l0[i], l1[i], l2[i], l3[i], l4[i]],
        };
        out[i] = interpolated(bwdif, around, &samples);
    }
}

for_each_level! {
    fn lines<A: Around>(bwdif: Bwdif, around: A, from: &Lines<'_>, out: &mut [f32]) = lines_body;
}

impl Stage for Bwdif {
    fn name(&self) -> &'static str {
        NAME
    }

    fn inputs(&self) -> usize {
        3
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        match self.field.has(y) {
            true => taps.push((x, y)),
            false => taps.extend(ROWS.map(|dy| (x, self.row_at(y, dy)))),
        }
    }

    fn reads(&self) -> usize {
        ROWS.len()
    }

    fn scattered(&self) -> bool {
        false
    }

    fn combine(&self, _x: i32, y: i32, samples: &[f32]) -> f32 {
        if self.field.has(y) {
            return samples[1];
        }
        let (inputs, _) = samples.as_chunks::<{ ROWS.len() }>();
        let [before, frame, next] = [inputs[0], inputs[1], inputs[2]];
        let (early, late) = match self.field.second {
            false => (before, frame),
            true => (frame, next),
        };
        let even = |s: [f32; 9]| [s[0], s[2], s[4], s[6], s[8]];
        let samples = Samples {
            before: [before[3], before[5]],
            frame: [frame[1], frame[3], frame[5], frame[7]],
            next: [next[3], next[5]],
            early: even(early),
            late: even(late),
        };
        match self.part(y) {
            Part::Inside => interpolated(*self, Inside, &samples),
            Part::Near => interpolated(*self, Near, &samples),
            Part::Edge => interpolated(*self, Edge, &samples),
        }
    }

    fn source(&self, out: Rect) -> Rect {
        out.grow(0, 4)
    }

    fn row(
        &self,
        cx: &mut RowContext<'_>,
        input: &[RowView<'_>],
        y: i32,
        x0: i32,
        out: &mut [f32],
    ) {
        let n = out.len();
        let line = |input, dy| part_of(input, self.row_at(y, dy), x0, n);
        let [before, frame, next] = [input[0], input[1], input[2]];
        if self.field.has(y) {
            out.copy_from_slice(part_of(frame, y, x0, n));
            return;
        }
        let (early, late) = match self.field.second {
            false => (before, frame),
            true => (frame, next),
        };
        let from = Lines {
            before: [-1, 1].map(|dy| line(before, dy)),
            frame: [-3, -1, 1, 3].map(|dy| line(frame, dy)),
            next: [-1, 1].map(|dy| line(next, dy)),
            early: [-4, -2, 0, 2, 4].map(|dy| line(early, dy)),
            late: [-4, -2, 0, 2, 4].map(|dy| line(late, dy)),
        };
        match self.part(y) {
            Part::Inside => lines(cx.simd, *self, Inside, &from, out),
            Part::Near => lines(cx.simd, *self, Near, &from, out),
            Part::Edge => lines(cx.simd, *self, Edge, &from, out),
        }
    }

    fn weight(&self) -> f64 {
        30.0
    }
}

/// Columns from `x0` on of a row.
fn part_of<'a>(input: RowView<'a>, y: i32, x0: i32, n: usize) -> &'a [f32] {
    let from = (x0 - input.rect().x0) as usize;
    &input.row(y)[from..from + n]
}

/// The stage for a frame without one before it: the other field is interpolated from the kept one.
#[derive(Clone, Copy, Debug)]
pub struct Intra {
    field: Field,
    height: i32,
}

impl Intra {
    /// That of a plane.
    pub fn new(plane: &Plane, field: Field) -> Self {
        Intra {
            field,
            height: plane.size.h as i32,
        }
    }

    /// It as a stage.
    pub fn shared(plane: &Plane, field: Field) -> Arc<dyn Stage> {
        Arc::new(Intra::new(plane, field))
    }

    /// The rows above and below, and those after them; beyond an edge the nearest one on the other side.
    fn rows_at(&self, y: i32) -> [i32; 4] {
        let last = self.height - 1;
        let nearest = |dy: i32| match y + dy {
            row if (0..=last).contains(&row) => row,
            _ => (y - dy).clamp(0, last),
        };
        let (above, below) = (nearest(-1), nearest(1));
        let far = |dy: i32, other| match y + dy {
            row if (0..=last).contains(&row) => row,
            _ => other,
        };
        [far(-3, below), above, below, far(3, above)]
    }
}

#[inline(always)]
fn alone(above3: f32, above: f32, below: f32, below3: f32) -> f32 {
    ALONE[0] * (above + below) + ALONE[1] * (above3 + below3)
}

#[inline(always)]
fn alone_body(rows: [&[f32]; 4], out: &mut [f32]) {
    let n = out.len();
    let [a, b, c, d] = rows;
    let (a, b, c, d) = (&a[..n], &b[..n], &c[..n], &d[..n]);
    for i in 0..n {
        out[i] = alone(a[i], b[i], c[i], d[i]);
    }
}

for_each_level! {
    fn alone_row(rows: [&[f32]; 4], out: &mut [f32]) = alone_body;
}

impl Stage for Intra {
    fn name(&self) -> &'static str {
        NAME
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        match self.field.has(y) {
            true => taps.push((x, y)),
            false => taps.extend(self.rows_at(y).map(|y| (x, y))),
        }
    }

    fn reads(&self) -> usize {
        4
    }

    fn scattered(&self) -> bool {
        false
    }

    fn combine(&self, _x: i32, _y: i32, samples: &[f32]) -> f32 {
        match *samples {
            [a, b, c, d] => alone(a, b, c, d),
            _ => samples[0],
        }
    }

    fn source(&self, out: Rect) -> Rect {
        out.grow(0, 3)
    }

    fn row(
        &self,
        cx: &mut RowContext<'_>,
        input: &[RowView<'_>],
        y: i32,
        x0: i32,
        out: &mut [f32],
    ) {
        if self.field.has(y) {
            out.copy_from_slice(part_of(input[0], y, x0, out.len()));
            return;
        }
        let rows = self.rows_at(y);
        let rows = rows.map(|y| part_of(input[0], y, x0, out.len()));
        alone_row(cx.simd, rows, out);
    }

    fn weight(&self) -> f64 {
        5.0
    }
}
