//! Quantisation.

use std::arch::x86_64::*;

use super::super::quantiser::{MAX_LEVEL, Quantiser, Quantiser8x8};
use super::super::{Block, ChromaBlocks, LumaBlocks, QuarterBlocks};
use super::memory::{load_32, load_part, store_32, store_part};

/// What 16 coefficients of 4x4 blocks are quantised with.
struct Factors {
    multiplier: __m256i,
    bias: __m256i,
    shift: __m128i,
}

#[inline]
#[target_feature(enable = "avx2")]
fn factors(q: &Quantiser) -> Factors {
    Factors {
        multiplier: load_32(&q.multiplier),
        bias: load_32(&q.bias),
        shift: _mm_cvtsi32_si128(i32::from(q.qp / 6) + 2),
    }
}

/// Quantises a block in place and returns its levels.
#[inline]
#[target_feature(enable = "avx2")]
fn block(block: &mut Block, f: &Factors) -> __m256i {
    let c = load_32(block);
    let magnitude = _mm256_add_epi16(_mm256_slli_epi16::<2>(_mm256_abs_epi16(c)), f.bias);
    let level = _mm256_srl_epi16(_mm256_mulhi_epu16(magnitude, f.multiplier), f.shift);
    let level = _mm256_min_epi16(level, _mm256_set1_epi16(MAX_LEVEL));
    let level = _mm256_sign_epi16(level, c);
    store_32(block, level);
    level
}

/// A bit for each of 4 blocks that has a level.
#[inline]
#[target_feature(enable = "avx2")]
fn quarter(blocks: &mut QuarterBlocks, f: &Factors) -> u32 {
    let [a, b, c, d] = blocks;
    let (a, b, c, d) = (block(a, f), block(b, f), block(c, f), block(d, f));
    // Saturation keeps what is not zero: in the end 4 bytes of each half of a block.
    let (ab, cd) = (_mm256_packs_epi16(a, b), _mm256_packs_epi16(c, d));
    let all = _mm256_packs_epi16(ab, cd);
    let all = _mm_or_si128(
        _mm256_castsi256_si128(all),
        _mm256_extracti128_si256::<1>(all),
    );
    let zero = _mm_cmpeq_epi32(all, _mm_setzero_si128());
    _mm_movemask_ps(_mm_castsi128_ps(zero)) as u32 ^ 15
}

pub fn quantise_4x4(coefficients: &mut Block, q: &Quantiser) -> bool {
    #[target_feature(enable = "avx2")]
    fn run(coefficients: &mut Block, q: &Quantiser) -> bool {
        let levels = block(coefficients, &factors(q));
        _mm256_testz_si256(levels, levels) == 0
    }
    // SAFETY: the processor has AVX2 where this table is used.
    unsafe { run(coefficients, q) }
}

pub fn quantise_16x16(blocks: &mut LumaBlocks, q: &Quantiser) -> u32 {
    #[target_feature(enable = "avx2")]
    fn run(blocks: &mut LumaBlocks, q: &Quantiser) -> u32 {
        let f = factors(q);
        let (quarters, _) = blocks.as_chunks_mut::<4>();
        let mut mask = 0;
        for (i, blocks) in quarters.iter_mut().enumerate() {
            mask |= quarter(blocks, &f) << (4 * i);
        }
        mask
    }
    // SAFETY: the processor has AVX2 where this table is used.
    unsafe { run(blocks, q) }
}

pub fn quantise_chroma(blocks: &mut ChromaBlocks, q: &Quantiser) -> u32 {
    #[target_feature(enable = "avx2")]
    fn run([cb, cr]: &mut ChromaBlocks, q: &Quantiser) -> u32 {
        let f = factors(q);
        quarter(cb, &f) | quarter(cr, &f) << 4
    }
    // SAFETY: the processor has AVX2 where this table is used.
    unsafe { run(blocks, q) }
}

pub fn quantise_8x8(block: &mut [i16; 64], q: &Quantiser8x8) -> bool {
    #[target_feature(enable = "avx2")]
    fn run(block: &mut [i16; 64], q: &Quantiser8x8) -> bool {
        let shift = _mm_cvtsi32_si128(i32::from(q.qp / 6) + 1);
        let mut any = _mm_setzero_si128();
        for i in 0..8 {
            let c = load_part(block, i);
            let magnitude = _mm_slli_epi16::<1>(_mm_abs_epi16(c));
            let magnitude = _mm_add_epi16(magnitude, load_part(&q.bias, i));
            let product = _mm_mulhi_epu16(magnitude, load_part(&q.multiplier, i));
            let level = _mm_min_epi16(_mm_srl_epi16(product, shift), _mm_set1_epi16(MAX_LEVEL));
            let level = _mm_sign_epi16(level, c);
            any = _mm_or_si128(any, level);
            store_part(block, i, level);
        }
        _mm_testz_si128(any, any) == 0
    }
    // SAFETY: the processor has AVX2 where this table is used.
    unsafe { run(block, q) }
}
