//! The outputs of some rows that are not fill.

use std::arch::x86_64::*;
use std::ops::Range;

use super::definition::Map;
use crate::format::Size;
use crate::kernels::STRIP;
use crate::kernels::lanes::{Avx2, Lanes};

/// The ranges of outputs that are not fill, among `n` outputs from (x, y) on and as many of each row after it. `None` if the
/// map is not monotonic.
///
/// With a monotonic map these outputs are consecutive. Of the four conditions for a position to be in the plane, two hold
/// from some output of a row on and two up to some output. A lane searches a row for both outputs.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn spans<M: Map>(
    s: Avx2,
    map: &M,
    plane: Size,
    (x, y): (i32, i32),
    n: usize,
) -> Option<[Range<usize>; STRIP]> {
    let (right, down) = map.monotonic()?;
    let y = s.count(y as f32);
    // For the output before the `count`th: all bits of the lanes in which the conditions that hold from some output on are
    // met, and of those in which the conditions that hold up to some output are met.
    let hold = |count: __m256i| {
        let i = _mm256_add_epi32(count, _mm256_set1_epi32(x - 1));
        let (sx, sy) = map.at(s, _mm256_cvtepi32_ps(i), y);
        let along = |v, size: u32, rises: bool| {
            let low = _mm256_cmp_ps::<_CMP_GE_OQ>(v, _mm256_setzero_ps());
            let high = _mm256_cmp_ps::<_CMP_LE_OQ>(v, s.splat((size - 1) as f32));
            if rises { (low, high) } else { (high, low) }
        };
        let (a, b) = (along(sx, plane.w, right), along(sy, plane.h, down));
        let both = |a, b| _mm256_castps_si256(_mm256_and_ps(a, b));
        (both(a.0, b.0), both(a.1, b.1))
    };
    let all = _mm256_set1_epi32(n as i32);
    let begun = hold(_mm256_set1_epi32(1)).0;
    let not_over = hold(all).1;
    if _mm256_movemask_epi8(_mm256_and_si256(begun, not_over)) == -1 {
        return Some(whole(n));
    }
    let (mut start, mut end) = (_mm256_set1_epi32(0), _mm256_set1_epi32(0));
    for bit in (0..=n.checked_ilog2()?).rev() {
        let step = _mm256_set1_epi32(1 << bit);
        let counts = (_mm256_add_epi32(start, step), _mm256_add_epi32(end, step));
        let too_many = |count| _mm256_cmpgt_epi32(count, all);
        let skip = _mm256_or_si256(too_many(counts.0), hold(counts.0).0);
        start = _mm256_add_epi32(start, _mm256_andnot_si256(skip, step));
        let more = _mm256_andnot_si256(too_many(counts.1), hold(counts.1).1);
        end = _mm256_add_epi32(end, _mm256_and_si256(more, step));
    }
    let (mut starts, mut ends) = ([0i32; STRIP], [0i32; STRIP]);
    // SAFETY: both are as long as a register.
    unsafe {
        _mm256_storeu_si256(starts.as_mut_ptr().cast(), start);
        _mm256_storeu_si256(ends.as_mut_ptr().cast(), end);
    }
    let mut spans = whole(n);
    for ((span, start), end) in spans.iter_mut().zip(starts).zip(ends) {
        *span = start as usize..end.max(start) as usize;
    }
    Some(spans)
}

/// All of `n` outputs of each row.
#[inline]
pub(super) fn whole(n: usize) -> [Range<usize>; STRIP] {
    let mut spans = [const { 0..0 }; STRIP];
    for span in &mut spans {
        span.end = n;
    }
    spans
}

#[cfg(test)]
mod tests {
    use evener_runtime::Simd;

    use super::*;
    use crate::kernels::bilinear::{Border, tap};
    use crate::kernels::lanes::Scalar;

    /// Positions (a x + b y + c, d x + e y + f).
    #[derive(Debug)]
    struct Straight([f32; 6]);

    impl Map for Straight {
        #[inline(always)]
        fn at<S: Lanes>(&self, s: S, x: S::V, y: S::V) -> (S::V, S::V) {
            let of = |[a, b, c]: [f32; 3]| {
                let row = s.mul_add(s.splat(b), y, s.splat(c));
                s.mul_add(s.splat(a), x, row)
            };
            let [a, b, c, d, e, f] = self.0;
            (of([a, b, c]), of([d, e, f]))
        }

        fn monotonic(&self) -> Option<(bool, bool)> {
            Some((self.0[0] >= 0.0, self.0[3] >= 0.0))
        }
    }

    #[test]
    fn spans_are_those_outputs_that_have_taps() {
        let Some(s) = Avx2::new(Simd::detect()) else {
            evener_testing::skip("no AVX2");
            return;
        };
        let plane = Size { w: 50, h: 30 };
        let maps = [
            [0.8, -0.6, 9.0, 0.6, 0.8, -12.0],
            [-0.8, 0.6, 30.0, -0.6, -0.8, 40.0],
            [0.5, 0.9, -9.0, -0.9, 0.5, 40.0],
            [1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            [0.0, -1.0, 49.0, 1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0, 0.0, 3.0],
            [1.0, 0.0, 0.0, 0.0, 0.0, -1.0],
            [7.0, 0.0, -21.0, 0.01, 0.0, 28.9],
            [f32::NAN, 0.0, 0.0, 0.0, 1.0, 0.0],
        ];
        for coefficients in maps {
            let map = Straight(coefficients);
            for (x, y, n) in [(0, 0, 77), (5, 20, 64), (-9, -4, 1), (30, 3, 2), (0, 9, 0)] {
                // SAFETY: `s` exists, so the processor has the instructions.
                let spans = unsafe { spans(s, &map, plane, (x, y), n) };
                for row in 0..STRIP as i32 {
                    let inside = |i: &usize| {
                        let (sx, sy) = map.at(Scalar, (x + *i as i32) as f32, (y + row) as f32);
                        tap(sx, sy, plane, Border::Constant(0.0)).is_some()
                    };
                    let expected: Vec<usize> = (0..n).filter(inside).collect();
                    let got = spans.as_ref().map_or(0..0, |s| s[row as usize].clone());
                    assert_eq!(
                        got.collect::<Vec<_>>(),
                        expected,
                        "{map:?}, {x}, {y}, row {row}"
                    );
                }
            }
        }
    }
}
