//! Forward transforms of differences.

use super::super::ChromaBlocks;
use super::super::bounds::check;
use crate::macroblock::{BLOCK_X, BLOCK_Y};

/// The transform of 4 samples at a distance of `step`, in place.
fn core_4(d: &mut [i16; 16], first: usize, step: usize) {
    let [a, b, c, e] = [0, 1, 2, 3].map(|i| d[first + i * step]);
    let (s03, d03, s12, d12) = (a + e, a - e, b + c, b - c);
    d[first] = s03 + s12;
    d[first + step] = 2 * d03 + d12;
    d[first + 2 * step] = s03 - s12;
    d[first + 3 * step] = d03 - 2 * d12;
}

fn core_4x4(difference: impl Fn(usize, usize) -> i16, out: &mut [i16; 16]) {
    *out = std::array::from_fn(|i| difference(i % 4, i / 4));
    for i in 0..4 {
        core_4(out, 4 * i, 1);
    }
    for i in 0..4 {
        core_4(out, i, 4);
    }
}

/// The difference of two bytes.
fn difference(a: u8, b: u8) -> i16 {
    i16::from(a) - i16::from(b)
}

pub fn forward_4x4(s: &[u8], s_stride: usize, p: &[u8], p_stride: usize, out: &mut [i16; 16]) {
    check(s, s_stride, 4, 4);
    check(p, p_stride, 4, 4);
    core_4x4(
        |x, y| difference(s[y * s_stride + x], p[y * p_stride + x]),
        out,
    );
}

pub fn forward_16x16(
    s: &[u8],
    s_stride: usize,
    p: &[u8],
    p_stride: usize,
    out: &mut [[i16; 16]; 16],
) {
    check(s, s_stride, 16, 16);
    check(p, p_stride, 16, 16);
    for (b, out) in out.iter_mut().enumerate() {
        let (x, y) = (usize::from(BLOCK_X[b]) * 4, usize::from(BLOCK_Y[b]) * 4);
        let (s, p) = (&s[y * s_stride + x..], &p[y * p_stride + x..]);
        forward_4x4(s, s_stride, p, p_stride, out);
    }
}

pub fn forward_chroma(
    s: &[u8],
    s_stride: usize,
    p: &[u8],
    p_stride: usize,
    out: &mut ChromaBlocks,
) {
    check(s, s_stride, 16, 8);
    check(p, p_stride, 16, 8);
    for (c, out) in out.iter_mut().enumerate() {
        for (b, out) in out.iter_mut().enumerate() {
            let (x, y) = (b % 2 * 8 + c, b / 2 * 4);
            let (s, p) = (&s[y * s_stride + x..], &p[y * p_stride + x..]);
            core_4x4(
                |x, y| difference(s[y * s_stride + 2 * x], p[y * p_stride + 2 * x]),
                out,
            );
        }
    }
}

/// The transform of 8 samples at a distance of `step`, in place.
fn core_8(d: &mut [i16; 64], first: usize, step: usize) {
    let v: [i16; 8] = std::array::from_fn(|i| d[first + i * step]);
    let (s07, s16, s25, s34) = (v[0] + v[7], v[1] + v[6], v[2] + v[5], v[3] + v[4]);
    let (d07, d16, d25, d34) = (v[0] - v[7], v[1] - v[6], v[2] - v[5], v[3] - v[4]);
    let (e0, e1, e2, e3) = (s07 + s34, s16 + s25, s07 - s34, s16 - s25);
    let o0 = d16 + d25 + d07 + (d07 >> 1);
    let o1 = d07 - d34 - d25 - (d25 >> 1);
    let o2 = d07 + d34 - d16 - (d16 >> 1);
    let o3 = d16 - d25 + d34 + (d34 >> 1);
    let w = [
        e0 + e1,
        o0 + (o3 >> 2),
        e2 + (e3 >> 1),
        o1 + (o2 >> 2),
        e0 - e1,
        o2 - (o1 >> 2),
        (e2 >> 1) - e3,
        (o0 >> 2) - o3,
    ];
    for (i, w) in w.into_iter().enumerate() {
        d[first + i * step] = w;
    }
}

pub fn forward_8x8(s: &[u8], s_stride: usize, p: &[u8], p_stride: usize, out: &mut [i16; 64]) {
    check(s, s_stride, 8, 8);
    check(p, p_stride, 8, 8);
    *out = std::array::from_fn(|i| {
        let (x, y) = (i % 8, i / 8);
        difference(s[y * s_stride + x], p[y * p_stride + x])
    });
    for i in 0..8 {
        core_8(out, 8 * i, 1);
    }
    for i in 0..8 {
        core_8(out, i, 8);
    }
}
