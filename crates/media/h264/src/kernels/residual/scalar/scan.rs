//! Scan order, and what levels in it are worth.

use super::super::ChromaBlocks;
use super::super::decimation::{COST_4X4, KEEP};
use super::super::scan::{ZIGZAG_4X4, ZIGZAG_8X8};

pub fn zigzag_4x4(levels: &[i16; 16], out: &mut [i16; 16]) -> u8 {
    *out = ZIGZAG_4X4.map(|i| levels[usize::from(i)]);
    out.iter().map(|&level| u8::from(level != 0)).sum()
}

pub fn zigzag_16x16(levels: &[[i16; 16]; 16], out: &mut [[i16; 16]; 16]) -> [u8; 16] {
    std::array::from_fn(|b| zigzag_4x4(&levels[b], &mut out[b]))
}

pub fn zigzag_chroma(levels: &ChromaBlocks, out: &mut ChromaBlocks) -> [[u8; 4]; 2] {
    std::array::from_fn(|c| std::array::from_fn(|b| zigzag_4x4(&levels[c][b], &mut out[c][b])))
}

pub fn zigzag_8x8(levels: &[i16; 64], out: &mut [i16; 64]) -> [u8; 4] {
    *out = ZIGZAG_8X8.map(|i| levels[usize::from(i)]);
    let mut counts = [0; 4];
    for (i, &level) in out.iter().enumerate() {
        counts[i % 4] += u8::from(level != 0);
    }
    counts
}

fn decimate(levels: &[i16]) -> u32 {
    let (mut run, mut cost) = (0, 0);
    for &level in levels {
        match level {
            0 => run += 1,
            -1 | 1 => {
                cost += u32::from(COST_4X4[run]);
                run = 0;
            }
            _ => return KEEP,
        }
    }
    cost
}

pub fn decimate_4x4(levels: &[i16; 16]) -> u32 {
    decimate(levels)
}

pub fn decimate_ac(levels: &[i16; 16]) -> u32 {
    decimate(&levels[1..])
}
