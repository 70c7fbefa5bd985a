//! Where a run of outputs reads.

use std::arch::x86_64::*;

use super::View;
use crate::kernels::bilinear::Map;
use crate::kernels::bilinear::eight::RUN;
use crate::kernels::lanes::{Avx2, Lanes};

/// Where the outputs of a run read, eight by eight.
#[repr(align(64))]
pub(super) struct Run {
    /// Where the upper left samples lie.
    pub at: [i32; RUN],
    /// Weights of the right and lower samples.
    pub fx: [f32; RUN],
    pub fy: [f32; RUN],
}

impl Run {
    pub(super) fn new() -> Self {
        Run {
            at: [0; RUN],
            fx: [0.0; RUN],
            fy: [0.0; RUN],
        }
    }
}

/// Places and weights of the outputs (x, y) to (x + n, y), eight by eight, the last eight from x + n - 8 on, if each has
/// its four samples in the view, and says so.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn locate<M: Map>(
    s: Avx2,
    map: &M,
    view: &View<'_>,
    (x, y): (i32, i32),
    n: usize,
    run: &mut Run,
) -> bool {
    let mut most = (_mm256_setzero_si256(), _mm256_setzero_si256());
    let y = s.splat(y as f32);
    let whole = n & !7;
    let mut xs = s.count(x as f32);
    for i in (0..whole).step_by(8) {
        // SAFETY: a run is a multiple of eight, and `i` less than one.
        most = unsafe { eight(s, map, view, (xs, y), run, i, most) };
        xs = s.add(xs, s.splat(8.0));
    }
    if whole < n {
        let xs = s.count((x + n as i32 - 8) as f32);
        // SAFETY: as before.
        most = unsafe { eight(s, map, view, (xs, y), run, whole, most) };
    }
    at_most(most.0, view.x) && at_most(most.1, view.y)
}

/// How far a position is beyond `first`: numbers from 0 on have the order of their bits, and what is below `first`, below
/// 0 or no number comes after all that have a place.
#[inline]
#[target_feature(enable = "avx2")]
fn beyond(v: __m256, first: i32) -> __m256i {
    _mm256_sub_epi32(_mm256_castps_si256(v), _mm256_set1_epi32(bits(first)))
}

fn bits(v: i32) -> i32 {
    (v as f32).to_bits() as i32
}

/// Whether positions that are so far beyond the first of some whole numbers are less than 1 beyond the last.
#[inline]
#[target_feature(enable = "avx2")]
fn at_most(beyond: __m256i, (first, last): (i32, i32)) -> bool {
    let most = _mm256_set1_epi32(bits(last + 1) - 1 - bits(first));
    _mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_max_epu32(beyond, most), most)) == -1
}

/// Places and weights of eight outputs, which become those from `i` on of the run. Gives the most that a column and a row
/// are beyond the first ones of the view among theirs and `most`.
///
/// # Safety
/// Eight from `i` on are in a run.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn eight<M: Map>(
    s: Avx2,
    map: &M,
    view: &View<'_>,
    (x, y): (__m256, __m256),
    run: &mut Run,
    i: usize,
    most: (__m256i, __m256i),
) -> (__m256i, __m256i) {
    let (sx, sy) = map.at(s, x, y);
    let (column, row) = (_mm256_cvttps_epi32(sx), _mm256_cvttps_epi32(sy));
    let most = (
        _mm256_max_epu32(most.0, beyond(sx, view.x.0)),
        _mm256_max_epu32(most.1, beyond(sy, view.y.0)),
    );
    let place = _mm256_mullo_epi32(row, _mm256_set1_epi32(view.stride as i32));
    let origin = view
        .y
        .0
        .wrapping_mul(view.stride as i32)
        .wrapping_add(view.x.0);
    let place = _mm256_sub_epi32(_mm256_add_epi32(place, column), _mm256_set1_epi32(origin));
    // SAFETY: the caller's promise.
    unsafe {
        s.store(
            s.sub(sx, _mm256_cvtepi32_ps(column)),
            run.fx.as_mut_ptr().add(i),
        );
        s.store(
            s.sub(sy, _mm256_cvtepi32_ps(row)),
            run.fy.as_mut_ptr().add(i),
        );
        _mm256_storeu_si256(run.at.as_mut_ptr().add(i).cast(), place);
    }
    most
}
