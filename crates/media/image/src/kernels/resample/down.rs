//! Sums of rows.

use evener_runtime::Simd;

use crate::for_each_level;
#[cfg(target_arch = "x86_64")]
use crate::kernels::has_avx2;

/// Columns that are summed together.
const COLUMNS: usize = 64;

/// The rows that an output row is summed of.
pub struct Window<'a> {
    /// The rows, anywhere.
    pub sums: &'a [i16],
    /// Where the first column of each is.
    pub starts: &'a [usize],
    /// The weight of each.
    pub weights: &'a [i16],
}

impl Window<'_> {
    /// Checks that there are `n` columns of every row.
    fn check(&self, n: usize) {
        assert_eq!(self.starts.len(), self.weights.len());
        let end = self.sums.len().checked_sub(n);
        let end = end.expect("rows have as many columns as the output");
        assert!(self.starts.iter().all(|&start| start <= end));
    }
}

/// 8-bit codes: the sums of products, each rounded to `fraction` bits after the point.
///
/// # Panics
/// If a row is shorter than `out`, or there are not as many as weights.
pub fn down_u8(simd: Simd, window: &Window<'_>, fraction: u32, out: &mut [u8]) {
    window.check(out.len());
    #[cfg(target_arch = "x86_64")]
    if out.len() >= COLUMNS && has_avx2(simd) {
        // SAFETY: the processor has AVX2; lengths were checked.
        return unsafe { avx2::down_u8(window, fraction, out) };
    }
    small(simd, window, fraction, out);
}

#[inline(always)]
fn small_body(window: &Window<'_>, fraction: u32, out: &mut [u8]) {
    let mut sums = [0i16; COLUMNS];
    for (out, at) in out.chunks_mut(COLUMNS).zip((0..).step_by(COLUMNS)) {
        let n = out.len();
        let sums = &mut sums[..n];
        // `fill` is a call where nothing is optimised across crates.
        #[allow(clippy::manual_slice_fill)]
        for sum in sums.iter_mut() {
            *sum = 1 << fraction >> 1;
        }
        for (start, &weight) in window.starts.iter().zip(window.weights) {
            let row = &window.sums[start + at..][..n];
            for i in 0..n {
                let product = (i32::from(row[i]) * i32::from(weight) + (1 << 14)) >> 15;
                sums[i] = sums[i].wrapping_add(product as i16);
            }
        }
        for i in 0..n {
            out[i] = ((sums[i] >> fraction).clamp(-128, 127) + 128) as u8;
        }
    }
}

for_each_level! {
    fn small(window: &Window<'_>, fraction: u32, out: &mut [u8]) = small_body;
}

/// Codes of more bits: the exact sums of products, rounded to codes, whose number is twice `half`.
///
/// # Panics
/// As [`down_u8`].
pub fn down_deep(simd: Simd, window: &Window<'_>, fraction: u32, half: i32, out: &mut [u16]) {
    window.check(out.len());
    deep(simd, window, fraction, half, out);
}

#[inline(always)]
fn deep_body(window: &Window<'_>, fraction: u32, half: i32, out: &mut [u16]) {
    let mut sums = [0i32; COLUMNS];
    for (out, at) in out.chunks_mut(COLUMNS).zip((0..).step_by(COLUMNS)) {
        let n = out.len();
        let sums = &mut sums[..n];
        // `fill` is a call where nothing is optimised across crates.
        #[allow(clippy::manual_slice_fill)]
        for sum in sums.iter_mut() {
            *sum = 1 << fraction >> 1;
        }
        let row = |start: usize| &window.sums[start + at..][..n];
        let (twice, last) = window.starts.as_chunks::<2>();
        let (weights, last_weight) = window.weights.as_chunks::<2>();
        for ([a, b], [v, w]) in twice.iter().zip(weights) {
            let (a, b) = (row(*a), row(*b));
            for i in 0..n {
                sums[i] += i32::from(a[i]) * i32::from(*v) + i32::from(b[i]) * i32::from(*w);
            }
        }
        for (start, weight) in last.iter().zip(last_weight) {
            let row = row(*start);
            for i in 0..n {
                sums[i] += i32::from(row[i]) * i32::from(*weight);
            }
        }
        for i in 0..n {
            out[i] = ((sums[i] >> fraction) + half).clamp(0, 2 * half - 1) as u16;
        }
    }
}

for_each_level! {
    fn deep(window: &Window<'_>, fraction: u32, half: i32, out: &mut [u16]) = deep_body;
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{COLUMNS, Window};

    /// Sums of a register.
    const LANES: usize = 16;

    /// # Safety
    /// The processor has AVX2, every row has as many sums as there are outputs, and those are a group of columns at least.
    #[target_feature(enable = "avx2")]
    pub unsafe fn down_u8(window: &Window<'_>, fraction: u32, out: &mut [u8]) {
        // SAFETY: promised by the caller.
        unsafe {
            match window.weights.len() {
                1 => taps::<1>(window, fraction, out),
                2 => taps::<2>(window, fraction, out),
                3 => taps::<3>(window, fraction, out),
                4 => taps::<4>(window, fraction, out),
                6 => taps::<6>(window, fraction, out),
                8 => taps::<8>(window, fraction, out),
                _ => taps::<0>(window, fraction, out),
            }
        }
    }

    /// `TAPS` is the number of rows, if not 0.
    ///
    /// # Safety
    /// As [`down_u8`].
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn taps<const TAPS: usize>(window: &Window<'_>, fraction: u32, out: &mut [u8]) {
        let n = if TAPS == 0 {
            window.weights.len()
        } else {
            TAPS
        };
        let (starts, weights) = (&window.starts[..n], &window.weights[..n]);
        let sums = window.sums.as_ptr();
        let begin = _mm256_set1_epi16(1 << fraction >> 1);
        let shift = _mm_cvtsi32_si128(fraction as i32);
        let flip = _mm256_set1_epi8(-128);
        let last = out.len() - COLUMNS;
        let mut at = 0;
        loop {
            let mut totals = [begin; COLUMNS / LANES];
            for k in 0..n {
                let weight = _mm256_set1_epi16(weights[k]);
                // SAFETY: a row has as many sums as there are outputs.
                let row = unsafe { sums.add(starts[k] + at) };
                for (i, total) in totals.iter_mut().enumerate() {
                    // SAFETY: as above.
                    let values = unsafe { _mm256_loadu_si256(row.add(i * LANES).cast()) };
                    let product = _mm256_mulhrs_epi16(values, weight);
                    *total = _mm256_add_epi16(*total, product);
                }
            }
            for total in &mut totals {
                *total = _mm256_sra_epi16(*total, shift);
            }
            for i in 0..COLUMNS / LANES / 2 {
                let packed = _mm256_packs_epi16(totals[2 * i], totals[2 * i + 1]);
                let packed = _mm256_permute4x64_epi64::<0b11_01_10_00>(packed);
                let codes = _mm256_xor_si256(packed, flip);
                // SAFETY: a whole group of columns is left.
                unsafe {
                    let to = out.as_mut_ptr().add(at + 2 * i * LANES);
                    _mm256_storeu_si256(to.cast(), codes);
                }
            }
            if at == last {
                return;
            }
            // The last group may overlap the one before it.
            at = last.min(at + COLUMNS);
        }
    }
}
