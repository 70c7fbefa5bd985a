//! Sums of rows whose weights are the same from both ends: two rows are added before they are multiplied.

use evener_runtime::Simd;

use super::Code;
#[cfg(target_arch = "x86_64")]
use super::has_avx512_bytes;
use crate::for_each_level;
#[cfg(target_arch = "x86_64")]
use crate::kernels::has_avx2;

/// Columns that are summed together.
const COLUMNS: usize = 32;

/// Sums of the rows that begin at `starts`, from the upper to the lower. `weights` are those of the first half of them. A sum
/// begins with `begin` and loses `shift` bits.
///
/// # Panics
/// If a row is shorter than `out`, or there are not twice as many as weights.
pub fn bell<T: Code>(
    simd: Simd,
    codes: &[T],
    starts: &[usize],
    weights: &[i16],
    (begin, shift): (i32, u32),
    out: &mut [i16],
) {
    assert_eq!(starts.len(), 2 * weights.len());
    let end = codes.len().checked_sub(out.len());
    let end = end.expect("rows have as many columns as the output");
    assert!(starts.iter().all(|&start| start <= end));
    #[cfg(target_arch = "x86_64")]
    if let Some(codes) = T::bytes(codes)
        && !weights.is_empty()
    {
        if out.len() >= avx512::COLUMNS && has_avx512_bytes(simd) {
            // SAFETY: the processor has the instructions; lengths were checked.
            return unsafe { avx512::bell(codes, starts, weights, (begin, shift), out) };
        }
        if out.len() >= COLUMNS && has_avx2(simd) {
            // SAFETY: the processor has AVX2; lengths were checked.
            return unsafe { avx2::bell(codes, starts, weights, (begin, shift), out) };
        }
    }
    any(simd, codes, starts, weights, (begin, shift), out);
}

#[inline(always)]
fn any_body<T: Code>(
    codes: &[T],
    starts: &[usize],
    weights: &[i16],
    (begin, shift): (i32, u32),
    out: &mut [i16],
) {
    let mut sums = [0i32; COLUMNS];
    let last = starts.len() - 1;
    for (out, at) in out.chunks_mut(COLUMNS).zip((0..).step_by(COLUMNS)) {
        let n = out.len();
        let sums = &mut sums[..n];
        // `fill` is a call where nothing is optimised across crates.
        #[allow(clippy::manual_slice_fill)]
        for sum in sums.iter_mut() {
            *sum = begin;
        }
        for (k, &weight) in weights.iter().enumerate() {
            let above = &codes[starts[k] + at..][..n];
            let below = &codes[starts[last - k] + at..][..n];
            for i in 0..n {
                sums[i] += (above[i].number() + below[i].number()) * i32::from(weight);
            }
        }
        for i in 0..n {
            out[i] = (sums[i] >> shift) as i16;
        }
    }
}

for_each_level! {
    fn any<T: Code>(codes: &[T], starts: &[usize], weights: &[i16], sums: (i32, u32), out: &mut [i16]) = any_body;
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::COLUMNS;

    /// # Safety
    /// The processor has AVX2, there are as many codes from every start on as there are outputs, twice as many starts as
    /// weights, and a group of columns and a weight at least.
    #[target_feature(enable = "avx2")]
    pub unsafe fn bell(
        codes: &[u8],
        starts: &[usize],
        weights: &[i16],
        (begin, shift): (i32, u32),
        out: &mut [i16],
    ) {
        let ones = _mm256_set1_epi8(1);
        let begin = _mm256_set1_epi32(begin);
        let shift = _mm_cvtsi32_si128(shift as i32);
        let (codes, starts) = (codes.as_ptr(), starts.as_ptr_range());
        let last = out.len() - COLUMNS;
        let mut at = 0;
        loop {
            // Two rows side by side, added: columns 0 to 7 and 16 to 23, and the others.
            let pair = |k: usize| {
                // SAFETY: promised by the caller.
                let (above, below) = unsafe {
                    let above = codes.add(*starts.start.add(k) + at);
                    let below = codes.add(*starts.end.sub(k + 1) + at);
                    (
                        _mm256_loadu_si256(above.cast()),
                        _mm256_loadu_si256(below.cast()),
                    )
                };
                (
                    _mm256_maddubs_epi16(_mm256_unpacklo_epi8(above, below), ones),
                    _mm256_maddubs_epi16(_mm256_unpackhi_epi8(above, below), ones),
                )
            };
            let mut sums = [begin; 4];
            let mut add = |first: (__m256i, __m256i), second: (__m256i, __m256i), weights: i32| {
                let weight = _mm256_set1_epi32(weights);
                let pairs = [
                    _mm256_unpacklo_epi16(first.0, second.0),
                    _mm256_unpackhi_epi16(first.0, second.0),
                    _mm256_unpacklo_epi16(first.1, second.1),
                    _mm256_unpackhi_epi16(first.1, second.1),
                ];
                for i in 0..4 {
                    sums[i] = _mm256_add_epi32(sums[i], _mm256_madd_epi16(pairs[i], weight));
                }
            };
            let (twice, odd) = weights.as_chunks::<2>();
            let mut k = 0;
            for weights in twice {
                add(pair(k), pair(k + 1), super::joined(weights[0], weights[1]));
                k += 2;
            }
            if let [weight] = odd {
                let own = pair(k);
                add(own, own, super::joined(*weight, 0));
            }
            for sum in &mut sums {
                *sum = _mm256_sra_epi32(*sum, shift);
            }
            let low = _mm256_packs_epi32(sums[0], sums[1]);
            let high = _mm256_packs_epi32(sums[2], sums[3]);
            // SAFETY: a group of columns is left.
            unsafe {
                let to = out.as_mut_ptr().add(at).cast::<__m256i>();
                _mm256_storeu_si256(to, _mm256_permute2x128_si256::<0x20>(low, high));
                _mm256_storeu_si256(to.add(1), _mm256_permute2x128_si256::<0x31>(low, high));
            }
            if at == last {
                return;
            }
            // The last group may overlap the one before it.
            at = last.min(at + COLUMNS);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    /// Columns that are summed together.
    pub const COLUMNS: usize = 64;

    /// # Safety
    /// [`has_avx512_bytes`](super::super::has_avx512_bytes), and as for AVX2.
    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")]
    pub unsafe fn bell(
        codes: &[u8],
        starts: &[usize],
        weights: &[i16],
        (begin, shift): (i32, u32),
        out: &mut [i16],
    ) {
        let ones = _mm512_set1_epi8(1);
        let begin = _mm512_set1_epi32(begin);
        let shift = _mm_cvtsi32_si128(shift as i32);
        let (codes, starts) = (codes.as_ptr(), starts.as_ptr_range());
        // Quarters of the low and of the high columns of quarters, in order.
        let first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
        let second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
        let last = out.len() - COLUMNS;
        let mut at = 0;
        loop {
            // Two rows side by side, added: the low columns of each quarter, and the high ones.
            let pair = |k: usize| {
                // SAFETY: promised by the caller.
                let (above, below) = unsafe {
                    let above = codes.add(*starts.start.add(k) + at);
                    let below = codes.add(*starts.end.sub(k + 1) + at);
                    (
                        _mm512_loadu_si512(above.cast()),
                        _mm512_loadu_si512(below.cast()),
                    )
                };
                (
                    _mm512_maddubs_epi16(_mm512_unpacklo_epi8(above, below), ones),
                    _mm512_maddubs_epi16(_mm512_unpackhi_epi8(above, below), ones),
                )
            };
            let mut sums = [begin; 4];
            let mut add = |first: (__m512i, __m512i), second: (__m512i, __m512i), weights: i32| {
                let weight = _mm512_set1_epi32(weights);
                let pairs = [
                    _mm512_unpacklo_epi16(first.0, second.0),
                    _mm512_unpackhi_epi16(first.0, second.0),
                    _mm512_unpacklo_epi16(first.1, second.1),
                    _mm512_unpackhi_epi16(first.1, second.1),
                ];
                for i in 0..4 {
                    sums[i] = _mm512_dpwssd_epi32(sums[i], pairs[i], weight);
                }
            };
            let (twice, odd) = weights.as_chunks::<2>();
            let mut k = 0;
            for weights in twice {
                add(pair(k), pair(k + 1), super::joined(weights[0], weights[1]));
                k += 2;
            }
            if let [weight] = odd {
                let own = pair(k);
                add(own, own, super::joined(*weight, 0));
            }
            for sum in &mut sums {
                *sum = _mm512_sra_epi32(*sum, shift);
            }
            let low = _mm512_packs_epi32(sums[0], sums[1]);
            let high = _mm512_packs_epi32(sums[2], sums[3]);
            // SAFETY: a group of columns is left.
            unsafe {
                let to = out.as_mut_ptr().add(at).cast::<__m512i>();
                _mm512_storeu_si512(to, _mm512_permutex2var_epi64(low, first, high));
                _mm512_storeu_si512(to.add(1), _mm512_permutex2var_epi64(low, second, high));
            }
            if at == last {
                return;
            }
            at = last.min(at + COLUMNS);
        }
    }
}

/// Two weights side by side.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn joined(low: i16, high: i16) -> i32 {
    i32::from(low) & 0xffff | i32::from(high) << 16
}
