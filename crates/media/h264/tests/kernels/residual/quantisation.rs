//! Quantisation, DC, scan and decimation.

use evener_h264::kernels::residual::decimation::KEEP;
use evener_h264::kernels::residual::quantiser::{
    MAX_LEVEL, NORM_4X4, Quantiser, Quantiser8x8, class_4x4, class_8x8, multiplier_4x4,
    multiplier_8x8,
};
use evener_h264::kernels::residual::scan::{ZIGZAG_4X4, ZIGZAG_8X8};
use evener_h264::macroblock::{BLOCK_X, BLOCK_Y};

use super::{random_blocks, random_chroma, random_levels, reference};
use crate::Rng;

/// A coefficient of a block of differences.
fn coefficient(rng: &mut Rng, most: usize) -> i16 {
    let most = most >> rng.below(12);
    rng.below(2 * most + 1) as i16 - most as i16
}

/// Without rounding, the level is the published formula's; with it, within what quarters and halves of a unit can do.
#[test]
fn levels_are_coefficients_in_steps() {
    let mut rng = Rng(11);
    for i in 0..20_000 {
        let qp = (i % 52) as u8;
        let rounding = [0, 11, 21, 32][rng.below(4)];
        let mut coefficients: [i16; 16] = std::array::from_fn(|_| coefficient(&mut rng, 9180));
        let before = coefficients;
        let any = (reference().quantise_4x4)(&mut coefficients, &Quantiser::new(qp, rounding));
        assert_eq!(any, coefficients != [0; 16]);
        for (i, (&c, &level)) in before.iter().zip(&coefficients).enumerate() {
            let unit = f64::from(multiplier_4x4(qp, class_4x4(i))) / f64::from(1 << (15 + qp / 6));
            near(c, level, unit, rounding, 0.125);
        }
        let mut coefficients: [i16; 64] = std::array::from_fn(|_| coefficient(&mut rng, 16383));
        let before = coefficients;
        let any = (reference().quantise_8x8)(&mut coefficients, &Quantiser8x8::new(qp, rounding));
        assert_eq!(any, coefficients != [0; 64]);
        for (i, (&c, &level)) in before.iter().zip(&coefficients).enumerate() {
            let unit = f64::from(multiplier_8x8(qp, class_8x8(i))) / f64::from(1 << (16 + qp / 6));
            near(c, level, unit, rounding, 0.25);
        }
    }
}

/// Asserts that `level` is `⌊|c| * unit + rounding / 64⌋`, the rounding being exact to `error` units.
fn near(c: i16, level: i16, unit: f64, rounding: u8, error: f64) {
    let exact = f64::from(c.unsigned_abs()) * unit + f64::from(rounding) / 64.0;
    let error = if rounding == 0 {
        0.0
    } else {
        error * unit + 1e-9
    };
    let limit = f64::from(MAX_LEVEL);
    let (least, most) = (
        (exact - error).floor().min(limit),
        (exact + error).floor().min(limit),
    );
    let magnitude = f64::from(level.unsigned_abs());
    assert!(
        (least..=most).contains(&magnitude) && (level == 0 || (level < 0) == (c < 0)),
        "{c} in units of {unit} with {rounding} became {level}"
    );
}

#[test]
fn masks_name_blocks_with_levels() {
    let mut rng = Rng(12);
    let r = reference();
    for i in 0..3000 {
        let q = Quantiser::new((i % 52) as u8, 11);
        let mut luma: [[i16; 16]; 16] = random_blocks(&mut rng);
        let mut single = luma;
        let mut expected = 0;
        for (b, block) in single.iter_mut().enumerate() {
            expected |= u32::from((r.quantise_4x4)(block, &q)) << b;
        }
        assert_eq!((r.quantise_16x16)(&mut luma, &q), expected);
        assert_eq!(luma, single);
        let mut chroma = random_chroma(&mut rng);
        let mut single = chroma;
        let mut expected = 0;
        for (b, block) in single.iter_mut().flatten().enumerate() {
            expected |= u32::from((r.quantise_4x4)(block, &q)) << b;
        }
        assert_eq!((r.quantise_chroma)(&mut chroma, &q), expected);
        assert_eq!(chroma, single);
    }
}

const HADAMARD: [[i32; 4]; 4] = [[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, -1, 1], [1, -1, 1, -1]];

/// `h · c · h` of a raster.
fn hadamard(c: &[i32; 16]) -> [i32; 16] {
    std::array::from_fn(|i| {
        let mut sum = 0;
        for y in 0..4 {
            for x in 0..4 {
                sum += HADAMARD[i / 4][y] * HADAMARD[x][i % 4] * c[4 * y + x];
            }
        }
        sum
    })
}

/// `LevelScale4x4(qP % 6, 0, 0)`, flat.
fn dc_scale(qp: i32) -> i32 {
    16 * i32::from(NORM_4X4[qp as usize % 6][0])
}

#[test]
fn dc_of_luma_follows_the_clause() {
    let mut rng = Rng(13);
    for i in 0..5000 {
        let qp = i % 52;
        let q = Quantiser::new(qp as u8, 21);
        let mut blocks = [[7; 16]; 16];
        for block in &mut blocks {
            block[0] = coefficient(&mut rng, 4080);
        }
        let mut raster = [0; 16];
        for (b, block) in blocks.iter().enumerate() {
            raster[usize::from(4 * BLOCK_Y[b] + BLOCK_X[b])] = i32::from(block[0]);
        }
        let mut levels = [0; 16];
        let any = (reference().forward_luma_dc)(&mut blocks, &q, &mut levels);
        assert_eq!(any, levels != [0; 16]);
        assert!(
            blocks
                .iter()
                .all(|block| block[0] == 0 && block[1..] == [7; 15])
        );
        let unit = f64::from(multiplier_4x4(qp as u8, 0)) / f64::from(1 << (17 + qp / 6));
        for (c, &level) in hadamard(&raster).into_iter().zip(&levels) {
            let exact = f64::from(c.abs()) * unit + 21.0 / 64.0;
            let expected = exact.floor().min(2047.0) as i16 * c.signum() as i16;
            assert_eq!(level, expected, "{c} at {qp}");
        }

        let f = hadamard(&levels.map(i32::from));
        let scaled = f.map(|f| match qp {
            36.. => (f * dc_scale(qp)) << (qp / 6 - 6),
            _ => (f * dc_scale(qp) + (1 << (5 - qp / 6))) >> (6 - qp / 6),
        });
        let got = (reference().inverse_luma_dc)(&levels, &q);
        for b in 0..16 {
            let expected = scaled[usize::from(4 * BLOCK_Y[b] + BLOCK_X[b])];
            assert_eq!(i32::from(got[b]), expected, "block {b} at {qp}");
            // A scaled coefficient is four times the one it came from, within the error of 16 levels.
            let clipped = levels.iter().any(|level| level.abs() == MAX_LEVEL);
            let error = f64::from(expected) / 4.0
                - f64::from(raster[usize::from(4 * BLOCK_Y[b] + BLOCK_X[b])]);
            assert!(
                clipped || error.abs() <= 0.7 / unit + 1.0,
                "{error} at {qp}"
            );
        }
    }
}

#[test]
fn dc_of_chroma_follows_the_clause() {
    let mut rng = Rng(14);
    for i in 0..5000 {
        let qp = i % 52;
        let q = Quantiser::new(qp as u8, 11);
        let mut blocks = [[[7; 16]; 4]; 2];
        for block in blocks.iter_mut().flatten() {
            block[0] = coefficient(&mut rng, 4080);
        }
        let before = blocks;
        let mut levels = [[0; 4]; 2];
        let mask = (reference().forward_chroma_dc)(&mut blocks, &q, &mut levels);
        let scaled = (reference().inverse_chroma_dc)(&levels, &q);
        assert!(
            blocks
                .iter()
                .flatten()
                .all(|block| block[0] == 0 && block[1..] == [7; 15])
        );
        let unit = f64::from(multiplier_4x4(qp as u8, 0)) / f64::from(1 << (16 + qp / 6));
        let two = [[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]];
        for c in 0..2 {
            assert_eq!(mask >> c & 1 != 0, levels[c] != [0; 4]);
            for (i, row) in two.iter().enumerate() {
                let y: i32 = (0..4).map(|b| row[b] * i32::from(before[c][b][0])).sum();
                let exact = f64::from(y.abs()) * unit + 11.0 / 64.0;
                let expected = exact.floor().min(2047.0) as i16 * y.signum() as i16;
                assert_eq!(levels[c][i], expected, "{y} at {qp}");
                let f: i32 = (0..4).map(|b| row[b] * i32::from(levels[c][b])).sum();
                let expected = ((f * dc_scale(qp)) << (qp / 6)) >> 5;
                assert_eq!(i32::from(scaled[c][i]), expected, "{f} at {qp}");
            }
        }
    }
}

/// What forward transform and quantisation to the nearest leave of a block comes back to within a step.
#[test]
fn quantised_blocks_come_back() {
    let mut rng = Rng(15);
    let r = reference();
    for i in 0..5000 {
        let qp = (i % 52) as u8;
        let step = 0.625 * (f64::from(qp) / 6.0).exp2();
        let (mut s, mut p) = ([0; 64], [0; 64]);
        rng.samples(&mut s);
        rng.samples(&mut p);
        let squares = |dst: &[u8], n: usize| {
            let sum: f64 = (0..64)
                .filter(|i| i / 8 < n && i % 8 < n)
                .map(|i| (f64::from(s[i]) - f64::from(dst[i])).powi(2))
                .sum();
            (sum / (n * n) as f64).sqrt()
        };
        // An error is at most half a step a coefficient, so its root mean square is at most that in samples.
        let (mut block, mut dst) = ([0; 16], p);
        let q = Quantiser::new(qp, 32);
        (r.forward_4x4)(&s, 8, &p, 8, &mut block);
        (r.quantise_4x4)(&mut block, &q);
        if qp < 40 {
            (r.add_4x4)(&block, &q, &mut dst, 8);
            assert!(squares(&dst, 4) <= 0.57 * step + 0.75, "4x4 at {qp}");
        }
        let (mut block, mut dst) = ([0; 64], p);
        let q = Quantiser8x8::new(qp, 32);
        (r.forward_8x8)(&s, 8, &p, 8, &mut block);
        (r.quantise_8x8)(&mut block, &q);
        if (6..40).contains(&qp) {
            (r.add_8x8)(&block, &q, &mut dst, 8);
            assert!(squares(&dst, 8) <= 0.57 * step + 0.75, "8x8 at {qp}");
        }
    }
}

#[test]
fn scans_keep_levels_and_count_them() {
    let mut rng = Rng(16);
    let r = reference();
    for _ in 0..2000 {
        let luma: [[i16; 16]; 16] = random_blocks(&mut rng);
        let mut out = [[0; 16]; 16];
        let counts = (r.zigzag_16x16)(&luma, &mut out);
        for b in 0..16 {
            assert!((0..16).all(|k| out[b][k] == luma[b][usize::from(ZIGZAG_4X4[k])]));
            let nonzero = luma[b].iter().filter(|&&level| level != 0).count();
            assert_eq!(usize::from(counts[b]), nonzero);
        }
        let wide: [i16; 64] = random_levels(&mut rng);
        let mut out = [0; 64];
        let counts = (r.zigzag_8x8)(&wide, &mut out);
        assert!((0..64).all(|k| out[k] == wide[usize::from(ZIGZAG_8X8[k])]));
        for (k, &count) in counts.iter().enumerate() {
            let nonzero = out
                .iter()
                .skip(k)
                .step_by(4)
                .filter(|&&level| level != 0)
                .count();
            assert_eq!(usize::from(count), nonzero);
        }
    }
}

#[test]
fn few_small_levels_are_worth_little() {
    let r = reference();
    let block = |levels: &[(usize, i16)]| {
        let mut block = [0; 16];
        for &(at, level) in levels {
            block[at] = level;
        }
        block
    };
    assert_eq!((r.decimate_4x4)(&block(&[])), 0);
    assert_eq!((r.decimate_4x4)(&block(&[(0, 1)])), 3);
    assert_eq!((r.decimate_ac)(&block(&[(0, 5)])), 0);
    assert_eq!((r.decimate_ac)(&block(&[(1, -1)])), 3);
    assert_eq!((r.decimate_4x4)(&block(&[(1, -1)])), 2);
    assert_eq!((r.decimate_4x4)(&block(&[(5, 1), (15, -1)])), 1);
    assert_eq!((r.decimate_4x4)(&block(&[(6, 1), (7, 1)])), 3);
    assert_eq!((r.decimate_4x4)(&block(&[(15, 1)])), 0);
    assert_eq!((r.decimate_4x4)(&block(&[(15, 2)])), KEEP);
}
