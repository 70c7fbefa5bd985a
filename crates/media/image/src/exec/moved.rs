//! A plane whose graph only moves samples: codes are copied as they are, a row or a block at a time.
//!
//! The bound is memory: each code is read and written once.

use std::ops::Range;

use evener_runtime::Simd;

use super::access::{Source, Target};
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::plane::PlaneGraph;
use crate::kernels::turn::{self, Code, Turn};
use crate::moves::Moves;

/// The move of one plane.
pub struct Moved {
    moves: Moves,
    size: Size,
}

impl Moved {
    /// `None` if the graph computes samples.
    pub fn new(graph: &PlaneGraph) -> Option<Moved> {
        Some(Moved {
            moves: Moves::of(graph)?,
            size: graph.size,
        })
    }

    /// Writes output rows `rows`, which are those `target` holds. Both are codes of one type.
    pub fn rows(
        &self,
        simd: Simd,
        source: &Source<'_>,
        rows: Range<usize>,
        target: &mut Target<'_>,
    ) {
        let fill = self.moves.inside.map_or(0.0, |(_, value)| value);
        let stride = source.stride();
        match (source, target) {
            (Source::U8(from, ..), Target::U8(to, scale)) => {
                let fill = scale.code(fill) as u8;
                let (to_stride, from) = (
                    to.stride(),
                    Plane {
                        codes: from,
                        stride,
                    },
                );
                self.codes(simd, from, rows, to, to_stride, fill);
            }
            (Source::U16(from, ..), Target::U16(to, scale)) => {
                let fill = scale.code(fill) as u16;
                let (to_stride, from) = (
                    to.stride(),
                    Plane {
                        codes: from,
                        stride,
                    },
                );
                self.codes(simd, from, rows, to, to_stride, fill);
                // Files may hold codes that their depth does not have.
                let maximum = scale.largest() as u16;
                if maximum < u16::MAX {
                    to.iter_mut().for_each(|code| *code = (*code).min(maximum));
                }
            }
            _ => unreachable!("planes of values are not moved, and a graph keeps the depth"),
        }
    }

    fn codes<T: Code>(
        &self,
        simd: Simd,
        from: Plane<'_, T>,
        rows: Range<usize>,
        to: &mut [T],
        stride: usize,
        fill: T,
    ) {
        let all = Rect {
            y0: rows.start as i32,
            y1: rows.end as i32,
            ..Rect::of(self.size)
        };
        let inside = match self.moves.inside {
            Some((rect, _)) => rect.intersect(&all),
            None => all,
        };
        let columns = match inside.is_empty() {
            true => 0..0,
            false => inside.x0 as usize..inside.x1 as usize,
        };
        for (y, row) in (all.y0..).zip(to.chunks_mut(stride.max(1))) {
            let row = &mut row[..self.size.w as usize];
            if !(inside.y0..inside.y1).contains(&y) || columns.is_empty() {
                row.fill(fill);
                continue;
            }
            row[..columns.start].fill(fill);
            row[columns.end..].fill(fill);
            if !self.moves.turned {
                self.row(simd, &from, y, inside.x0, &mut row[columns.clone()]);
            }
        }
        if self.moves.turned && !inside.is_empty() {
            let first = (inside.y0 - all.y0) as usize * stride;
            self.turn(simd, &from, inside, &mut to[first..], stride);
        }
    }

    /// Outputs (x0, y) and on.
    fn row<T: Code>(&self, simd: Simd, from: &Plane<'_, T>, y: i32, x0: i32, to: &mut [T]) {
        let Moves { column, row, .. } = self.moves;
        let (first, row) = (column.0 + column.1 * x0, row.0 + row.1 * y);
        match column.1 {
            1 => to.copy_from_slice(from.part(row, first, to.len())),
            _ => {
                let first = first + 1 - to.len() as i32;
                T::reverse(simd, from.part(row, first, to.len()), to);
            }
        }
    }

    /// Outputs in `inside`; `to` begins with the first of its rows.
    fn turn<T: Code>(
        &self,
        simd: Simd,
        from: &Plane<'_, T>,
        inside: Rect,
        to: &mut [T],
        stride: usize,
    ) {
        let Moves { column, row, .. } = self.moves;
        let turn = Turn {
            column,
            row,
            inside,
        };
        turn::turn(simd, turn, (from.codes, from.stride), (to, stride));
    }
}

/// The codes of the input.
struct Plane<'a, T> {
    codes: &'a [T],
    stride: usize,
}

impl<T> Plane<'_, T> {
    fn part(&self, row: i32, first: i32, len: usize) -> &[T] {
        &self.codes[row as usize * self.stride + first as usize..][..len]
    }
}
