use std::arch::x86_64::*;

use super::*;

/// Output by output, for [`Loads::Each`]: the samples of one are side by side, and as many as registers hold.
///
/// # Safety
/// As [`sums`].
#[target_feature(enable = "avx2")]
pub unsafe fn each<T: Code>(
    across: &Across,
    blocks: Range<usize>,
    rows: [&[T]; ROWS],
    (out, stride): (&mut [i16], usize),
) {
    let n = across.padded;
    let begin = _mm_set1_epi32(across.begin);
    let shift = _mm_cvtsi32_si128(across.shift as i32);
    let out = out.as_mut_ptr();
    for (at, output) in (blocks.start * BLOCK..blocks.end * BLOCK).enumerate() {
        // SAFETY: the output exists, has `n` weights, and rows are readable as far as its window reaches.
        let load = |row: &[T], k: usize| unsafe {
            let first = *across.first.get_unchecked(output) as usize;
            let from = row.as_ptr().add(first + k);
            match size_of::<T>() {
                1 => _mm256_cvtepu8_epi16(_mm_loadu_si128(from.cast())),
                _ => _mm256_loadu_si256(from.cast()),
            }
        };
        let mut sums = [_mm256_setzero_si256(); ROWS];
        for k in (0..n).step_by(WINDOW) {
            // SAFETY: as above.
            let weights = unsafe {
                let weights = across.weights.as_ptr().add(output * n + k);
                _mm256_loadu_si256(weights.cast())
            };
            for i in 0..ROWS {
                let products = _mm256_madd_epi16(load(rows[i], k), weights);
                sums[i] = _mm256_add_epi32(sums[i], products);
            }
        }
        let low = _mm256_hadd_epi32(sums[0], sums[1]);
        let high = _mm256_hadd_epi32(sums[2], sums[3]);
        let four = _mm256_hadd_epi32(low, high);
        let halves = (
            _mm256_castsi256_si128(four),
            _mm256_extracti128_si256::<1>(four),
        );
        let four = _mm_add_epi32(_mm_add_epi32(halves.0, halves.1), begin);
        let four = _mm_sra_epi32(four, shift);
        let codes: [i32; ROWS] = bytemuck::cast(four);
        for (i, code) in codes.iter().enumerate() {
            // SAFETY: there is room for the outputs of every row.
            unsafe { *out.add(i * stride + at) = *code as i16 };
        }
    }
}

/// # Safety
/// The processor has AVX2, blocks exist, rows are readable and there is room for the outputs.
#[target_feature(enable = "avx2")]
pub unsafe fn sums<T: Code>(
    across: &Across,
    blocks: Range<usize>,
    rows: [&[T]; ROWS],
    out: (&mut [i16], usize),
) {
    let once = across.loads == Loads::Once;
    // SAFETY: promised by the caller.
    unsafe {
        match (once, across.pairs) {
            (true, 1) => with::<T, true, 1>(across, blocks, rows, out),
            (true, 2) => with::<T, true, 2>(across, blocks, rows, out),
            (true, 3) => with::<T, true, 3>(across, blocks, rows, out),
            (true, 4) => with::<T, true, 4>(across, blocks, rows, out),
            (true, _) => with::<T, true, 0>(across, blocks, rows, out),
            (false, 2) => with::<T, false, 2>(across, blocks, rows, out),
            (false, 3) => with::<T, false, 3>(across, blocks, rows, out),
            (false, 4) => with::<T, false, 4>(across, blocks, rows, out),
            (false, _) => with::<T, false, 0>(across, blocks, rows, out),
        }
    }
}

/// With `ONCE`, a window holds all samples; `PAIRS` is their number, if not 0.
///
/// # Safety
/// As [`sums`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn with<T: Code, const ONCE: bool, const PAIRS: usize>(
    across: &Across,
    blocks: Range<usize>,
    rows: [&[T]; ROWS],
    (out, stride): (&mut [i16], usize),
) {
    let pairs = if PAIRS == 0 { across.pairs } else { PAIRS };
    let bytes = size_of::<T>();
    let begin = _mm256_set1_epi32(across.begin);
    let shift = _mm_cvtsi32_si128(across.shift as i32);
    let rows: [*const u8; ROWS] = std::array::from_fn(|i| rows[i].as_ptr().cast());
    let out = out.as_mut_ptr();
    let mut at = 0;
    for block in blocks {
        // SAFETY: the block exists.
        let (bases, shuffles, weights) = unsafe {
            (
                across.bases.get_unchecked(block),
                across.shuffles.as_ptr().add(block).cast::<__m256i>(),
                across.paired.as_ptr().add(block * pairs).cast::<__m256i>(),
            )
        };
        let mut halves = [[begin; ROWS]; 2];
        for (half, sums) in halves.iter_mut().enumerate() {
            let low = bases[2 * half] as usize * bytes;
            let high = bases[2 * half + 1] as usize * bytes;
            // SAFETY: a window begins at each base, or one for each pair, and rows are readable as far as they reach.
            let load = |row: *const u8, pair: usize| unsafe {
                let (low, high) = (low + 2 * bytes * pair, high + 2 * bytes * pair);
                let low = _mm_loadu_si128(row.add(low).cast());
                let high = _mm_loadu_si128(row.add(high).cast());
                _mm256_set_m128i(high, low)
            };
            // SAFETY: a block has as many shuffles, and weights for every pair.
            let first = unsafe { _mm256_loadu_si256(shuffles.add(half)) };
            let mut windows = [begin; ROWS];
            if ONCE {
                for (window, row) in windows.iter_mut().zip(rows) {
                    *window = load(row, 0);
                }
            }
            for pair in 0..pairs {
                let next = _mm256_set1_epi8((2 * bytes * pair) as i8);
                let shuffle = if ONCE {
                    _mm256_add_epi8(first, next)
                } else {
                    first
                };
                // SAFETY: as above.
                let weights = unsafe { _mm256_loadu_si256(weights.add(2 * pair + half)) };
                for i in 0..ROWS {
                    let window = if ONCE {
                        windows[i]
                    } else {
                        load(rows[i], pair)
                    };
                    let samples = _mm256_shuffle_epi8(window, shuffle);
                    let products = _mm256_madd_epi16(samples, weights);
                    sums[i] = _mm256_add_epi32(sums[i], products);
                }
            }
        }
        let [low, high] = &halves;
        for (i, (low, high)) in low.iter().zip(high).enumerate() {
            let a = _mm256_sra_epi32(*low, shift);
            let b = _mm256_sra_epi32(*high, shift);
            let packed = _mm256_packs_epi32(a, b);
            // SAFETY: there is room for the outputs of every row.
            unsafe { _mm256_storeu_si256(out.add(i * stride + at).cast(), packed) };
        }
        at += BLOCK;
    }
}
