//! Distortion, interpolation, pyramids: every variant against the definition.

use std::fmt::Debug;
use std::hint::black_box;
use std::time::Instant;

use evener_h264::kernels::{BlockSize, Samples};
use evener_runtime::Simd;

use crate::Rng;

fn reference() -> &'static Samples {
    Samples::at(Simd::Scalar)
}

fn variants() -> Vec<(Simd, &'static Samples)> {
    let levels = Simd::levels().into_iter();
    levels
        .map(|simd| (simd, Samples::at(simd)))
        .filter(|(_, table)| !std::ptr::eq(*table, reference()))
        .collect()
}

fn compare<T: PartialEq + Debug>(parameters: impl Debug, case: impl Fn(&Samples) -> T) {
    let expected = case(reference());
    for (simd, table) in variants() {
        let got = case(table);
        assert!(
            got == expected,
            "{} with {parameters:?}: {got:?}, not {expected:?}",
            simd.name()
        );
    }
}

/// Samples of a kind in rows of some stride, and an offset into them.
fn plane(rng: &mut Rng, rows: usize) -> (Vec<u8>, usize) {
    let stride = 32 + rng.below(40);
    let mut samples = vec![0; stride * rows + 64];
    rng.samples(&mut samples);
    (samples, stride)
}

#[test]
fn differences_are_those_of_the_definition() {
    let mut rng = Rng(1);
    for round in 0..2000 {
        let (a, a_stride) = plane(&mut rng, 24);
        let (b, b_stride) = plane(&mut rng, 24);
        let (c, c_stride) = plane(&mut rng, 24);
        let (a, b, c) = (&a[rng.below(9)..], &b[rng.below(9)..], &c[rng.below(9)..]);
        let offsets = [0; 4].map(|_: usize| rng.below(4) * b_stride + rng.below(8));
        let at = (round, a_stride, b_stride, c_stride, offsets);
        compare(at, |t| (t.sad_quads_x4)(a, a_stride, b, b_stride, offsets));
        compare(at, |t| (t.sad_8x8_x8)(a, a_stride, b, b_stride));
        compare(at, |t| (t.satd_4x4)(a, a_stride, b, b_stride));
        for size in BlockSize::ALL {
            let i = size as usize;
            compare((at, size), |t| (t.satd[i])(a, a_stride, b, b_stride));
            compare((at, size), |t| {
                (t.satd_average[i])(a, a_stride, b, b_stride, c, c_stride)
            });
        }
    }
}

#[test]
fn the_largest_difference_fits() {
    let (black, white) = (vec![0; 16 * 16], vec![255; 16 * 16]);
    let checked: Vec<u8> = (0..256).map(|i| [0, 255][(i + i / 16) % 2]).collect();
    for (a, b, sum) in [
        (&black, &white, 255 * 256 / 2),
        (&black, &checked, 255 * 128),
    ] {
        compare((), |t| (t.satd[0])(a, 16, b, 16));
        // All of a constant difference is in DC: 16 of them in each block, halved.
        assert_eq!((reference().satd[0])(a, 16, b, 16), sum);
    }
}

#[test]
fn predictions_are_those_of_the_definition() {
    let mut rng = Rng(2);
    for round in 0..2000 {
        let (a, a_stride) = plane(&mut rng, 24);
        let (b, b_stride) = plane(&mut rng, 24);
        let (a, b) = (&a[rng.below(9)..], &b[rng.below(9)..]);
        let stride = 16 + rng.below(9);
        let size = BlockSize::ALL[rng.below(4)];
        let at = (round, a_stride, b_stride, stride, size);
        compare(at, |t| {
            let mut to = vec![7; 16 * stride];
            (t.average)(&mut to, stride, a, a_stride, b, b_stride, size);
            to
        });
        compare(at, |t| {
            let mut to = vec![7; 16 * stride];
            (t.copy)(&mut to, stride, a, a_stride, size);
            to
        });
        let (dx, dy) = (rng.below(8) as u32, rng.below(8) as u32);
        let (pairs, rows) = ([4, 8][rng.below(2)], [4, 8][rng.below(2)]);
        compare((at, dx, dy, pairs, rows), |t| {
            let mut to = vec![7; 16 * stride];
            (t.chroma)(&mut to, stride, a, a_stride, dx, dy, pairs, rows);
            to
        });
    }
}

#[test]
fn planes_between_samples_are_those_of_the_definition() {
    let mut rng = Rng(3);
    for round in 0..200 {
        let stride = 1 + rng.below(150);
        let rows = 1 + rng.below(4);
        let mut from = vec![0; stride * (rows + 5)];
        rng.samples(&mut from);
        compare((round, stride, rows), |t| {
            let mut planes = [0; 3].map(|_| vec![0; stride * rows]);
            let [h, v, both] = &mut planes;
            (t.half_pel)([h, v, both], &from, stride);
            planes
        });
    }
}

#[test]
fn rows_are_halved_and_interleaved() {
    let mut rng = Rng(4);
    for round in 0..500 {
        let len = rng.below(100);
        let mut a = vec![0; 2 * len];
        let mut b = a.clone();
        rng.samples(&mut a);
        rng.samples(&mut b);
        compare((round, len), |t| {
            let mut to = vec![0; len];
            (t.halve)(&mut to, &a, &b);
            let mut both = vec![0; 2 * len];
            (t.interleave)(&mut both, &a[..len], &b[..len]);
            (to, both)
        });
    }
}

/// `cargo test --release -p evener-h264 --test kernels samples::timing -- --ignored --nocapture`
#[test]
#[ignore = "measures"]
fn timing() {
    let mut rng = Rng(5);
    let mut samples = vec![0; 2048 * 40];
    rng.samples(&mut samples);
    let s = &samples[..];
    let mut to = vec![0; 2048 * 3 * 16];
    for simd in Simd::levels() {
        let t = Samples::at(simd);
        let time = |name: &str, run: &mut dyn FnMut()| {
            let mut best = f64::MAX;
            for _ in 0..7 {
                let begin = Instant::now();
                (0..1000).for_each(|_| run());
                best = best.min(begin.elapsed().as_secs_f64() * 1e6);
            }
            println!("{:8} {name:20} {best:8.1} ns", simd.name());
        };
        time("sad_quads_x4", &mut || {
            black_box((t.sad_quads_x4)(
                s,
                2048,
                black_box(s),
                2048,
                [2048, 1, 2, 3],
            ));
        });
        time("sad_8x8_x8", &mut || {
            black_box((t.sad_8x8_x8)(s, 2048, black_box(&s[1..]), 2048));
        });
        for size in BlockSize::ALL {
            time(&format!("satd {size:?}"), &mut || {
                black_box((t.satd[size as usize])(s, 2048, black_box(&s[1..]), 2048));
            });
            time(&format!("satd_average {size:?}"), &mut || {
                let other = &s[2..];
                black_box((t.satd_average[size as usize])(
                    s,
                    2048,
                    black_box(&s[1..]),
                    2048,
                    other,
                    2048,
                ));
            });
        }
        time("satd_4x4", &mut || {
            black_box((t.satd_4x4)(s, 2048, black_box(&s[1..]), 2048));
        });
        time("half_pel 2048x16", &mut || {
            if simd == Simd::Scalar {
                return;
            }
            let (h, rest) = to.split_at_mut(2048 * 16);
            let (v, both) = rest.split_at_mut(2048 * 16);
            (t.half_pel)([h, v, both], black_box(&s[..2048 * 21]), 2048);
        });
        time("chroma 8x8", &mut || {
            (t.chroma)(&mut to, 16, black_box(s), 2048, 3, 5, 8, 8);
        });
    }
}
