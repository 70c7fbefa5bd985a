//! Outputs of which some are fill or read at the edge of the source.

use std::arch::x86_64::*;

use super::run::Run;
use super::view::SourceView;
use super::{blend, sampled};
use crate::kernels::bilinear::definition::{Border, Map, Sampling};
use crate::kernels::bilinear::taps8::{Taps8, span};
use crate::kernels::lanes::{Avx2, Lanes, Scalar};
use crate::kernels::pointwise::Pointwise;

/// Computes at most a run of outputs from (x, y) on. Returns whether they are all fill. `tried` says that sampling all of
/// them has failed, `sides` that some of the first or the last may be fill.
#[cold]
#[target_feature(enable = "avx2,fma")]
pub(super) fn outputs<M: Map, B: Pointwise, A: Pointwise>(
    s: Avx2,
    sampling: &Sampling<'_, M, B, A>,
    view: &SourceView<'_>,
    (x, y): (i32, i32),
    (tried, sides): (bool, bool),
    run: &mut Run,
    out: &mut [f32],
) -> bool {
    let n = out.len();
    let within = match sampling.border {
        Border::Constant(_) if sides => span(s, sampling.map, sampling.plane, (x, y), n),
        _ => 0..n,
    };
    let again = !tried || within.len() < n;
    let fill = sampling.after.of(Scalar, sampling.border.fill());
    let (out, after) = out.split_at_mut(within.end);
    let (before, those) = out.split_at_mut(within.start);
    before.fill(fill);
    after.fill(fill);
    if those.is_empty() {
        return true;
    }
    let x = x + within.start as i32;
    if !(again && sampled(s, sampling, view, (x, y), run, those)) {
        for (eight, x) in those.chunks_mut(8).zip((x..).step_by(8)) {
            some(s, sampling, view, (x, y), eight);
        }
    }
    false
}

/// Computes at most eight outputs from (x, y) on, with any positions.
#[inline(always)]
fn some<M: Map, B: Pointwise, A: Pointwise>(
    s: Avx2,
    sampling: &Sampling<'_, M, B, A>,
    view: &SourceView<'_>,
    (x, y): (i32, i32),
    out: &mut [f32],
) {
    let (sx, sy) = sampling.map.at(s, s.count(x as f32), s.splat(y as f32));
    // SAFETY: `s` exists, so the processor has the instructions.
    let v = unsafe { anywhere(s, sampling, view, sx, sy) };
    let v = sampling.after.of(s, v);
    if let Ok(eight) = <&mut [f32; 8]>::try_from(&mut *out) {
        // SAFETY: 8 samples long.
        unsafe { s.store(v, eight.as_mut_ptr()) };
    } else {
        let mut whole = [0.0; 8];
        // SAFETY: 8 samples long.
        unsafe { s.store(v, whole.as_mut_ptr()) };
        out.copy_from_slice(&whole[..out.len()]);
    }
}

/// Outputs with any positions.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn anywhere<M: Map, B: Pointwise, A: Pointwise>(
    s: Avx2,
    sampling: &Sampling<'_, M, B, A>,
    view: &SourceView<'_>,
    sx: __m256,
    sy: __m256,
) -> __m256 {
    let (plane, border) = (sampling.plane, sampling.border);
    let fill = _mm256_set1_ps(border.fill());
    let Some(taps) = Taps8::new(s, plane, border, (view.x, view.y), (sx, sy)) else {
        return fill;
    };
    let at = taps.places((view.x.0, view.y.0), view.stride);
    // SAFETY: columns were clamped to those of the view and rows to those with a row below.
    let v = unsafe { blend(s, view, sampling.before, &at, taps.fx, taps.fy) };
    _mm256_blendv_ps(fill, v, taps.inside)
}
