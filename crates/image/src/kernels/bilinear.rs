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
    Some(Tap { x, y, fx: sx - x as f32, fy: sy - y as f32 })
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
    if crate::kernels::has_avx2(simd) {
        if let Some(view) = avx2::View::new(lines, plane, edge) {
            // SAFETY: the processor has AVX2 and FMA.
            return unsafe { avx2::row(map, &view, y, x0, out) };
        }
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
    use crate::lines::Pairs;

    /// Outputs whose coordinates are computed ahead of the sampling.
    const RUN: usize = 64;

    /// A source that the vector kernel can address: at least 2 x 2 samples there, offsets within 31 bits.
    pub struct View<'a> {
        data: &'a [f32],
        stride: usize,
        mask: i32,
        first: i32,
        /// Smallest and largest left column and upper row whose taps are all there.
        x: (i32, i32),
        y: (i32, i32),
        origin: i32,
        right: f32,
        bottom: f32,
        edge: Edge,
    }

    impl<'a> View<'a> {
        pub fn new(lines: &Lines<'a>, plane: Size, edge: Edge) -> Option<Self> {
            let Pairs { data, stride, mask, rect, first } = lines.pairs()?;
            let fits = rect.width() >= 2 && rect.height() >= 2 && data.len() <= i32::MAX as usize;
            fits.then(|| View {
                data,
                stride,
                mask: mask as i32,
                first,
                x: (rect.x0, rect.x1 - 2),
                y: (rect.y0, rect.y1 - 2),
                origin: rect.x0,
                right: (plane.w - 1) as f32,
                bottom: (plane.h - 1) as f32,
                edge,
            })
        }
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn row<M: Map>(map: &M, view: &View<'_>, y: i32, x0: i32, out: &mut [f32]) {
        let (mut sx, mut sy) = ([0.0f32; RUN], [0.0f32; RUN]);
        let mut x = x0;
        for run in out.chunks_mut(RUN) {
            for i in 0..RUN {
                (sx[i], sy[i]) = map.at((x + i as i32) as f32, y as f32);
            }
            x += RUN as i32;
            let mut eights = run.chunks_exact_mut(8);
            let mut at = 0;
            for eight in &mut eights {
                let (px, py) = (load(&sx, at), load(&sy, at));
                let v = sample(view, px, py);
                // SAFETY: `eight` is 8 samples long.
                unsafe { _mm256_storeu_ps(eight.as_mut_ptr(), v) };
                at += 8;
            }
            let rest = eights.into_remainder();
            if !rest.is_empty() {
                let mut eight = [0.0; 8];
                let v = sample(view, load(&sx, at), load(&sy, at));
                // SAFETY: 8 samples long.
                unsafe { _mm256_storeu_ps(eight.as_mut_ptr(), v) };
                rest.copy_from_slice(&eight[..rest.len()]);
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn load(from: &[f32; RUN], at: usize) -> __m256 {
        let eight = &from[at..at + 8];
        // SAFETY: 8 samples long.
        unsafe { _mm256_loadu_ps(eight.as_ptr()) }
    }

    /// Eight outputs from eight source positions.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn sample(view: &View<'_>, mut sx: __m256, mut sy: __m256) -> __m256 {
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
            _mm256_max_epi32(_mm256_min_epi32(v, _mm256_set1_epi32(high)), _mm256_set1_epi32(low))
        };
        let x = clamp(_mm256_cvttps_epi32(sx), view.x);
        let y = clamp(_mm256_cvttps_epi32(sy), view.y);
        let fx = _mm256_sub_ps(sx, _mm256_cvtepi32_ps(x));
        let fy = _mm256_sub_ps(sy, _mm256_cvtepi32_ps(y));

        let column = _mm256_sub_epi32(x, _mm256_set1_epi32(view.origin));
        let slot = _mm256_and_si256(
            _mm256_sub_epi32(y, _mm256_set1_epi32(view.first)),
            _mm256_set1_epi32(view.mask),
        );
        let row = _mm256_mullo_epi32(slot, _mm256_set1_epi32(view.stride as i32));
        let at = _mm256_add_epi32(row, column);
        // SAFETY: columns were clamped to those of the view and rows to those with a row below, which lies a stride
        // later (`Lines::pairs`); a row and the one below it are inside `data`.
        let ((u0, u1), (l0, l1)) = unsafe {
            let base = view.data.as_ptr();
            (pairs(base, at), pairs(base.add(view.stride), at))
        };
        let u = _mm256_fmadd_ps(fx, _mm256_sub_ps(u1, u0), u0);
        let l = _mm256_fmadd_ps(fx, _mm256_sub_ps(l1, l0), l0);
        let v = _mm256_fmadd_ps(fy, _mm256_sub_ps(l, u), u);
        _mm256_blendv_ps(fill, v, inside)
    }

    /// The samples at eight offsets, and those after them, read in pairs.
    ///
    /// # Safety
    /// Each offset and the one after it must be within the allocation `base` points to.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn pairs(base: *const f32, offsets: __m256i) -> (__m256, __m256) {
        let low = _mm256_castsi256_si128(offsets);
        let high = _mm256_extracti128_si256::<1>(offsets);
        let (o01, o23) = (_mm_cvtsi128_si64(low) as u64, _mm_extract_epi64::<1>(low) as u64);
        let (o45, o67) = (_mm_cvtsi128_si64(high) as u64, _mm_extract_epi64::<1>(high) as u64);
        // Offsets are not negative, so the halves of each 64 bits are two of them.
        // SAFETY: the caller's promise covers both 64-bit loads.
        let two = |o: u64| unsafe {
            let first = base.add((o & 0xffff_ffff) as usize).cast::<f64>();
            let second = base.add((o >> 32) as usize).cast::<f64>();
            _mm_loadh_pd(_mm_load_sd(first), second)
        };
        let join = |a: __m128d, b: __m128d| {
            _mm256_castpd_ps(_mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(a), b))
        };
        let a = join(two(o01), two(o45));
        let b = join(two(o23), two(o67));
        (_mm256_shuffle_ps::<0b10_00_10_00>(a, b), _mm256_shuffle_ps::<0b11_01_11_01>(a, b))
    }
}
