//! How long each kernel takes at each level, in nanoseconds a call:
//! `cargo test --release -p evener-h264 --test kernels residual::timing -- --ignored --nocapture`.

use std::hint::black_box;
use std::time::Instant;

use evener_h264::kernels::residual::neighbours::{
    Neighbours4x4, Neighbours8x8, Neighbours16x16, NeighboursChroma,
};
use evener_h264::kernels::residual::quantiser::{Quantiser, Quantiser8x8};
use evener_h264::kernels::residual::{ChromaBlocks, Residual};

use super::deblocking::edge_samples;
use super::{random_blocks, random_chroma, random_levels, reference, variants};
use crate::Rng;

/// The least time of a call over several rounds.
fn nanoseconds(mut call: impl FnMut()) -> f64 {
    const CALLS: u32 = 20_000;
    (0..7)
        .map(|_| {
            let start = Instant::now();
            (0..CALLS).for_each(|_| call());
            start.elapsed().as_nanos() as f64 / f64::from(CALLS)
        })
        .fold(f64::INFINITY, f64::min)
}

fn print(what: &str, case: impl Fn(&'static Residual) -> f64) {
    print!("{what:24} scalar {:7.1}", case(reference()));
    let mut before = reference();
    for (simd, table) in variants() {
        if !std::ptr::eq(table, before) {
            print!("  {} {:7.1}", simd.name(), case(table));
        }
        before = table;
    }
    println!();
}

#[test]
#[ignore = "prints times"]
fn timing() {
    let mut rng = Rng(51);
    let mut s = [0; 32 * 32];
    let mut p = [0; 32 * 32];
    s.iter_mut().zip(&mut p).for_each(|(s, p)| {
        *s = 100 + rng.below(30) as u8;
        *p = 100 + rng.below(30) as u8;
    });
    let (q, wide) = (Quantiser::new(28, 21), Quantiser8x8::new(28, 21));
    let levels: [[i16; 16]; 16] = random_blocks(&mut rng);
    let chroma = random_chroma(&mut rng);
    let block8: [i16; 64] = random_levels(&mut rng);

    print("forward 4x4", |r| {
        let mut out = [0; 16];
        nanoseconds(|| (r.forward_4x4)(black_box(&s), 32, &p, 32, &mut out))
    });
    print("forward 16x16", |r| {
        let mut out = [[0; 16]; 16];
        nanoseconds(|| (r.forward_16x16)(black_box(&s), 32, &p, 32, &mut out))
    });
    print("forward chroma", |r| {
        let mut out = ChromaBlocks::default();
        nanoseconds(|| (r.forward_chroma)(black_box(&s), 32, &p, 32, &mut out))
    });
    print("forward 8x8", |r| {
        let mut out = [0; 64];
        nanoseconds(|| (r.forward_8x8)(black_box(&s), 32, &p, 32, &mut out))
    });
    print("forward to scan 16x16", |r| {
        let (mut out, mut scanned) = ([[0; 16]; 16], [[0; 16]; 16]);
        nanoseconds(|| {
            (r.forward_16x16)(black_box(&s), 32, &p, 32, &mut out);
            black_box((r.quantise_16x16)(&mut out, &q));
            black_box((r.zigzag_16x16)(&out, &mut scanned));
        })
    });
    print("quantise 16x16", |r| {
        let mut blocks = levels;
        nanoseconds(|| {
            black_box((r.quantise_16x16)(black_box(&mut blocks), &q));
        })
    });
    print("quantise 8x8", |r| {
        let mut block = block8;
        nanoseconds(|| {
            black_box((r.quantise_8x8)(black_box(&mut block), &wide));
        })
    });
    print("luma dc and back", |r| {
        let (mut blocks, mut dc) = (levels, [0; 16]);
        nanoseconds(|| {
            (r.forward_luma_dc)(black_box(&mut blocks), &q, &mut dc);
            black_box((r.inverse_luma_dc)(black_box(&dc), &q));
        })
    });
    print("chroma dc and back", |r| {
        let (mut blocks, mut dc) = (chroma, [[0; 4]; 2]);
        nanoseconds(|| {
            black_box((r.forward_chroma_dc)(black_box(&mut blocks), &q, &mut dc));
            black_box((r.inverse_chroma_dc)(black_box(&dc), &q));
        })
    });
    print("zigzag 16x16", |r| {
        let mut out = levels;
        nanoseconds(|| {
            black_box((r.zigzag_16x16)(black_box(&levels), &mut out));
        })
    });
    print("zigzag 8x8", |r| {
        let mut out = block8;
        nanoseconds(|| {
            black_box((r.zigzag_8x8)(black_box(&block8), &mut out));
        })
    });
    print("decimate 4x4", |r| {
        let mut block = [0; 16];
        (block[3], block[9]) = (1, -1);
        nanoseconds(|| {
            black_box((r.decimate_4x4)(black_box(&block)));
        })
    });
    print("add 4x4", |r| {
        let mut dst = s;
        nanoseconds(|| (r.add_4x4)(black_box(&levels[0]), &q, &mut dst, 32))
    });
    print("add 16x16", |r| {
        let mut dst = s;
        nanoseconds(|| (r.add_16x16)(black_box(&levels), 0xffff, &q, &mut dst, 32))
    });
    print("add 16x16 dc", |r| {
        let mut dst = s;
        let dc = levels[15];
        nanoseconds(|| (r.add_16x16_dc)(black_box(&levels), 0x00ff, &dc, &q, &mut dst, 32))
    });
    print("add chroma", |r| {
        let mut dst = s;
        nanoseconds(|| (r.add_chroma)(black_box(&chroma), 0xff, &[[9; 4]; 2], &q, &mut dst, 32))
    });
    print("add 8x8", |r| {
        let mut dst = s;
        nanoseconds(|| (r.add_8x8)(black_box(&block8), &wide, &mut dst, 32))
    });
    intra(&s);
    deblocking(&mut rng);
}

fn intra(s: &[u8; 32 * 32]) {
    let side: [u8; 16] = s[..16].try_into().unwrap();
    let luma = Neighbours16x16 {
        top: Some(side),
        left: Some(side),
        corner: 7,
    };
    let pairs = NeighboursChroma {
        top: Some(side),
        left: Some(side),
        corner: [7, 9],
    };
    let n4 = Neighbours4x4 {
        top: Some(s[..8].try_into().unwrap()),
        left: Some(s[..4].try_into().unwrap()),
        corner: 7,
    };
    let n8 = Neighbours8x8 {
        top: Some(side),
        left: Some(s[..8].try_into().unwrap()),
        corner: Some(7),
    };
    for (mode, name) in [
        "16x16 vertical",
        "16x16 horizontal",
        "16x16 DC",
        "16x16 plane",
    ]
    .into_iter()
    .enumerate()
    {
        print(name, |r| {
            let mut dst = *s;
            nanoseconds(|| (r.intra_16x16)(black_box(mode as u8), &luma, &mut dst, 32))
        });
    }
    for (mode, name) in [
        "chroma DC",
        "chroma horizontal",
        "chroma vertical",
        "chroma plane",
    ]
    .into_iter()
    .enumerate()
    {
        print(name, |r| {
            let mut dst = *s;
            nanoseconds(|| (r.intra_chroma)(black_box(mode as u8), &pairs, &mut dst, 32))
        });
    }
    print("9 modes of 4x4", |r| {
        let mut dst = *s;
        nanoseconds(|| (0..9).for_each(|mode| (r.intra_4x4)(mode, black_box(&n4), &mut dst, 32)))
    });
    print("9 modes of 8x8", |r| {
        let mut dst = *s;
        nanoseconds(|| (0..9).for_each(|mode| (r.intra_8x8)(mode, black_box(&n8), &mut dst, 32)))
    });
}

fn deblocking(rng: &mut Rng) {
    let samples = edge_samples(rng);
    let (v, h) = (4 * 24 + 8, 8 * 24 + 4);
    print("luma vertical edge", |r| {
        let mut s = samples;
        nanoseconds(|| (r.luma_vertical_edge)(black_box(&mut s), v, 24, 40, 10, &[1; 4]))
    });
    print("luma horizontal edge", |r| {
        let mut s = samples;
        nanoseconds(|| (r.luma_horizontal_edge)(black_box(&mut s), h, 24, 40, 10, &[1; 4]))
    });
    print("luma vertical strong", |r| {
        let mut s = samples;
        nanoseconds(|| (r.luma_vertical_strong)(black_box(&mut s), v, 24, 40, 10))
    });
    print("luma horizontal strong", |r| {
        let mut s = samples;
        nanoseconds(|| (r.luma_horizontal_strong)(black_box(&mut s), h, 24, 40, 10))
    });
    print("all edges of P", |r| {
        let mut luma = [0; 24 * 32];
        luma.iter_mut()
            .enumerate()
            .for_each(|(i, s)| *s = 100 + (i * 7 % 9) as u8);
        let mut chroma = luma;
        nanoseconds(|| {
            for i in 0..4 {
                (r.luma_vertical_edge)(black_box(&mut luma), 132 + 4 * i, 32, 40, 10, &[1; 4]);
            }
            for i in 0..4 {
                (r.luma_horizontal_edge)(black_box(&mut luma), 132 + 128 * i, 32, 40, 10, &[1; 4]);
            }
            for i in 0..2 {
                (r.chroma_vertical_edge)(black_box(&mut chroma), 132 + 8 * i, 32, 40, 10, &[1; 4]);
            }
            for i in 0..2 {
                (r.chroma_horizontal_edge)(
                    black_box(&mut chroma),
                    132 + 128 * i,
                    32,
                    40,
                    10,
                    &[1; 4],
                );
            }
        })
    });
}
