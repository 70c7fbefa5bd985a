//! Every variant against its reference.

use evener_h264::chosen::ANALYSIS;
use evener_h264::kernels::{BlockSize, Samples};
use evener_runtime::Simd;

use super::{canvas, compare, variants};
use crate::Rng;

const ROUNDS: usize = 2000;

/// A block of exactly as many bytes as it needs, at any stride: the slice, and the stride.
fn block(rng: &mut Rng, width: usize, height: usize) -> (Vec<u8>, usize) {
    let stride = match rng.below(3) {
        0 => width,
        1 => width + 16 * rng.below(4),
        _ => width + rng.below(50),
    };
    (canvas(rng, (height - 1) * stride + width), stride)
}

#[test]
fn absolute_differences() {
    let mut rng = Rng(61);
    for _ in 0..ROUNDS {
        let ((a, s), (b, t)) = (block(&mut rng, 16, 16), block(&mut rng, 16, 16));
        let (a, b) = (&a[..], &b[..]);
        compare((s, t, "8x8 x8"), |k| (k.sad_8x8_x8)(a, s, b, t));
        compare((s, t, "squares"), |k| (k.ssd_16x16)(a, s, b, t));
        let ((a, s), (b, t)) = (block(&mut rng, 8, 8), block(&mut rng, 16, 8));
        compare((s, t, "8x8 x8"), |k| (k.sad_8x8_x8)(&a, s, &b, t));
    }
}

#[test]
fn absolute_differences_of_four_blocks() {
    let mut rng = Rng(62);
    for _ in 0..ROUNDS {
        let (a, s) = block(&mut rng, 16, 16);
        let (b, t) = block(&mut rng, 16 + 24, 16 + 5);
        let last = b.len() - 15 * t - 16;
        let offsets = [0, last, rng.below(last), rng.below(last)];
        compare((s, t, offsets), |k| (k.sad_quads_x4)(&a, s, &b, t, offsets));
    }
}

#[test]
fn transformed_differences() {
    let mut rng = Rng(63);
    for _ in 0..ROUNDS {
        let ((a, s), (b, t)) = (block(&mut rng, 4, 4), block(&mut rng, 4, 4));
        compare((s, t), |k| (k.satd_4x4)(&a, s, &b, t));
        for size in BlockSize::ALL {
            let (w, h) = (size.width(), size.height());
            let ((a, s), (b, t)) = (block(&mut rng, w, h), block(&mut rng, w, h));
            let (c, u) = block(&mut rng, w, h);
            compare((s, t, size), |k| (k.satd[size as usize])(&a, s, &b, t));
            compare((s, t, u, size), |k| {
                (k.satd_average[size as usize])(&a, s, &b, t, &c, u)
            });
        }
    }
}

/// Blocks that take words to their ends: black and white in every pattern that a transform has.
#[test]
fn transformed_differences_at_their_largest() {
    let zero = [0; 256];
    for pattern in 0..256u32 {
        let (columns, rows) = (pattern % 16, pattern / 16);
        let parity =
            |x: usize, y: usize| (columns & x as u32).count_ones() + (rows & y as u32).count_ones();
        let block: Vec<u8> = (0..256)
            .map(|i| (parity(i % 16, i / 16) % 2) as u8 * 255)
            .collect();
        let inverse: Vec<u8> = block.iter().map(|v| 255 - v).collect();
        for (a, b) in [(&block[..], &zero[..]), (&zero, &block), (&block, &inverse)] {
            for size in BlockSize::ALL {
                compare((pattern, size), |k| {
                    let i = size as usize;
                    let average = (k.satd_average[i])(a, 16, b, 16, b, 16);
                    ((k.satd[i])(a, 16, b, 16), average)
                });
            }
            compare((pattern, "4x4"), |k| (k.satd_4x4)(a, 16, b, 16));
        }
    }
}

#[test]
fn averages_and_copies() {
    let mut rng = Rng(64);
    for _ in 0..ROUNDS {
        for size in BlockSize::ALL {
            let (w, h) = (size.width(), size.height());
            let ((a, s), (b, t)) = (block(&mut rng, w, h), block(&mut rng, w, h));
            let (to, r) = block(&mut rng, w, h);
            compare((r, s, t, size, "average"), |k| {
                let mut to = to.clone();
                (k.average)(&mut to, r, &a, s, &b, t, size);
                to
            });
            compare((r, s, size, "copy"), |k| {
                let mut to = to.clone();
                (k.copy)(&mut to, r, &a, s, size);
                to
            });
        }
    }
}

#[test]
fn chroma() {
    let mut rng = Rng(65);
    for round in 0..ROUNDS {
        let (dx, dy) = (round as u32 % 8, round as u32 / 8 % 8);
        for pairs in [4, 8] {
            for height in [4, 8] {
                let (from, s) = block(&mut rng, 2 * pairs + 2, height + 1);
                let (to, r) = block(&mut rng, 2 * pairs, height);
                compare((r, s, dx, dy, pairs, height), |k| {
                    let mut to = to.clone();
                    (k.chroma)(&mut to, r, &from, s, dx, dy, pairs, height);
                    to
                });
            }
        }
    }
}

/// Planes between samples: right, down, both.
fn half_pel(table: &Samples, samples: &[u8], stride: usize) -> [Vec<u8>; 3] {
    let mut planes = [0; 3].map(|_| vec![0x55; samples.len() - 5 * stride]);
    (table.half_pel)(planes.each_mut().map(|p| &mut p[..]), samples, stride);
    planes
}

#[test]
fn half_pel_planes() {
    let mut rng = Rng(66);
    let widths = (6..140).chain([
        1023, 1024, 1025, 1044, 1060, 2042, 2100, 4095, 4096, 4097, 4130, 8200,
    ]);
    for stride in widths {
        for rows in [0, 1, 2, 7] {
            let samples = canvas(&mut rng, (rows + 5) * stride);
            compare((stride, rows), |k| half_pel(k, &samples, stride));
        }
    }
}

/// Sums of six columns are largest, and smallest, where these are black and white in their own pattern.
#[test]
fn half_pel_planes_at_their_largest() {
    let taps = [1i32, -5, 20, 20, -5, 1];
    for (columns, rows) in (0..64u32).flat_map(|c| (0..64u32).map(move |r| (c, r))) {
        let stride = 70;
        let mut samples = vec![0; 6 * stride];
        for (i, sample) in samples.iter_mut().enumerate() {
            // Columns of the pattern take the rows that make them large, others those that make them small.
            let (x, y) = (i % stride % 6, i / stride);
            let large = columns >> x & 1 == 1;
            let positive = (taps[y] > 0) ^ (rows >> y & 1 == 1);
            *sample = if positive == large { 255 } else { 0 };
        }
        compare((columns, rows), |k| half_pel(k, &samples, stride));
    }
}

#[test]
fn rows() {
    let mut rng = Rng(67);
    for width in (0..200).chain([960, 961]) {
        let (above, below) = (canvas(&mut rng, 2 * width), canvas(&mut rng, 2 * width));
        compare((width, "halve"), |k| {
            let mut to = vec![0x55; width];
            (k.halve)(&mut to, &above, &below);
            to
        });
        compare((width, "interleave"), |k| {
            let mut to = vec![0x55; 2 * width];
            (k.interleave)(&mut to, &above[width..], &below[..width]);
            to
        });
    }
}

#[test]
fn energies() {
    let mut rng = Rng(68);
    for _ in 0..ROUNDS {
        let (a, s) = block(&mut rng, 16, 16);
        compare((s, "16x16"), |k| (k.energy_16x16)(&a, s));
        let (a, s) = block(&mut rng, 16, 8);
        compare((s, "chroma"), |k| (k.energy_chroma)(&a, s));
    }
    let white = [255; 256];
    compare("white", |k| {
        ((k.energy_16x16)(&white, 16), (k.energy_chroma)(&white, 16))
    });
}

/// The reference is slower many times over.
#[test]
fn a_variant_is_chosen_where_there_is_one() {
    let selection = ANALYSIS.select(&Simd::levels(), false, None);
    assert_eq!(selection.level == Simd::Scalar, variants().is_empty());
}

fn discard<T>(_: T) {}

/// Slices a byte too short are refused by every table, and offsets behind the last block.
#[test]
fn short_slices_panic() {
    let whole = [0u8; 32 * 16];
    let short = &whole[..15 * 32 + 15];
    let eight = &whole[..7 * 32 + 7];
    let pairs = &whole[..8 * 32 + 17];
    for table in variants() {
        let panics = |what: &str, case: &dyn Fn()| {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(case));
            assert!(caught.is_err(), "{} {what}", table.name);
        };
        for size in BlockSize::ALL {
            let i = size as usize;
            let short = &whole[..(size.height() - 1) * 32 + size.width() - 1];
            panics("satd a", &|| {
                discard((table.satd[i])(short, 32, &whole, 32))
            });
            panics("satd b", &|| {
                discard((table.satd[i])(&whole, 32, short, 32))
            });
            let average = table.satd_average[i];
            panics("a", &|| discard(average(short, 32, &whole, 32, &whole, 32)));
            panics("b", &|| discard(average(&whole, 32, short, 32, &whole, 32)));
            panics("c", &|| discard(average(&whole, 32, &whole, 32, short, 32)));
            let to = || short.to_vec();
            panics("average", &|| {
                (table.average)(&mut to(), 32, &whole, 32, &whole, 32, size);
            });
            panics("average of", &|| {
                (table.average)(&mut whole.to_vec(), 32, short, 32, &whole, 32, size);
            });
            panics("copy", &|| (table.copy)(&mut to(), 32, &whole, 32, size));
        }
        let ssd = table.ssd_16x16;
        panics("ssd a", &|| discard(ssd(short, 32, &whole, 32)));
        panics("ssd b", &|| discard(ssd(&whole, 32, short, 32)));
        panics("ssd stride", &|| {
            discard(ssd(&whole, usize::MAX / 8, &whole, 32))
        });
        panics("4x4", &|| {
            discard((table.satd_4x4)(&whole[..99], 32, &whole, 32))
        });
        panics("x8 a", &|| {
            discard((table.sad_8x8_x8)(eight, 32, &whole, 32))
        });
        panics("x8 b", &|| {
            discard((table.sad_8x8_x8)(&whole, 32, &whole[..7 * 32 + 15], 32))
        });
        let x4 = table.sad_quads_x4;
        panics("x4 a", &|| discard(x4(short, 32, &whole, 32, [0; 4])));
        panics("x4 b", &|| discard(x4(&whole, 32, short, 32, [0; 4])));
        panics("x4 stride", &|| {
            discard(x4(&whole, usize::MAX / 8, &whole, 32, [0; 4]))
        });
        let x4 = |offsets| x4(&whole, 32, &whole, 32, offsets);
        x4([0, 16, 1, 16]);
        panics("x4", &|| discard(x4([0, 0, 0, 17])));
        panics("x4", &|| discard(x4([usize::MAX, 0, 0, 0])));
        let mut out = [0; 16 * 8];
        (table.chroma)(&mut out, 16, &whole[..8 * 32 + 18], 32, 1, 1, 8, 8);
        panics("chroma", &|| {
            (table.chroma)(&mut [0; 128], 16, pairs, 32, 1, 1, 8, 8);
        });
        panics("chroma to", &|| {
            (table.chroma)(&mut [0; 127], 16, &whole, 32, 1, 1, 8, 8);
        });
        panics("eighths", &|| {
            (table.chroma)(&mut [0; 128], 16, &whole, 32, 8, 1, 8, 8);
        });
        panics("height", &|| {
            (table.chroma)(&mut [0; 128], 16, &whole, 32, 1, 1, 8, 5);
        });
        panics("half", &|| {
            let mut planes = [[0; 64]; 3];
            let planes = planes.each_mut().map(|p| &mut p[..]);
            (table.half_pel)(planes, &whole[..6 * 64 - 1], 64);
        });
        panics("halve", &|| {
            (table.halve)(&mut [0; 64], &whole[..127], &whole)
        });
        panics("halve", &|| {
            (table.halve)(&mut [0; 64], &whole, &whole[..127])
        });
        panics("in", &|| {
            (table.interleave)(&mut [0; 127], &whole[..64], &whole[..64])
        });
        panics("in", &|| {
            (table.interleave)(&mut [0; 128], &whole[..64], &whole[..63])
        });
        panics("energy", &|| discard((table.energy_16x16)(short, 32)));
        panics("energy", &|| {
            discard((table.energy_chroma)(&whole[..7 * 32 + 15], 32))
        });
    }
}
