//! Whether decoders can scale and transform levels in 16 bits.
//!
//! A stream may not have levels that lead to more on the way (clauses 8.5.10 to 8.5.13). Differences of samples alone do
//! not. But where steps are large, rounding of all coefficients of a block together may add as much again.

use super::residual::chroma_qp;
use crate::kernels::residual::quantiser::{NORM_4X4, NORM_8X8, class_4x4, class_8x8};
use crate::kernels::residual::scan::{ZIGZAG_4X4, ZIGZAG_8X8};
use crate::macroblock::{BLOCK_X, BLOCK_Y, Kind, Levels, Macroblock};

/// The least parameter at which levels of differences of samples may lead to more than 16 bits. The scaling below is that
/// of parameters from 36 on.
const FROM: u8 = 36;
/// The least and the most that a value may be: the last addition before samples is one of 32.
const LEAST: i32 = -(1 << 15);
const MOST: i32 = (1 << 15) - 33;
/// So small a sum of magnitudes is within the range however it is transformed; one of halves that are rounded down too.
const SMALL: u32 = 32_000;

/// Whether a value on the way to samples is out of range for the macroblock's levels.
pub fn exceeds(mb: &Macroblock, levels: &Levels) -> bool {
    if mb.qp < FROM || !mb.has_qp_delta() {
        return false;
    }
    let mut range = Range::default();
    luma(mb, levels, &mut range);
    let qp = chroma_qp(mb.qp);
    if mb.cbp >= 16 && qp >= FROM {
        for component in 0..2 {
            let c = levels.chroma_dc[component].map(i32::from);
            let f = [
                c[0] + c[1] + c[2] + c[3],
                c[0] - c[1] + c[2] - c[3],
                c[0] + c[1] - c[2] - c[3],
                c[0] - c[1] - c[2] + c[3],
            ];
            for (b, f) in f.into_iter().enumerate() {
                let scale = i32::from(NORM_4X4[usize::from(qp % 6)][0]);
                let f = range.hold(f);
                let dc = range.hold(((f * 16 * scale) << (qp / 6)) >> 5);
                let none = [0; 16];
                let ac = match mb.nonzero[16 + 4 * component + b] {
                    0 => &none,
                    _ => &levels.chroma_ac[component][b],
                };
                range.block_4x4(ac, qp, Some(dc));
            }
        }
    }
    range.left
}

fn luma(mb: &Macroblock, levels: &Levels, range: &mut Range) {
    let blocks = (0..16).filter(|b| mb.cbp >> (b / 4) & 1 == 1 && mb.nonzero[*b] != 0);
    if mb.transform_8x8 {
        for q in (0..4).filter(|q| mb.cbp >> q & 1 == 1) {
            range.block_8x8(levels.luma[4 * q..4 * q + 4].as_flattened(), mb.qp);
        }
    } else if mb.kind == Kind::I16x16 {
        let none = [0; 16];
        let dc = luma_dc(&levels.luma_dc, mb.qp, range);
        for b in 0..16 {
            let dc = dc[usize::from(4 * BLOCK_Y[b] + BLOCK_X[b])];
            let ac = match mb.nonzero[b] {
                0 => &none,
                _ => &levels.luma[b],
            };
            range.block_4x4(ac, mb.qp, Some(dc));
        }
    } else {
        for b in blocks {
            range.block_4x4(&levels.luma[b], mb.qp, None);
        }
    }
}

/// DC of the blocks of `I16x16`, by place.
fn luma_dc(levels: &[i16; 16], qp: u8, range: &mut Range) -> [i32; 16] {
    let mut c = [0; 16];
    for (&level, &at) in levels.iter().zip(&ZIGZAG_4X4) {
        c[usize::from(at)] = i32::from(level);
    }
    for (step, next) in [(1, 4), (4, 1)] {
        for first in (0..4).map(|i| i * next) {
            let [a, b, d, e] = [0, 1, 2, 3].map(|i| c[first + i * step]);
            c[first] = a + b + d + e;
            c[first + step] = a + b - d - e;
            c[first + 2 * step] = a - b - d + e;
            c[first + 3 * step] = a - b + d - e;
        }
    }
    let scale = i32::from(NORM_4X4[usize::from(qp % 6)][0]) << (qp / 6 - 2);
    c.map(|f| {
        let f = range.hold(f);
        range.hold(f * scale)
    })
}

/// Values that were looked at.
#[derive(Default)]
struct Range {
    /// Whether one was out of range.
    left: bool,
}

impl Range {
    fn hold(&mut self, value: i32) -> i32 {
        self.left |= !(LEAST..=MOST).contains(&value);
        value
    }

    fn block_4x4(&mut self, levels: &[i16; 16], qp: u8, dc: Option<i32>) {
        let mut d = [0; 16];
        for (&level, &at) in levels.iter().zip(&ZIGZAG_4X4) {
            let norm = NORM_4X4[usize::from(qp % 6)][class_4x4(at.into())];
            d[usize::from(at)] = i32::from(level) * (i32::from(norm) << (qp / 6));
        }
        d[0] = dc.unwrap_or(d[0]);
        if d.iter().map(|d| d.unsigned_abs()).sum::<u32>() <= SMALL {
            return;
        }
        for (step, next) in [(1, 4), (4, 1)] {
            for first in (0..4).map(|i| i * next) {
                let [a, b, c, e] = [0, 1, 2, 3].map(|i| self.hold(d[first + i * step]));
                let (e0, e1) = (self.hold(a + c), self.hold(a - c));
                let (e2, e3) = (self.hold((b >> 1) - e), self.hold(b + (e >> 1)));
                for (i, value) in [e0 + e3, e1 + e2, e1 - e2, e0 - e3].into_iter().enumerate() {
                    d[first + i * step] = self.hold(value);
                }
            }
        }
    }

    fn block_8x8(&mut self, levels: &[i16], qp: u8) {
        let mut d = [0; 64];
        for (&level, &at) in levels.iter().zip(&ZIGZAG_8X8) {
            let norm = NORM_8X8[usize::from(qp % 6)][class_8x8(at.into())];
            d[usize::from(at)] = i32::from(level) * (i32::from(norm) << (qp / 6 - 2));
        }
        // Each direction makes a coefficient larger by half at most.
        if d.iter().map(|d| d.unsigned_abs()).sum::<u32>() <= SMALL * 4 / 9 {
            return;
        }
        for (step, next) in [(1, 8), (8, 1)] {
            for first in (0..8).map(|i| i * next) {
                let v: [i32; 8] = std::array::from_fn(|i| self.hold(d[first + i * step]));
                let a = [
                    v[0] + v[4],
                    v[5] - v[3] - v[7] - (v[7] >> 1),
                    v[0] - v[4],
                    v[1] + v[7] - v[3] - (v[3] >> 1),
                    (v[2] >> 1) - v[6],
                    v[7] - v[1] + v[5] + (v[5] >> 1),
                    v[2] + (v[6] >> 1),
                    v[3] + v[5] + v[1] + (v[1] >> 1),
                ]
                .map(|a| self.hold(a));
                let b = [
                    a[0] + a[6],
                    a[1] + (a[7] >> 2),
                    a[2] + a[4],
                    a[3] + (a[5] >> 2),
                    a[2] - a[4],
                    (a[3] >> 2) - a[5],
                    a[0] - a[6],
                    a[7] - (a[1] >> 2),
                ]
                .map(|b| self.hold(b));
                for i in 0..4 {
                    let (even, odd) = (b[2 * i], b[7 - 2 * i]);
                    d[first + i * step] = self.hold(even + odd);
                    d[first + (7 - i) * step] = self.hold(even - odd);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use evener_runtime::Simd;

    use super::*;
    use crate::kernels::Kernels;
    use crate::kernels::residual::quantiser::{Quantiser, Quantiser8x8};

    fn one(qp: u8, at: usize, level: i16) -> bool {
        let mut levels = Levels::default();
        levels.luma[5][at] = level;
        let mut mb = Macroblock {
            kind: Kind::P16x16,
            qp,
            cbp: 2,
            ..Macroblock::default()
        };
        mb.nonzero[5] = 1;
        exceeds(&mb, &levels)
    }

    #[test]
    fn a_level_is_scaled_within_16_bits() {
        // 14 * 2^8, and 23 * 2^8 where both indices are odd.
        assert!(!one(51, 0, 9) && one(51, 0, 10) && !one(51, 0, -9) && one(51, 0, -10));
        assert!(!one(51, 4, 5) && one(51, 4, 6));
        // What is not coded does not matter.
        let levels = Levels {
            luma: [[2000; 16]; 16],
            ..Levels::default()
        };
        let mb = Macroblock {
            kind: Kind::P16x16,
            qp: 51,
            cbp: 16,
            ..Macroblock::default()
        };
        assert!(!exceeds(&mb, &levels));
    }

    /// Samples against predictions of the other extreme, in stripes, squares and noise.
    fn extremes(seed: &mut u64, side: usize) -> ([u8; 64], [u8; 64]) {
        let mut next = |end: u64| {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (*seed >> 33) % end
        };
        let (across, down, noise) = (next(8) as usize, next(8) as usize, next(30));
        let mut samples = [0; 64];
        let mut prediction = [0; 64];
        for i in 0..side * side {
            let (x, y) = (i % side, i / side);
            let sign = ((x & across).count_ones() + (y & down).count_ones()) % 2 == 0;
            let sign = sign != (next(100) < noise);
            let amount = 255 - next(1 + noise) as u8;
            (samples[i], prediction[i]) = if sign { (amount, 0) } else { (0, amount) };
        }
        (samples, prediction)
    }

    #[test]
    fn differences_exceed_the_range_at_large_steps_alone() {
        let kernels = Kernels::at(Simd::Scalar).residual;
        let mut seed = 1;
        let mut count = |qp: u8| {
            // To the nearest: no other rounding makes levels larger.
            let (narrow, wide) = (Quantiser::new(qp, 32), Quantiser8x8::new(qp, 32));
            let mut found = [0; 2];
            for _ in 0..4000 {
                let (samples, prediction) = extremes(&mut seed, 4);
                let (mut block, mut levels) = ([0; 16], [0; 16]);
                (kernels.forward_4x4)(&samples, 4, &prediction, 4, &mut block);
                (kernels.quantise_4x4)(&mut block, &narrow);
                (kernels.zigzag_4x4)(&block, &mut levels);
                let mut range = Range::default();
                range.block_4x4(&levels, qp, None);
                found[0] += u32::from(range.left);

                let (samples, prediction) = extremes(&mut seed, 8);
                let (mut block, mut levels) = ([0; 64], [0; 64]);
                (kernels.forward_8x8)(&samples, 8, &prediction, 8, &mut block);
                (kernels.quantise_8x8)(&mut block, &wide);
                (kernels.zigzag_8x8)(&block, &mut levels);
                let mut range = Range::default();
                range.block_8x8(&levels, qp);
                found[1] += u32::from(range.left);
            }
            found
        };
        let all: Vec<[u32; 2]> = (30..=51).map(&mut count).collect();
        let below = usize::from(FROM) - 30;
        assert!(all[..below].iter().all(|found| *found == [0; 2]), "{all:?}");
        // From 50 on.
        assert!(all[20][0] > 0 && all[21][1] > 0, "{all:?}");
    }
}
