//! Slice data and the macroblock layer in CABAC (clauses 7.3.4, 7.3.5 and 9.3).
//!
//! Everything that was read of all macroblocks is kept, and contexts look at their neighbours through it.

use evener_h264::macroblock::{BLOCK_X, BLOCK_Y, Kind, Levels, Macroblock, Mv};
use evener_h264::syntax::{Parameters, SliceHeader, SliceKind};

use super::arithmetic::{Context, Decoder};
use super::bits::{Bits, Unit};
use super::cavlc::Coverage;
use super::{initial, slice};
use crate::common::motion::{MotionField, partitions, sub_macroblocks};
use crate::common::random::{Picture, Row};

/// A macroblock that was read, and what contexts ask of it.
#[derive(Clone, Default)]
struct Read {
    macroblock: Macroblock,
    levels: Levels,
    /// mb_qp_delta.
    qp_delta: i32,
    /// Absolute values of mvd_l0 of each sub-macroblock, x and y.
    mvds: [[u32; 2]; 4],
    /// coded_block_flag of: DC of luma, Cb, Cr.
    dc: [bool; 3],
    /// 4x4 blocks of luma in coding order.
    luma: [bool; 16],
    /// Blocks of AC.
    chroma: [[bool; 4]; 2],
}

/// Where a block is looked for.
#[derive(Clone, Copy)]
enum Side {
    A,
    B,
}

/// What a coded_block_flag is of.
#[derive(Clone, Copy, PartialEq)]
enum Block {
    LumaDc,
    Luma(usize),
    ChromaDc(usize),
    ChromaAc(usize, usize),
}

struct Reader<'a> {
    header: SliceHeader,
    /// transform_8x8_mode_flag.
    allows_8x8: bool,
    columns: usize,
    bytes: &'a [u8],
    decoder: Decoder<'a>,
    contexts: Vec<Context>,
    /// How many bins each context had.
    uses: &'a mut [u32; 460],
    sizes: &'a mut Vec<usize>,
    read: Vec<Read>,
    motion: MotionField,
    qp: i32,
}

/// Reads a slice, all of it.
pub fn picture(unit: &Unit, parameters: &Parameters, coverage: &mut Coverage) -> Picture {
    let mut bits = Bits::new(&unit.payload);
    let header = slice::header(unit, &mut bits, parameters);
    while !bits.is_aligned() {
        assert!(bits.flag(), "cabac_alignment_one_bit");
    }
    let columns = parameters.sequence.width_in_macroblocks();
    let rows = parameters.sequence.height_in_macroblocks();
    let mut reader = Reader {
        header,
        allows_8x8: parameters.picture.transform_8x8,
        columns,
        bytes: &unit.payload,
        decoder: Decoder::new(&unit.payload, bits.position() / 8),
        contexts: contexts(&header),
        sizes: &mut coverage.sizes,
        uses: match header.kind {
            SliceKind::I => &mut coverage.contexts[0],
            SliceKind::P => &mut coverage.contexts[1 + usize::from(header.cabac_init)],
        },
        read: Vec::new(),
        motion: MotionField::new(columns, rows),
        qp: i32::from(header.qp),
    };
    loop {
        let start = reader.decoder.at;
        reader.macroblock();
        let size = reader.decoder.at - start;
        reader.sizes.push(size);
        let ends = reader.decoder.terminate();
        assert_eq!(
            ends,
            reader.read.len() == columns * rows,
            "end_of_slice_flag"
        );
        if ends {
            break;
        }
    }
    assert_eq!(reader.decoder.aligned(), unit.payload.len(), "bytes remain");
    let rows = reader.read.chunks(columns).map(row).collect();
    Picture { header, rows }
}

/// The contexts as a slice begins (clause 9.3.1.1).
fn contexts(header: &SliceHeader) -> Vec<Context> {
    let runs = match header.kind {
        SliceKind::I => initial::INTRA,
        SliceKind::P => initial::INTER[usize::from(header.cabac_init)],
    };
    let mut contexts = vec![Context::default(); 460];
    for (first, values) in runs {
        for (i, values) in values.chunks(2).enumerate() {
            let (m, n) = (i32::from(values[0]), i32::from(values[1]));
            let state = ((m * i32::from(header.qp)) >> 4) + n;
            let state = state.clamp(1, 126);
            contexts[first + i] = Context {
                most: state > 63,
                state: if state <= 63 { 63 - state } else { state - 64 } as u8,
            };
        }
    }
    contexts
}

/// A row as a picture has it.
fn row(read: &[Read]) -> Row {
    let mut row = Row::default();
    for read in read {
        let mut macroblock = read.macroblock;
        if macroblock.kind == Kind::IPcm {
            macroblock.cbp = 0;
        }
        if macroblock.has_levels() {
            macroblock.levels = row.levels.len() as u32;
            row.levels.push(read.levels.clone());
        }
        row.macroblocks.push(macroblock);
    }
    row
}

impl Reader<'_> {
    fn bin(&mut self, ctx: usize) -> bool {
        self.uses[ctx] += 1;
        self.decoder.decision(&mut self.contexts[ctx])
    }

    /// A macroblock beside the one that is being read (clause 6.4.9).
    fn beside(&self, side: Side) -> Option<&Read> {
        let at = self.read.len() - 1;
        match side {
            Side::A if !at.is_multiple_of(self.columns) => Some(&self.read[at - 1]),
            Side::B if at >= self.columns => Some(&self.read[at - self.columns]),
            _ => None,
        }
    }

    /// Where the macroblock is that is being read.
    fn place(&self) -> (usize, usize) {
        let at = self.read.len() - 1;
        (at % self.columns, at / self.columns)
    }

    fn now(&mut self) -> &mut Read {
        self.read.last_mut().unwrap()
    }

    /// ctxIdxInc as the sum of both condTermFlags, that of B times `weight`.
    fn inc(&self, weight: usize, flag: impl Fn(&Read) -> bool) -> usize {
        let flag = |side| usize::from(self.beside(side).is_some_and(&flag));
        flag(Side::A) + weight * flag(Side::B)
    }

    /// The macroblock and the sub-macroblock beside sub-macroblock `sub_macroblock`.
    fn beside_sub_macroblock(&self, sub_macroblock: usize, side: Side) -> Option<(&Read, usize)> {
        match (side, sub_macroblock) {
            (Side::A, 0 | 2) => self.beside(side).map(|read| (read, sub_macroblock + 1)),
            (Side::A, _) => Some((self.read.last().unwrap(), sub_macroblock - 1)),
            (Side::B, 0 | 1) => self.beside(side).map(|read| (read, sub_macroblock + 2)),
            (Side::B, _) => Some((self.read.last().unwrap(), sub_macroblock - 2)),
        }
    }

    /// The same of 4x4 blocks in coding order.
    fn beside_block(&self, block: usize, side: Side) -> Option<(&Read, usize)> {
        let (x, y) = (i32::from(BLOCK_X[block]), i32::from(BLOCK_Y[block]));
        let (x, y) = match side {
            Side::A => (x - 1, y),
            Side::B => (x, y - 1),
        };
        let find = |x: i32, y: i32| {
            let is_at = |&b: &usize| i32::from(BLOCK_X[b]) == x && i32::from(BLOCK_Y[b]) == y;
            (0..16).find(is_at).unwrap()
        };
        if x < 0 || y < 0 {
            let outer = find(x.rem_euclid(4), y.rem_euclid(4));
            self.beside(side).map(|read| (read, outer))
        } else {
            Some((self.read.last().unwrap(), find(x, y)))
        }
    }

    fn macroblock(&mut self) {
        let before = self.read.last().map_or(0, |read| read.qp_delta);
        self.read.push(Read::default());
        self.now().macroblock.refs = [-1; 4];
        let is_p = self.header.kind == SliceKind::P;
        if is_p {
            let inc = self.inc(1, |read| read.macroblock.kind != Kind::PSkip);
            if self.bin(11 + inc) {
                let (x, y) = self.place();
                let mv = self.motion.skipped(x, y);
                self.motion.set_all(x, y, 0, mv);
                let qp = self.qp as u8;
                let macroblock = &mut self.now().macroblock;
                macroblock.kind = Kind::PSkip;
                macroblock.refs = [0; 4];
                macroblock.mvs = [mv; 4];
                macroblock.qp = qp;
                return;
            }
        }
        let kind = if is_p { self.type_p() } else { self.type_i() };
        let qp = self.qp as u8;
        self.now().macroblock.qp = qp;
        self.now().macroblock.kind = kind;
        if kind.is_intra() {
            let (x, y) = self.place();
            self.motion.set_all(x, y, -1, Mv::ZERO);
        }
        if kind == Kind::IPcm {
            self.samples();
            return;
        }

        let is_nxn = kind == Kind::I4x4;
        if is_nxn && self.allows_8x8 && self.transform_8x8() {
            self.now().macroblock.kind = Kind::I8x8;
            self.now().macroblock.transform_8x8 = true;
        }
        match self.now().macroblock.kind {
            Kind::I4x4 => (0..16).for_each(|block| self.mode(block, 1)),
            Kind::I8x8 => (0..16).step_by(4).for_each(|block| self.mode(block, 4)),
            _ => {}
        }
        if kind.is_intra() {
            let inc = self.inc(1, |read| read.macroblock.chroma_mode != 0);
            let mut mode = 0;
            while mode < 3 && self.bin(64 + if mode == 0 { inc } else { 3 }) {
                mode += 1;
            }
            self.now().macroblock.chroma_mode = mode;
        } else {
            self.prediction(kind);
        }
        if kind != Kind::I16x16 {
            self.pattern();
            let cbp = self.now().macroblock.cbp;
            if cbp & 15 != 0 && self.allows_8x8 && !is_nxn {
                let flag = self.transform_8x8();
                self.now().macroblock.transform_8x8 = flag;
            }
        }
        if self.now().macroblock.cbp != 0 || kind == Kind::I16x16 {
            self.qp_delta(before);
            self.residual();
        }
    }

    /// mb_type in I slices, with the prefix of I_NxN as `I4x4`.
    fn type_i(&mut self) -> Kind {
        let inc = self.inc(1, |read| {
            !matches!(read.macroblock.kind, Kind::I4x4 | Kind::I8x8)
        });
        self.type_intra(3 + inc, 3, [3, 4, 5, 6, 7])
    }

    fn type_p(&mut self) -> Kind {
        if self.bin(14) {
            return self.type_intra(17, 17, [1, 2, 2, 3, 3]);
        }
        if !self.bin(15) {
            if self.bin(16) {
                Kind::P8x8
            } else {
                Kind::P16x16
            }
        } else if self.bin(17) {
            Kind::P16x8
        } else {
            Kind::P8x16
        }
    }

    /// Table 9-36. `incs` has ctxIdxInc of: b2, b3, b4 of those with chroma, the next bin, the last bin.
    fn type_intra(&mut self, first: usize, offset: usize, incs: [usize; 5]) -> Kind {
        if !self.bin(first) {
            return Kind::I4x4;
        }
        if self.decoder.terminate() {
            return Kind::IPcm;
        }
        let luma = self.bin(offset + incs[0]);
        let mut chroma = u8::from(self.bin(offset + incs[1]));
        if chroma != 0 {
            chroma += u8::from(self.bin(offset + incs[2]));
        }
        let high = u8::from(self.bin(offset + incs[3]));
        let low = u8::from(self.bin(offset + incs[4]));
        let macroblock = &mut self.now().macroblock;
        macroblock.cbp = 16 * chroma + if luma { 15 } else { 0 };
        macroblock.intra_modes[0] = 2 * high + low;
        Kind::I16x16
    }

    fn samples(&mut self) {
        let at = self.decoder.aligned();
        let samples: Vec<i16> = self.bytes[at..at + 384]
            .iter()
            .map(|sample| i16::from(*sample))
            .collect();
        let read = self.now();
        read.levels
            .luma
            .as_flattened_mut()
            .copy_from_slice(&samples[..256]);
        let chroma = read.levels.chroma_ac.as_flattened_mut();
        chroma.as_flattened_mut().copy_from_slice(&samples[256..]);
        read.macroblock.cbp = 0x2F;
        read.macroblock.nonzero = [16; 24];
        read.dc = [true; 3];
        read.luma = [true; 16];
        read.chroma = [[true; 4]; 2];
        self.decoder = Decoder::new(self.bytes, at + 384);
    }

    fn transform_8x8(&mut self) -> bool {
        let inc = self.inc(1, |read| read.macroblock.transform_8x8);
        self.bin(399 + inc)
    }

    /// Clauses 8.3.1.1 and 8.3.2.1.
    fn mode(&mut self, block: usize, size: usize) {
        let is_expected = self.bin(68);
        let mut remaining = 0;
        if !is_expected {
            for bit in 0..3 {
                remaining |= u8::from(self.bin(69)) << bit;
            }
        }
        let mode_of = |side| {
            self.beside_block(block, side).map(|(read, beside)| {
                let kind = read.macroblock.kind;
                // For an 8x8 block beside 4x4 blocks: n is 1 in A, 2 in B.
                let beside = match (size, kind, side) {
                    (4, Kind::I4x4, Side::A) => beside / 4 * 4 + 1,
                    (4, Kind::I4x4, Side::B) => beside / 4 * 4 + 2,
                    (_, Kind::I8x8, _) => beside / 4 * 4,
                    (_, Kind::I4x4, _) => beside,
                    _ => return 2,
                };
                read.macroblock.intra_modes[beside]
            })
        };
        let expected = match (mode_of(Side::A), mode_of(Side::B)) {
            (Some(a), Some(b)) => a.min(b),
            _ => 2,
        };
        let mode = if is_expected {
            expected
        } else {
            remaining + u8::from(remaining >= expected)
        };
        self.now().macroblock.intra_modes[block..block + size].fill(mode);
    }

    /// mb_pred() and sub_mb_pred() of inter macroblocks.
    fn prediction(&mut self, kind: Kind) {
        if kind == Kind::P8x8 {
            for _ in 0..4 {
                assert!(self.bin(21), "sub_mb_type is P_L0_8x8");
            }
        }
        for partition in 0..partitions(kind).len() {
            let sub_macroblocks = sub_macroblocks(kind, partition);
            let mut index = 0;
            if self.header.references > 1 {
                let flag = |side| {
                    let beside = self.beside_sub_macroblock(sub_macroblocks[0], side);
                    let is_more = |(read, sub_macroblock): (&Read, usize)| {
                        read.macroblock.refs[sub_macroblock] > 0
                    };
                    usize::from(beside.is_some_and(is_more))
                };
                let mut ctx = 54 + flag(Side::A) + 2 * flag(Side::B);
                while self.bin(ctx) {
                    ctx = if index == 0 { 54 + 4 } else { 54 + 5 };
                    index += 1;
                }
            }
            for sub_macroblock in sub_macroblocks {
                self.now().macroblock.refs[*sub_macroblock] = index;
            }
        }
        let (column, line) = self.place();
        for partition in 0..partitions(kind).len() {
            let sub_macroblocks = sub_macroblocks(kind, partition);
            let sums = [0, 1].map(|component: usize| {
                let size = |side| {
                    let beside = self.beside_sub_macroblock(sub_macroblocks[0], side);
                    beside.map_or(0, |(read, sub_macroblock)| {
                        read.mvds[sub_macroblock][component]
                    })
                };
                size(Side::A) + size(Side::B)
            });
            let x = self.component(40, sums[0]);
            let y = self.component(47, sums[1]);
            let index = self.now().macroblock.refs[sub_macroblocks[0]];
            let expected = self.motion.predict(column, line, kind, partition, index);
            let mv = Mv {
                x: expected.x + x as i16,
                y: expected.y + y as i16,
            };
            for &sub_macroblock in sub_macroblocks {
                self.motion.set(column, line, sub_macroblock, index, mv);
            }
            let read = self.now();
            read.macroblock.mvds[partition] = Mv {
                x: x as i16,
                y: y as i16,
            };
            for &sub_macroblock in sub_macroblocks {
                read.macroblock.mvs[sub_macroblock] = mv;
                read.mvds[sub_macroblock] = [x.unsigned_abs(), y.unsigned_abs()];
            }
        }
    }

    /// mvd_l0.
    fn component(&mut self, offset: usize, sum: u32) -> i32 {
        let first = match sum {
            0..3 => 0,
            3..=32 => 1,
            _ => 2,
        };
        let incs = [first, 3, 4, 5, 6, 6, 6, 6, 6];
        let mut size = 0;
        while size < 9 && self.bin(offset + incs[size]) {
            size += 1;
        }
        let size = size as i32 + if size == 9 { self.exp_golomb(3) } else { 0 };
        if size != 0 && self.decoder.bypass() {
            -size
        } else {
            size
        }
    }

    /// The suffix of UEGk.
    fn exp_golomb(&mut self, mut k: u32) -> i32 {
        let mut value = 0;
        while self.decoder.bypass() {
            value += 1 << k;
            k += 1;
        }
        while k > 0 {
            k -= 1;
            value += i32::from(self.decoder.bypass()) << k;
        }
        value
    }

    fn pattern(&mut self) {
        for sub_macroblock in 0..4 {
            let flag = |side| {
                let beside = self.beside_sub_macroblock(sub_macroblock, side);
                // I_PCM has all bits set, and skipped macroblocks none.
                let is_zero = |(read, sub_macroblock): (&Read, usize)| {
                    read.macroblock.cbp >> sub_macroblock & 1 == 0
                };
                usize::from(beside.is_some_and(is_zero))
            };
            let inc = flag(Side::A) + 2 * flag(Side::B);
            let bit = u8::from(self.bin(73 + inc));
            self.now().macroblock.cbp |= bit << sub_macroblock;
        }
        let inc = self.inc(2, |read| read.macroblock.cbp >> 4 != 0);
        if self.bin(77 + inc) {
            let inc = self.inc(2, |read| read.macroblock.cbp >> 4 == 2);
            let chroma = 1 + u8::from(self.bin(77 + 4 + inc));
            self.now().macroblock.cbp |= chroma << 4;
        }
    }

    fn qp_delta(&mut self, before: i32) {
        let mut value = 0;
        let mut ctx = 60 + usize::from(before != 0);
        while self.bin(ctx) {
            ctx = if value == 0 { 62 } else { 63 };
            value += 1;
        }
        let delta = if value % 2 == 1 {
            (value + 1) / 2
        } else {
            -(value / 2)
        };
        assert!((-26..=25).contains(&delta), "mb_qp_delta {delta}");
        self.qp = (self.qp + delta + 52) % 52;
        let qp = self.qp as u8;
        self.now().qp_delta = delta;
        self.now().macroblock.qp = qp;
    }

    fn residual(&mut self) {
        let Macroblock {
            kind,
            cbp,
            transform_8x8,
            ..
        } = self.now().macroblock;
        if kind == Kind::I16x16
            && let Some(levels) = self.block(Block::LumaDc, 0, 16)
        {
            self.now().levels.luma_dc.copy_from_slice(&levels);
        }
        for sub_macroblock in 0..4 {
            if cbp >> sub_macroblock & 1 == 0 {
                continue;
            }
            if transform_8x8 {
                let levels = self.levels(5, 64);
                let count = |k: usize| levels[k..].iter().step_by(4).filter(|l| **l != 0).count();
                let counts = [0, 1, 2, 3].map(|k| count(k) as u8);
                let read = self.now();
                let blocks = 4 * sub_macroblock..4 * sub_macroblock + 4;
                read.levels.luma[blocks.clone()]
                    .as_flattened_mut()
                    .copy_from_slice(&levels);
                read.luma[blocks.clone()].fill(true);
                read.macroblock.nonzero[blocks].copy_from_slice(&counts);
                continue;
            }
            for block in 4 * sub_macroblock..4 * sub_macroblock + 4 {
                let (category, first) = if kind == Kind::I16x16 { (1, 1) } else { (2, 0) };
                if let Some(levels) = self.block(Block::Luma(block), category, 16 - first) {
                    let read = self.now();
                    read.levels.luma[block][first..].copy_from_slice(&levels);
                    read.macroblock.nonzero[block] = nonzero(&levels);
                }
            }
        }
        if cbp >> 4 != 0 {
            for component in 0..2 {
                if let Some(levels) = self.block(Block::ChromaDc(component), 3, 4) {
                    self.now().levels.chroma_dc[component].copy_from_slice(&levels);
                }
            }
        }
        if cbp >> 4 == 2 {
            for component in 0..2 {
                for block in 0..4 {
                    if let Some(levels) = self.block(Block::ChromaAc(component, block), 4, 15) {
                        let read = self.now();
                        read.levels.chroma_ac[component][block][1..].copy_from_slice(&levels);
                        read.macroblock.nonzero[16 + 4 * component + block] = nonzero(&levels);
                    }
                }
            }
        }
    }

    /// coded_block_flag and levels.
    fn block(&mut self, block: Block, category: usize, count: usize) -> Option<Vec<i16>> {
        let inc = self.coded(block, Side::A) + 2 * self.coded(block, Side::B);
        if !self.bin(85 + 4 * category + inc) {
            return None;
        }
        let read = self.now();
        match block {
            Block::LumaDc => read.dc[0] = true,
            Block::Luma(block) => read.luma[block] = true,
            Block::ChromaDc(component) => read.dc[1 + component] = true,
            Block::ChromaAc(component, block) => read.chroma[component][block] = true,
        }
        Some(self.levels(category, count))
    }

    /// condTermFlag of coded_block_flag (clause 9.3.3.1.1.9): blocks that are not there or not coded have false.
    fn coded(&self, block: Block, side: Side) -> usize {
        let now = self.read.last().unwrap();
        let flag = match block {
            Block::LumaDc => self.beside(side).map(|read| read.dc[0]),
            Block::ChromaDc(component) => self.beside(side).map(|read| read.dc[1 + component]),
            Block::Luma(block) => self
                .beside_block(block, side)
                .map(|(read, beside)| read.luma[beside]),
            Block::ChromaAc(component, block) => self
                .beside_sub_macroblock(block, side)
                .map(|(read, beside)| read.chroma[component][beside]),
        };
        usize::from(flag.unwrap_or(now.macroblock.kind.is_intra()))
    }

    /// residual_block_cabac() behind coded_block_flag.
    fn levels(&mut self, category: usize, count: usize) -> Vec<i16> {
        let offsets = [0, 15, 29, 44, 47, 0];
        let (significant, last, level) = match category {
            5 => (402, 417, 426),
            _ => (
                105 + offsets[category],
                166 + offsets[category],
                227 + [0, 10, 20, 30, 39][category],
            ),
        };
        let mut at = Vec::new();
        let mut i = 0;
        while i < count - 1 {
            let (first, second) = match category {
                3 => (i.min(2), i.min(2)),
                5 => (TABLE_9_43[i].0, TABLE_9_43[i].1),
                _ => (i, i),
            };
            if self.bin(significant + first) {
                at.push(i);
                if self.bin(last + second) {
                    break;
                }
            }
            i += 1;
        }
        if i == count - 1 {
            at.push(i);
        }
        let mut levels = vec![0; count];
        let (mut equal, mut greater) = (0usize, 0usize);
        for i in at.into_iter().rev() {
            let inc = if greater != 0 { 0 } else { (1 + equal).min(4) };
            let mut size = 1;
            if self.bin(level + inc) {
                let inc = 5 + greater.min(4 - usize::from(category == 3));
                size += 1;
                while size < 15 && self.bin(level + inc) {
                    size += 1;
                }
                if size == 15 {
                    size += self.exp_golomb(0);
                }
                greater += 1;
            } else {
                equal += 1;
            }
            levels[i] = (if self.decoder.bypass() { -size } else { size }) as i16;
        }
        levels
    }
}

fn nonzero(levels: &[i16]) -> u8 {
    levels.iter().filter(|level| **level != 0).count() as u8
}

/// ctxIdxInc of significant_coeff_flag and last_significant_coeff_flag in frame coded macroblocks, by levelListIdx.
#[rustfmt::skip]
const TABLE_9_43: [(usize, usize); 63] = [
    (0, 0), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (5, 1), (4, 1), (4, 1), (3, 1), (3, 1), (4, 1), (4, 1),
    (4, 1), (5, 1), (5, 1), (4, 2), (4, 2), (4, 2), (4, 2), (3, 2), (3, 2), (6, 2), (7, 2), (7, 2), (7, 2),
    (8, 2), (9, 2), (10, 2), (9, 2), (8, 2), (7, 2), (7, 3), (6, 3), (11, 3), (12, 3), (13, 3), (11, 3),
    (6, 3), (7, 3), (8, 4), (9, 4), (14, 4), (10, 4), (9, 4), (8, 4), (6, 4), (11, 4), (12, 5), (13, 5),
    (11, 5), (6, 5), (9, 6), (14, 6), (10, 6), (9, 6), (11, 7), (12, 7), (13, 7), (11, 7), (14, 8), (10, 8),
    (12, 8),
];
