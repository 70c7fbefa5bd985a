//! Transforms against matrices and the equations of clauses 8.5.10 to 8.5.13.

use evener_h264::kernels::residual::quantiser::{
    NORM_4X4, NORM_8X8, Quantiser, Quantiser8x8, class_4x4, class_8x8,
};
use evener_h264::macroblock::{BLOCK_X, BLOCK_Y};

use super::{random_blocks, random_chroma, random_levels, reference};
use crate::Rng;

const CORE: [[i32; 4]; 4] = [[1, 1, 1, 1], [2, 1, -1, -2], [1, -1, -1, 1], [1, -2, 2, -1]];

/// The basis functions of the 8x8 transform, times 8.
const BASIS_8: [[i32; 8]; 8] = [
    [8, 8, 8, 8, 8, 8, 8, 8],
    [12, 10, 6, 3, -3, -6, -10, -12],
    [8, 4, -4, -8, -8, -4, 4, 8],
    [10, -3, -12, -6, 6, 12, 3, -10],
    [8, -8, -8, 8, 8, -8, -8, 8],
    [6, -12, 3, 10, -10, -3, 12, -6],
    [4, -8, 8, -4, -4, 8, -8, 4],
    [3, -6, 10, -12, 12, -10, 6, -3],
];

#[test]
fn bases_are_orthogonal() {
    let dot = |a: &[i32], b: &[i32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<i32>();
    for i in 0..8 {
        for j in 0..i {
            assert_eq!(dot(&BASIS_8[i], &BASIS_8[j]), 0, "{i} {j}");
            assert!(i > 3 || dot(&CORE[i], &CORE[j]) == 0, "{i} {j}");
        }
    }
}

/// `m · d · mᵀ` at row `i`, column `j`.
fn product<const N: usize>(
    m: &[[i32; N]; N],
    d: impl Fn(usize, usize) -> i32,
    i: usize,
    j: usize,
) -> i32 {
    let mut sum = 0;
    for (y, a) in m[i].iter().enumerate() {
        for (x, b) in m[j].iter().enumerate() {
            sum += a * b * d(x, y);
        }
    }
    sum
}

fn difference(a: u8, b: u8) -> i32 {
    i32::from(a) - i32::from(b)
}

#[test]
fn forward_4x4_is_a_matrix_product() {
    let mut rng = Rng(1);
    for _ in 0..500 {
        let (mut s, mut p) = ([0; 40 * 16], [0; 24 * 16]);
        rng.samples(&mut s);
        rng.samples(&mut p);
        let at = |x: usize, y: usize| difference(s[y * 40 + x], p[y * 24 + x]);
        let check = |block: &[i16; 16], d: &dyn Fn(usize, usize) -> i32, what: &str| {
            for (i, &c) in block.iter().enumerate() {
                let expected = product(&CORE, d, i / 4, i % 4);
                assert_eq!(i32::from(c), expected, "{what} {i}");
            }
        };
        let (mut single, mut luma, mut chroma) = ([0; 16], [[0; 16]; 16], [[[0; 16]; 4]; 2]);
        (reference().forward_4x4)(&s, 40, &p, 24, &mut single);
        (reference().forward_16x16)(&s, 40, &p, 24, &mut luma);
        (reference().forward_chroma)(&s, 40, &p, 24, &mut chroma);
        check(&single, &at, "single");
        for (b, block) in luma.iter().enumerate() {
            let (x0, y0) = (4 * usize::from(BLOCK_X[b]), 4 * usize::from(BLOCK_Y[b]));
            check(block, &|x, y| at(x0 + x, y0 + y), "luma");
        }
        for (c, blocks) in chroma.iter().enumerate() {
            for (b, block) in blocks.iter().enumerate() {
                let (x0, y0) = (b % 2 * 4, b / 2 * 4);
                check(block, &|x, y| at(2 * (x0 + x) + c, y0 + y), "chroma");
            }
        }
    }
}

#[test]
fn forward_8x8_is_a_matrix_product_but_for_rounding() {
    let mut rng = Rng(2);
    for _ in 0..500 {
        let (mut s, mut p) = ([0; 64], [0; 64]);
        rng.samples(&mut s);
        rng.samples(&mut p);
        let mut block = [0; 64];
        (reference().forward_8x8)(&s, 8, &p, 8, &mut block);
        for (i, &c) in block.iter().enumerate() {
            let d = |x, y| difference(s[8 * y + x], p[8 * y + x]);
            let exact = f64::from(product(&BASIS_8, d, i / 8, i % 8)) / 64.0;
            assert!((f64::from(c) - exact).abs() < 14.0, "{i}: {c}, not {exact}");
        }
    }
}

/// The one-dimensional inverse of clause 8.5.12.2.
fn inverse_4(w: [i32; 4]) -> [i32; 4] {
    let e = [
        w[0] + w[2],
        w[0] - w[2],
        (w[1] >> 1) - w[3],
        w[1] + (w[3] >> 1),
    ];
    [e[0] + e[3], e[1] + e[2], e[1] - e[2], e[0] - e[3]]
}

/// The one-dimensional inverse of clause 8.5.13.2, equations in their order.
fn inverse_8(w: [i32; 8]) -> [i32; 8] {
    let a = [
        w[0] + w[4],
        -w[3] + w[5] - w[7] - (w[7] >> 1),
        w[0] - w[4],
        w[1] + w[7] - w[3] - (w[3] >> 1),
        (w[2] >> 1) - w[6],
        -w[1] + w[7] + w[5] + (w[5] >> 1),
        w[2] + (w[6] >> 1),
        w[3] + w[5] + w[1] + (w[1] >> 1),
    ];
    let b = [
        a[0] + a[6],
        a[1] + (a[7] >> 2),
        a[2] + a[4],
        a[3] + (a[5] >> 2),
        a[2] - a[4],
        (a[3] >> 2) - a[5],
        a[0] - a[6],
        a[7] - (a[1] >> 2),
    ];
    [
        b[0] + b[7],
        b[2] + b[5],
        b[4] + b[3],
        b[6] + b[1],
        b[6] - b[1],
        b[4] - b[3],
        b[2] - b[5],
        b[0] - b[7],
    ]
}

/// Rows, then columns, then rounding; `None` where values come near the end of 16 bits, which streams must not do.
fn inverse<const N: usize>(d: &[i32], one: impl Fn([i32; N]) -> [i32; N]) -> Option<Vec<i32>> {
    let rows: Vec<i32> = (0..N)
        .flat_map(|y| one(std::array::from_fn(|x| d[N * y + x])))
        .collect();
    let mut r = vec![0; N * N];
    for x in 0..N {
        let column = one(std::array::from_fn(|y| rows[N * y + x]));
        for y in 0..N {
            r[N * y + x] = column[y];
        }
    }
    // The margin is for sums inside a transform.
    let far = |v: &i32| (-8000..8000).contains(v);
    let all = d.iter().chain(&rows).chain(&r).all(far);
    all.then(|| r.iter().map(|r| (r + 32) >> 6).collect())
}

/// Scaling of clause 8.5.12.1 with `LevelScale4x4`, flat.
fn scaled_4x4(level: i16, i: usize, qp: i32) -> i32 {
    let scale = 16 * i32::from(NORM_4X4[qp as usize % 6][class_4x4(i)]);
    if qp >= 24 {
        (i32::from(level) * scale) << (qp / 6 - 4)
    } else {
        (i32::from(level) * scale + (1 << (3 - qp / 6))) >> (4 - qp / 6)
    }
}

/// Scaling of clause 8.5.13.1 with `LevelScale8x8`, flat.
fn scaled_8x8(level: i16, i: usize, qp: i32) -> i32 {
    let scale = 16 * i32::from(NORM_8X8[qp as usize % 6][class_8x8(i)]);
    if qp >= 36 {
        (i32::from(level) * scale) << (qp / 6 - 6)
    } else {
        (i32::from(level) * scale + (1 << (5 - qp / 6))) >> (6 - qp / 6)
    }
}

fn clip(value: i32) -> u8 {
    value.clamp(0, 255) as u8
}

#[test]
fn add_4x4_follows_the_equations() {
    let mut rng = Rng(3);
    let mut compared = 0;
    for i in 0..20_000 {
        let qp = i % 52;
        let q = Quantiser::new(qp as u8, 21);
        let levels: [i16; 16] = random_levels(&mut rng);
        let d: Vec<i32> = (0..16).map(|i| scaled_4x4(levels[i], i, qp)).collect();
        let Some(residual) = inverse(&d, inverse_4) else {
            continue;
        };
        let mut dst = [0; 16];
        rng.samples(&mut dst);
        let expected: Vec<u8> = (0..16)
            .map(|i| clip(i32::from(dst[i]) + residual[i]))
            .collect();
        (reference().add_4x4)(&levels, &q, &mut dst, 4);
        assert_eq!(dst[..], expected, "qp {qp}, {levels:?}");
        compared += 1;
    }
    assert!(compared > 5000, "{compared}");
}

#[test]
fn add_8x8_follows_the_equations() {
    let mut rng = Rng(4);
    let mut compared = 0;
    for i in 0..20_000 {
        let qp = i % 52;
        let q = Quantiser8x8::new(qp as u8, 21);
        let levels: [i16; 64] = random_levels(&mut rng);
        let d: Vec<i32> = (0..64).map(|i| scaled_8x8(levels[i], i, qp)).collect();
        let Some(residual) = inverse(&d, inverse_8) else {
            continue;
        };
        let mut dst = [0; 64];
        rng.samples(&mut dst);
        let expected: Vec<u8> = (0..64)
            .map(|i| clip(i32::from(dst[i]) + residual[i]))
            .collect();
        (reference().add_8x8)(&levels, &q, &mut dst, 8);
        assert_eq!(dst[..], expected, "qp {qp}, {levels:?}");
        compared += 1;
    }
    assert!(compared > 5000, "{compared}");
}

/// The functions for several blocks are `add_4x4` at each place; DC alone adds one number to a block.
#[test]
fn blocks_are_added_where_they_lie() {
    let mut rng = Rng(5);
    let r = reference();
    for i in 0..2000 {
        let q = Quantiser::new((i % 40) as u8, 21);
        let mut before = [0; 40 * 16];
        rng.samples(&mut before);
        let coded = rng.next() as u32;
        let luma: [[i16; 16]; 16] = random_blocks(&mut rng);
        let dc: [i16; 16] = std::array::from_fn(|_| rng.below(20_000) as i16 - 10_000);

        let mut expected = before;
        for b in (0..16).filter(|b| coded >> b & 1 != 0) {
            let at = 4 * (usize::from(BLOCK_Y[b]) * 40 + usize::from(BLOCK_X[b]));
            (r.add_4x4)(&luma[b], &q, &mut expected[at..], 40);
        }
        let mut got = before;
        (r.add_16x16)(&luma, coded, &q, &mut got, 40);
        assert_eq!(got, expected);

        let mut expected = before;
        for b in 0..16 {
            let at = 4 * (usize::from(BLOCK_Y[b]) * 40 + usize::from(BLOCK_X[b]));
            let residual = (i32::from(dc[b]) + 32) >> 6;
            for y in 0..4 {
                for sample in &mut expected[at + 40 * y..][..4] {
                    *sample = clip(i32::from(*sample) + residual);
                }
            }
        }
        let mut got = before;
        (r.add_16x16_dc)(&luma, 0, &dc, &q, &mut got, 40);
        assert_eq!(got, expected);
    }
}

/// Where DC alone is coded, its scaled value is a level's that `add_4x4` scales itself.
#[test]
fn scaled_dc_takes_the_place_of_a_level() {
    let mut rng = Rng(6);
    let r = reference();
    for i in 0..2000 {
        let qp = i % 52;
        let q = Quantiser::new(qp as u8, 21);
        let mut luma: [[i16; 16]; 16] = random_blocks(&mut rng);
        for block in &mut luma {
            block[0] = (block[0] % 40) >> (qp / 13);
        }
        let dc = luma.map(|block| scaled_4x4(block[0], 0, qp) as i16);
        let mut before = [0; 256];
        rng.samples(&mut before);
        let (mut expected, mut got) = (before, before);
        (r.add_16x16)(&luma, 0xffff, &q, &mut expected, 16);
        (r.add_16x16_dc)(&luma, 0xffff, &dc, &q, &mut got, 16);
        assert_eq!(got, expected, "qp {qp}");
    }
}

#[test]
fn chroma_is_added_to_its_component() {
    let mut rng = Rng(7);
    let r = reference();
    for i in 0..2000 {
        let q = Quantiser::new((i % 40) as u8, 21);
        let blocks = random_chroma(&mut rng);
        let coded = rng.next() as u32;
        let dc: [[i16; 4]; 2] =
            std::array::from_fn(|_| std::array::from_fn(|_| rng.below(8000) as i16 - 4000));
        let mut before = [0; 16 * 8];
        rng.samples(&mut before);
        let mut got = before;
        (r.add_chroma)(&blocks, coded, &dc, &q, &mut got, 16);
        for c in 0..2 {
            let mut plane: [u8; 64] = std::array::from_fn(|i| before[i / 8 * 16 + i % 8 * 2 + c]);
            for b in 0..4 {
                // As luma of a macroblock whose first block it is.
                let (mut luma, mut luma_dc) = ([[0; 16]; 16], [0; 16]);
                luma[0] = blocks[c][b];
                luma_dc[0] = dc[c][b];
                let mut canvas = [0; 256];
                for y in 0..4 {
                    let at = (b / 2 * 4 + y) * 8 + b % 2 * 4;
                    canvas[16 * y..][..4].copy_from_slice(&plane[at..][..4]);
                }
                let mask = coded >> (4 * c + b) & 1;
                (r.add_16x16_dc)(&luma, mask, &luma_dc, &q, &mut canvas, 16);
                for y in 0..4 {
                    let at = (b / 2 * 4 + y) * 8 + b % 2 * 4;
                    plane[at..][..4].copy_from_slice(&canvas[16 * y..][..4]);
                }
            }
            let got: [u8; 64] = std::array::from_fn(|i| got[i / 8 * 16 + i % 8 * 2 + c]);
            assert_eq!(got, plane);
        }
    }
}
