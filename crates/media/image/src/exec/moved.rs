//! A plane whose graph only moves samples: codes are copied as they are, a row or a block at a time.
//!
//! The bound is memory: each code is read and written once.

use std::ops::Range;

use evener_runtime::Simd;

use super::access::{Source, Target};
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::plane::PlaneGraph;
use crate::kernels::turn::{self, Code, Plane, PlaneMut, Turn};
use crate::moves::Moves;

/// The move of one plane.
pub struct Moved {
    moves: Moves,
    size: Size,
}

impl Moved {
    /// `None` if the graph computes samples, or frames have `values`, which are not codes.
    pub fn new(graph: &PlaneGraph, values: bool) -> Option<Moved> {
        let moves = Moves::of(graph).filter(|_| !values)?;
        Some(Moved {
            moves,
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
        match (source, target) {
            (Source::U8(from, ..), Target::U8(to, scale)) => {
                let (from, stride) = ((&**from, from.stride()), to.stride());
                self.codes(simd, from, rows, (to, stride), scale.code(fill) as u8);
            }
            (Source::U16(from, ..), Target::U16(to, scale)) => {
                let (from, stride) = ((&**from, from.stride()), to.stride());
                self.codes(simd, from, rows, (to, stride), scale.code(fill) as u16);
                // Files may hold codes that their depth does not have.
                let maximum = scale.largest() as u16;
                if maximum < u16::MAX {
                    let width = self.size.w as usize;
                    let rows = to.chunks_mut(stride.max(1));
                    let codes = rows.flat_map(|row| &mut row[..width]);
                    codes.for_each(|code| *code = (*code).min(maximum));
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
        (to, stride): PlaneMut<'_, T>,
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
        let Moves { column, row, .. } = self.moves;
        for (y, to) in (all.y0..).zip(to.chunks_mut(stride.max(1))) {
            let to = &mut to[..self.size.w as usize];
            if inside.is_empty() || !(inside.y0..inside.y1).contains(&y) {
                to.fill(fill);
                continue;
            }
            let columns = inside.x0 as usize..inside.x1 as usize;
            to[..columns.start].fill(fill);
            to[columns.end..].fill(fill);
            if !self.moves.turned {
                let first = column.0 + column.1 * inside.x0;
                let from = (from.0, (row.0 + row.1 * y) as usize * from.1);
                copy(simd, from, (first, column.1), &mut to[columns]);
            }
        }
        if self.moves.turned && !inside.is_empty() {
            let turn = Turn {
                column,
                row,
                inside,
            };
            let first = (inside.y0 - all.y0) as usize * stride;
            turn::turn(simd, turn, from, (&mut to[first..], stride));
        }
    }
}

/// Copies from column `first` on of the row that begins at `row`, to the right or, if `step` is -1, to the left.
fn copy<T: Code>(simd: Simd, (codes, row): (&[T], usize), (first, step): (i32, i32), to: &mut [T]) {
    let n = to.len();
    let first = row + first as usize;
    match step {
        1 => to.copy_from_slice(&codes[first..first + n]),
        _ => T::reverse(simd, &codes[first + 1 - n..=first], to),
    }
}

#[cfg(test)]
mod tests {
    use evener_runtime::buffer::Rows;

    use super::*;
    use crate::format::{Chroma, ColourRange, Depth, Format};
    use crate::frame::Samples;
    use crate::graph::{Graph, Planes};
    use crate::kernels::convert::Scale;

    #[test]
    fn only_codes_of_the_plane_are_written() {
        let format = Format {
            width: 40,
            height: 20,
            chroma: Chroma::Mono,
            depth: Depth::U10,
            range: ColourRange::Full,
        };
        for text in ["hflip", "transpose", "pad=50:30:3:4,vflip", "null"] {
            let graph = Graph::parse(text).unwrap();
            let bound = graph.bind(&format, Planes::Auto).unwrap();
            let moved = Moved::new(&bound.planes[0], false).unwrap();
            let size = bound.planes[0].size;
            let (w, h) = (size.w as usize, size.h as usize);
            let mut from = Rows::<u16>::zeroed(40, 20);
            // No code of 10 bits.
            from.as_mut_slice().fill(5000);
            let mut to = Rows::<u16>::padded(w, w + 7, h);
            to.as_mut_slice().fill(6000);
            let (from, mut to) = (Samples::U16(from), Samples::U16(to));
            let scale = Scale::new(format.codes(0));
            let source = Source::new(&from, format.plane_size(0), scale);
            let mut target = Target::new(&to, 0..h, scale);
            moved.rows(Simd::Scalar, &source, 0..h, &mut target);
            drop(target);
            let Samples::U16(to) = &mut to else {
                unreachable!("as made above");
            };
            for row in to.as_mut_slice().chunks(w + 7) {
                assert!(row[..w].iter().all(|&code| code <= 1023), "{text}");
                assert!(row[w..].iter().all(|&code| code == 6000), "{text}");
            }
        }
    }
}
