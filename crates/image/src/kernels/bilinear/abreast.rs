//! Bilinear sampling of several frames that lie side by side: for each output position four loads serve all of them.

use evener_runtime::Simd;

use super::{Map, Sampling, blend, tap};
use crate::geometry::Rect;
use crate::kernels::abreast::FRAMES;
use crate::kernels::lanes::Scalar;
use crate::kernels::tones::{Pointwise, Same};

/// A rectangle of a plane of several frames, side by side.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    data: &'a [f32],
    stride: usize,
    rect: Rect,
}

impl<'a> Block<'a> {
    /// Rows of `rect` one after the other, `stride` samples of a frame apart.
    ///
    /// # Panics
    /// If they do not all lie in `data`, or `stride` is less than the width of `rect`.
    pub fn new(data: &'a [f32], stride: usize, rect: Rect) -> Self {
        assert!(stride >= rect.width() && data.len() >= rect.height() * stride * FRAMES);
        Block { data, stride, rect }
    }

    fn at(&self, x: i32, y: i32) -> &[f32] {
        let (row, column) = ((y - self.rect.y0) as usize, (x - self.rect.x0) as usize);
        &self.data[(row * self.stride + column) * FRAMES..][..FRAMES]
    }
}

/// Where outputs go.
pub enum Out<'a, 'b> {
    /// Side by side.
    Beside(&'a mut [f32]),
    /// Into a row of each frame, all of one length.
    Apart(&'a mut [&'b mut [f32]; FRAMES]),
}

impl Out<'_, '_> {
    fn len(&self) -> usize {
        match self {
            Out::Beside(row) => row.len() / FRAMES,
            Out::Apart(rows) => rows[0].len(),
        }
    }
}

/// Outputs (x0, y) and on of every frame. `block` holds every tap that is not fill, and nothing outside the plane,
/// which has at least 2 x 2 samples.
pub fn row<M: Map, A: Pointwise>(
    simd: Simd,
    sampling: &Sampling<'_, M, Same, A>,
    block: &Block<'_>,
    at: (i32, i32),
    mut out: Out<'_, '_>,
) {
    #[cfg(target_arch = "x86_64")]
    if avx2::row(simd, sampling, block, at, &mut out) {
        return;
    }
    let _ = simd;
    for i in 0..out.len() {
        let v = one(sampling, block, (at.0 + i as i32, at.1));
        put(&mut out, i, &v);
    }
}

/// One output of every frame: the definition.
fn one<M: Map, A: Pointwise>(
    sampling: &Sampling<'_, M, Same, A>,
    block: &Block<'_>,
    (x, y): (i32, i32),
) -> [f32; FRAMES] {
    let (sx, sy) = sampling.map.at(Scalar, x as f32, y as f32);
    let tap = tap(sx, sy, sampling.plane, sampling.edge);
    std::array::from_fn(|frame| {
        let v = tap.map_or(sampling.edge.fill(), |t| {
            let of = |x, y| block.at(x, y)[frame];
            let upper = [of(t.x, t.y), of(t.x + 1, t.y)];
            let lower = [of(t.x, t.y + 1), of(t.x + 1, t.y + 1)];
            blend(upper, lower, t.fx, t.fy)
        });
        sampling.after.of(Scalar, v)
    })
}

fn put(out: &mut Out<'_, '_>, at: usize, v: &[f32; FRAMES]) {
    match out {
        Out::Beside(row) => row[at * FRAMES..][..FRAMES].copy_from_slice(v),
        Out::Apart(rows) => {
            for (row, v) in rows.iter_mut().zip(v) {
                row[at] = *v;
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use evener_runtime::Simd;

    use super::super::eight::Eight;
    use super::{Block, Out, one, put};
    use crate::kernels::abreast::{FRAMES, transposed};
    use crate::kernels::bilinear::{Map, Sampling};
    use crate::kernels::lanes::{Avx2, Lanes};
    use crate::kernels::tones::{Pointwise, Same};

    /// `false` where the processor or `simd` does not allow it.
    pub(super) fn row<M: Map, A: Pointwise>(
        simd: Simd,
        sampling: &Sampling<'_, M, Same, A>,
        block: &Block<'_>,
        at: (i32, i32),
        out: &mut Out<'_, '_>,
    ) -> bool {
        let Some(s) = Avx2::new(simd) else {
            return false;
        };
        // SAFETY: `s` exists, so the processor has the instructions.
        unsafe { eights(s, sampling, block, at, out) };
        true
    }

    #[target_feature(enable = "avx2,fma")]
    fn eights<M: Map, A: Pointwise>(
        s: Avx2,
        sampling: &Sampling<'_, M, Same, A>,
        block: &Block<'_>,
        (x, y): (i32, i32),
        out: &mut Out<'_, '_>,
    ) {
        let n = out.len();
        let rect = block.rect;
        let narrow = rect.width() < 2 || rect.height() < 2 || block.data.len() > i32::MAX as usize;
        let mut at = 0;
        while at < n {
            if n < FRAMES || narrow && !rect.is_empty() {
                put(out, at, &one(sampling, block, (x + at as i32, y)));
                at += 1;
                continue;
            }
            // The last ones may be some of those before.
            at = at.min(n - FRAMES);
            let outputs = eight(s, sampling, block, (x + at as i32, y));
            match out {
                Out::Beside(row) => {
                    let row = &mut row[at * FRAMES..][..FRAMES * FRAMES];
                    for (to, v) in row.chunks_exact_mut(FRAMES).zip(outputs) {
                        // SAFETY: as long as a register.
                        unsafe { s.store(v, to.as_mut_ptr()) };
                    }
                }
                Out::Apart(rows) => {
                    for (row, v) in rows.iter_mut().zip(transposed(outputs)) {
                        let to = &mut row[at..at + FRAMES];
                        // SAFETY: as long as a register.
                        unsafe { s.store(v, to.as_mut_ptr()) };
                    }
                }
            }
            at += FRAMES;
        }
    }

    /// Outputs (x, y) to (x + 8, y), a register of frames for each. The block has two rows and columns at least, or
    /// none.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn eight<M: Map, A: Pointwise>(
        s: Avx2,
        sampling: &Sampling<'_, M, Same, A>,
        block: &Block<'_>,
        (x, y): (i32, i32),
    ) -> [__m256; FRAMES] {
        let fill = sampling.after.of(s, s.splat(sampling.edge.fill()));
        let position = sampling.map.at(s, s.count(x as f32), s.splat(y as f32));
        let rect = block.rect;
        if rect.is_empty() {
            return [fill; FRAMES];
        }
        let within = ((rect.x0, rect.x1 - 2), (rect.y0, rect.y1 - 2));
        let Some(taps) = Eight::new(s, sampling.plane, sampling.edge, within, position) else {
            return [fill; FRAMES];
        };
        let places = taps.places((rect.x0, rect.y0), block.stride);
        let (mut fx, mut fy) = ([0.0; 8], [0.0; 8]);
        // SAFETY: as long as a register.
        unsafe {
            s.store(taps.fx, fx.as_mut_ptr());
            s.store(taps.fy, fy.as_mut_ptr());
        }
        let below = block.stride * FRAMES;
        let of = |i: usize| {
            // SAFETY: columns were clamped to those with one to the right in the block, and rows to those with one
            // below; each sample there is one of every frame.
            unsafe {
                let upper = block.data.as_ptr().add(places[i] as usize * FRAMES);
                let lower = upper.add(below);
                let (u0, u1) = (s.load(upper), s.load(upper.add(FRAMES)));
                let (l0, l1) = (s.load(lower), s.load(lower.add(FRAMES)));
                let (fx, fy) = (s.splat(fx[i]), s.splat(fy[i]));
                let u = s.mul_add(fx, s.sub(u1, u0), u0);
                let l = s.mul_add(fx, s.sub(l1, l0), l0);
                sampling.after.of(s, s.mul_add(fy, s.sub(l, u), u))
            }
        };
        let inside = _mm256_movemask_ps(taps.inside);
        if inside == 0xff {
            return [of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)];
        }
        let mut all = [fill; FRAMES];
        for (i, v) in all.iter_mut().enumerate() {
            if inside >> i & 1 == 1 {
                *v = of(i);
            }
        }
        all
    }
}
