use std::arch::x86_64::*;

use super::*;

/// # Safety
/// [`has_avx512_bytes`]; blocks exist, rows are readable and there is room for the outputs.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")]
pub unsafe fn sums<T: Code>(
    across: &Across,
    wide: &Wide,
    blocks: Range<usize>,
    rows: [&[T]; ROWS],
    out: (&mut [i16], usize),
) {
    let once = wide.loads == Loads::Once;
    // SAFETY: promised by the caller.
    unsafe {
        match (once, across.pairs) {
            (true, 1) => with::<T, true, 1>(across, wide, blocks, rows, out),
            (true, 2) => with::<T, true, 2>(across, wide, blocks, rows, out),
            (true, 3) => with::<T, true, 3>(across, wide, blocks, rows, out),
            (true, 4) => with::<T, true, 4>(across, wide, blocks, rows, out),
            (true, _) => with::<T, true, 0>(across, wide, blocks, rows, out),
            (false, _) => with::<T, false, 0>(across, wide, blocks, rows, out),
        }
    }
}

/// With `ONCE`, a load holds all samples; `PAIRS` is their number, if not 0.
///
/// # Safety
/// As [`sums`].
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")]
unsafe fn with<T: Code, const ONCE: bool, const PAIRS: usize>(
    across: &Across,
    wide: &Wide,
    blocks: Range<usize>,
    rows: [&[T]; ROWS],
    (out, stride): (&mut [i16], usize),
) {
    let pairs = if PAIRS == 0 { across.pairs } else { PAIRS };
    let bytes = size_of::<T>();
    // Codes of a byte become two.
    let keep = if bytes == 1 {
        0x5555_5555_5555_5555
    } else {
        u64::MAX
    };
    let begin = _mm512_set1_epi32(across.begin);
    let shift = _mm_cvtsi32_si128(across.shift as i32);
    let rows: [*const u8; ROWS] = std::array::from_fn(|i| rows[i].as_ptr().cast());
    let out = out.as_mut_ptr();
    let mut at = 0;
    for block in blocks {
        // SAFETY: the block exists, with a shuffle, and weights for every pair.
        let (base, first, weights) = unsafe {
            (
                *wide.bases.get_unchecked(block) as usize * bytes,
                _mm512_loadu_si512(wide.shuffles.as_ptr().add(block).cast()),
                across.paired.as_ptr().add(block * pairs).cast::<__m512i>(),
            )
        };
        // SAFETY: a load begins at each base, or one for each pair, and rows are readable as far as they reach.
        let load = |row: *const u8, pair: usize| unsafe {
            _mm512_loadu_si512(row.add(base + 2 * bytes * pair).cast())
        };
        let mut sums = [begin; ROWS];
        let mut windows = [begin; ROWS];
        if ONCE {
            for i in 0..ROWS {
                windows[i] = load(rows[i], 0);
            }
        }
        for pair in 0..pairs {
            let next = _mm512_set1_epi8((2 * bytes * pair) as i8);
            let shuffle = if ONCE {
                _mm512_add_epi8(first, next)
            } else {
                first
            };
            // SAFETY: as above.
            let weights = unsafe { _mm512_loadu_si512(weights.add(pair).cast()) };
            for i in 0..ROWS {
                let window = if ONCE {
                    windows[i]
                } else {
                    load(rows[i], pair)
                };
                let samples = _mm512_maskz_permutexvar_epi8(keep, shuffle, window);
                sums[i] = _mm512_dpwssd_epi32(sums[i], samples, weights);
            }
        }
        for (i, sum) in sums.iter().enumerate() {
            let packed = _mm512_cvtepi32_epi16(_mm512_sra_epi32(*sum, shift));
            let packed = _mm256_permute4x64_epi64::<0b11_01_10_00>(packed);
            // SAFETY: there is room for the outputs of every row.
            unsafe { _mm256_storeu_si256(out.add(i * stride + at).cast(), packed) };
        }
        at += BLOCK;
    }
}
