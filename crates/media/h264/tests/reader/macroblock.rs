//! Slice data and the macroblock layer in CAVLC (clauses 7.3.4 and 7.3.5).

use evener_h264::macroblock::{Kind, Levels, Macroblock, Mv};
use evener_h264::syntax::{Parameters, SliceHeader, SliceKind};

use super::bits::{Bits, Unit};
use super::cavlc::{Context, Coverage, block};
use super::slice;
use super::tables::{INTER_PATTERNS, INTRA_PATTERNS};
use crate::common::motion::{MotionField, partitions, sub_macroblocks};
use crate::common::random::{Picture, Row};

/// Reads a slice, all of it.
pub fn picture(unit: &Unit, parameters: &Parameters, coverage: &mut Coverage) -> Picture {
    let mut bits = Bits::new(&unit.payload);
    let header = slice::header(unit, &mut bits, parameters);
    let columns = parameters.sequence.width_in_macroblocks();
    let rows = parameters.sequence.height_in_macroblocks();
    let mut reader = Reader {
        bits,
        coverage,
        parameters,
        header,
        columns,
        qp: header.qp,
        motion: MotionField::new(columns, rows),
        done: Vec::new(),
        rows: (0..rows).map(|_| Row::default()).collect(),
    };
    while reader.done.len() < columns * rows {
        if header.kind == SliceKind::P {
            let run = reader.bits.ue(); // mb_skip_run
            for _ in 0..run {
                reader.skipped();
            }
            if !reader.bits.more_data() {
                break;
            }
        }
        let start = reader.bits.position();
        reader.macroblock();
        let size = reader.bits.position() - start;
        reader.coverage.sizes.push(size);
    }
    assert_eq!(
        reader.done.len(),
        columns * rows,
        "macroblocks of the slice"
    );
    reader.bits.end();
    Picture {
        header,
        rows: reader.rows,
    }
}

struct Reader<'a> {
    bits: Bits<'a>,
    coverage: &'a mut Coverage,
    parameters: &'a Parameters,
    header: SliceHeader,
    columns: usize,
    /// QP_Y of the macroblock before.
    qp: u8,
    motion: MotionField,
    done: Vec<Macroblock>,
    rows: Vec<Row>,
}

impl Reader<'_> {
    fn place(&self) -> (usize, usize) {
        (
            self.done.len() % self.columns,
            self.done.len() / self.columns,
        )
    }

    fn finish(&mut self, mb: Macroblock, levels: Option<Levels>) {
        let (_, y) = self.place();
        let row = &mut self.rows[y];
        let mb = Macroblock {
            levels: if levels.is_some() {
                row.levels.len() as u32
            } else {
                0
            },
            ..mb
        };
        row.levels.extend(levels);
        row.macroblocks.push(mb);
        self.done.push(mb);
    }

    fn skipped(&mut self) {
        let (x, y) = self.place();
        let mv = self.motion.skipped(x, y);
        self.motion.set_all(x, y, 0, mv);
        let mb = Macroblock {
            kind: Kind::PSkip,
            qp: self.qp,
            refs: [0; 4],
            mvs: [mv; 4],
            ..Macroblock::default()
        };
        self.finish(mb, None);
    }

    fn macroblock(&mut self) {
        let (x, y) = self.place();
        let mut mb = Macroblock {
            refs: [-1; 4],
            ..Macroblock::default()
        };
        let mut mb_type = self.bits.ue();
        if self.header.kind == SliceKind::P {
            if mb_type < 5 {
                // Table 7-13.
                let kinds = [Kind::P16x16, Kind::P16x8, Kind::P8x16, Kind::P8x8];
                mb.kind = kinds[mb_type as usize];
                self.vectors(&mut mb);
                return self.pattern_and_residual(mb);
            }
            mb_type -= 5;
        }
        self.motion.set_all(x, y, -1, Mv::ZERO);
        // Table 7-11.
        match mb_type {
            0 => {
                let transform_8x8 = self.parameters.picture.transform_8x8 && self.bits.flag();
                mb.transform_8x8 = transform_8x8;
                mb.kind = if transform_8x8 {
                    Kind::I8x8
                } else {
                    Kind::I4x4
                };
                self.modes(&mut mb);
                mb.chroma_mode = self.bits.ue() as u8;
                self.pattern_and_residual(mb);
            }
            1..=24 => {
                mb.kind = Kind::I16x16;
                mb.intra_modes[0] = ((mb_type - 1) % 4) as u8;
                let chroma = (mb_type - 1) / 4 % 3;
                mb.cbp = 16 * chroma as u8 + if mb_type >= 13 { 15 } else { 0 };
                mb.chroma_mode = self.bits.ue() as u8;
                self.delta_and_residual(mb);
            }
            25 => {
                mb.kind = Kind::IPcm;
                while !self.bits.is_aligned() {
                    assert!(!self.bits.flag(), "pcm_alignment_zero_bit");
                }
                let mut levels = Levels::default();
                for sample in levels.luma.as_flattened_mut() {
                    *sample = self.bits.u(8) as i16;
                }
                for sample in levels.chroma_ac.as_flattened_mut().as_flattened_mut() {
                    *sample = self.bits.u(8) as i16;
                }
                mb.qp = self.qp;
                mb.nonzero = [16; 24];
                self.finish(mb, Some(levels));
            }
            other => panic!("mb_type {other}"),
        }
    }

    fn vectors(&mut self, mb: &mut Macroblock) {
        let (x, y) = self.place();
        if mb.kind == Kind::P8x8 {
            for _ in 0..4 {
                assert_eq!(self.bits.ue(), 0, "sub_mb_type");
            }
        }
        let count = partitions(mb.kind).len();
        for partition in 0..count {
            let range = u32::from(self.header.references) - 1;
            let reference = if range > 0 { self.bits.te(range) } else { 0 };
            assert!(reference <= range);
            for &sub_macroblock in sub_macroblocks(mb.kind, partition) {
                mb.refs[sub_macroblock] = reference as i8;
            }
        }
        for partition in 0..count {
            let mvd = Mv {
                x: self.bits.se() as i16,
                y: self.bits.se() as i16,
            };
            mb.mvds[partition] = mvd;
            let own = sub_macroblocks(mb.kind, partition);
            let reference = mb.refs[own[0]];
            let expected = self.motion.predict(x, y, mb.kind, partition, reference);
            let mv = Mv {
                x: expected.x + mvd.x,
                y: expected.y + mvd.y,
            };
            for &sub_macroblock in own {
                mb.mvs[sub_macroblock] = mv;
                self.motion.set(x, y, sub_macroblock, reference, mv);
            }
        }
    }

    /// The block of 4x4 luma samples at a place in the picture: its macroblock, and its index.
    fn block_at(x: isize, y: isize) -> (isize, isize, usize) {
        let (column, line) = (x.rem_euclid(4), y.rem_euclid(4));
        let index = 8 * (line / 2) + 4 * (column / 2) + 2 * (line % 2) + column % 2;
        (x.div_euclid(4), y.div_euclid(4), index as usize)
    }

    /// The macroblock at a place, if it is available; `current` while it is read.
    fn available<'m>(
        &'m self,
        x: isize,
        y: isize,
        current: &'m Macroblock,
    ) -> Option<&'m Macroblock> {
        let (own_x, own_y) = self.place();
        if (x, y) == (own_x as isize, own_y as isize) {
            return Some(current);
        }
        if x < 0 || y < 0 || x >= self.columns as isize {
            return None;
        }
        self.done.get(y as usize * self.columns + x as usize)
    }

    /// Clauses 8.3.1.1 and 8.3.2.1.
    fn modes(&mut self, mb: &mut Macroblock) {
        let (x, y) = self.place();
        let eight = mb.kind == Kind::I8x8;
        let size = if eight { 4 } else { 1 };
        for index in (0..16).step_by(size) {
            let column = (index >> 2 & 1) * 2 + (index & 1);
            let line = (index >> 3) * 2 + (index >> 1 & 1);
            let (column, line) = ((4 * x + column) as isize, (4 * y + line) as isize);
            let mut dc_predicted = false;
            let neighbours = [(column - 1, line, false), (column, line - 1, true)];
            let neighbours = neighbours.map(|(column, line, above)| {
                let (x, y, block) = Self::block_at(column, line);
                match self.available(x, y, mb) {
                    None => {
                        dc_predicted = true;
                        2
                    }
                    Some(other) => match other.kind {
                        Kind::I4x4 if eight => {
                            let n = if above { 2 } else { 1 };
                            other.intra_modes[block / 4 * 4 + n]
                        }
                        Kind::I4x4 => other.intra_modes[block],
                        Kind::I8x8 => other.intra_modes[block / 4 * 4],
                        _ => 2,
                    },
                }
            });
            let expected = match dc_predicted {
                true => 2,
                false => neighbours[0].min(neighbours[1]),
            };
            let mode = if self.bits.flag() {
                expected
            } else {
                let rest = self.bits.u(3) as u8;
                if rest < expected { rest } else { rest + 1 }
            };
            mb.intra_modes[index..index + size].fill(mode);
        }
    }

    fn pattern_and_residual(&mut self, mut mb: Macroblock) {
        let number = self.bits.ue() as usize;
        let intra = mb.kind.is_intra();
        self.coverage.patterns[usize::from(!intra)][number] += 1;
        mb.cbp = match intra {
            true => INTRA_PATTERNS[number],
            false => INTER_PATTERNS[number],
        };
        if mb.cbp & 15 != 0 && self.parameters.picture.transform_8x8 && !intra {
            mb.transform_8x8 = self.bits.flag();
        }
        self.delta_and_residual(mb);
    }

    fn delta_and_residual(&mut self, mut mb: Macroblock) {
        if mb.cbp == 0 && mb.kind != Kind::I16x16 {
            mb.qp = self.qp;
            return self.finish(mb, None);
        }
        let delta = self.bits.se();
        assert!((-26..=25).contains(&delta), "mb_qp_delta {delta}");
        self.qp = ((i32::from(self.qp) + delta + 52) % 52) as u8;
        mb.qp = self.qp;
        let levels = self.residual(&mut mb);
        self.finish(mb, Some(levels));
    }

    fn residual(&mut self, mb: &mut Macroblock) -> Levels {
        let mut levels = Levels::default();
        let whole = mb.kind == Kind::I16x16;
        if whole {
            let context = self.luma_context(mb, 0);
            let (dc, _) = block(&mut self.bits, self.coverage, context, 16);
            levels.luma_dc.copy_from_slice(&dc);
        }
        for index in (0..16).filter(|index| mb.cbp >> (index / 4) & 1 != 0) {
            let context = self.luma_context(mb, index);
            let most = if whole { 15 } else { 16 };
            let (values, count) = block(&mut self.bits, self.coverage, context, most);
            mb.nonzero[index] = count;
            if mb.transform_8x8 {
                // lumaLevel8x8[64]: 4x4 block k has every fourth, from k on.
                let all = levels.luma[index / 4 * 4..][..4].as_flattened_mut();
                for (at, value) in values.into_iter().enumerate() {
                    all[4 * at + index % 4] = value;
                }
            } else {
                levels.luma[index][16 - most..].copy_from_slice(&values);
            }
        }
        if mb.cbp & 0x30 != 0 {
            for dc in &mut levels.chroma_dc {
                let (values, _) = block(&mut self.bits, self.coverage, Context::ChromaDc, 4);
                dc.copy_from_slice(&values);
            }
        }
        if mb.cbp & 0x20 != 0 {
            for component in 0..2 {
                for index in 0..4 {
                    let context = self.chroma_context(mb, component, index);
                    let (values, count) = block(&mut self.bits, self.coverage, context, 15);
                    mb.nonzero[16 + 4 * component + index] = count;
                    levels.chroma_ac[component][index][1..].copy_from_slice(&values);
                }
            }
        }
        levels
    }

    fn luma_context(&self, mb: &Macroblock, index: usize) -> Context {
        let (x, y) = self.place();
        let column = (4 * x + (index >> 2 & 1) * 2 + (index & 1)) as isize;
        let line = (4 * y + (index >> 3) * 2 + (index >> 1 & 1)) as isize;
        let count = |column, line| {
            let (x, y, block) = Self::block_at(column, line);
            self.available(x, y, mb).map(|other| other.nonzero[block])
        };
        Context::Neighbours(count(column - 1, line), count(column, line - 1))
    }

    fn chroma_context(&self, mb: &Macroblock, component: usize, index: usize) -> Context {
        let (x, y) = self.place();
        let column = (2 * x + index % 2) as isize;
        let line = (2 * y + index / 2) as isize;
        let count = |column: isize, line: isize| {
            let other = self.available(column.div_euclid(2), line.div_euclid(2), mb)?;
            let block = 2 * line.rem_euclid(2) + column.rem_euclid(2);
            Some(other.nonzero[16 + 4 * component + block as usize])
        };
        Context::Neighbours(count(column - 1, line), count(column, line - 1))
    }
}
