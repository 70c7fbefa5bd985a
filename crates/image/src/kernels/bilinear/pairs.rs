//! Bilinear sampling on x86-64: the two samples of a row are read as one number of 64 bits.

use std::arch::x86_64::*;
use std::ops::Range;

use evener_runtime::Simd;

use super::eight::{Eight, RUN, span};
use super::{Edge, Map, Sampling};
use crate::kernels::lanes::{Avx2, Avx512, Lanes, Scalar};
use crate::kernels::tones::Pointwise;
use crate::lines::{Lines, Together};

/// Samples of the largest ring that a worker keeps in its private cache.
const NEAR: usize = 1 << 18;

/// Rows, where the processor and the memory allow it; otherwise says that they were left.
pub fn rows<M: Map, B: Pointwise, A: Pointwise>(
    simd: Simd,
    sampling: &Sampling<'_, M, B, A>,
    lines: &Lines<'_>,
    at: (i32, i32),
    out: &mut [&mut [f32]],
) -> bool {
    let Some(avx2) = Avx2::new(simd) else {
        return false;
    };
    let Some(view) = View::new(lines) else {
        return false;
    };
    if let Some(avx512) = Avx512::new(simd) {
        // SAFETY: `avx512` and `avx2` exist, so the processor has the instructions.
        unsafe { rows_avx512(avx512, avx2, sampling, &view, at, out) };
    } else {
        // SAFETY: `avx2` exists, so the processor has the instructions.
        unsafe { rows_avx2(avx2, sampling, &view, at, out) };
    }
    true
}

/// A source that the kernel can address: at least 2 x 2 samples there, offsets within 31 bits.
struct View<'a> {
    data: &'a [f32],
    stride: usize,
    /// Row at the start of `data`.
    first: i32,
    /// Smallest and largest left column and upper row whose taps are all there.
    x: (i32, i32),
    y: (i32, i32),
}

impl<'a> View<'a> {
    fn new(lines: &Lines<'a>) -> Option<Self> {
        let Together {
            data,
            stride,
            rect,
            first,
        } = lines.together()?;
        let fits = rect.width() >= 2 && rect.height() >= 2 && data.len() <= i32::MAX as usize;
        fits.then(|| View {
            data,
            stride,
            first,
            x: (rect.x0, rect.x1 - 2),
            y: (rect.y0, rect.y1 - 2),
        })
    }
}

/// Where the outputs of a run read.
#[repr(align(64))]
struct Run {
    /// Where the upper left samples lie.
    at: [i32; RUN],
    /// Weights of the right and lower samples.
    fx: [f32; RUN],
    fy: [f32; RUN],
}

#[target_feature(enable = "avx512f,avx2,fma")]
fn rows_avx512<M: Map, B: Pointwise, A: Pointwise>(
    lanes: Avx512,
    avx2: Avx2,
    sampling: &Sampling<'_, M, B, A>,
    view: &View<'_>,
    at: (i32, i32),
    out: &mut [&mut [f32]],
) {
    rows_body(lanes, avx2, sampling, view, at, out);
}

#[target_feature(enable = "avx2,fma")]
fn rows_avx2<M: Map, B: Pointwise, A: Pointwise>(
    avx2: Avx2,
    sampling: &Sampling<'_, M, B, A>,
    view: &View<'_>,
    at: (i32, i32),
    out: &mut [&mut [f32]],
) {
    rows_body(avx2, avx2, sampling, view, at, out);
}

/// Rows go together, a run of each before the next run, since they read mostly the same samples: all of them where the
/// private cache holds what they read, else two, so that lines from further away are wanted one after the other.
#[inline(always)]
fn rows_body<S: Lanes, M: Map, B: Pointwise, A: Pointwise>(
    s: S,
    avx2: Avx2,
    sampling: &Sampling<'_, M, B, A>,
    view: &View<'_>,
    (x0, y0): (i32, i32),
    out: &mut [&mut [f32]],
) {
    let mut run = Run {
        at: [0; RUN],
        fx: [0.0; RUN],
        fy: [0.0; RUN],
    };
    let n = out.first().map_or(0, |row| row.len());
    let together = if view.data.len() <= NEAR {
        out.len().max(1)
    } else {
        2
    };
    let mut fill = false;
    for (rows, y0) in out.chunks_mut(together).zip((y0..).step_by(together)) {
        for first in (0..n).step_by(RUN) {
            for (row, y) in rows.iter_mut().zip(y0..) {
                let (at, part) = ((x0 + first as i32, y), &mut row[first..n.min(first + RUN)]);
                // What comes after fill is mostly fill.
                let tried = !fill;
                if tried && sampled(s, avx2, sampling, view, at, &mut run, part) {
                    continue;
                }
                // SAFETY: `avx2` exists, so the processor has the instructions.
                let within = unsafe { not_fill(avx2, sampling, at, part.len()) };
                let again = !tried || within.len() < part.len();
                fill = within.is_empty();
                let value = sampling.after.of(Scalar, sampling.edge.fill());
                let (part, after) = part.split_at_mut(within.end);
                let (before, those) = part.split_at_mut(within.start);
                before.fill(value);
                after.fill(value);
                let at = (at.0 + within.start as i32, y);
                let done = fill || again && sampled(s, avx2, sampling, view, at, &mut run, those);
                if !done {
                    // SAFETY: as before.
                    unsafe { at_edge(avx2, sampling, view, at, those) };
                }
            }
        }
    }
}

/// Of `n` outputs from (x, y) on, at most a run, those from the first to the last that are not fill.
#[target_feature(enable = "avx2,fma")]
fn not_fill<M: Map, B: Pointwise, A: Pointwise>(
    s: Avx2,
    sampling: &Sampling<'_, M, B, A>,
    at: (i32, i32),
    n: usize,
) -> Range<usize> {
    match sampling.edge {
        Edge::Fill(_) => span(s, sampling.map, sampling.plane, at, n),
        Edge::Repeat => 0..n,
    }
}

/// Outputs from (x, y) on, some of which have not all their samples in the view.
#[target_feature(enable = "avx2,fma")]
fn at_edge<M: Map, B: Pointwise, A: Pointwise>(
    s: Avx2,
    sampling: &Sampling<'_, M, B, A>,
    view: &View<'_>,
    (x, y): (i32, i32),
    out: &mut [f32],
) {
    for (eight, x) in out.chunks_mut(8).zip((x..).step_by(8)) {
        some(s, sampling, view, (x, y), eight);
    }
}

/// At least eight and at most a run of outputs from (x, y) on, if all their samples are in the view, and says so.
#[inline(always)]
fn sampled<S: Lanes, M: Map, B: Pointwise, A: Pointwise>(
    s: S,
    avx2: Avx2,
    sampling: &Sampling<'_, M, B, A>,
    view: &View<'_>,
    at: (i32, i32),
    run: &mut Run,
    out: &mut [f32],
) -> bool {
    let n = out.len();
    if n < 8 || !locate(s, sampling.map, view, at, n, run) {
        return false;
    }
    let last = n - 8;
    let mut i = 0;
    loop {
        // SAFETY: `i` is at most `n - 8`, and all samples of the first `n` have been found to be in the view.
        unsafe {
            let at = &*run.at.as_ptr().add(i).cast::<[u32; 8]>();
            let fx = avx2.load(run.fx.as_ptr().add(i));
            let fy = avx2.load(run.fy.as_ptr().add(i));
            let v = blend(avx2, view, sampling.before, at, fx, fy);
            avx2.store(sampling.after.of(avx2, v), out.as_mut_ptr().add(i));
        }
        if i == last {
            return true;
        }
        i = (i + 8).min(last);
    }
}

/// Places and weights of the outputs (x, y) to (x + n, y), if each has its four samples in the view, and says so.
#[inline(always)]
fn locate<S: Lanes, M: Map>(
    s: S,
    map: &M,
    view: &View<'_>,
    (x, y): (i32, i32),
    n: usize,
    run: &mut Run,
) -> bool {
    let (first_x, first_y) = (s.splat_whole(view.x.0), s.splat_whole(view.y.0));
    let stride = s.splat_whole(view.stride as i32);
    // Subtracted from the column, so that rows count from the one at the start of the data.
    let above = s.splat_whole((view.first - view.y.0) * view.stride as i32);
    let (mut most_x, mut most_y) = (s.splat_whole(0), s.splat_whole(0));
    let y = s.splat(y as f32);
    let minus = s.splat(-1.0);
    // The last register goes no further than the outputs: what lies beyond may not be in the view.
    let last = n.saturating_sub(S::N);
    let (mut i, mut xs) = (0, s.count(x as f32));
    loop {
        let (sx, sy) = map.at(s, xs, y);
        let ((left, column), (upper, row)) = (s.floor(sx), s.floor(sy));
        // What is no number, or too large, is the smallest whole number: as an unsigned column the largest.
        let (column, row) = (s.sub_whole(column, first_x), s.sub_whole(row, first_y));
        (most_x, most_y) = (s.max_unsigned(most_x, column), s.max_unsigned(most_y, row));
        let at = s.mul_add_whole(row, stride, s.sub_whole(column, above));
        // Differences by the units that multiply, which have less to do than those that add.
        // SAFETY: a run is a multiple of every register long.
        unsafe {
            s.store(s.mul_add(left, minus, sx), run.fx.as_mut_ptr().add(i));
            s.store(s.mul_add(upper, minus, sy), run.fy.as_mut_ptr().add(i));
            s.store_whole(at, run.at.as_mut_ptr().add(i));
        }
        if i == last {
            break;
        }
        i += S::N;
        xs = s.add(xs, s.splat(S::N as f32));
        if i > last {
            (i, xs) = (last, s.count((x + last as i32) as f32));
        }
    }
    s.all_at_most(most_x, (view.x.1 - view.x.0) as u32)
        && s.all_at_most(most_y, (view.y.1 - view.y.0) as u32)
}

/// At most eight outputs from (x, y) on, from anywhere.
#[inline(always)]
fn some<M: Map, B: Pointwise, A: Pointwise>(
    s: Avx2,
    sampling: &Sampling<'_, M, B, A>,
    view: &View<'_>,
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

/// Outputs that read positions anywhere.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn anywhere<M: Map, B: Pointwise, A: Pointwise>(
    s: Avx2,
    sampling: &Sampling<'_, M, B, A>,
    view: &View<'_>,
    sx: __m256,
    sy: __m256,
) -> __m256 {
    let (plane, edge) = (sampling.plane, sampling.edge);
    let fill = _mm256_set1_ps(edge.fill());
    let Some(taps) = Eight::new(s, plane, edge, (view.x, view.y), (sx, sy)) else {
        return fill;
    };
    let at = taps.places((view.x.0, view.first), view.stride);
    // SAFETY: columns were clamped to those of the view and rows to those with a row below.
    let v = unsafe { blend(s, view, sampling.before, &at, taps.fx, taps.fy) };
    _mm256_blendv_ps(fill, v, taps.inside)
}

/// Blends the samples at eight offsets with those to the right, below, and below to the right.
///
/// # Safety
/// They must all be in the view's data.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn blend<B: Pointwise>(
    s: Avx2,
    view: &View<'_>,
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
