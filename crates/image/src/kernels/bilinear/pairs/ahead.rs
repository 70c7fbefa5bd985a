//! Asking for samples before they are needed.

use std::arch::x86_64::*;

use super::View;
use crate::kernels::bilinear::Map;
use crate::kernels::bilinear::eight::RUN;
use crate::kernels::lanes::{Avx2, Lanes};

/// Outputs to a line of the source from which on hardware fetches lines in time.
const FLAT: u32 = 11;

/// Asks for where a run of outputs from (x, y) on reads, ahead of its use, if it goes through so many lines of the source
/// that no hardware sees them coming.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn ask<M: Map>(s: Avx2, map: &M, view: &View<'_>, (x, y): (i32, i32)) {
    let y = s.splat(y as f32);
    let clamp = |v, (low, high): (i32, i32)| {
        _mm256_max_ps(_mm256_min_ps(v, s.splat(high as f32)), s.splat(low as f32))
    };
    let place = |from: i32, step: i32| {
        let xs = s.mul_add(
            s.count(0.0),
            s.splat(step as f32),
            s.splat((x + from) as f32),
        );
        let (sx, sy) = map.at(s, xs, y);
        (
            _mm256_cvttps_epi32(clamp(sx, view.x)),
            _mm256_cvttps_epi32(clamp(sy, view.y)),
        )
    };
    let (_, rows) = place(0, RUN as i32 / 8);
    let lines = (_mm256_extract_epi32::<7>(rows) - _mm256_extract_epi32::<0>(rows)).unsigned_abs();
    // A sample of every line, not of every output.
    let step = match RUN as u32 / lines.max(1) {
        FLAT.. => return,
        4.. => 4,
        2.. => 2,
        _ => 1,
    };
    let stride = _mm256_set1_epi32(view.stride as i32);
    for from in (0..RUN as i32).step_by(8 * step) {
        let (column, row) = place(from, step as i32);
        let row = _mm256_sub_epi32(row, _mm256_set1_epi32(view.y.0));
        let column = _mm256_sub_epi32(column, _mm256_set1_epi32(view.x.0));
        let mut places = [0u32; 8];
        let at = _mm256_add_epi32(_mm256_mullo_epi32(row, stride), column);
        // SAFETY: 32 bytes long.
        unsafe { _mm256_storeu_si256(places.as_mut_ptr().cast(), at) };
        for at in places {
            _mm_prefetch::<_MM_HINT_T0>(view.data.as_ptr().wrapping_add(at as usize).cast());
        }
    }
}
