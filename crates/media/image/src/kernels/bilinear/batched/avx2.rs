//! Eight outputs of eight frames at a time.

use std::arch::x86_64::*;

use evener_runtime::Simd;

use super::{Block, Out, Samples};
use crate::kernels::BATCH;
use crate::kernels::bilinear::definition::{Map, Sampling};
use crate::kernels::bilinear::taps8::{RUN, Taps8};
use crate::kernels::interleaved::transposed;
use crate::kernels::lanes::{Avx2, Lanes};
use crate::kernels::pointwise::{Pointwise, Same};

/// Loads of the samples of all frames.
trait LoadBatch: Copy {
    /// The samples at a position. Mark it `#[inline(always)]`.
    ///
    /// # Safety
    /// The position is in the block.
    unsafe fn of(self, s: Avx2, place: usize) -> __m256;
}

#[derive(Clone, Copy)]
struct Values(*const f32);

impl LoadBatch for Values {
    #[inline(always)]
    unsafe fn of(self, s: Avx2, place: usize) -> __m256 {
        // SAFETY: the caller's promise.
        unsafe { s.load(self.0.add(place * BATCH)) }
    }
}

#[derive(Clone, Copy)]
struct Bits(*const u8);

impl LoadBatch for Bits {
    #[inline(always)]
    unsafe fn of(self, s: Avx2, place: usize) -> __m256 {
        // SAFETY: the caller's promise; the table has a register for every byte.
        unsafe { s.load(BIT_VALUES.0[usize::from(*self.0.add(place))].as_ptr()) }
    }
}

/// The bits of every byte as values.
#[repr(align(64))]
struct BitValues([[f32; BATCH]; 256]);

static BIT_VALUES: BitValues = {
    let mut values = [[0.0; BATCH]; 256];
    let mut i = 0;
    while i < 256 * BATCH {
        let (byte, frame) = (i / BATCH, i % BATCH);
        values[byte][frame] = (byte >> frame & 1) as f32;
        i += 1;
    }
    BitValues(values)
};

/// Returns `false` if the processor or `simd` does not allow it, or the row or the block is too small.
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
    let rect = block.rect;
    let narrow = rect.width() < 2 || rect.height() < 2;
    if out.len() < BATCH
        || narrow && !rect.is_empty()
        || block.samples.places() > (i32::MAX as usize) / BATCH
    {
        return false;
    }
    // SAFETY: `s` exists, so the processor has the instructions; the samples are the block's, and it is not narrow.
    unsafe {
        match block.samples {
            Samples::Values(v) => run_by_run(s, sampling, Values(v.as_ptr()), block, at, out),
            Samples::Bits(v) => run_by_run(s, sampling, Bits(v.as_ptr()), block, at, out),
        }
    }
    true
}

/// The taps of eight outputs.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Taps {
    /// The upper left samples.
    places: [u32; BATCH],
    /// Weights of the right and lower samples.
    fx: [f32; BATCH],
    fy: [f32; BATCH],
    /// A bit for each output, set if it has taps; the others are fill.
    inside: u32,
}

impl Taps {
    const NONE: Taps = Taps {
        places: [0; BATCH],
        fx: [0.0; BATCH],
        fy: [0.0; BATCH],
        inside: 0,
    };

    /// Of outputs (x, y) to (x + 8, y).
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new<M: Map, A: Pointwise>(
        s: Avx2,
        sampling: &Sampling<'_, M, Same, A>,
        block: &Block<'_>,
        (x, y): (i32, i32),
    ) -> Taps {
        let rect = block.rect;
        if rect.is_empty() {
            return Taps::NONE;
        }
        let position = sampling.map.at(s, s.count(x as f32), s.splat(y as f32));
        let within = ((rect.x0, rect.x1 - 2), (rect.y0, rect.y1 - 2));
        let Some(eight) = Taps8::new(s, sampling.plane, sampling.border, within, position) else {
            return Taps::NONE;
        };
        let mut taps = Taps {
            places: eight.places((rect.x0, rect.y0), block.stride),
            inside: _mm256_movemask_ps(eight.inside) as u32,
            ..Taps::NONE
        };
        // SAFETY: as long as a register.
        unsafe {
            s.store(eight.fx, taps.fx.as_mut_ptr());
            s.store(eight.fy, taps.fy.as_mut_ptr());
        }
        taps
    }
}

/// Computes the positions of some outputs first, then their samples. A position that is loaded from memory need not be
/// extracted from a register, for which there are few ports.
///
/// # Safety
/// `from` has the samples of `block`, which has two rows and columns at least, or none. There are [`BATCH`] outputs or
/// more.
#[target_feature(enable = "avx2,fma")]
unsafe fn run_by_run<M: Map, A: Pointwise, R: LoadBatch>(
    s: Avx2,
    sampling: &Sampling<'_, M, Same, A>,
    from: R,
    block: &Block<'_>,
    (x, y): (i32, i32),
    out: &mut Out<'_, '_>,
) {
    let n = out.len();
    let mut taps = [Taps::NONE; RUN / BATCH];
    for start in (0..n).step_by(RUN) {
        let eights = (n - start).min(RUN).div_ceil(BATCH);
        // The last eight may overlap the ones before.
        let place = |eight: usize| (start + eight * BATCH).min(n - BATCH);
        for (eight, taps) in taps[..eights].iter_mut().enumerate() {
            *taps = Taps::new(s, sampling, block, (x + place(eight) as i32, y));
        }
        for (eight, taps) in taps[..eights].iter().enumerate() {
            let at = place(eight);
            // SAFETY: the caller's promise; the taps are those of the block.
            let outputs = unsafe { sampled(s, sampling, from, block.stride, taps) };
            match out {
                Out::Interleaved(row) => {
                    let row = &mut row[at * BATCH..][..BATCH * BATCH];
                    let (registers, _) = row.as_chunks_mut::<BATCH>();
                    for (i, to) in registers.iter_mut().enumerate() {
                        // SAFETY: as long as a register.
                        unsafe { s.store(outputs[i], to.as_mut_ptr()) };
                    }
                }
                Out::Planar(rows) => {
                    for (i, v) in transposed(outputs).iter().enumerate() {
                        let to = &mut rows[i][at..at + BATCH];
                        // SAFETY: as long as a register.
                        unsafe { s.store(*v, to.as_mut_ptr()) };
                    }
                }
            }
        }
    }
}

/// Eight outputs, a register of frames for each.
///
/// # Safety
/// Rows of what `from` has are `stride` apart, and it has the samples at `taps`, those to the right of them and those
/// below.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn sampled<M: Map, A: Pointwise, R: LoadBatch>(
    s: Avx2,
    sampling: &Sampling<'_, M, Same, A>,
    from: R,
    stride: usize,
    taps: &Taps,
) -> [__m256; BATCH] {
    let of = |i: usize| {
        // SAFETY: the caller's promise.
        unsafe {
            let upper = taps.places[i] as usize;
            let lower = upper + stride;
            let (u0, u1) = (from.of(s, upper), from.of(s, upper + 1));
            let (l0, l1) = (from.of(s, lower), from.of(s, lower + 1));
            let (fx, fy) = (s.splat(taps.fx[i]), s.splat(taps.fy[i]));
            let u = s.mul_add(fx, s.sub(u1, u0), u0);
            let l = s.mul_add(fx, s.sub(l1, l0), l0);
            sampling.after.of(s, s.mul_add(fy, s.sub(l, u), u))
        }
    };
    if taps.inside == 0xff {
        return [of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)];
    }
    let fill = sampling.after.of(s, s.splat(sampling.border.fill()));
    let mut all = [fill; BATCH];
    for (i, v) in all.iter_mut().enumerate() {
        if taps.inside >> i & 1 == 1 {
            *v = of(i);
        }
    }
    all
}
