//! Planes of codes that are computed in integers: one filter that sums weighted samples of rows and columns, such as
//! `resize` or `gaussian`, and whatever moves samples before and after it.
//!
//! A sum of n products of 16 bits takes a fraction of the time of n products of floats, and no code is converted. The
//! result is defined here and not in floats. It is *within one code of the exact one*: when a graph is bound, the error
//! that its weights and roundings can cause is summed up, and the plane is computed in integers only where that is at most
//! [`MOST_ERROR`] before the last rounding. Neither plan nor processor has a say in it, so every structure and every level
//! gives the same bytes.
//!
//! With codes c of b bits and h = 2^(b - 1):
//!
//! - Weights are multiples of 2^-k, as small as 16 bits allow, and those of an output sum to exactly 1.
//! - Across: a = Σ w·(c - h), rounded to the f bits after the point for which 16 bits have room. With c - h in place of c
//!   there is one bit more.
//! - Down, 8 bits: each product w·a is rounded to g bits after the point, and their sum to a code.
//! - Down, more bits: Σ w·a is exact, and rounded to a code.
//!
//! Wide bells of 8 bits take another step before: see [`coarse`].
#![forbid(unsafe_code)]

pub mod coarse;
pub mod definition;
mod quantised;

use std::sync::Arc;

use crate::format::{Depth, Size};
use crate::geometry::Rect;
use crate::graph::plane::{PlaneGraph, Port};
use crate::moves::Moves;
use crate::weights::{Separable, Weights, bell};

pub use coarse::Coarse;
pub use quantised::Quantised;

/// The most that a result may be off before it is rounded, in codes.
pub const MOST_ERROR: f64 = 0.9;

/// The most bits after the point of a sum across.
const FRACTION: u32 = 7;

/// The most samples that a sum has in one direction.
pub const MOST_TAPS: usize = 64;

/// What a plane is in integers.
#[derive(Clone, Debug)]
pub struct Integer {
    /// The samples of the source that are read.
    pub view: Rect,
    /// What is summed before, at few positions: the rest reads those.
    pub coarse: Option<Coarse>,
    /// The sums of columns: outputs are the columns of the filter's result.
    pub across: Quantised,
    /// The sums of rows.
    pub down: Quantised,
    /// Size of the filter's result.
    pub size: Size,
    /// What moves that result afterwards.
    pub then: Moves,
    /// Bits of a code.
    pub bits: u32,
    /// Bits after the point of sums across.
    pub fraction: u32,
    /// Bits after the point of sums down.
    pub sum_fraction: u32,
    /// How much a result may be off before it is rounded, in codes.
    pub error: f64,
}

impl Integer {
    /// The graph of a plane of codes of `depth`, if it is computed in integers.
    pub fn of(graph: &PlaneGraph, depth: Depth) -> Option<Integer> {
        let bits = depth.bits().filter(|bits| *bits <= 12)?;
        if graph.recodes || !graph.is_of_one_plane() {
            return None;
        }
        let parts = Parts::of(graph)?;
        let Parts {
            before,
            separable,
            input,
            size,
            after,
        } = parts;
        let (view, sides) = view(&before, input);
        let (across, down) = match separable {
            Separable::Bell(sigma) if bits == 8 && coarse::gains(sigma) => {
                return Integer::bell(sigma, view, &before, &after);
            }
            Separable::Bell(sigma) => {
                let weights = Some(bell(sigma)).filter(|weights| weights.len() <= MOST_TAPS)?;
                let around = |side| Arc::new(Weights::around(&weights, side));
                (around(input.w), around(input.h))
            }
            Separable::Windows(across, down) => {
                let same = |side: u32| Arc::new(Weights::same(side));
                let across = across.unwrap_or_else(|| same(input.w));
                (across, down.unwrap_or_else(|| same(input.h)))
            }
        };
        // Moves before the filter become others of its windows and of its result.
        let ((across, down), size) = match before.turned {
            true => ((down, across), turned(size)),
            false => ((across, down), size),
        };
        let (across, down) = (Quantised::new(&across)?, Quantised::new(&down)?);
        let mirrored = |own: Quantised, step: i32| if step == 1 { own } else { own.mirrored() };
        let across = mirrored(across, sides.0);
        let down = mirrored(down, sides.1);
        let then = after.after(before.of_result(size))?;
        Integer::fitted(view, (None, 0.0), (across, down), size, then, bits)
    }

    /// A wide bell of 8-bit codes, which is the same from every side.
    fn bell(sigma: f64, view: Rect, before: &Moves, after: &Moves) -> Option<Integer> {
        let size = Size {
            w: view.width() as u32,
            h: view.height() as u32,
        };
        let (coarse, [across, down]) = Coarse::new(sigma, size)?;
        let sums = (Quantised::new(&across)?, Quantised::new(&down)?);
        let off = coarse.error(sigma, FRACTION);
        let then = after.after(before.of_result(size))?;
        Integer::fitted(view, (Some(coarse), off), sums, size, then, 8)
    }

    /// Chooses the bits after the points; `None` if there are too few for the result to be within a code.
    /// What is read is off by `before` already.
    fn fitted(
        view: Rect,
        (coarse, before): (Option<Coarse>, f64),
        (across, down): (Quantised, Quantised),
        size: Size,
        then: Moves,
        bits: u32,
    ) -> Option<Integer> {
        if across.taps() > MOST_TAPS || down.taps() > MOST_TAPS {
            return None;
        }
        let half = f64::from(1 << (bits - 1));
        let power = |n: u32| f64::from(1u32 << n);
        const ROOM: f64 = i16::MAX as f64;
        let across = across.fitted(|_| true)?;
        let largest = half * across.norm();
        let fraction = (1..=FRACTION)
            .rev()
            .find(|&f| largest * power(f) + 1.0 <= ROOM)?;
        let taps = down.taps() as f64;
        let (down, sum_fraction, rounded) = if bits == 8 {
            let sums = |down: &Quantised| (fraction + down.bits()).checked_sub(15);
            let fits = |down: &Quantised| {
                sums(down).is_some_and(|g| {
                    let rounding = taps / 2.0 + power(g) / 2.0;
                    g > 0 && largest * down.norm() * power(g) + rounding + 1.0 <= ROOM
                })
            };
            let down = down.fitted(fits)?;
            let sums = sums(&down)?;
            (down, sums, taps * 0.5 / power(sums))
        } else {
            let largest = largest * power(fraction) + 1.0;
            let sums = |down: &Quantised| largest * down.norm() * power(down.bits() + 1);
            let down = down.fitted(|down| sums(down) < f64::from(i32::MAX))?;
            let sums = fraction + down.bits();
            (down, sums, 0.0)
        };
        let first = before * across.norm() + half * across.error() + 0.5 / power(fraction);
        let error = first * down.norm() + largest * down.error() + rounded;
        (error <= MOST_ERROR).then_some(Integer {
            view,
            coarse,
            across,
            down,
            size,
            then,
            bits,
            fraction,
            sum_fraction,
            error,
        })
    }

    /// Half of the number of codes.
    pub fn half(&self) -> i32 {
        1 << (self.bits - 1)
    }
}

impl Moves {
    /// The moves of a filter's result, of `size` in the directions of the source, that are left of moves before it.
    fn of_result(&self, size: Size) -> Moves {
        let axis = |(_, step): (i32, i32), side: u32| match step {
            1 => (0, 1),
            _ => (side as i32 - 1, -1),
        };
        Moves {
            turned: self.turned,
            column: axis(self.column, size.w),
            row: axis(self.row, size.h),
            inside: None,
        }
    }
}

fn turned(size: Size) -> Size {
    Size {
        w: size.h,
        h: size.w,
    }
}

/// The part of the source that `before` makes a plane of `size` of, and the direction in which it reads its columns and its
/// rows.
fn view(before: &Moves, size: Size) -> (Rect, (i32, i32)) {
    let size = if before.turned { turned(size) } else { size };
    let axis = |(at, step): (i32, i32), n: u32| match step {
        1 => (at, at + n as i32),
        _ => (at + 1 - n as i32, at + 1),
    };
    let (x0, x1) = axis(before.column, size.w);
    let (y0, y1) = axis(before.row, size.h);
    (Rect { x0, y0, x1, y1 }, (before.column.1, before.row.1))
}

/// A chain as moves, one filter of weighted sums, and moves.
struct Parts {
    before: Moves,
    separable: Separable,
    /// Size of what the filter reads, and of what it gives.
    input: Size,
    size: Size,
    after: Moves,
}

impl Parts {
    fn of(graph: &PlaneGraph) -> Option<Parts> {
        let mut parts: Option<Parts> = None;
        let mut before = Moves::SAME;
        let mut port = Port::Source;
        for (i, node) in graph.nodes.iter().enumerate() {
            if node.inputs != [port] {
                return None;
            }
            port = Port::Stage(i);
            match (node.stage.moves(), &mut parts) {
                (Some(moves), None) => before = moves.after(before)?,
                (Some(moves), Some(parts)) => parts.after = moves.after(parts.after)?,
                (None, None) => {
                    parts = Some(Parts {
                        before,
                        separable: node.stage.separable()?,
                        input: node.input_size,
                        size: node.size,
                        after: Moves::SAME,
                    });
                }
                (None, Some(parts)) => parts.join(node.stage.separable()?, node.size)?,
            }
        }
        // What is around a picture would have to be a part of it.
        parts.filter(|parts| graph.result == port && parts.before.inside.is_none())
    }

    /// Adds sums of the other direction, of the same filter.
    fn join(&mut self, next: Separable, size: Size) -> Option<()> {
        let (Separable::Windows(across, down), Separable::Windows(more_across, more_down)) =
            (&mut self.separable, next)
        else {
            return None;
        };
        let free = |own: &Option<_>, next: &Option<_>| own.is_none() || next.is_none();
        if self.after != Moves::SAME || !free(across, &more_across) || !free(down, &more_down) {
            return None;
        }
        *across = across.take().or(more_across);
        *down = down.take().or(more_down);
        self.size = size;
        Some(())
    }
}
