//! Choosing vectors of a macroblock.

#[cfg(feature = "forced")]
mod forced;

use super::cost;
use super::predict::Block;
use super::{SliceContext, Tools};
use crate::geometry::{FARTHEST, OUTSIDE};
use crate::kernels::BlockSize;
use crate::macroblock::{Kind, Macroblock, Mv};
use crate::neighbours::{Motion, Partition};
use crate::search::SearchResult;

/// How a macroblock is predicted from references, and what it costs.
#[derive(Clone, Copy, Debug)]
pub struct Inter {
    /// Its kind.
    pub kind: Kind,
    /// References of its sub-macroblocks.
    pub refs: [i8; 4],
    /// Vectors of its sub-macroblocks.
    pub mvs: [Mv; 4],
    /// Vectors less their predictions, by partition.
    pub mvds: [Mv; 4],
    /// Distortion and bits.
    pub cost: u32,
}

impl Inter {
    /// The whole macroblock at a vector that need not be coded.
    pub fn skipped(mv: Mv) -> Inter {
        Inter {
            kind: Kind::P16x16,
            refs: [0; 4],
            mvs: [mv; 4],
            mvds: [Mv::ZERO; 4],
            cost: 0,
        }
    }

    /// Writes it into the record of a macroblock.
    pub fn put(&self, mb: &mut Macroblock) {
        mb.kind = self.kind;
        mb.refs = self.refs;
        mb.mvs = self.mvs;
        mb.mvds = self.mvds;
    }
}

/// A vector for a part, with its reference and cost.
#[derive(Clone, Copy, Debug)]
struct Choice {
    reference: u8,
    mv: Mv,
    cost: u32,
}

/// The search of vectors for one macroblock.
pub struct InterSearch<'a> {
    /// The picture.
    pub slice: &'a SliceContext<'a>,
    /// The block's place, in samples.
    pub at: (i32, i32),
    /// The source of the macroblock, and its stride.
    pub source: (&'a [u8], usize),
    /// Vectors around it.
    pub motion: &'a Motion,
    /// What was found for it in each reference.
    pub found: &'a [SearchResult],
    /// The price of a bit.
    pub lambda: u32,
}

/// A part of a macroblock: its size and place in it, in samples.
#[derive(Clone, Copy)]
struct Area {
    size: BlockSize,
    x: i32,
    y: i32,
}

/// The least and the most of both components of a vector.
#[derive(Clone, Copy)]
struct Limits {
    x: (i16, i16),
    y: (i16, i16),
}

impl Limits {
    #[inline]
    fn clamp(&self, mv: Mv) -> Mv {
        Mv {
            x: mv.x.clamp(self.x.0, self.x.1),
            y: mv.y.clamp(self.y.0, self.y.1),
        }
    }

    #[inline]
    fn contain(&self, mv: Mv) -> bool {
        self.clamp(mv) == mv
    }
}

const WHOLE: Area = Area {
    size: BlockSize::B16x16,
    x: 0,
    y: 0,
};

fn sub_macroblock(q: usize) -> Area {
    Area {
        size: BlockSize::B8x8,
        x: 8 * (q as i32 % 2),
        y: 8 * (q as i32 / 2),
    }
}

impl InterSearch<'_> {
    fn tools(&self) -> &Tools {
        self.slice.tools
    }

    #[inline]
    fn source(&self, area: Area) -> (&[u8], usize) {
        let stride = self.source.1;
        (
            &self.source.0[area.y as usize * stride + area.x as usize..],
            stride,
        )
    }

    /// The vectors of a part for which references have samples.
    fn limits(&self, area: Area) -> Limits {
        let geometry = &self.slice.geometry;
        let (x, y) = (self.at.0 + area.x, self.at.1 + area.y);
        let (width, height) = (area.size.width() as i32, area.size.height() as i32);
        let down = (geometry.coded_height() as i32 + OUTSIDE - height - y).min(geometry.below);
        let right = geometry.coded_width() as i32 + OUTSIDE - width - x;
        let quarter_samples = |v: i32| 4 * v as i16;
        // As far up as down, which every level allows, and to the sides what all allow.
        Limits {
            x: (
                quarter_samples((-OUTSIDE - x).max(-FARTHEST)),
                quarter_samples(right.min(FARTHEST)),
            ),
            y: (
                quarter_samples((-OUTSIDE - y).max(-geometry.below)),
                quarter_samples(down),
            ),
        }
    }

    /// Whether a vector may be used as it is.
    pub fn allows(&self, mv: Mv) -> bool {
        self.limits(WHOLE).contain(mv)
    }

    /// Distortion of the whole at a vector in the first reference.
    pub fn whole_distortion(&self, mv: Mv) -> u32 {
        self.distortion(WHOLE, 0, mv)
    }

    #[inline]
    fn block(&self, area: Area, reference: usize, mv: Mv) -> Block<'_> {
        let place = (self.at.0 + area.x, self.at.1 + area.y);
        self.slice.references[reference].block(&self.slice.geometry, place, mv)
    }

    #[inline]
    fn distortion(&self, area: Area, reference: usize, mv: Mv) -> u32 {
        let block = self.block(area, reference, mv);
        let view = &self.slice.references[reference];
        view.satd(self.slice.kernels, area.size, self.source(area), block)
    }

    /// What the index of a reference costs.
    fn reference_bits(&self, reference: usize) -> u32 {
        match self.slice.references.len() {
            1 => 0,
            2 => 1,
            _ => cost::ue(reference as u32),
        }
    }

    /// The best vector of a part near `start`: whole samples are known, halves and quarters are tried.
    fn refine(&self, area: Area, reference: usize, start: Mv, prediction: Mv) -> Choice {
        let price = |mv: Mv| self.lambda * cost::vector(mv, prediction);
        let limits = self.limits(area);
        let start = limits.clamp(start);
        let mut best = start;
        let mut cost = self.distortion(area, reference, start) + price(start);
        let (_, half, quarter) = steps(self.tools().subpel);
        for (step, times) in [(2, half), (1, quarter)] {
            let mut back = (0, 0);
            for _ in 0..times {
                let from = best;
                for (dx, dy) in [(-step, 0), (step, 0), (0, -step), (0, step)] {
                    if (dx, dy) == back {
                        continue;
                    }
                    let mv = Mv {
                        x: from.x + dx,
                        y: from.y + dy,
                    };
                    if !limits.contain(mv) {
                        continue;
                    }
                    let bits = price(mv);
                    if bits >= cost {
                        continue;
                    }
                    let new = self.distortion(area, reference, mv) + bits;
                    if new < cost {
                        (best, cost) = (mv, new);
                    }
                }
                if best == from {
                    break;
                }
                back = (from.x - best.x, from.y - best.y);
            }
        }
        Choice {
            reference: reference as u8,
            mv: best,
            cost: cost + self.lambda * self.reference_bits(reference),
        }
    }

    /// The best vector of the whole in one reference, and for each sub-macroblock the best whole-sample vector on the way.
    fn whole(&self, reference: usize) -> (Choice, [Mv; 4]) {
        let prediction = self.motion.predict(Partition::Whole, reference as i8);
        let found = &self.found[reference];
        let [left, above, right] = self.motion.around();
        let candidates = [
            Some(prediction),
            Some(Mv::ZERO),
            Some(found.whole[0]),
            Some(found.whole[1]),
            left,
            above,
            right,
        ];
        let mut full_pel = FullPelSearch {
            search: self,
            reference,
            limits: self.limits(WHOLE),
            prediction,
            best: (Mv::ZERO, u32::MAX),
            sub_macroblocks: [(Mv::ZERO, u32::MAX); 4],
            seen: [(i16::MAX, i16::MAX); 8],
            count: 0,
        };
        full_pel.try_all(&candidates);
        for _ in 0..steps(self.tools().subpel).0 {
            let from = full_pel.best.0;
            let moved = |dx, dy| Mv {
                x: from.x + dx,
                y: from.y + dy,
            };
            full_pel.try_four([moved(-4, 0), moved(4, 0), moved(0, -4), moved(0, 4)]);
            if full_pel.best.0 == from {
                break;
            }
        }
        let found = |q: usize| full_pel.sub_macroblocks[q].0;
        let sub_macroblocks = [found(0), found(1), found(2), found(3)];
        let best = full_pel.best.0;
        // Where the prediction itself is as good, nothing is coded for it.
        let mut choice = self.refine(WHOLE, reference, best, prediction);
        let predicted = self.limits(WHOLE).clamp(prediction);
        if predicted != choice.mv {
            let cost = self.distortion(WHOLE, reference, predicted)
                + self.lambda
                    * (cost::vector(predicted, prediction) + self.reference_bits(reference));
            if cost < choice.cost {
                choice.mv = predicted;
                choice.cost = cost;
            }
        }
        (choice, sub_macroblocks)
    }

    /// The best prediction from references.
    pub fn run(&self) -> Inter {
        let mut whole: Option<(Choice, [Mv; 4])> = None;
        for reference in 0..self.slice.references.len() {
            let found = self.whole(reference);
            if whole.is_none_or(|best| found.0.cost < best.0.cost) {
                whole = Some(found);
            }
        }
        let (choice, sub_macroblocks) = whole.expect("a P picture has a reference");
        let mut best = Inter {
            kind: Kind::P16x16,
            refs: [choice.reference as i8; 4],
            mvs: [choice.mv; 4],
            mvds: [Mv::ZERO; 4],
            cost: choice.cost + self.lambda * MB_BITS[0],
        };
        best.mvds[0] = difference(
            choice.mv,
            self.motion
                .predict(Partition::Whole, choice.reference as i8),
        );
        if !self.tools().partitions || choice.cost < self.lambda * ENOUGH {
            return best;
        }
        let (split, parts) = self.sub_macroblocks(&choice, &sub_macroblocks);
        if split.cost < best.cost {
            best = split;
        } else if 4 * u64::from(split.cost) > 5 * u64::from(best.cost) {
            return best;
        }
        for rows in [true, false] {
            let halves = self.halves(rows, &parts, best.cost);
            if let Some(halves) = halves
                && halves.cost < best.cost
            {
                best = halves;
            }
        }
        best
    }

    /// Each sub-macroblock with a vector of its own.
    fn sub_macroblocks(&self, whole: &Choice, found: &[Mv; 4]) -> (Inter, [Choice; 4]) {
        let reference = usize::from(whole.reference);
        let mut motion = self.motion.clone();
        let mut result = Inter {
            kind: Kind::P8x8,
            refs: [whole.reference as i8; 4],
            mvs: [Mv::ZERO; 4],
            mvds: [Mv::ZERO; 4],
            cost: self.lambda * MB_BITS[2],
        };
        let mut parts = [*whole; 4];
        for (q, part) in parts.iter_mut().enumerate() {
            let prediction = motion.predict(Partition::SubMacroblock(q), whole.reference as i8);
            let area = sub_macroblock(q);
            let mut choice = self.refine(area, reference, found[q], prediction);
            let close =
                (choice.mv.x - whole.mv.x).abs() <= 1 && (choice.mv.y - whole.mv.y).abs() <= 1;
            if !close {
                let bits = cost::vector(whole.mv, prediction) + self.reference_bits(reference);
                let cost = self.distortion(area, reference, whole.mv) + self.lambda * bits;
                if cost < choice.cost {
                    choice.mv = whole.mv;
                    choice.cost = cost;
                }
            }
            motion.set(q, whole.reference as i8, choice.mv);
            result.mvs[q] = choice.mv;
            result.mvds[q] = difference(choice.mv, prediction);
            result.cost += choice.cost;
            *part = choice;
        }
        (result, parts)
    }

    /// Two halves, which begin with the vectors of their sub-macroblocks. `None` once they cost more than `most`.
    fn halves(&self, rows: bool, parts: &[Choice; 4], most: u32) -> Option<Inter> {
        let mut motion = self.motion.clone();
        let mut result = Inter {
            kind: if rows { Kind::P16x8 } else { Kind::P8x16 },
            refs: [0; 4],
            mvs: [Mv::ZERO; 4],
            mvds: [Mv::ZERO; 4],
            cost: self.lambda * MB_BITS[1],
        };
        for half in 0..2 {
            let (area, partition, sub_macroblocks) = match rows {
                true => (
                    Area {
                        size: BlockSize::B16x8,
                        x: 0,
                        y: 8 * half as i32,
                    },
                    Partition::Rows(half),
                    [2 * half, 2 * half + 1],
                ),
                false => (
                    Area {
                        size: BlockSize::B8x16,
                        x: 8 * half as i32,
                        y: 0,
                    },
                    Partition::Columns(half),
                    [half, half + 2],
                ),
            };
            let reference = usize::from(parts[0].reference);
            let prediction = motion.predict(partition, reference as i8);
            let starts = [parts[sub_macroblocks[0]].mv, parts[sub_macroblocks[1]].mv];
            let choice = self.halve(area, reference, starts, prediction);
            for q in sub_macroblocks {
                motion.set(q, choice.reference as i8, choice.mv);
                result.refs[q] = choice.reference as i8;
                result.mvs[q] = choice.mv;
            }
            result.mvds[half] = difference(choice.mv, prediction);
            result.cost += choice.cost;
            if result.cost >= most {
                return None;
            }
        }
        Some(result)
    }

    /// The best vector of a half: the better one of its sub-macroblocks' vectors, and quarter samples around it.
    fn halve(&self, area: Area, reference: usize, starts: [Mv; 2], prediction: Mv) -> Choice {
        let price = |mv: Mv| self.lambda * cost::vector(mv, prediction);
        let limits = self.limits(area);
        let mut best = (Mv::ZERO, u32::MAX);
        for (i, start) in starts.into_iter().enumerate() {
            if i == 1 && start == starts[0] {
                continue;
            }
            let mv = limits.clamp(start);
            let cost = self.distortion(area, reference, mv) + price(mv);
            if cost < best.1 {
                best = (mv, cost);
            }
        }
        let from = best.0;
        for (dx, dy) in [(-1, 0), (1, 0), (0, -1), (0, 1)] {
            let mv = Mv {
                x: from.x + dx,
                y: from.y + dy,
            };
            if limits.contain(mv) {
                let cost = self.distortion(area, reference, mv) + price(mv);
                if cost < best.1 {
                    best = (mv, cost);
                }
            }
        }
        Choice {
            reference: reference as u8,
            mv: best.0,
            cost: best.1 + self.lambda * self.reference_bits(reference),
        }
    }
}

/// Steps at whole, half and quarter samples, by [`Tools::subpel`].
fn steps(subpel: u8) -> (usize, usize, usize) {
    match subpel {
        0 => (1, 0, 0),
        1 => (1, 1, 0),
        2 => (1, 1, 1),
        3 | 4 => (2, 1, 2),
        5 => (2, 2, 2),
        6 => (2, 2, 3),
        _ => (3, 3, 4),
    }
}

/// Bits of the type of a macroblock: whole, halves, sub-macroblocks with their types.
const MB_BITS: [u32; 3] = [1, 3, 9];
/// Prices of a bit below which no other partition is full_pel.
const ENOUGH: u32 = 100;

fn difference(mv: Mv, prediction: Mv) -> Mv {
    Mv {
        x: mv.x - prediction.x,
        y: mv.y - prediction.y,
    }
}

/// Whole-sample vectors that were tried for a macroblock.
struct FullPelSearch<'a, 'b> {
    search: &'a InterSearch<'b>,
    reference: usize,
    limits: Limits,
    prediction: Mv,
    best: (Mv, u32),
    sub_macroblocks: [(Mv, u32); 4],
    seen: [(i16, i16); 8],
    count: usize,
}

impl FullPelSearch<'_, '_> {
    /// Tries vectors, rounded to whole samples, each once.
    fn try_all(&mut self, candidates: &[Option<Mv>]) {
        let mut batch = [Mv::ZERO; 4];
        let mut filled = 0;
        for mv in candidates {
            let Some(mv) = *mv else { continue };
            let mv = whole_samples(self.limits.clamp(mv));
            if self.seen[..self.count].contains(&(mv.x, mv.y)) {
                continue;
            }
            self.seen[self.count] = (mv.x, mv.y);
            self.count += 1;
            batch[filled] = mv;
            filled += 1;
            if filled == 4 {
                self.try_four(batch);
                filled = 0;
            }
        }
        if filled > 0 {
            let last = batch[filled - 1];
            batch[filled..].fill(last);
            self.try_four(batch);
        }
    }

    /// Tries four vectors of whole samples.
    fn try_four(&mut self, mut vectors: [Mv; 4]) {
        let search = self.search;
        let geometry = &search.slice.geometry;
        let view = &search.slice.references[self.reference];
        let mut offsets = [0; 4];
        for (i, mv) in vectors.iter_mut().enumerate() {
            *mv = self.limits.clamp(*mv);
            offsets[i] = geometry.luma(
                search.at.0 + i32::from(mv.x >> 2),
                search.at.1 + i32::from(mv.y >> 2),
            );
        }
        let sums = (search.slice.kernels.samples.sad_quads_x4)(
            search.source.0,
            search.source.1,
            view.luma[0],
            view.stride,
            offsets,
        );
        for (i, sums) in sums.iter().enumerate() {
            let mv = vectors[i];
            let bits = search.lambda * cost::vector(mv, self.prediction);
            let cost = sums.iter().sum::<u32>() + bits;
            if cost < self.best.1 {
                self.best = (mv, cost);
            }
            for (q, sub_macroblock) in self.sub_macroblocks.iter_mut().enumerate() {
                if sums[q] + bits < sub_macroblock.1 {
                    *sub_macroblock = (mv, sums[q] + bits);
                }
            }
        }
    }
}

/// The nearest vector of whole samples that does not point further.
fn whole_samples(mv: Mv) -> Mv {
    let round = |v: i16| (v + 2) & !3;
    Mv {
        x: round(mv.x),
        y: round(mv.y),
    }
}
