//! Pictures of random macroblocks, all of them legal.

use evener_h264::macroblock::{BLOCK_X, BLOCK_Y, Kind, Levels, Macroblock, Mv};

use super::reader::Slice;

/// Random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// Less than `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
    }

    /// True `percent` times in 100.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// How macroblocks are to be, in percent.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Skipped.
    pub skipped: usize,
    /// Levels that are not 0.
    pub dense: usize,
    /// Levels that are more than 1.
    pub large: usize,
    /// The largest level.
    pub largest: i16,
    /// Macroblocks with another quantisation parameter.
    pub requantised: usize,
    /// The largest difference of a vector.
    pub fastest: i16,
}

/// A picture: macroblocks, row after row, and the levels that they index, together of all rows.
pub struct Picture {
    pub macroblocks: Vec<Macroblock>,
    pub levels: Vec<Levels>,
}

/// A random picture.
pub fn picture(random: &mut Random, slice: &Slice, style: &Style) -> Picture {
    let mut picture = Picture {
        macroblocks: Vec::new(),
        levels: Vec::new(),
    };
    let mut qp = slice.qp;
    for y in 0..slice.height {
        for x in 0..slice.width {
            let macroblock = macroblock(
                random,
                slice,
                style,
                [x > 0, y > 0],
                qp,
                &mut picture.levels,
            );
            qp = macroblock.qp;
            picture.macroblocks.push(macroblock);
        }
    }
    picture
}

/// `has` tells whether there are macroblocks to the left and above.
fn macroblock(
    random: &mut Random,
    slice: &Slice,
    style: &Style,
    has: [bool; 2],
    qp: u8,
    levels: &mut Vec<Levels>,
) -> Macroblock {
    let kind = kind(random, slice, style);
    let mut macroblock = Macroblock {
        kind,
        qp,
        refs: [-1; 4],
        levels: levels.len() as u32,
        ..Macroblock::default()
    };
    if kind == Kind::PSkip {
        macroblock.refs = [0; 4];
        return macroblock;
    }
    if kind == Kind::IPcm {
        macroblock.cbp = 0x2F;
        macroblock.nonzero = [16; 24];
        let mut samples = Levels::default();
        for sample in samples.luma.as_flattened_mut() {
            *sample = random.below(256) as i16;
        }
        for sample in samples.chroma_ac.as_flattened_mut().as_flattened_mut() {
            *sample = random.below(256) as i16;
        }
        levels.push(samples);
        return macroblock;
    }
    modes(random, &mut macroblock, has);
    if !kind.is_intra() {
        motion(random, slice, style, &mut macroblock);
    }
    let some = random.below(16) as u8;
    macroblock.cbp = 16 * random.pick(&[0, 0, 1, 2, 2])
        + match kind {
            Kind::I16x16 => random.pick(&[0, 15]),
            _ => random.pick(&[0, 15, some]),
        };
    let may_8x8 = slice.allows_8x8 && macroblock.cbp & 15 != 0 && !kind.is_intra();
    macroblock.transform_8x8 = kind == Kind::I8x8 || may_8x8 && random.chance(50);
    if macroblock.has_qp_delta() {
        if random.chance(style.requantised) {
            macroblock.qp = random.below(52) as u8;
        }
        levels.push(residual(random, style, &mut macroblock));
    }
    macroblock
}

fn kind(random: &mut Random, slice: &Slice, style: &Style) -> Kind {
    let is_p = slice.init.is_some();
    if is_p && random.chance(style.skipped) {
        Kind::PSkip
    } else if is_p && random.chance(75) {
        random.pick(&[Kind::P16x16, Kind::P16x8, Kind::P8x16, Kind::P8x8])
    } else if random.chance(3) {
        Kind::IPcm
    } else if slice.allows_8x8 {
        random.pick(&[Kind::I4x4, Kind::I8x8, Kind::I16x16])
    } else {
        random.pick(&[Kind::I4x4, Kind::I16x16])
    }
}

fn modes(random: &mut Random, macroblock: &mut Macroblock, [has_left, has_above]: [bool; 2]) {
    // By whether there are samples to the left, above: tables 8-4 and 8-5.
    let (whole, chroma): (&[u8], &[u8]) = match (has_left, has_above) {
        (true, true) => (&[0, 1, 2, 3], &[0, 1, 2, 3]),
        (true, false) => (&[1, 2], &[0, 1]),
        (false, true) => (&[0, 2], &[0, 2]),
        (false, false) => (&[2], &[0]),
    };
    let step = match macroblock.kind {
        Kind::I4x4 => 1,
        Kind::I8x8 => 4,
        Kind::I16x16 => {
            macroblock.intra_modes[0] = random.pick(whole);
            16
        }
        _ => return,
    };
    macroblock.chroma_mode = random.pick(chroma);
    for block in (0..16).step_by(step).filter(|_| step < 16) {
        let left = has_left || BLOCK_X[block] > 0;
        let above = has_above || BLOCK_Y[block] > 0;
        let modes: &[u8] = match (left, above) {
            (true, true) => &[0, 1, 2, 3, 4, 5, 6, 7, 8],
            (true, false) => &[1, 2, 8],
            (false, true) => &[0, 2, 3, 7],
            (false, false) => &[2],
        };
        let mode = random.pick(modes);
        macroblock.intra_modes[block..block + step].fill(mode);
    }
}

fn motion(random: &mut Random, slice: &Slice, style: &Style, macroblock: &mut Macroblock) {
    let refs = [0; 4].map(|_: i8| random.below(slice.references.into()) as i8);
    macroblock.refs = match macroblock.kind {
        Kind::P16x16 => [refs[0]; 4],
        Kind::P16x8 => [refs[0], refs[0], refs[1], refs[1]],
        Kind::P8x16 => [refs[0], refs[1], refs[0], refs[1]],
        _ => refs,
    };
    let count = macroblock.kind.vectors();
    for mvd in &mut macroblock.mvds[..count] {
        *mvd = Mv {
            x: component(random, style.fastest),
            y: component(random, style.fastest),
        };
    }
}

fn component(random: &mut Random, fastest: i16) -> i16 {
    let most = random.pick(&[0, 1, 3, 9, 40, fastest]).min(fastest);
    let size = random.below(most as usize + 1) as i16;
    if random.chance(50) { size } else { -size }
}

fn residual(random: &mut Random, style: &Style, macroblock: &mut Macroblock) -> Levels {
    let mut levels = Levels::default();
    let Macroblock { kind, cbp, .. } = *macroblock;
    if kind == Kind::I16x16 {
        fill(random, style, &mut levels.luma_dc);
    }
    let first = usize::from(kind == Kind::I16x16);
    for block in 0..16 {
        if cbp >> (block / 4) & 1 != 0 {
            fill(random, style, &mut levels.luma[block][first..]);
            macroblock.nonzero[block] = count(&levels.luma[block]);
        }
    }
    if macroblock.transform_8x8 {
        for quarter in (0..4).filter(|quarter| cbp >> quarter & 1 != 0) {
            let levels = levels.luma[4 * quarter..][..4].as_flattened_mut();
            if levels.iter().all(|level| *level == 0) {
                levels[random.below(64)] = 1;
            }
            for k in 0..4 {
                let of = levels[k..].iter().step_by(4).copied();
                macroblock.nonzero[4 * quarter + k] = count(&of.collect::<Vec<_>>());
            }
        }
    }
    if cbp >> 4 != 0 {
        for dc in &mut levels.chroma_dc {
            fill(random, style, dc);
        }
    }
    if cbp >> 4 == 2 {
        let blocks = levels.chroma_ac.as_flattened_mut();
        for (block, nonzero) in blocks.iter_mut().zip(&mut macroblock.nonzero[16..]) {
            fill(random, style, &mut block[1..]);
            *nonzero = count(block);
        }
    }
    levels
}

fn count(levels: &[i16]) -> u8 {
    levels.iter().filter(|level| **level != 0).count() as u8
}

fn fill(random: &mut Random, style: &Style, levels: &mut [i16]) {
    // Blocks without levels, with one at any place, and others.
    match random.below(8) {
        0 => return,
        1 => levels[random.below(levels.len())] = 1,
        _ => {
            for level in &mut *levels {
                *level = i16::from(random.chance(style.dense));
            }
        }
    }
    for level in levels.iter_mut().filter(|level| **level != 0) {
        if random.chance(style.large) {
            let most = random.pick(&[2, 4, 14, 15, 16, 17, 40, style.largest]);
            *level = 1 + random.below(most.min(style.largest) as usize) as i16;
        }
        if random.chance(50) {
            *level = -*level;
        }
    }
}
