//! References against formulas that are written another way.

use evener_h264::kernels::BlockSize;

use super::{canvas, reference};
use crate::Rng;

/// The transform by its matrix, as products of Walsh functions.
#[test]
fn satd_is_half_the_sum_of_a_transform() {
    let mut rng = Rng(81);
    for _ in 0..300 {
        let (a, b) = (canvas(&mut rng, 256), canvas(&mut rng, 256));
        let d = |x: usize, y: usize| i32::from(a[16 * y + x]) - i32::from(b[16 * y + x]);
        let walsh = |i: usize, k: usize| 1 - 2 * ((i & k).count_ones() as i32 % 2);
        let block = |x0: usize, y0: usize| -> u32 {
            let coefficient = |u: usize, v: usize| -> i32 {
                let at = |i: usize| d(x0 + i % 4, y0 + i / 4) * walsh(u, i % 4) * walsh(v, i / 4);
                (0..16).map(at).sum()
            };
            let sum: u32 = (0..16)
                .map(|i| coefficient(i % 4, i / 4).unsigned_abs())
                .sum();
            assert_eq!(sum % 2, 0);
            sum / 2
        };
        assert_eq!((reference().satd_4x4)(&a, 16, &b, 16), block(0, 0));
        for size in BlockSize::ALL {
            let blocks = size.width() * size.height() / 16;
            let columns = size.width() / 4;
            let expected: u32 = (0..blocks)
                .map(|i| block(i % columns * 4, i / columns * 4))
                .sum();
            let satd = reference().satd[size as usize];
            assert_eq!(satd(&a, 16, &b, 16), expected, "{size:?}");
            let average = reference().satd_average[size as usize];
            assert_eq!(average(&a, 16, &b, 16, &b, 16), expected, "{size:?}");
        }
    }
}

#[test]
fn distortions_by_hand() {
    let k = reference();
    let a = [10; 256];
    let mut b = [12; 256];
    b[0] = 0;
    b[9] = 110;
    b[8 * 16] = 10;
    let offsets = [0, 0, 0, 0];
    assert_eq!(
        (k.sad_quads_x4)(&a, 16, &b, 16, offsets)[3],
        [126 + 10, 126 + 100, 126, 128]
    );
    assert_eq!(
        (k.sad_8x8_x8)(&a, 16, &b, 16),
        [136, 128, 226, 226, 226, 226, 226, 226].map(|v: u16| v)
    );
    assert_eq!((k.ssd_16x16)(&a, 16, &b, 16), 4 * 253 + 100 + 10_000);
    let energy = (k.energy_16x16)(&b, 16);
    assert_eq!(energy.sum, 12 * 253 + 110 + 10);
    assert_eq!(energy.squares, 144 * 253 + 12_100 + 100);
    let [cb, cr] = (k.energy_chroma)(&b, 16);
    assert_eq!((cb.sum, cb.squares), (12 * 63, 144 * 63));
    assert_eq!((cr.sum, cr.squares), (12 * 63 + 110, 144 * 63 + 12_100));
}

#[test]
fn smaller_rows_and_turns_by_hand() {
    let k = reference();
    let mut to = [0; 3];
    (k.halve)(
        &mut to,
        &[0, 0, 255, 255, 7, 7],
        &[0, 1, 255, 255, 8, 8, 99],
    );
    assert_eq!(to, [0, 255, 8]);
    let mut to = [0; 6];
    (k.interleave)(&mut to, &[1, 2, 3], &[4, 5, 6]);
    assert_eq!(to, [1, 4, 2, 5, 3, 6]);
}

/// Each plane from its equation alone: for both, first along rows, as equation 8-247 allows.
#[test]
fn half_pel_planes_follow_their_equations() {
    let (stride, rows) = (23, 4);
    let mut rng = Rng(82);
    for _ in 0..200 {
        let samples = canvas(&mut rng, stride * (rows + 5));
        let mut planes = [0; 3].map(|_| vec![0; stride * rows]);
        let [right, down, both] = &mut planes;
        (reference().half_pel)([right, down, both], &samples, stride);
        let at = |x: usize, y: usize| i32::from(samples[y * stride + x]);
        let across = |x: usize, y: usize| {
            at(x - 2, y) - 5 * at(x - 1, y) + 20 * at(x, y) + 20 * at(x + 1, y) - 5 * at(x + 2, y)
                + at(x + 3, y)
        };
        for y in 0..rows {
            for x in 2..stride - 3 {
                let b = (across(x, y + 2) + 16) >> 5;
                let h = at(x, y) - 5 * at(x, y + 1) + 20 * at(x, y + 2) + 20 * at(x, y + 3)
                    - 5 * at(x, y + 4)
                    + at(x, y + 5);
                let h = (h + 16) >> 5;
                let j = across(x, y) - 5 * across(x, y + 1)
                    + 20 * across(x, y + 2)
                    + 20 * across(x, y + 3)
                    - 5 * across(x, y + 4)
                    + across(x, y + 5);
                let j = (j + 512) >> 10;
                let got = planes
                    .each_ref()
                    .map(|plane| i32::from(plane[y * stride + x]));
                assert_eq!(got, [b, h, j].map(|v| v.clamp(0, 255)), "{x}, {y}");
            }
            for plane in [&planes[0], &planes[2]] {
                let row = &plane[y * stride..][..stride];
                assert_eq!(row[..2], [row[2]; 2]);
                assert_eq!(row[stride - 3..], [row[stride - 4]; 3]);
            }
        }
    }
}

/// Equation 8-270 for each plane by itself.
#[test]
fn chroma_follows_its_equation() {
    let mut rng = Rng(83);
    let from = canvas(&mut rng, 9 * 20);
    for (dx, dy) in (0..64).map(|i| (i % 8, i / 8)) {
        let mut to = [0; 8 * 16];
        (reference().chroma)(&mut to, 16, &from, 20, dx, dy, 8, 8);
        for (i, got) in to.into_iter().enumerate() {
            let (component, x, y) = (i % 2, i % 16 / 2, i / 16);
            let at = |x: usize, y: usize| u32::from(from[20 * y + 2 * x + component]);
            let (a, b) = (at(x, y), at(x + 1, y));
            let (c, d) = (at(x, y + 1), at(x + 1, y + 1));
            let sum = (8 - dx) * (8 - dy) * a + dx * (8 - dy) * b + (8 - dx) * dy * c + dx * dy * d;
            assert_eq!(u32::from(got), (sum + 32) >> 6, "{dx}, {dy} at {i}");
        }
    }
}
