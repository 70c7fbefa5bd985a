//! The taps of eight outputs at once.

use std::arch::x86_64::*;
use std::ops::Range;

use super::definition::{Border, Map};
use crate::format::Size;
use crate::kernels::lanes::{Avx2, Lanes};

/// Outputs whose positions are computed before their samples: enough for both loops to run well, and few enough that what
/// some rows of them read stays in the level-1 cache.
pub(super) const RUN: usize = 128;

/// The taps of eight outputs, as [`Tap`](super::definition::Tap) has them for one.
pub(super) struct Taps8 {
    /// Columns of the left samples.
    x: __m256i,
    /// Rows of the upper samples.
    y: __m256i,
    /// Weights of the right samples.
    pub(super) fx: __m256,
    /// Weights of the lower samples.
    pub(super) fy: __m256,
    /// All bits of a lane if its output has taps, none if it is fill.
    pub(super) inside: __m256,
}

/// All bits of a lane if the position (sx, sy) is in the plane, none if it is not or is no number.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn inside(s: Avx2, plane: Size, (sx, sy): (__m256, __m256)) -> __m256 {
    let within = |v, end: u32| {
        _mm256_and_ps(
            _mm256_cmp_ps::<_CMP_GE_OQ>(v, _mm256_setzero_ps()),
            _mm256_cmp_ps::<_CMP_LE_OQ>(v, s.splat((end - 1) as f32)),
        )
    };
    _mm256_and_ps(within(sx, plane.w), within(sy, plane.h))
}

/// The range from the first to the last output that is not fill, among `n` outputs from (x, y) on, one to [`RUN`].
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn span<M: Map>(
    s: Avx2,
    map: &M,
    plane: Size,
    (x, y): (i32, i32),
    n: usize,
) -> Range<usize> {
    let y = s.splat(y as f32);
    let (mut start, mut end) = (n, 0);
    for at in (0..n).step_by(8) {
        let eight = inside(s, plane, map.at(s, s.count((x + at as i32) as f32), y));
        let left = (n - at).min(8);
        let those = _mm256_movemask_ps(eight) as u32 & (0xff >> (8 - left));
        if those != 0 {
            start = start.min(at + those.trailing_zeros() as usize);
            end = at + those.ilog2() as usize + 1;
        }
    }
    start.min(end)..end
}

impl Taps8 {
    /// The taps of the source positions (sx, sy) in a plane, or `None` if all are fill. Columns and rows are clamped to
    /// ranges that hold all taps that are not fill. So nothing outside is read for fill and for positions that are no
    /// numbers.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn new(
        s: Avx2,
        plane: Size,
        border: Border,
        (columns, rows): ((i32, i32), (i32, i32)),
        (mut sx, mut sy): (__m256, __m256),
    ) -> Option<Taps8> {
        let zero = _mm256_setzero_ps();
        let (right, bottom) = (s.splat((plane.w - 1) as f32), s.splat((plane.h - 1) as f32));
        let mut inside = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
        match border {
            Border::Constant(_) => {
                inside = self::inside(s, plane, (sx, sy));
                if _mm256_movemask_ps(inside) == 0 {
                    return None;
                }
            }
            Border::Replicate => {
                sx = _mm256_min_ps(_mm256_max_ps(sx, zero), right);
                sy = _mm256_min_ps(_mm256_max_ps(sy, zero), bottom);
            }
        }
        let clamp = |v, (low, high): (i32, i32)| {
            _mm256_max_epi32(
                _mm256_min_epi32(v, _mm256_set1_epi32(high)),
                _mm256_set1_epi32(low),
            )
        };
        let x = clamp(_mm256_cvttps_epi32(sx), columns);
        let y = clamp(_mm256_cvttps_epi32(sy), rows);
        Some(Taps8 {
            fx: _mm256_sub_ps(sx, _mm256_cvtepi32_ps(x)),
            fy: _mm256_sub_ps(sy, _mm256_cvtepi32_ps(y)),
            x,
            y,
            inside,
        })
    }

    /// Offsets of the upper left samples from the one at `origin`, if rows are `stride` apart.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn places(&self, origin: (i32, i32), stride: usize) -> [u32; 8] {
        let column = _mm256_sub_epi32(self.x, _mm256_set1_epi32(origin.0));
        let row = _mm256_sub_epi32(self.y, _mm256_set1_epi32(origin.1));
        let row = _mm256_mullo_epi32(row, _mm256_set1_epi32(stride as i32));
        let mut at = [0u32; 8];
        // SAFETY: 32 bytes long.
        unsafe { _mm256_storeu_si256(at.as_mut_ptr().cast(), _mm256_add_epi32(row, column)) };
        at
    }
}
