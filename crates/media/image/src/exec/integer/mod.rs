//! A plane that is computed in integers: a strip of columns at a time, from the top of a job to its bottom. Sums of columns
//! stay in a ring of just the rows that sums of rows read.
//!
//! The bound is arithmetic: for each sum of columns half an instruction a sample, for each sum of rows an eighth.

mod ring;
mod samples;

use std::ops::Range;

use bytemuck::Pod;
use evener_runtime::Simd;

use super::access::{Source, Target};
use crate::format::{Depth, Size};
use crate::geometry::Rect;
use crate::graph::plane::PlaneGraph;
use crate::integer::{Coarse, Integer, MOST_TAPS, Quantised};
use crate::kernels::prefetch;
use crate::kernels::resample::{self, Across, BLOCK, ROWS, Window};
use crate::kernels::turn::{self, Turn};
use ring::RowRing;
use samples::{Depths, Lines, Read};

/// Columns of a strip: a ring of the usual number of rows stays in the level-1 cache.
const STRIP: usize = 1024;
/// Columns of a coarse plane's source that are summed together.
const PART: usize = 256;
/// Rows of the output that are computed together where columns become rows.
const BAND: i32 = 64;

/// Private memory of one worker.
#[derive(Default)]
pub struct Scratch {
    sums: SumScratch,
    codes: Vec<u64>,
    coarse: CoarseScratch,
}

#[derive(Default)]
struct SumScratch {
    ring: Vec<i16>,
    lines: Vec<u64>,
}

#[derive(Default)]
struct CoarseScratch {
    starts: Vec<usize>,
    rows: Vec<i16>,
    plane: Vec<i16>,
}

/// `n` samples of `memory`, contents undefined.
fn grown<T: Pod>(memory: &mut Vec<u64>, n: usize) -> &mut [T] {
    let words = (n * size_of::<T>()).div_ceil(size_of::<u64>());
    if memory.len() < words {
        memory.resize(words, 0);
    }
    &mut bytemuck::cast_slice_mut(memory)[..n]
}

/// Makes room for `n` sums.
fn grow(sums: &mut Vec<i16>, n: usize) {
    if sums.len() < n {
        sums.resize(n, 0);
    }
}

/// The executor of one plane.
pub struct Filtered {
    integer: Integer,
    across: Across,
    /// Sums of columns at few positions.
    coarse: Option<Across>,
    source: Size,
    size: Size,
}

/// Where a part of the filter's result goes.
struct Place<'a, T> {
    to: &'a mut [T],
    stride: usize,
    /// Rows are written from the last to the first, columns from right to left.
    upwards: bool,
    leftwards: bool,
}

impl Filtered {
    /// `None` if the plane is not computed in integers.
    pub fn new(graph: &PlaneGraph, depth: Depth) -> Option<Filtered> {
        let integer = Integer::of(graph, depth)?;
        let fraction = integer.fraction;
        let of_codes = |across: &Quantised| {
            let lost = across.bits() - fraction;
            Across::new(across, depth.bytes(), integer.half(), lost)
        };
        let of_sums = |across: &Quantised| {
            let bytes = size_of::<i16>();
            Across::new(across, bytes, 0, across.bits())
        };
        let coarse = integer.coarse.as_ref();
        Some(Filtered {
            across: match coarse {
                None => of_codes(&integer.across),
                Some(_) => of_sums(&integer.across),
            },
            coarse: coarse.map(|coarse| of_sums(&coarse.across)),
            integer,
            source: graph.source,
            size: graph.size,
        })
    }

    /// Operations that a frame is predicted to take.
    pub fn operations(&self) -> f64 {
        let Integer {
            across, down, view, ..
        } = &self.integer;
        let columns = across.outputs() as f64;
        let (coarse, height) = match &self.integer.coarse {
            None => (0.0, view.height()),
            Some(coarse) => {
                let sums = coarse.weights.len() * coarse.rows * view.width();
                (2.0 * sums as f64, coarse.rows)
            }
        };
        let first = coarse + (across.taps() + 2) as f64 * columns * height as f64;
        first + (down.taps() + 1) as f64 * columns * down.outputs() as f64
    }

    /// How much a sample may be off before it is rounded, in codes.
    pub fn error(&self) -> f64 {
        self.integer.error
    }

    /// Writes output rows `rows`, which are those `target` holds.
    pub fn rows(
        &self,
        simd: Simd,
        source: &Source<'_>,
        rows: Range<usize>,
        target: &mut Target<'_>,
        scratch: &mut Scratch,
    ) {
        let fill = self.integer.then.inside.map_or(0.0, |(_, value)| value);
        match (source, target) {
            (Source::U8(from, ..), Target::U8(to, scale)) => {
                let (from, stride) = ((&**from, from.stride()), to.stride());
                let fill = scale.code(fill) as u8;
                self.codes(simd, from, rows, (to, stride), fill, scratch);
            }
            (Source::U16(from, ..), Target::U16(to, scale)) => {
                let (from, stride) = ((&**from, from.stride()), to.stride());
                let fill = scale.code(fill) as u16;
                self.codes(simd, from, rows, (to, stride), fill, scratch);
            }
            _ => unreachable!("planes of values are computed as such, and a graph keeps the depth"),
        }
    }

    fn codes<T: Depths>(
        &self,
        simd: Simd,
        from: (&[T], usize),
        rows: Range<usize>,
        (to, stride): (&mut [T], usize),
        fill: T,
        scratch: &mut Scratch,
    ) {
        let all = Rect {
            y0: rows.start as i32,
            y1: rows.end as i32,
            ..Rect::of(self.size)
        };
        let then = &self.integer.then;
        let inside = match then.inside {
            Some((rect, _)) => rect.intersect(&all),
            None => all,
        };
        for (y, to) in (all.y0..).zip(to.chunks_mut(stride.max(1))) {
            let to = &mut to[..self.size.w as usize];
            if inside.is_empty() || !(inside.y0..inside.y1).contains(&y) {
                to.fill(fill);
            } else {
                to[..inside.x0 as usize].fill(fill);
                to[inside.x1 as usize..].fill(fill);
            }
        }
        if inside.is_empty() {
            return;
        }
        let first = (inside.y0 - all.y0) as usize * stride;
        let to = &mut to[first..];
        if then.turned {
            return self.turned(simd, from, inside, (to, stride), scratch);
        }
        let place = Place {
            to: &mut to[inside.x0 as usize..],
            stride,
            upwards: then.row.1 == -1,
            leftwards: then.column.1 == -1,
        };
        let columns = span(then.column, inside.x0..inside.x1);
        let rows = span(then.row, inside.y0..inside.y1);
        self.filter(simd, from, columns, rows, place, scratch);
    }

    /// Writes the outputs `inside`, whose rows are columns of the filter's result; `to` begins with the first of them.
    fn turned<T: Depths>(
        &self,
        simd: Simd,
        from: (&[T], usize),
        inside: Rect,
        (to, stride): (&mut [T], usize),
        scratch: &mut Scratch,
    ) {
        let then = &self.integer.then;
        let rows = span(then.row, inside.x0..inside.x1);
        let mut memory = std::mem::take(&mut scratch.codes);
        for y in (inside.y0..inside.y1).step_by(BAND as usize) {
            let band = y..inside.y1.min(y + BAND);
            let columns = span(then.column, band.clone());
            let width = columns.len();
            let codes: &mut [T] = grown(&mut memory, width * rows.len());
            let place = Place {
                to: &mut *codes,
                stride: width,
                upwards: false,
                leftwards: false,
            };
            self.filter(simd, from, columns.clone(), rows.clone(), place, scratch);
            let turn = Turn {
                column: (then.column.0 - columns.start as i32, then.column.1),
                row: (then.row.0 - rows.start as i32, then.row.1),
                inside: Rect {
                    y0: band.start,
                    y1: band.end,
                    ..inside
                },
            };
            let first = (band.start - inside.y0) as usize * stride;
            turn::turn(simd, turn, (codes, width), (&mut to[first..], stride));
        }
        scratch.codes = memory;
    }

    /// Computes a part of the filter's result.
    fn filter<T: Depths>(
        &self,
        simd: Simd,
        (samples, stride): (&[T], usize),
        columns: Range<usize>,
        rows: Range<usize>,
        place: Place<'_, T>,
        scratch: &mut Scratch,
    ) {
        let Integer { view, down, .. } = &self.integer;
        let lines = Lines {
            samples,
            stride,
            width: self.source.w as usize,
            x: view.x0 as usize,
            y: view.y0 as isize,
        };
        let (Some(coarse), Some(across)) = (&self.integer.coarse, &self.coarse) else {
            return self.strips(simd, lines, columns, rows, place, scratch);
        };
        let positions = down.first(rows.start)..down.first(rows.end - 1) + down.taps();
        let mut own = std::mem::take(&mut scratch.coarse);
        let coarse = (coarse, across);
        let lines = self.positions(simd, coarse, lines, &columns, positions, &mut own);
        self.strips(simd, lines, columns, rows, place, scratch);
        scratch.coarse = own;
    }

    /// Computes the rows at `positions` of a coarse plane, as far as `columns` of the result read them.
    fn positions<'s, T: Depths>(
        &self,
        simd: Simd,
        (coarse, across): (&Coarse, &Across),
        lines: Lines<'_, T>,
        columns: &Range<usize>,
        positions: Range<usize>,
        scratch: &'s mut CoarseScratch,
    ) -> Lines<'s, i16> {
        let CoarseScratch {
            starts,
            rows,
            plane,
        } = scratch;
        let width = self.integer.view.width();
        let splines = &self.integer.across;
        let (first, end) = (splines.first(columns.start), splines.first(columns.end - 1));
        let blocks = first / BLOCK..(end + splines.taps()).div_ceil(BLOCK);
        let read = across.reads(&blocks);
        let line = across.readable().max(width);
        let stride = across.blocks() * BLOCK;
        let batches = positions.len().div_ceil(ROWS);
        // What sums read beyond rows has no weight.
        grow(rows, ROWS * line);
        grow(plane, batches * ROWS * stride + self.across.readable());
        let shift = coarse.bits - self.integer.fraction;
        let begin = (1 << shift >> 1) - (self.integer.half() << coarse.bits);
        for (batch, first) in positions.clone().step_by(ROWS).enumerate() {
            starts.clear();
            let count = ROWS.min(positions.end - first);
            for position in first..first + count {
                let reads = coarse.reads(position);
                starts.extend(reads.map(|y| (lines.y as usize + y) * lines.stride + lines.x));
            }
            let taps = starts.len() / count;
            // The codes of a part of the columns serve all rows from the nearest cache.
            for x in read.clone().step_by(PART) {
                let part = x..read.end.min(x + PART);
                for i in 0..count {
                    let out = &mut rows[i * line..][part.clone()];
                    let starts = &starts[i * taps..][..taps];
                    let codes = &lines.samples[x..];
                    resample::bell(simd, codes, starts, &coarse.weights, (begin, shift), out);
                }
            }
            let sources = std::array::from_fn(|i| &rows[i * line..][..line]);
            let out = &mut plane[batch * ROWS * stride + blocks.start * BLOCK..];
            across.sums::<i16>(simd, blocks.clone(), sources, (out, stride));
        }
        Lines {
            samples: plane,
            stride,
            width: stride,
            x: 0,
            y: -(positions.start as isize),
        }
    }

    /// Computes a part of the filter's result, a strip after the other.
    fn strips<S: Read, T: Depths>(
        &self,
        simd: Simd,
        lines: Lines<'_, S>,
        columns: Range<usize>,
        rows: Range<usize>,
        place: Place<'_, T>,
        scratch: &mut Scratch,
    ) {
        let Scratch { sums, codes, .. } = scratch;
        for start in columns.clone().step_by(STRIP) {
            let strip = start..columns.end.min(start + STRIP);
            let across = match place.leftwards {
                true => columns.end - strip.end,
                false => strip.start - columns.start,
            };
            let (last, stride, upwards) = (rows.len() - 1, place.stride, place.upwards);
            let to = &mut place.to[across..];
            let row = |i: usize| stride * if upwards { last - i } else { i };
            if place.leftwards {
                let line: &mut [T] = grown(codes, strip.len());
                self.strip(simd, lines, strip.clone(), rows.clone(), sums, |i, down| {
                    down(line);
                    T::reverse(simd, line, &mut to[row(i)..][..strip.len()]);
                });
            } else {
                self.strip(simd, lines, strip.clone(), rows.clone(), sums, |i, down| {
                    if i < last {
                        prefetch::lines_to_write(&to[row(i + 1)..][..strip.len()]);
                    }
                    down(&mut to[row(i)..][..strip.len()]);
                });
            }
        }
    }

    /// Computes `columns` of `rows`. `each` gets the number of every row, and what computes its codes.
    fn strip<S: Read, T: Depths>(
        &self,
        simd: Simd,
        from: Lines<'_, S>,
        columns: Range<usize>,
        rows: Range<usize>,
        scratch: &mut SumScratch,
        mut each: impl FnMut(usize, &mut dyn FnMut(&mut [T])),
    ) {
        let down = &self.integer.down;
        let blocks = columns.start / BLOCK..columns.end.div_ceil(BLOCK);
        let skipped = columns.start - blocks.start * BLOCK;
        let width = blocks.len() * BLOCK;
        let taps = down.taps();
        let capacity = (taps + ROWS - 1).next_multiple_of(ROWS);
        let readable = self.across.readable();
        let read = self.across.reads(&blocks);
        let line = readable.max(read.end);
        let most = ((1u32 << self.integer.bits) - 1) as u16;
        grow(&mut scratch.ring, capacity * width);
        let (top, end) = (down.first(rows.start), down.first(rows.end - 1) + taps);
        let mut ring = RowRing {
            capacity,
            width,
            first: (top, 0),
        };
        let mut starts = [0; MOST_TAPS];
        let mut done = top;
        for (i, row) in rows.enumerate() {
            let first = down.first(row);
            // Rows between windows are read by none.
            done = done.max(top + (first - top) / ROWS * ROWS);
            while done < first + taps {
                let lines: &mut [S] = grown(&mut scratch.lines, ROWS * line);
                let mut copies = lines.chunks_mut(line);
                let sources: [&[S]; ROWS] = std::array::from_fn(|i| {
                    let row = from.row((done + i).min(end - 1));
                    let copy = copies.next().unwrap_or_default();
                    S::in_place(row, readable).unwrap_or_else(|| {
                        S::copy(&row[read.clone()], most, &mut copy[read.clone()]);
                        copy
                    })
                });
                let out = &mut scratch.ring[ring.start(done)..][..ROWS * width];
                self.across
                    .sums(simd, blocks.clone(), sources, (out, width));
                done += ROWS;
            }
            ring.advance(first);
            for (k, start) in starts[..taps].iter_mut().enumerate() {
                *start = ring.start(first + k) + skipped;
            }
            let window = Window {
                sums: &scratch.ring,
                starts: &starts[..taps],
                weights: down.weights(row),
            };
            each(i, &mut |out| T::down(simd, &self.integer, &window, out));
        }
    }
}

/// The first to the last of `at + step·i` for all `i`, where `step` is 1 or -1.
fn span((at, step): (i32, i32), i: Range<i32>) -> Range<usize> {
    let (first, last) = match step {
        1 => (at + i.start, at + i.end - 1),
        _ => (at + 1 - i.end, at - i.start),
    };
    first as usize..last as usize + 1
}
