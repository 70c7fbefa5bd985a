//! Scan order, and what levels in it are worth.

use std::arch::x86_64::*;

use super::super::decimation::{COST_4X4, KEEP};
use super::super::scan::{ZIGZAG_4X4, ZIGZAG_8X8};
use super::super::{Block, ChromaBlocks, LumaBlocks};
use super::memory::{load_32, load_part, store_32};

/// Bytes of a shuffle that puts levels at `places` in order where those are in `row` of 8; others become 0.
const fn shuffle(places: &[u8], first: usize, row: usize) -> [i8; 16] {
    let mut bytes = [-1; 16];
    let mut i = 0;
    while i < 8 {
        let place = places[first + i] as usize;
        if place / 8 == row {
            bytes[2 * i] = (place % 8 * 2) as i8;
            bytes[2 * i + 1] = (place % 8 * 2 + 1) as i8;
        }
        i += 1;
    }
    bytes
}

/// Two shuffles one after the other.
const fn joined(a: [i8; 16], b: [i8; 16]) -> [i8; 32] {
    let mut both = [0; 32];
    let mut i = 0;
    while i < 16 {
        both[i] = a[i];
        both[16 + i] = b[i];
        i += 1;
    }
    both
}

/// Of 4x4: what each half of the result takes from the same half, and from the other.
static SAME: [i8; 32] = joined(shuffle(&ZIGZAG_4X4, 0, 0), shuffle(&ZIGZAG_4X4, 8, 1));
static OTHER: [i8; 32] = joined(shuffle(&ZIGZAG_4X4, 0, 1), shuffle(&ZIGZAG_4X4, 8, 0));

/// Of 8x8: what 16 levels of the result take from each row.
static ROWS: [[[i8; 32]; 8]; 4] = {
    let mut rows = [[[0; 32]; 8]; 4];
    let mut i = 0;
    while i < 32 {
        let (part, row) = (i / 8, i % 8);
        let (first, second) = (
            shuffle(&ZIGZAG_8X8, 16 * part, row),
            shuffle(&ZIGZAG_8X8, 16 * part + 8, row),
        );
        rows[part][row] = joined(first, second);
        i += 1;
    }
    rows
};

/// Puts a block into scan order and counts its levels.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn block(levels: &Block, out: &mut Block) -> u8 {
    let v = load_32(levels);
    let swapped = _mm256_permute2x128_si256::<0x01>(v, v);
    let scanned = _mm256_or_si256(
        _mm256_shuffle_epi8(v, load_32(&SAME)),
        _mm256_shuffle_epi8(swapped, load_32(&OTHER)),
    );
    store_32(out, scanned);
    let zero = _mm256_cmpeq_epi16(v, _mm256_setzero_si256());
    16 - (_mm256_movemask_epi8(zero).count_ones() / 2) as u8
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn blocks<const N: usize>(levels: &[Block; N], out: &mut [Block; N]) -> [u8; N] {
    let mut counts = [0; N];
    for (b, count) in counts.iter_mut().enumerate() {
        *count = block(&levels[b], &mut out[b]);
    }
    counts
}

pub fn zigzag_4x4(levels: &Block, out: &mut Block) -> u8 {
    // SAFETY: the processor has AVX2 where this table is used.
    unsafe { block(levels, out) }
}

pub fn zigzag_16x16(levels: &LumaBlocks, out: &mut LumaBlocks) -> [u8; 16] {
    // SAFETY: the processor has AVX2 where this table is used.
    unsafe { blocks(levels, out) }
}

pub fn zigzag_chroma(levels: &ChromaBlocks, out: &mut ChromaBlocks) -> [[u8; 4]; 2] {
    let [cb, cr] = out;
    // SAFETY: the processor has AVX2 where this table is used.
    unsafe { [blocks(&levels[0], cb), blocks(&levels[1], cr)] }
}

pub fn zigzag_8x8(levels: &[i16; 64], out: &mut [i16; 64]) -> [u8; 4] {
    #[target_feature(enable = "avx2")]
    fn run(levels: &[i16; 64], out: &mut [i16; 64]) -> [u8; 4] {
        let mut parts = [_mm256_setzero_si256(); 4];
        for i in 0..8 {
            let row = _mm256_broadcastsi128_si256(load_part(levels, i));
            for (p, part) in parts.iter_mut().enumerate() {
                let shuffles = &ROWS[p];
                let taken = _mm256_shuffle_epi8(row, load_32(&shuffles[i]));
                *part = _mm256_or_si256(*part, taken);
            }
        }
        let mut zeros = _mm256_setzero_si256();
        let (chunks, _) = out.as_chunks_mut::<16>();
        for (p, part) in parts.iter().enumerate() {
            store_32(&mut chunks[p], *part);
            let zero = _mm256_cmpeq_epi16(*part, _mm256_setzero_si256());
            zeros = _mm256_sub_epi16(zeros, zero);
        }
        let zeros = _mm_add_epi16(
            _mm256_castsi256_si128(zeros),
            _mm256_extracti128_si256::<1>(zeros),
        );
        let zeros = _mm_add_epi16(zeros, _mm_srli_si128::<8>(zeros));
        let counts = _mm_sub_epi16(_mm_set1_epi16(16), zeros);
        (_mm_cvtsi128_si32(_mm_packs_epi16(counts, counts)) as u32).to_le_bytes()
    }
    // SAFETY: the processor has AVX2 where this table is used.
    unsafe { run(levels, out) }
}

/// Masks of the levels of a block in scan order that are not zero, and of those beyond ±1: a bit each.
#[inline]
#[target_feature(enable = "avx2")]
fn masks(levels: &Block) -> (u32, u32) {
    let magnitude = _mm256_abs_epi16(load_32(levels));
    let least = _mm256_min_epu16(magnitude, _mm256_set1_epi16(1));
    let small = _mm256_cmpeq_epi16(magnitude, least);
    let zero = _mm256_cmpeq_epi16(magnitude, _mm256_setzero_si256());
    let both = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(zero, small));
    let both = !_mm256_movemask_epi8(both) as u32;
    (both & 0xffff, both >> 16)
}

/// The cost of levels of ±1 at the bits of `levels`.
#[inline(always)]
fn cost(mut levels: u32) -> u32 {
    let mut cost = 0;
    while levels != 0 {
        let run = levels.trailing_zeros();
        cost += u32::from(COST_4X4[run as usize]);
        levels = levels >> run >> 1;
    }
    cost
}

pub fn decimate_4x4(levels: &Block) -> u32 {
    #[target_feature(enable = "avx2,bmi1")]
    fn run(levels: &Block) -> u32 {
        let (levels, large) = masks(levels);
        if large != 0 { KEEP } else { cost(levels) }
    }
    // SAFETY: the processor has AVX2 where this table is used.
    unsafe { run(levels) }
}

pub fn decimate_ac(levels: &Block) -> u32 {
    #[target_feature(enable = "avx2,bmi1")]
    fn run(levels: &Block) -> u32 {
        let (levels, large) = masks(levels);
        if large >> 1 != 0 {
            KEEP
        } else {
            cost(levels >> 1)
        }
    }
    // SAFETY: the processor has AVX2 where this table is used.
    unsafe { run(levels) }
}
