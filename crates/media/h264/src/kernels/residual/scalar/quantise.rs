//! Quantisation, and the second transform of DC.

use super::super::quantiser::{MAX_LEVEL, NORM_4X4, Quantiser, Quantiser8x8};
use super::super::{ChromaBlocks, ChromaDc};
use crate::macroblock::{BLOCK_X, BLOCK_Y};

/// Quantises one coefficient: `fraction` is how many bits of fraction `bias` has.
///
/// In 16 bits, as vectors do it: the product loses its lower half, then `shift` more bits.
fn level(c: i16, multiplier: u16, bias: u16, fraction: u32, shift: u32) -> i16 {
    let magnitude = (c.unsigned_abs() << fraction).wrapping_add(bias);
    let product = (u32::from(magnitude) * u32::from(multiplier)) >> 16;
    let level = ((product >> shift) as i16).min(MAX_LEVEL);
    if c < 0 { -level } else { level }
}

pub fn quantise_4x4(block: &mut [i16; 16], q: &Quantiser) -> bool {
    let shift = u32::from(q.qp / 6) + 2;
    for (i, c) in block.iter_mut().enumerate() {
        *c = level(*c, q.multiplier[i], q.bias[i], 2, shift);
    }
    *block != [0; 16]
}

fn quantise_all<'a>(blocks: impl Iterator<Item = &'a mut [i16; 16]>, q: &Quantiser) -> u32 {
    blocks
        .enumerate()
        .map(|(b, block)| u32::from(quantise_4x4(block, q)) << b)
        .sum()
}

pub fn quantise_16x16(blocks: &mut [[i16; 16]; 16], q: &Quantiser) -> u32 {
    quantise_all(blocks.iter_mut(), q)
}

pub fn quantise_chroma(blocks: &mut ChromaBlocks, q: &Quantiser) -> u32 {
    quantise_all(blocks.iter_mut().flatten(), q)
}

pub fn quantise_8x8(block: &mut [i16; 64], q: &Quantiser8x8) -> bool {
    let shift = u32::from(q.qp / 6) + 1;
    for (i, c) in block.iter_mut().enumerate() {
        *c = level(*c, q.multiplier[i], q.bias[i], 1, shift);
    }
    *block != [0; 64]
}

/// The 4x4 Hadamard transform of clause 8.5.10, which is its own inverse but for a factor of 16.
pub fn hadamard_4x4(mut m: [i32; 16]) -> [i32; 16] {
    for step in [1, 4] {
        for i in 0..4 {
            let first = 4 / step * i;
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| m[first + k * step]);
            let (ab, cd, a_b, c_d) = (a + b, c + d, a - b, c - d);
            m[first] = ab + cd;
            m[first + step] = ab - cd;
            m[first + 2 * step] = a_b - c_d;
            m[first + 3 * step] = a_b + c_d;
        }
    }
    m
}

/// The 2x2 Hadamard transform of clause 8.5.11.1.
fn hadamard_2x2([a, b, c, d]: [i32; 4]) -> [i32; 4] {
    [a + b + c + d, a - b + c - d, a + b - c - d, a - b - c + d]
}

/// Where a block of coding order is in raster order.
fn raster(b: usize) -> usize {
    usize::from(BLOCK_Y[b] * 4 + BLOCK_X[b])
}

pub fn forward_luma_dc(
    blocks: &mut [[i16; 16]; 16],
    q: &Quantiser,
    levels: &mut [i16; 16],
) -> bool {
    let mut m = [0; 16];
    for (b, block) in blocks.iter_mut().enumerate() {
        m[raster(b)] = i32::from(block[0]);
        block[0] = 0;
    }
    let bits = u32::from(q.qp / 6) + 17;
    *levels = hadamard_4x4(m).map(|c| q.dc_level(c, bits));
    *levels != [0; 16]
}

pub fn inverse_luma_dc(levels: &[i16; 16], q: &Quantiser) -> [i16; 16] {
    let scale = 16 * i32::from(NORM_4X4[usize::from(q.qp % 6)][0]);
    let f = hadamard_4x4(levels.map(i32::from));
    let scaled = if q.qp >= 36 {
        f.map(|f| (f * scale) << (q.qp / 6 - 6))
    } else {
        let shift = 6 - q.qp / 6;
        f.map(|f| (f * scale + (1 << (shift - 1))) >> shift)
    };
    std::array::from_fn(|b| scaled[raster(b)] as i16)
}

pub fn forward_chroma_dc(blocks: &mut ChromaBlocks, q: &Quantiser, levels: &mut ChromaDc) -> u32 {
    let bits = u32::from(q.qp / 6) + 16;
    let mut mask = 0;
    for (c, (blocks, levels)) in blocks.iter_mut().zip(levels).enumerate() {
        let m = hadamard_2x2([0, 1, 2, 3].map(|b| i32::from(blocks[b][0])));
        for block in blocks {
            block[0] = 0;
        }
        *levels = m.map(|m| q.dc_level(m, bits));
        mask |= u32::from(*levels != [0; 4]) << c;
    }
    mask
}

pub fn inverse_chroma_dc(levels: &ChromaDc, q: &Quantiser) -> ChromaDc {
    let scale = 16 * i32::from(NORM_4X4[usize::from(q.qp % 6)][0]);
    levels.map(|levels| {
        hadamard_2x2(levels.map(i32::from)).map(|f| (((f * scale) << (q.qp / 6)) >> 5) as i16)
    })
}
