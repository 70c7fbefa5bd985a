//! Bilinear sampling at computed positions: the kernel of every warp.
//!
//! Bound: per output sample two 64-bit loads for each of two rows, about 11 cycles for 8 samples on a core with two
//! load ports; the coordinates are cheap beside it. A gather would read each of the four taps by itself.

use std::fmt::Debug;

use evener_runtime::Simd;

use crate::format::Size;
use crate::lines::Lines;

/// Where an output sample reads its source: positions in samples, pixel centres at integers.
pub trait Map: Debug + Send + Sync {
    /// Source position of output (x, y). Mark it `#[inline(always)]`: it is compiled into every SIMD variant.
    fn at(&self, x: f32, y: f32) -> (f32, f32);
}

/// What lies outside the source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Edge {
    /// This value where the position is outside \[0, W-1\] x \[0, H-1\].
    Fill(f32),
    /// Positions are moved to the nearest inside.
    Repeat,
}

/// A source position as a tap and the two weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tap {
    /// Column of the left samples.
    pub x: i32,
    /// Row of the upper samples.
    pub y: i32,
    /// Weight of the right samples, 0 to 1.
    pub fx: f32,
    /// Weight of the lower samples, 0 to 1.
    pub fy: f32,
}

/// The tap of a source position in a plane, or `None` for fill: the definition all variants follow.
pub fn tap(sx: f32, sy: f32, plane: Size, edge: Edge) -> Option<Tap> {
    let (right, bottom) = ((plane.w - 1) as f32, (plane.h - 1) as f32);
    let (sx, sy) = match edge {
        Edge::Repeat => (sx.max(0.0).min(right), sy.max(0.0).min(bottom)),
        Edge::Fill(_) if sx >= 0.0 && sx <= right && sy >= 0.0 && sy <= bottom => (sx, sy),
        Edge::Fill(_) => return None,
    };
    let x = (sx as i32).min(plane.w as i32 - 2).max(0);
    let y = (sy as i32).min(plane.h as i32 - 2).max(0);
    Some(Tap {
        x,
        y,
        fx: sx - x as f32,
        fy: sy - y as f32,
    })
}

/// Between the four samples of a tap: along both rows, then between them.
#[inline(always)]
pub fn blend(upper: [f32; 2], lower: [f32; 2], fx: f32, fy: f32) -> f32 {
    let u = fx.mul_add(upper[1] - upper[0], upper[0]);
    let l = fx.mul_add(lower[1] - lower[0], lower[0]);
    fy.mul_add(l - u, u)
}

/// Outputs (x0, y) to (x0 + out.len(), y) of a warp of a plane of size `plane`.
/// `lines` covers every tap that is not fill.
#[expect(clippy::too_many_arguments, reason = "a row of a warp has this many")]
pub fn row<M: Map>(
    simd: Simd,
    map: &M,
    edge: Edge,
    plane: Size,
    lines: &Lines<'_>,
    y: i32,
    x0: i32,
    out: &mut [f32],
) {
    #[cfg(target_arch = "x86_64")]
    if crate::kernels::has_avx2(simd)
        && let Some(view) = avx2::View::new(lines, plane, edge)
    {
        // SAFETY: the processor has AVX2 and FMA.
        return unsafe { avx2::row(map, &view, y, x0, out) };
    }
    let _ = simd;
    row_reference(map, edge, plane, lines, y, x0, out);
}

fn row_reference<M: Map>(
    map: &M,
    edge: Edge,
    plane: Size,
    lines: &Lines<'_>,
    y: i32,
    x0: i32,
    out: &mut [f32],
) {
    let fill = if let Edge::Fill(v) = edge { v } else { 0.0 };
    let (right, bottom) = (plane.w as i32 - 1, plane.h as i32 - 1);
    for (i, o) in out.iter_mut().enumerate() {
        let (sx, sy) = map.at((x0 + i as i32) as f32, y as f32);
        *o = tap(sx, sy, plane, edge).map_or(fill, |t| {
            let (x1, y1) = ((t.x + 1).min(right), (t.y + 1).min(bottom));
            let upper = [lines.at(t.x, t.y), lines.at(x1, t.y)];
            let lower = [lines.at(t.x, y1), lines.at(x1, y1)];
            blend(upper, lower, t.fx, t.fy)
        });
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{Edge, Lines, Map, Size};
    use crate::lines::Together;

    /// Outputs whose coordinates are computed ahead of the sampling.
    const RUN: usize = 64;

    /// A source that the vector kernel can address: at least 2 x 2 samples there, offsets within 31 bits.
    pub struct View<'a> {
        data: &'a [f32],
        stride: usize,
        first: i32,
        /// Smallest and largest left column and upper row whose taps are all there.
        x: (i32, i32),
        y: (i32, i32),
        right: f32,
        bottom: f32,
        edge: Edge,
    }

    impl<'a> View<'a> {
        pub fn new(lines: &Lines<'a>, plane: Size, edge: Edge) -> Option<Self> {
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
                right: (plane.w - 1) as f32,
                bottom: (plane.h - 1) as f32,
                edge,
            })
        }
    }

    /// A run of outputs between its steps.
    #[repr(align(32))]
    struct Run {
        sx: [f32; RUN],
        sy: [f32; RUN],
        /// Where the upper left samples lie.
        at: [u32; RUN],
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn row<M: Map>(map: &M, view: &View<'_>, y: i32, x0: i32, out: &mut [f32]) {
        let mut run = Run {
            sx: [0.0; RUN],
            sy: [0.0; RUN],
            at: [0; RUN],
        };
        let mut x = x0;
        for part in out.chunks_mut(RUN) {
            for i in 0..RUN {
                (run.sx[i], run.sy[i]) = map.at((x + i as i32) as f32, y as f32);
            }
            x += RUN as i32;
            let eights = part.len().div_ceil(8);
            let inside = locate(view, &mut run, eights);
            let mut rest = part;
            for e in 0..eights {
                let v = if inside {
                    // SAFETY: all offsets of this run have been found to be in the view.
                    unsafe { sure(view, &run, e) }
                } else {
                    any(view, &run, e)
                };
                let (eight, after) = rest.split_at_mut(rest.len().min(8));
                rest = after;
                if eight.len() == 8 {
                    // SAFETY: 8 samples long.
                    unsafe { _mm256_storeu_ps(eight.as_mut_ptr(), v) };
                } else {
                    let mut whole = [0.0; 8];
                    // SAFETY: 8 samples long.
                    unsafe { _mm256_storeu_ps(whole.as_mut_ptr(), v) };
                    eight.copy_from_slice(&whole[..eight.len()]);
                }
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn load(from: &[f32; RUN], e: usize) -> __m256 {
        let eight = &from[e * 8..e * 8 + 8];
        // SAFETY: 8 samples long.
        unsafe { _mm256_loadu_ps(eight.as_ptr()) }
    }

    /// Turns positions into weights and offsets where all of the first `eights` x 8 have their four samples in the
    /// view, and says so. Otherwise leaves positions as they are.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn locate(view: &View<'_>, run: &mut Run, eights: usize) -> bool {
        let (first_x, first_y) = (_mm256_set1_epi32(view.x.0), _mm256_set1_epi32(view.y.0));
        let above = (view.y.0 - view.first) as usize * view.stride;
        let stride = _mm256_set1_epi32(view.stride as i32);
        let start = _mm256_set1_epi32(above as i32);
        let (mut most_x, mut most_y) = (_mm256_setzero_si256(), _mm256_setzero_si256());
        for e in 0..eights {
            let (sx, sy) = (load(&run.sx, e), load(&run.sy, e));
            // What is no number, or too large, becomes the smallest integer: as an unsigned column the largest.
            let x = _mm256_cvttps_epi32(_mm256_floor_ps(sx));
            let y = _mm256_cvttps_epi32(_mm256_floor_ps(sy));
            let column = _mm256_sub_epi32(x, first_x);
            let row = _mm256_sub_epi32(y, first_y);
            most_x = _mm256_max_epu32(most_x, column);
            most_y = _mm256_max_epu32(most_y, row);
            let at = _mm256_add_epi32(_mm256_mullo_epi32(row, stride), column);
            let at = _mm256_add_epi32(at, start);
            let slot = &mut run.at[e * 8..e * 8 + 8];
            // SAFETY: 32 bytes long.
            unsafe { _mm256_storeu_si256(slot.as_mut_ptr().cast(), at) };
        }
        let within = |most: __m256i, last: i32| {
            let last = _mm256_set1_epi32(last);
            let fits = _mm256_cmpeq_epi32(_mm256_max_epu32(most, last), last);
            _mm256_movemask_epi8(fits) == -1
        };
        within(most_x, view.x.1 - view.x.0) && within(most_y, view.y.1 - view.y.0)
    }

    /// Eight outputs whose samples are all in the view.
    ///
    /// # Safety
    /// [`locate`] has found so.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn sure(view: &View<'_>, run: &Run, e: usize) -> __m256 {
        let (sx, sy) = (load(&run.sx, e), load(&run.sy, e));
        let fx = _mm256_sub_ps(sx, _mm256_floor_ps(sx));
        let fy = _mm256_sub_ps(sy, _mm256_floor_ps(sy));
        let at: &[u32; 8] = run.at[e * 8..e * 8 + 8].try_into().expect("eight");
        // SAFETY: the caller's promise.
        unsafe { blend(view, at, fx, fy) }
    }

    /// Eight outputs from anywhere.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn any(view: &View<'_>, run: &Run, e: usize) -> __m256 {
        let (mut sx, mut sy) = (load(&run.sx, e), load(&run.sy, e));
        let zero = _mm256_setzero_ps();
        let (right, bottom) = (_mm256_set1_ps(view.right), _mm256_set1_ps(view.bottom));
        let mut inside = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
        let mut fill = zero;
        match view.edge {
            Edge::Fill(v) => {
                let in_x = _mm256_and_ps(
                    _mm256_cmp_ps::<_CMP_GE_OQ>(sx, zero),
                    _mm256_cmp_ps::<_CMP_LE_OQ>(sx, right),
                );
                let in_y = _mm256_and_ps(
                    _mm256_cmp_ps::<_CMP_GE_OQ>(sy, zero),
                    _mm256_cmp_ps::<_CMP_LE_OQ>(sy, bottom),
                );
                inside = _mm256_and_ps(in_x, in_y);
                fill = _mm256_set1_ps(v);
                if _mm256_movemask_ps(inside) == 0 {
                    return fill;
                }
            }
            Edge::Repeat => {
                sx = _mm256_min_ps(_mm256_max_ps(sx, zero), right);
                sy = _mm256_min_ps(_mm256_max_ps(sy, zero), bottom);
            }
        }
        // Clamping keeps every load inside the view, also for lanes that become fill and for positions that are no numbers.
        let clamp = |v, (low, high): (i32, i32)| {
            _mm256_max_epi32(
                _mm256_min_epi32(v, _mm256_set1_epi32(high)),
                _mm256_set1_epi32(low),
            )
        };
        let x = clamp(_mm256_cvttps_epi32(sx), view.x);
        let y = clamp(_mm256_cvttps_epi32(sy), view.y);
        let fx = _mm256_sub_ps(sx, _mm256_cvtepi32_ps(x));
        let fy = _mm256_sub_ps(sy, _mm256_cvtepi32_ps(y));
        let column = _mm256_sub_epi32(x, _mm256_set1_epi32(view.x.0));
        let slot = _mm256_sub_epi32(y, _mm256_set1_epi32(view.first));
        let row = _mm256_mullo_epi32(slot, _mm256_set1_epi32(view.stride as i32));
        let mut at = [0u32; 8];
        // SAFETY: 32 bytes long.
        unsafe { _mm256_storeu_si256(at.as_mut_ptr().cast(), _mm256_add_epi32(row, column)) };
        // SAFETY: columns were clamped to those of the view and rows to those with a row below.
        let v = unsafe { blend(view, &at, fx, fy) };
        _mm256_blendv_ps(fill, v, inside)
    }

    /// Blends the samples at eight offsets with those to the right, below, and below to the right.
    ///
    /// # Safety
    /// They must all be in the view's data.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn blend(view: &View<'_>, at: &[u32; 8], fx: __m256, fy: __m256) -> __m256 {
        let upper = view.data.as_ptr();
        // SAFETY: the caller's promise: the offsets and those a stride and one later are inside the data.
        let ((u0, u1), (l0, l1)) = unsafe { (pairs(upper, at), pairs(upper.add(view.stride), at)) };
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
}
