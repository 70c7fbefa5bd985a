//! Rows of several frames side by side: sample x of frame f lies at `x * FRAMES + f`.
//!
//! What depends on the position alone is then the same for a whole register. A warp, which has to fetch four samples
//! from anywhere for each output, fetches four registers for the outputs of all frames instead.
//!
//! Bound: for a register of outputs four loads and a store, and 24 shuffles for 64 samples each way between frames and
//! lanes: 0.5 cycles a sample on a core with two load ports, against 1.5 of [`bilinear::rows`](super::bilinear::rows).

#[cfg(target_arch = "x86_64")]
mod avx2;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::transposed;

use evener_runtime::Simd;

use super::lanes::Scalar;
use super::tones::Pointwise;

/// Frames side by side: the lanes of a register of 256 bits.
pub const FRAMES: usize = 8;

/// Puts a row of each frame, mapped, side by side.
///
/// # Panics
/// If the rows differ in length, or `to` has not room for all.
pub fn interleave<P: Pointwise>(simd: Simd, rows: &[&[f32]; FRAMES], point: P, to: &mut [f32]) {
    let n = rows[0].len();
    assert!(rows.iter().all(|row| row.len() == n) && to.len() == n * FRAMES);
    #[cfg(target_arch = "x86_64")]
    if avx2::interleave(simd, rows, point, to) {
        return;
    }
    let _ = simd;
    for (x, to) in to.chunks_exact_mut(FRAMES).enumerate() {
        for (to, row) in to.iter_mut().zip(rows) {
            *to = point.of(Scalar, row[x]);
        }
    }
}

/// Takes rows that lie side by side apart.
///
/// # Panics
/// If the rows differ in length, or `from` has not as many samples.
pub fn deinterleave(simd: Simd, from: &[f32], rows: &mut [&mut [f32]; FRAMES]) {
    let n = rows[0].len();
    assert!(rows.iter().all(|row| row.len() == n) && from.len() == n * FRAMES);
    #[cfg(target_arch = "x86_64")]
    if avx2::deinterleave(simd, from, rows) {
        return;
    }
    let _ = simd;
    for (x, from) in from.chunks_exact(FRAMES).enumerate() {
        for (from, row) in from.iter().zip(&mut *rows) {
            row[x] = *from;
        }
    }
}
