//! Bilinear sampling on x86-64: the two samples of a row are loaded as one number of 64 bits.
//!
//! Positions and weights of a run of outputs are computed first (`run.rs`), then their samples. Outputs outside the source
//! or at its edge are computed apart (`edge.rs`). A source that no private cache holds is prefetched (`prefetcher.rs`).

mod edge;
mod prefetcher;
mod run;
mod view;

use std::arch::x86_64::*;

use evener_runtime::Simd;

use self::prefetcher::Prefetcher;
use self::run::{Run, locate};
use self::view::SourceView;
use super::definition::{Border, Map, Sampling};
use super::spans::{spans, whole};
use super::taps8::RUN;
use crate::kernels::STRIP;
use crate::kernels::lanes::{Avx2, Lanes, Scalar};
use crate::kernels::pointwise::Pointwise;
use crate::row_view::RowView;

/// Samples of the largest ring that a worker keeps in its private cache.
const NEAR: usize = 1 << 18;

/// Computes rows. Returns `false` if the processor or the layout of the source does not allow it.
pub fn rows<M: Map, B: Pointwise, A: Pointwise>(
    simd: Simd,
    sampling: &Sampling<'_, M, B, A>,
    lines: &RowView<'_>,
    at: (i32, i32),
    out: &mut [&mut [f32]],
) -> bool {
    let Some(avx2) = Avx2::new(simd) else {
        return false;
    };
    let Some(view) = SourceView::new(lines) else {
        return false;
    };
    // SAFETY: `avx2` exists, so the processor has the instructions.
    unsafe { rows_avx2(avx2, sampling, &view, at, out) };
    true
}

/// Computes a run of each row before the next run, since rows read mostly the same samples.
#[target_feature(enable = "avx2,fma")]
fn rows_avx2<M: Map, B: Pointwise, A: Pointwise>(
    s: Avx2,
    sampling: &Sampling<'_, M, B, A>,
    view: &SourceView<'_>,
    (x0, y0): (i32, i32),
    out: &mut [&mut [f32]],
) {
    let (mut run, mut prefetcher) = (Run::new(), Prefetcher::new());
    let far = view.data.len() > NEAR;
    let fill = sampling.after.of(Scalar, sampling.border.fill());
    for (rows, y0) in out.chunks_mut(STRIP).zip((y0..).step_by(STRIP)) {
        let n = rows.first().map_or(0, |row| row.len());
        let known = match sampling.border {
            Border::Constant(_) => spans(s, sampling.map, sampling.plane, (x0, y0), n),
            Border::Replicate => None,
        };
        let sides = known.is_none();
        let spans = known.unwrap_or_else(|| whole(n));
        let mut longest = 0;
        for (row, span) in rows.iter_mut().zip(&spans) {
            row[..span.start].fill(fill);
            row[span.end..].fill(fill);
            longest = longest.max(span.len());
        }
        let (last, y_last) = (&spans[rows.len() - 1], y0 + rows.len() as i32 - 1);
        // Fill mostly follows fill.
        let mut all_fill = false;
        for first in (0..longest).step_by(RUN) {
            let next = last.start + first + RUN;
            if far && next < last.end {
                prefetcher.run(s, sampling.map, view, (x0 + next as i32, y_last));
            }
            for ((row, span), y) in rows.iter_mut().zip(&spans).zip(y0..) {
                let start = span.start + first;
                if start >= span.end {
                    continue;
                }
                if far {
                    prefetcher.step(view);
                }
                let part = &mut row[start..span.end.min(start + RUN)];
                let at = (x0 + start as i32, y);
                let tried = !all_fill;
                if tried && sampled(s, sampling, view, at, &mut run, part) {
                    continue;
                }
                all_fill = edge::outputs(s, sampling, view, at, (tried, sides), &mut run, part);
            }
        }
    }
}

/// Computes at least eight and at most a run of outputs from (x, y) on. Returns `false` if some of their samples are not in
/// the view. The last eight may overlap the ones before.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn sampled<M: Map, B: Pointwise, A: Pointwise>(
    s: Avx2,
    sampling: &Sampling<'_, M, B, A>,
    view: &SourceView<'_>,
    at: (i32, i32),
    run: &mut Run,
    out: &mut [f32],
) -> bool {
    let n = out.len();
    if !(8..=RUN).contains(&n) || !locate(s, sampling.map, view, at, n, run) {
        return false;
    }
    for i in (0..n).step_by(8) {
        // SAFETY: a run is at least `n` long and a multiple of eight, and all samples have been found to be in the view.
        unsafe {
            let at = &*run.at.as_ptr().add(i).cast::<[u32; 8]>();
            let fx = s.load(run.fx.as_ptr().add(i));
            let fy = s.load(run.fy.as_ptr().add(i));
            let v = blend(s, view, sampling.before, at, fx, fy);
            s.store(sampling.after.of(s, v), out.as_mut_ptr().add(i.min(n - 8)));
        }
    }
    true
}

/// Blends the samples at eight offsets with those to the right, below, and below to the right.
///
/// # Safety
/// They must all be in the view's data.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn blend<B: Pointwise>(
    s: Avx2,
    view: &SourceView<'_>,
    before: B,
    at: &[u32; 8],
    fx: __m256,
    fy: __m256,
) -> __m256 {
    let upper = view.data.as_ptr();
    // SAFETY: the caller's promise: the offsets and those a stride and one later are inside the data.
    let ((u0, u1), (l0, l1)) = unsafe { (pairs(upper, at), pairs(upper.add(view.stride), at)) };
    let (u0, u1) = (before.of(s, u0), before.of(s, u1));
    let (l0, l1) = (before.of(s, l0), before.of(s, l1));
    let u = _mm256_fmadd_ps(fx, _mm256_sub_ps(u1, u0), u0);
    let l = _mm256_fmadd_ps(fx, _mm256_sub_ps(l1, l0), l0);
    _mm256_fmadd_ps(fy, _mm256_sub_ps(l, u), u)
}

/// The samples at eight offsets, and those after them, read in pairs.
///
/// # Safety
/// Each offset and the one after it must be within the allocation `base` points to.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn pairs(base: *const f32, at: &[u32; 8]) -> (__m256, __m256) {
    // SAFETY: the caller's promise covers both 64-bit loads.
    let two = |first: usize, second: usize| unsafe {
        let (first, second) = (base.add(at[first] as usize), base.add(at[second] as usize));
        _mm_loadh_pd(_mm_load_sd(first.cast()), second.cast())
    };
    let join = |a: __m128d, b: __m128d| {
        _mm256_castpd_ps(_mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(a), b))
    };
    let a = join(two(0, 1), two(4, 5));
    let b = join(two(2, 3), two(6, 7));
    (
        _mm256_shuffle_ps::<0b10_00_10_00>(a, b),
        _mm256_shuffle_ps::<0b11_01_11_01>(a, b),
    )
}
