//! Scaling, inverse transforms, addition to the prediction.

use super::super::bounds::check;
use super::super::quantiser::{Quantiser, Quantiser8x8};
use super::super::{ChromaBlocks, ChromaDc};
use crate::macroblock::{BLOCK_X, BLOCK_Y};

/// The inverse transform of 4 coefficients at a distance of `step`, in place (equations 8-338 to 8-345).
fn inverse_4(d: &mut [i16; 16], first: usize, step: usize) {
    let [a, b, c, e] = [0, 1, 2, 3].map(|i| d[first + i * step]);
    let (e0, e1) = (a.wrapping_add(c), a.wrapping_sub(c));
    let (e2, e3) = ((b >> 1).wrapping_sub(e), b.wrapping_add(e >> 1));
    d[first] = e0.wrapping_add(e3);
    d[first + step] = e1.wrapping_add(e2);
    d[first + 2 * step] = e1.wrapping_sub(e2);
    d[first + 3 * step] = e0.wrapping_sub(e3);
}

/// The residual of scaled coefficients.
fn inverse_4x4(mut d: [i16; 16]) -> [i16; 16] {
    for i in 0..4 {
        inverse_4(&mut d, 4 * i, 1);
    }
    for i in 0..4 {
        inverse_4(&mut d, i, 4);
    }
    d.map(round)
}

fn round(r: i16) -> i16 {
    r.wrapping_add(32) >> 6
}

fn scale(levels: &[i16; 16], q: &Quantiser) -> [i16; 16] {
    std::array::from_fn(|i| levels[i].wrapping_mul(q.scale[i]))
}

fn add(sample: &mut u8, residual: i16) {
    *sample = (i16::from(*sample) + residual).clamp(0, 255) as u8;
}

/// Adds to samples `spacing` bytes apart.
fn add_block(residual: &[i16; 16], dst: &mut [u8], stride: usize, spacing: usize) {
    for (i, &r) in residual.iter().enumerate() {
        add(&mut dst[i / 4 * stride + i % 4 * spacing], r);
    }
}

pub fn add_4x4(levels: &[i16; 16], q: &Quantiser, dst: &mut [u8], stride: usize) {
    check(dst, stride, 4, 4);
    add_block(&inverse_4x4(scale(levels, q)), dst, stride, 1);
}

pub fn add_16x16(
    levels: &[[i16; 16]; 16],
    coded: u32,
    q: &Quantiser,
    dst: &mut [u8],
    stride: usize,
) {
    check(dst, stride, 16, 16);
    for (b, levels) in levels.iter().enumerate() {
        if coded >> b & 1 != 0 {
            let (x, y) = (usize::from(BLOCK_X[b]) * 4, usize::from(BLOCK_Y[b]) * 4);
            add_4x4(levels, q, &mut dst[y * stride + x..], stride);
        }
    }
}

/// The residual of a block whose DC is scaled, and its other levels are not.
fn inverse_with_dc(levels: &[i16; 16], coded: bool, dc: i16, q: &Quantiser) -> [i16; 16] {
    let mut d = if coded { scale(levels, q) } else { [0; 16] };
    d[0] = dc;
    inverse_4x4(d)
}

pub fn add_16x16_dc(
    levels: &[[i16; 16]; 16],
    coded: u32,
    dc: &[i16; 16],
    q: &Quantiser,
    dst: &mut [u8],
    stride: usize,
) {
    check(dst, stride, 16, 16);
    for b in 0..16 {
        let residual = inverse_with_dc(&levels[b], coded >> b & 1 != 0, dc[b], q);
        let (x, y) = (usize::from(BLOCK_X[b]) * 4, usize::from(BLOCK_Y[b]) * 4);
        add_block(&residual, &mut dst[y * stride + x..], stride, 1);
    }
}

pub fn add_chroma(
    levels: &ChromaBlocks,
    coded: u32,
    dc: &ChromaDc,
    q: &Quantiser,
    dst: &mut [u8],
    stride: usize,
) {
    check(dst, stride, 16, 8);
    for c in 0..2 {
        for b in 0..4 {
            let coded = coded >> (4 * c + b) & 1 != 0;
            let residual = inverse_with_dc(&levels[c][b], coded, dc[c][b], q);
            let dst = &mut dst[b / 2 * 4 * stride + b % 2 * 8 + c..];
            add_block(&residual, dst, stride, 2);
        }
    }
}

/// The inverse transform of 8 coefficients at a distance of `step`, in place (clause 8.5.13.2).
fn inverse_8(d: &mut [i16; 64], first: usize, step: usize) {
    let v: [i16; 8] = std::array::from_fn(|i| d[first + i * step]);
    let sum = |a: i16, b: i16| a.wrapping_add(b);
    let less = |a: i16, b: i16| a.wrapping_sub(b);
    let (a0, a2) = (sum(v[0], v[4]), less(v[0], v[4]));
    let (a4, a6) = (less(v[2] >> 1, v[6]), sum(v[2], v[6] >> 1));
    let a1 = less(less(less(v[5], v[3]), v[7]), v[7] >> 1);
    let a3 = less(less(sum(v[1], v[7]), v[3]), v[3] >> 1);
    let a5 = sum(sum(less(v[7], v[1]), v[5]), v[5] >> 1);
    let a7 = sum(sum(sum(v[3], v[5]), v[1]), v[1] >> 1);
    let (b0, b2, b4, b6) = (sum(a0, a6), sum(a2, a4), less(a2, a4), less(a0, a6));
    let (b1, b7) = (sum(a1, a7 >> 2), less(a7, a1 >> 2));
    let (b3, b5) = (sum(a3, a5 >> 2), less(a3 >> 2, a5));
    let w = [
        sum(b0, b7),
        sum(b2, b5),
        sum(b4, b3),
        sum(b6, b1),
        less(b6, b1),
        less(b4, b3),
        less(b2, b5),
        less(b0, b7),
    ];
    for (i, w) in w.into_iter().enumerate() {
        d[first + i * step] = w;
    }
}

/// A scaled coefficient of an 8x8 transform. Where the product is shifted to the right it saturates.
fn scale_8x8(level: i16, scale: i16, qp: u8) -> i16 {
    if qp < 12 {
        let shift = 2 - qp / 6;
        let product = i32::from(level) * i32::from(scale) + (1 << (shift - 1));
        (product >> shift).clamp(i16::MIN.into(), i16::MAX.into()) as i16
    } else {
        level.wrapping_mul(scale)
    }
}

pub fn add_8x8(levels: &[i16; 64], q: &Quantiser8x8, dst: &mut [u8], stride: usize) {
    check(dst, stride, 8, 8);
    let mut d: [i16; 64] = std::array::from_fn(|i| scale_8x8(levels[i], q.scale[i], q.qp));
    for i in 0..8 {
        inverse_8(&mut d, 8 * i, 1);
    }
    for i in 0..8 {
        inverse_8(&mut d, i, 8);
    }
    for (i, &r) in d.iter().enumerate() {
        add(&mut dst[i / 8 * stride + i % 8], round(r));
    }
}
