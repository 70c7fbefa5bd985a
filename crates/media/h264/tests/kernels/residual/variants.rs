//! Every variant against its reference.

use evener_h264::kernels::residual::neighbours::{
    Neighbours4x4, Neighbours8x8, Neighbours16x16, NeighboursChroma,
};
use evener_h264::kernels::residual::quantiser::{Quantiser, Quantiser8x8};
use evener_h264::kernels::residual::{ChromaBlocks, Residual};

use super::deblocking::{edge_samples, parameters};
use super::{compare, random_blocks, random_chroma, random_levels, variants};
use crate::Rng;

const STRIDE: usize = 37;
const SIZE: usize = 20 * STRIDE;

fn canvas(rng: &mut Rng) -> [u8; SIZE] {
    let mut samples = [0; SIZE];
    rng.samples(&mut samples);
    samples
}

#[test]
fn forward() {
    let mut rng = Rng(41);
    for _ in 0..3000 {
        let (s, p) = (canvas(&mut rng), canvas(&mut rng));
        let (a, b) = (rng.below(20), rng.below(20));
        let (s, p) = (&s[a..], &p[b..]);
        compare((a, b, "4x4"), |r| {
            let mut out = [0; 16];
            (r.forward_4x4)(s, STRIDE, p, STRIDE - 1, &mut out);
            out
        });
        compare((a, b, "16x16"), |r| {
            let mut out = [[0; 16]; 16];
            (r.forward_16x16)(s, STRIDE, p, STRIDE - 1, &mut out);
            out
        });
        compare((a, b, "chroma"), |r| {
            let mut out = ChromaBlocks::default();
            (r.forward_chroma)(s, STRIDE, p, STRIDE - 1, &mut out);
            out
        });
        compare((a, b, "8x8"), |r| {
            let mut out = [0; 64];
            (r.forward_8x8)(s, STRIDE, p, STRIDE - 1, &mut out);
            out
        });
    }
}

/// Any 16 bits, or few.
fn coefficients<const N: usize>(rng: &mut Rng) -> [i16; N] {
    let shift = rng.below(16);
    std::array::from_fn(|_| rng.next() as i16 >> shift)
}

#[test]
fn quantisation() {
    let mut rng = Rng(42);
    for i in 0..5000 {
        let qp = (i % 52) as u8;
        let rounding = [0, 11, 21, 32][rng.below(4)];
        let (q, wide) = (
            Quantiser::new(qp, rounding),
            Quantiser8x8::new(qp, rounding),
        );
        let blocks: [[i16; 16]; 16] = std::array::from_fn(|_| coefficients(&mut rng));
        let chroma: ChromaBlocks = [[blocks[0], blocks[3], blocks[2], blocks[9]], {
            [blocks[1], blocks[5], blocks[8], blocks[15]]
        }];
        let block8: [i16; 64] = coefficients(&mut rng);
        compare((qp, rounding, "4x4"), |r| {
            let mut block = blocks[7];
            ((r.quantise_4x4)(&mut block, &q), block)
        });
        compare((qp, rounding, "16x16"), |r| {
            let mut blocks = blocks;
            ((r.quantise_16x16)(&mut blocks, &q), blocks)
        });
        compare((qp, rounding, "chroma"), |r| {
            let mut chroma = chroma;
            ((r.quantise_chroma)(&mut chroma, &q), chroma)
        });
        compare((qp, rounding, "8x8"), |r| {
            let mut block = block8;
            ((r.quantise_8x8)(&mut block, &wide), block)
        });
    }
}

#[test]
fn second_transform_of_dc() {
    let mut rng = Rng(43);
    for i in 0..5000 {
        let qp = (i % 52) as u8;
        let q = Quantiser::new(qp, 21);
        let shift = 3 + rng.below(12);
        let blocks: [[i16; 16]; 16] = random_blocks(&mut rng);
        let blocks = blocks.map(|mut block| {
            block[0] = (rng.next() as i16 >> shift).clamp(-4080, 4080);
            block
        });
        let chroma: ChromaBlocks =
            std::array::from_fn(|c| std::array::from_fn(|b| blocks[4 * c + b]));
        compare((qp, "luma"), |r| {
            let (mut blocks, mut levels) = (blocks, [0; 16]);
            let any = (r.forward_luma_dc)(&mut blocks, &q, &mut levels);
            (any, blocks, levels, (r.inverse_luma_dc)(&levels, &q))
        });
        compare((qp, "chroma"), |r| {
            let (mut blocks, mut levels) = (chroma, [[0; 4]; 2]);
            let mask = (r.forward_chroma_dc)(&mut blocks, &q, &mut levels);
            (mask, blocks, levels, (r.inverse_chroma_dc)(&levels, &q))
        });
    }
}

#[test]
fn scan() {
    let mut rng = Rng(44);
    for i in 0..5000 {
        let blocks: [[i16; 16]; 16] = random_blocks(&mut rng);
        let chroma = random_chroma(&mut rng);
        let wide: [i16; 64] = random_levels(&mut rng);
        compare((i, "4x4"), |r| {
            let mut out = [0; 16];
            ((r.zigzag_4x4)(&blocks[0], &mut out), out)
        });
        compare((i, "16x16"), |r| {
            let mut out = [[0; 16]; 16];
            ((r.zigzag_16x16)(&blocks, &mut out), out)
        });
        compare((i, "chroma"), |r| {
            let mut out = ChromaBlocks::default();
            ((r.zigzag_chroma)(&chroma, &mut out), out)
        });
        compare((i, "8x8"), |r| {
            let mut out = [0; 64];
            ((r.zigzag_8x8)(&wide, &mut out), out)
        });
        for block in &blocks {
            compare(block, |r| ((r.decimate_4x4)(block), (r.decimate_ac)(block)));
        }
    }
}

#[test]
fn reconstruction() {
    let mut rng = Rng(45);
    for i in 0..5000 {
        let qp = (i % 52) as u8;
        let (q, wide) = (Quantiser::new(qp, 21), Quantiser8x8::new(qp, 21));
        let before = canvas(&mut rng);
        let at = rng.below(20);
        let blocks: [[i16; 16]; 16] = random_blocks(&mut rng);
        let chroma = random_chroma(&mut rng);
        let block8: [i16; 64] = random_levels(&mut rng);
        let dc: [i16; 16] = coefficients(&mut rng);
        let chroma_dc = [[dc[0], dc[3], dc[5], dc[9]], [dc[1], dc[2], dc[8], dc[15]]];
        let coded = match rng.below(3) {
            0 => 0,
            1 => rng.next() as u32,
            _ => (rng.next() & rng.next() & rng.next()) as u32,
        };
        let run = |what, add: &dyn Fn(&Residual, &mut [u8])| {
            compare((qp, at, coded, what), |r| {
                let mut samples = before;
                add(r, &mut samples[at..]);
                samples
            });
        };
        run("4x4", &|r, dst| (r.add_4x4)(&blocks[0], &q, dst, STRIDE));
        run("16x16", &|r, dst| {
            (r.add_16x16)(&blocks, coded, &q, dst, STRIDE)
        });
        run("16x16 dc", &|r, dst| {
            (r.add_16x16_dc)(&blocks, coded, &dc, &q, dst, STRIDE)
        });
        run("chroma", &|r, dst| {
            (r.add_chroma)(&chroma, coded, &chroma_dc, &q, dst, STRIDE)
        });
        run("8x8", &|r, dst| (r.add_8x8)(&block8, &wide, dst, STRIDE));
    }
}

#[test]
fn intra() {
    let mut rng = Rng(46);
    for i in 0..5000 {
        let before = canvas(&mut rng);
        let at = rng.below(20);
        let all = canvas(&mut rng);
        let has = |needed: bool, rng: &mut Rng| needed || rng.below(2) == 0;
        let run = |mode: u8, what, predict: &dyn Fn(&Residual, &mut [u8])| {
            compare((mode, at, what), |r| {
                let mut samples = before;
                predict(r, &mut samples[at..]);
                samples
            });
        };
        let (first, second) = (
            all[..16].try_into().unwrap(),
            all[16..32].try_into().unwrap(),
        );
        let mode = (i % 4) as u8;
        let luma = Neighbours16x16 {
            top: has(mode.is_multiple_of(3), &mut rng).then_some(first),
            left: has(mode % 2 == 1, &mut rng).then_some(second),
            corner: all[40],
        };
        let chroma = NeighboursChroma {
            top: has(mode >= 2, &mut rng).then_some(first),
            left: has(mode % 2 == 1, &mut rng).then_some(second),
            corner: [all[40], all[41]],
        };
        run(mode, "16x16", &|r, dst| {
            (r.intra_16x16)(mode, &luma, dst, STRIDE)
        });
        run(mode, "chroma", &|r, dst| {
            (r.intra_chroma)(mode, &chroma, dst, STRIDE)
        });
        for mode in 0..9 {
            let dc = mode == 2;
            let n4 = Neighbours4x4 {
                top: has(!dc, &mut rng).then_some(all[..8].try_into().unwrap()),
                left: has(!dc, &mut rng).then_some(all[16..20].try_into().unwrap()),
                corner: all[40],
            };
            let n8 = Neighbours8x8 {
                top: has(!dc, &mut rng).then_some(first),
                left: has(!dc, &mut rng).then_some(all[16..24].try_into().unwrap()),
                corner: Some(all[40]),
            };
            run(mode, "4x4", &|r, dst| (r.intra_4x4)(mode, &n4, dst, STRIDE));
            run(mode, "8x8", &|r, dst| (r.intra_8x8)(mode, &n8, dst, STRIDE));
        }
    }
}

#[test]
fn edges() {
    let mut rng = Rng(47);
    for _ in 0..10_000 {
        let before = edge_samples(&mut rng);
        let (alpha, beta, tc0) = parameters(&mut rng);
        let at = [4 * 24 + 8, 8 * 24 + 4];
        let run = |what, filter: &dyn Fn(&Residual, &mut [u8])| {
            compare((what, alpha, beta, tc0), |r| {
                let mut samples = before;
                filter(r, &mut samples);
                samples.to_vec()
            });
        };
        run("luma |", &|r, s| {
            (r.luma_vertical_edge)(s, at[0], 24, alpha, beta, &tc0)
        });
        run("luma -", &|r, s| {
            (r.luma_horizontal_edge)(s, at[1], 24, alpha, beta, &tc0)
        });
        run("luma | 4", &|r, s| {
            (r.luma_vertical_strong)(s, at[0], 24, alpha, beta)
        });
        run("luma - 4", &|r, s| {
            (r.luma_horizontal_strong)(s, at[1], 24, alpha, beta)
        });
        run("chroma |", &|r, s| {
            (r.chroma_vertical_edge)(s, at[0], 24, alpha, beta, &tc0)
        });
        run("chroma -", &|r, s| {
            (r.chroma_horizontal_edge)(s, at[1], 24, alpha, beta, &tc0)
        });
        run("chroma | 4", &|r, s| {
            (r.chroma_vertical_strong)(s, at[0], 24, alpha, beta)
        });
        run("chroma - 4", &|r, s| {
            (r.chroma_horizontal_strong)(s, at[1], 24, alpha, beta)
        });
    }
}

/// A slice that ends a byte too early is refused, whatever the level.
#[test]
fn short_slices_are_refused() {
    let q = Quantiser::new(26, 21);
    let tables = variants().into_iter().map(|(_, table)| table);
    for r in tables.chain([super::reference()]) {
        let refused = |f: &mut dyn FnMut()| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err()
        };
        let mut short = [0; 15 * 20 + 15];
        assert!(refused(&mut || (r.forward_16x16)(
            &short,
            20,
            &[0; 256],
            16,
            &mut [[0; 16]; 16]
        )));
        assert!(refused(&mut || (r.forward_16x16)(
            &[0; 256],
            16,
            &short,
            20,
            &mut [[0; 16]; 16]
        )));
        assert!(refused(&mut || (r.add_16x16)(
            &[[1; 16]; 16],
            1,
            &q,
            &mut short,
            20
        )));
        assert!(refused(&mut || (r.add_4x4)(
            &[1; 16],
            &q,
            &mut short[..12],
            usize::MAX / 2
        )));
        assert!(refused(&mut || (r.luma_vertical_edge)(
            &mut short, 12, 20, 9, 9, &[0; 4]
        )));
        assert!(refused(&mut || (r.luma_vertical_edge)(
            &mut short, 3, 19, 9, 9, &[0; 4]
        )));
        assert!(refused(&mut || (r.luma_horizontal_strong)(
            &mut short, 60, 20, 9, 9
        )));
        assert!(refused(&mut || (r.chroma_horizontal_strong)(
            &mut short, 20, 20, 9, 9
        )));
        let n = Neighbours16x16::default();
        assert!(refused(&mut || (r.intra_16x16)(2, &n, &mut short, 20)));
    }
}
