//! Motion search over a whole picture, on source pictures: every macroblock by itself.
//!
//! Vectors come from smaller versions of the pictures: a quarter of the size for 2x2 macroblocks, which are called a
//! *cell*, half the size for a macroblock, then the full size. Nothing depends on neighbours, so cells can be searched in
//! any order, on any processor. `device/search.c` has the same for devices.

use crate::geometry::{Geometry, OUTSIDE};
use crate::kernels::{BlockSize, Kernels};
use crate::macroblock::Mv;
use crate::padded::Plane;
use crate::source::Pyramid;

/// What is found for a macroblock in one reference. Vectors are whole samples, in quarters of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchResult {
    /// The best two, the better one first; one twice where the search goes on from one.
    pub whole: [Mv; 2],
    /// The best of each sub-macroblock among those tried for the whole.
    pub sub_macroblocks: [Mv; 4],
    /// The sum of absolute differences of the best one.
    pub sad: u32,
    /// The sum of absolute transformed differences of the best one at half the size.
    pub half_satd: u32,
}

/// How far to search at a quarter of the size, in its samples; twice as far from `WIDE` macroblocks in a row on, where the
/// same pan moves more samples.
const RANGE: i32 = 8;
const WIDE: usize = 64;
/// How far around a vector at half the size.
const REFINE: i32 = 2;
/// What a step of a sample in a smaller version must save: vectors near zero are cheap to code.
const STEP: u32 = 2;

/// How far to search at a quarter of the size.
pub fn range(geometry: &Geometry) -> i32 {
    match geometry.columns {
        WIDE.. => 2 * RANGE,
        _ => RANGE,
    }
}

/// The least and the most that a block at `x`, `y` of a version `scale` times smaller may move: left, right, up, down.
pub fn limits(geometry: &Geometry, (x, y): (i32, i32), scale: i32) -> (i32, i32, i32, i32) {
    let outside = OUTSIDE / scale;
    let (width, height) = (
        geometry.coded_width() as i32 / scale,
        geometry.coded_height() as i32 / scale,
    );
    let size = 16 / scale;
    (
        -outside - x,
        width + outside - size - x,
        -outside - y,
        (height + outside - size - y).min(geometry.below / scale),
    )
}

/// Searches one source in another.
pub struct Search<'a> {
    geometry: Geometry,
    kernels: Kernels,
    source: Pyramid<'a>,
    reference: Pyramid<'a>,
    starts: usize,
}

/// A vector in samples of some version, and its cost.
#[derive(Clone, Copy)]
struct Candidate {
    x: i32,
    y: i32,
    cost: u32,
}

const UNTRIED: Candidate = Candidate {
    x: 0,
    y: 0,
    cost: u32::MAX,
};

/// The best two that are not beside one another.
#[derive(Clone, Copy)]
pub struct Best([Candidate; 2]);

impl Best {
    fn add(&mut self, new: Candidate) {
        let [first, second] = self.0;
        let near = |a: Candidate| (a.x - new.x).abs() <= 1 && (a.y - new.y).abs() <= 1;
        if new.cost < first.cost {
            self.0 = match near(first) {
                true => [new, second],
                false => [new, first],
            };
        } else if new.cost < second.cost && !near(first) {
            self.0[1] = new;
        }
    }
}

/// A block of 8x8 samples of a smaller version, and where it is looked for.
struct Scan<'a> {
    sad: fn(&[u8], usize, &[u8], usize) -> [u16; 8],
    source: &'a [u8],
    source_stride: usize,
    reference: &'a [u8],
    stride: usize,
    /// Where the block's own place is in the reference.
    at: usize,
    limits: (i32, i32, i32, i32),
    /// The first and the last place from which a row can be read.
    places: (i32, i32),
}

impl Scan<'_> {
    /// The reference from where a vector points.
    #[inline]
    fn place(&self, dx: i32, dy: i32) -> &[u8] {
        let at = self.at as i32 + dy * self.stride as i32 + dx;
        &self.reference[at as usize..]
    }

    /// Tries eight vectors from `dx` on.
    #[inline]
    fn eight(&self, dx: i32, dy: i32, best: &mut Best) {
        let (left, right, up, down) = self.limits;
        if dy < up || dy > down || dx + 7 < left || dx > right {
            return;
        }
        let dx = dx.clamp(self.places.0, self.places.1);
        let reference = self.place(dx, dy);
        let sums = (self.sad)(self.source, self.source_stride, reference, self.stride);
        // Most rows have nothing better, and that is quickly seen.
        let mut least = sums[0];
        for &sum in &sums[1..] {
            least = least.min(sum);
        }
        if u32::from(least) >= best.0[1].cost {
            return;
        }
        for (i, &sum) in sums.iter().enumerate() {
            let dx = dx + i as i32;
            if (left..=right).contains(&dx) {
                let cost = u32::from(sum) + STEP * (dx.unsigned_abs() + dy.unsigned_abs());
                best.add(Candidate { x: dx, y: dy, cost });
            }
        }
    }
}

impl<'a> Search<'a> {
    /// A search of `source` in `reference`.
    pub fn new(
        geometry: Geometry,
        kernels: Kernels,
        source: Pyramid<'a>,
        reference: Pyramid<'a>,
    ) -> Self {
        Search {
            geometry,
            kernels,
            source,
            reference,
            starts: 2,
        }
    }

    /// The same, which goes on at full size from the best `starts` vectors alone, 1 or 2.
    #[must_use]
    pub fn going_on_from(self, starts: u8) -> Self {
        Search {
            starts: starts.into(),
            ..self
        }
    }

    /// Searches the macroblocks of a cell: left to right, top to bottom. Those outside the picture are left alone.
    pub fn cell(&self, cell_x: usize, cell_y: usize, found: &mut [SearchResult; 4]) {
        let coarse = self.coarse(cell_x, cell_y);
        for (i, found) in found.iter_mut().enumerate() {
            let (x, y) = (2 * cell_x + i % 2, 2 * cell_y + i / 2);
            if x < self.geometry.columns && y < self.geometry.rows {
                *found = self.macroblock(x, y, &coarse);
            }
        }
    }

    /// The best vectors at a quarter of the size.
    pub fn coarse(&self, cell_x: usize, cell_y: usize) -> Best {
        let mut best = Best([UNTRIED; 2]);
        let at = (8 * cell_x as i32, 8 * cell_y as i32);
        let scan = self.scan(self.source.quarter, self.reference.quarter, at, 4);
        let range = range(&self.geometry);
        for dy in -range..=range {
            for dx in (-range..range).step_by(8) {
                scan.eight(dx, dy, &mut best);
            }
        }
        best
    }

    fn scan<'b>(
        &self,
        source: Plane<'b>,
        reference: Plane<'b>,
        (x, y): (i32, i32),
        scale: i32,
    ) -> Scan<'b> {
        let shape = reference.shape;
        Scan {
            sad: self.kernels.samples.sad_8x8_x8,
            source: &source.samples[source.shape.at(x, y)..],
            source_stride: source.shape.stride,
            reference: reference.samples,
            stride: shape.stride,
            at: shape.at(x, y),
            limits: limits(&self.geometry, (x, y), scale),
            // Eight places read 16 samples of a row.
            places: (
                -(shape.pad as i32) - x,
                (shape.width + shape.pad) as i32 - 16 - x,
            ),
        }
    }

    /// Searches a macroblock, from what was found for its cell.
    pub fn macroblock(&self, x: usize, y: usize, coarse: &Best) -> SearchResult {
        let at = (8 * x as i32, 8 * y as i32);
        let scan = self.scan(self.source.half, self.reference.half, at, 2);
        let mut best = Best([UNTRIED; 2]);
        let zero = Candidate { cost: 0, ..UNTRIED };
        for around in [zero, coarse.0[0], coarse.0[1]] {
            if around.cost == u32::MAX {
                continue;
            }
            for dy in -REFINE..=REFINE {
                scan.eight(2 * around.x - 3, 2 * around.y + dy, &mut best);
            }
        }
        let satd = self.kernels.samples.satd[BlockSize::B8x8 as usize];
        let found = scan.place(best.0[0].x, best.0[0].y);
        let half_satd = satd(scan.source, scan.source_stride, found, scan.stride);
        SearchResult {
            half_satd,
            ..self.full(x, y, &best)
        }
    }

    fn full(&self, x: usize, y: usize, half: &Best) -> SearchResult {
        let at = (16 * x as i32, 16 * y as i32);
        let limits = limits(&self.geometry, at, 1);
        let mut sub_macroblocks = [UNTRIED; 4];
        let mut whole = [UNTRIED; 2];
        let mut count = 0;
        let zero = Candidate { cost: 0, ..UNTRIED };
        for around in half.0.into_iter().chain([zero]) {
            if around.cost == u32::MAX || count == self.starts {
                continue;
            }
            let start = (
                (2 * around.x).clamp(limits.0, limits.1),
                (2 * around.y).clamp(limits.2, limits.3),
            );
            whole[count] = self.descend(at, start, limits, &mut sub_macroblocks);
            count += 1;
        }
        if count == 1 {
            whole[1] = whole[0];
        }
        if whole[1].cost < whole[0].cost {
            whole.swap(0, 1);
        }
        let mv = |t: Candidate| Mv {
            x: 4 * t.x as i16,
            y: 4 * t.y as i16,
        };
        let moves = whole[0].x.unsigned_abs() + whole[0].y.unsigned_abs();
        SearchResult {
            whole: [mv(whole[0]), mv(whole[1])],
            sub_macroblocks: [
                mv(sub_macroblocks[0]),
                mv(sub_macroblocks[1]),
                mv(sub_macroblocks[2]),
                mv(sub_macroblocks[3]),
            ],
            sad: whole[0].cost - STEP * moves,
            half_satd: 0,
        }
    }

    /// Steps to a neighbour as long as one is better, a few times.
    fn descend(
        &self,
        (x, y): (i32, i32),
        start: (i32, i32),
        limits: (i32, i32, i32, i32),
        sub_macroblocks: &mut [Candidate; 4],
    ) -> Candidate {
        let mut best = UNTRIED;
        let around = [
            (-1, 0),
            (1, 0),
            (0, -1),
            (0, 1),
            (-1, -1),
            (1, -1),
            (-1, 1),
            (1, 1),
        ];
        self.four(&[start; 4], (x, y), &mut best, sub_macroblocks);
        for _ in 0..STEPS {
            let from = (best.x, best.y);
            for part in around.chunks(4) {
                let at = |i: usize| {
                    (
                        (from.0 + part[i].0).clamp(limits.0, limits.1),
                        (from.1 + part[i].1).clamp(limits.2, limits.3),
                    )
                };
                self.four(
                    &[at(0), at(1), at(2), at(3)],
                    (x, y),
                    &mut best,
                    sub_macroblocks,
                );
            }
            if (best.x, best.y) == from {
                break;
            }
        }
        best
    }

    /// Tries four vectors at the full size.
    fn four(
        &self,
        vectors: &[(i32, i32); 4],
        (x, y): (i32, i32),
        best: &mut Candidate,
        sub_macroblocks: &mut [Candidate; 4],
    ) {
        let (source, reference) = (self.source.full, self.reference.full);
        let offset = |i: usize| reference.shape.at(x + vectors[i].0, y + vectors[i].1);
        let sums = (self.kernels.samples.sad_quads_x4)(
            &source.samples[source.shape.at(x, y)..],
            source.shape.stride,
            reference.samples,
            reference.shape.stride,
            [offset(0), offset(1), offset(2), offset(3)],
        );
        for (i, sums) in sums.iter().enumerate() {
            let (x, y) = vectors[i];
            let moves = STEP * (x.unsigned_abs() + y.unsigned_abs());
            let cost = sums.iter().sum::<u32>() + moves;
            if cost < best.cost {
                *best = Candidate { x, y, cost };
            }
            for (q, sub_macroblock) in sub_macroblocks.iter_mut().enumerate() {
                let cost = sums[q] + moves;
                if cost < sub_macroblock.cost {
                    *sub_macroblock = Candidate { x, y, cost };
                }
            }
        }
    }
}

/// Steps of a sample at the full size, at most.
const STEPS: usize = 3;
