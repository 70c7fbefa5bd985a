//! Random legal pictures: decisions that no encoder would make, but that a decoder must understand.

use evener_h264::macroblock::{BLOCK_X, BLOCK_Y, Kind, Levels, Macroblock, Mv};
use evener_h264::syntax::{Entropy, Parameters, SliceHeader, SliceKind};

use super::motion::{MotionField, partitions, sub_macroblocks};
use super::rng::Rng;

/// A picture as it was decided.
pub struct Picture {
    pub header: SliceHeader,
    pub rows: Vec<Row>,
}

#[derive(Default)]
pub struct Row {
    pub macroblocks: Vec<Macroblock>,
    pub levels: Vec<Levels>,
}

/// What random pictures are like. Percentages.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub skipped: usize,
    /// Of macroblocks that are not skipped in a P slice.
    pub intra: usize,
    pub samples: usize,
    /// Of the positions of a coded block, at most: how many have levels.
    pub dense: usize,
    /// The largest level.
    pub largest: i32,
    /// How far vectors point, in quarter samples.
    pub reach: i32,
    /// Of macroblocks with a difference of the quantisation parameter: how many have another than 0.
    pub requantised: usize,
}

impl Style {
    /// One of many styles: from almost nothing to all that there is room for.
    pub fn random(rng: &mut Rng, parameters: &Parameters) -> Style {
        let most = i32::from(parameters.largest_level());
        Style {
            skipped: rng.pick(&[0, 20, 60, 95]),
            intra: rng.pick(&[0, 10, 50, 100]),
            samples: rng.pick(&[0, 0, 3, 20]),
            dense: rng.pick(&[3, 10, 30, 60, 100]),
            largest: rng.pick(&[1, 2, 4, 15, 40, 300, most]),
            reach: rng.pick(&[0, 3, 40, 250]),
            requantised: rng.pick(&[0, 10, 100]),
        }
    }
}

/// A random picture of a header.
pub fn picture(
    rng: &mut Rng,
    parameters: &Parameters,
    header: &SliceHeader,
    style: &Style,
) -> Picture {
    let columns = parameters.sequence.width_in_macroblocks();
    let rows = parameters.sequence.height_in_macroblocks();
    let mut maker = Maker {
        rng,
        parameters,
        header,
        style,
        motion: MotionField::new(columns, rows),
        qp: header.qp,
    };
    let rows = (0..rows)
        .map(|y| {
            let mut row = Row::default();
            for x in 0..columns {
                let macroblock = maker.macroblock(x, y, &mut row.levels);
                row.macroblocks.push(macroblock);
            }
            row
        })
        .collect();
    Picture {
        header: *header,
        rows,
    }
}

struct Maker<'a> {
    rng: &'a mut Rng,
    parameters: &'a Parameters,
    header: &'a SliceHeader,
    style: &'a Style,
    motion: MotionField,
    qp: u8,
}

impl Maker<'_> {
    fn macroblock(&mut self, x: usize, y: usize, levels: &mut Vec<Levels>) -> Macroblock {
        let mut mb = Macroblock {
            kind: self.kind(),
            qp: self.qp,
            refs: [-1; 4],
            ..Macroblock::default()
        };
        match mb.kind {
            Kind::IPcm => {
                self.motion.set_all(x, y, -1, Mv::ZERO);
                mb.nonzero = [16; 24];
                mb.levels = levels.len() as u32;
                levels.push(self.samples());
                return mb;
            }
            Kind::PSkip => {
                let mv = self.motion.skipped(x, y);
                self.motion.set_all(x, y, 0, mv);
                mb.refs = [0; 4];
                mb.mvs = [mv; 4];
                return mb;
            }
            Kind::I4x4 | Kind::I8x8 | Kind::I16x16 => {
                self.motion.set_all(x, y, -1, Mv::ZERO);
                self.modes(&mut mb, x, y);
            }
            _ => self.vectors(&mut mb, x, y),
        }
        mb.cbp = match mb.kind {
            Kind::I16x16 => self.rng.pick(&[0, 15]),
            _ => self.rng.below(16) as u8,
        };
        mb.cbp |= 16 * self.rng.below(3) as u8;
        let may = self.parameters.picture.transform_8x8 && !mb.kind.is_intra() && mb.cbp & 15 != 0;
        mb.transform_8x8 = mb.kind == Kind::I8x8 || may && self.rng.chance(50);
        if mb.has_qp_delta() {
            if self.rng.chance(self.style.requantised) {
                self.qp = self.rng.below(52) as u8;
            }
            mb.qp = self.qp;
            mb.levels = levels.len() as u32;
            levels.push(self.residual(&mut mb));
        }
        mb
    }

    fn kind(&mut self) -> Kind {
        let p = self.header.kind == SliceKind::P;
        if p && self.rng.chance(self.style.skipped) {
            return Kind::PSkip;
        }
        if self.rng.chance(self.style.samples) {
            return Kind::IPcm;
        }
        if p && !self.rng.chance(self.style.intra) {
            return self
                .rng
                .pick(&[Kind::P16x16, Kind::P16x8, Kind::P8x16, Kind::P8x8]);
        }
        match self.parameters.picture.transform_8x8 {
            true => self.rng.pick(&[Kind::I4x4, Kind::I8x8, Kind::I16x16]),
            false => self.rng.pick(&[Kind::I4x4, Kind::I16x16]),
        }
    }

    /// Prediction modes for which all samples that they need are there.
    fn modes(&mut self, mb: &mut Macroblock, x: usize, y: usize) {
        match mb.kind {
            Kind::I16x16 => {
                let possible: &[u8] = match (x > 0, y > 0) {
                    (false, false) => &[2],
                    (true, false) => &[1, 2],
                    (false, true) => &[0, 2],
                    (true, true) => &[0, 1, 2, 3],
                };
                mb.intra_modes[0] = self.rng.pick(possible);
            }
            kind => {
                let size = if kind == Kind::I8x8 { 4 } else { 1 };
                // Modes equal to the expected one are frequent where there are few.
                let few = self.rng.chance(30);
                for block in (0..16).step_by(size) {
                    let left = x > 0 || BLOCK_X[block] > 0;
                    let above = y > 0 || BLOCK_Y[block] > 0;
                    let possible: &[u8] = match (left, above) {
                        (false, false) => &[2],
                        (true, false) => &[1, 2, 8],
                        (false, true) => &[0, 2, 3, 7],
                        (true, true) if few => &[0, 1],
                        (true, true) => &[0, 1, 2, 3, 4, 5, 6, 7, 8],
                    };
                    let mode = self.rng.pick(possible);
                    mb.intra_modes[block..block + size].fill(mode);
                }
            }
        }
        let possible: &[u8] = match (x > 0, y > 0) {
            (false, false) => &[0],
            (true, false) => &[0, 1],
            (false, true) => &[0, 2],
            (true, true) => &[0, 1, 2, 3],
        };
        mb.chroma_mode = self.rng.pick(possible);
    }

    fn vectors(&mut self, mb: &mut Macroblock, x: usize, y: usize) {
        let kind = mb.kind;
        for partition in 0..partitions(kind).len() {
            let reference = self.rng.below(usize::from(self.header.references)) as i8;
            for &sub_macroblock in sub_macroblocks(kind, partition) {
                mb.refs[sub_macroblock] = reference;
            }
            let expected = self.motion.predict(x, y, kind, partition, reference);
            let reach = self.style.reach;
            let mv = match self.rng.chance(20) {
                true => expected,
                false => Mv {
                    x: self.rng.within(-reach, reach) as i16,
                    y: self.rng.within(-reach, reach) as i16,
                },
            };
            mb.mvds[partition] = Mv {
                x: mv.x - expected.x,
                y: mv.y - expected.y,
            };
            for &sub_macroblock in sub_macroblocks(kind, partition) {
                mb.mvs[sub_macroblock] = mv;
                self.motion.set(x, y, sub_macroblock, reference, mv);
            }
        }
    }

    fn samples(&mut self) -> Levels {
        let mut levels = Levels::default();
        for block in &mut levels.luma {
            *block = std::array::from_fn(|_| self.rng.below(256) as i16);
        }
        for block in levels.chroma_ac.as_flattened_mut() {
            *block = std::array::from_fn(|_| self.rng.below(256) as i16);
        }
        levels
    }

    /// Levels for the coded block pattern of a macroblock, whose numbers of levels it sets.
    fn residual(&mut self, mb: &mut Macroblock) -> Levels {
        let mut levels = Levels::default();
        let whole = mb.kind == Kind::I16x16;
        if whole {
            self.block(&mut levels.luma_dc);
        }
        for sub_macroblock in (0..4).filter(|sub_macroblock| mb.cbp >> sub_macroblock & 1 != 0) {
            let blocks = &mut levels.luma[4 * sub_macroblock..][..4];
            let counts = &mut mb.nonzero[4 * sub_macroblock..][..4];
            if mb.transform_8x8 {
                // With CABAC an 8x8 block of a coded sub-macroblock is never empty.
                let least = usize::from(self.parameters.picture.entropy == Entropy::Cabac);
                let all = blocks.as_flattened_mut();
                self.fill(all, least);
                for (at, _) in all.iter().enumerate().filter(|(_, level)| **level != 0) {
                    counts[at % 4] += 1;
                }
            } else {
                for (block, count) in blocks.iter_mut().zip(counts) {
                    *count = self.block(&mut block[usize::from(whole)..]);
                }
            }
        }
        for component in 0..2 {
            if mb.cbp >> 4 != 0 {
                self.block(&mut levels.chroma_dc[component]);
            }
            if mb.cbp >> 4 == 2 {
                for (at, block) in levels.chroma_ac[component].iter_mut().enumerate() {
                    mb.nonzero[16 + 4 * component + at] = self.block(&mut block[1..]);
                }
            }
        }
        levels
    }

    fn block(&mut self, levels: &mut [i16]) -> u8 {
        self.fill(levels, 0)
    }

    /// Sets some levels, at least so many, and returns how many.
    fn fill(&mut self, levels: &mut [i16], least: usize) -> u8 {
        let most = (levels.len() * self.style.dense).div_ceil(100);
        let count = self.rng.below(most + 1).max(least);
        // Levels lie anywhere, or as near to the beginning as they can.
        let span = match self.rng.chance(50) {
            true => levels.len(),
            false => self.rng.within(count as i32, levels.len() as i32) as usize,
        };
        let mut set = 0;
        while set < count {
            let at = self.rng.below(span);
            if levels[at] == 0 {
                levels[at] = self.level();
                set += 1;
            }
        }
        // So that each number of trailing ones is as frequent.
        let mut ones = self.rng.below(5);
        for level in levels.iter_mut().rev().filter(|level| **level != 0) {
            if ones == 0 {
                break;
            }
            *level = level.signum();
            ones -= 1;
        }
        count as u8
    }

    /// A level that is not zero, more often a small one.
    fn level(&mut self) -> i16 {
        let bits = self.rng.below(17) as u32;
        let magnitude = (self.rng.below(1 << bits) as i32).clamp(1, self.style.largest);
        let level = if self.rng.chance(50) {
            magnitude
        } else {
            -magnitude
        };
        level as i16
    }
}
