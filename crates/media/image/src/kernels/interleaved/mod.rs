//! Interleaved rows of several frames: sample x of frame f is at `x * BATCH + f`.
//!
//! What depends on the position alone is then the same for a whole register. A warp, which has to fetch four samples
//! from anywhere for each output, fetches four registers for the outputs of all frames instead.
//!
//! Bound: for a register of outputs four loads and a store, and 24 shuffles for 64 samples each way between frames and
//! lanes: 0.5 cycles a sample on a core with two load ports, against 1.5 of [`bilinear::rows`](super::bilinear::rows).
//!
//! Samples that a step has made 0 and 1 take a bit each, those of all frames a byte. Making the byte takes an operation or
//! two for eight samples, and reading it one more load, of a register from a table. But the planes of eight frames take only
//! a byte for each sample of one frame, so large ones stay in a cache, too.

#[cfg(target_arch = "x86_64")]
mod avx2;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::transposed;

use evener_runtime::Simd;

use super::BATCH;
use super::lanes::Scalar;
use super::pointwise::Pointwise;

/// Maps and interleaves a row of each frame.
///
/// # Panics
/// If the rows differ in length, or `to` does not have room for all.
pub fn interleave<P: Pointwise>(simd: Simd, rows: &[&[f32]; BATCH], point: P, to: &mut [f32]) {
    let n = rows[0].len();
    assert!(rows.iter().all(|row| row.len() == n) && to.len() == n * BATCH);
    #[cfg(target_arch = "x86_64")]
    if avx2::interleave(simd, rows, point, to) {
        return;
    }
    let _ = simd;
    for (x, to) in to.chunks_exact_mut(BATCH).enumerate() {
        for (to, row) in to.iter_mut().zip(rows) {
            *to = point.of(Scalar, row[x]);
        }
    }
}

/// Interleaves a row of each frame as bits: bit f of byte x says whether sample x of frame f is above `step`.
///
/// # Panics
/// If the rows differ in length from each other or from `to`.
pub fn interleave_bits(simd: Simd, rows: &[&[f32]; BATCH], step: f32, to: &mut [u8]) {
    assert!(rows.iter().all(|row| row.len() == to.len()));
    #[cfg(target_arch = "x86_64")]
    if avx2::interleave_bits(simd, rows, step, to) {
        return;
    }
    let _ = simd;
    for (x, to) in to.iter_mut().enumerate() {
        let bits = rows.iter().enumerate();
        *to = bits.fold(0, |byte, (f, row)| byte | u8::from(row[x] > step) << f);
    }
}

/// Splits an interleaved row into a row of each frame.
///
/// # Panics
/// If the rows differ in length, or `from` does not have as many samples.
pub fn deinterleave(simd: Simd, from: &[f32], rows: &mut [&mut [f32]; BATCH]) {
    let n = rows[0].len();
    assert!(rows.iter().all(|row| row.len() == n) && from.len() == n * BATCH);
    #[cfg(target_arch = "x86_64")]
    if avx2::deinterleave(simd, from, rows) {
        return;
    }
    let _ = simd;
    for (x, from) in from.chunks_exact(BATCH).enumerate() {
        for (from, row) in from.iter().zip(&mut *rows) {
            row[x] = *from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_any_length_are_those_above_the_step() {
        let value = |x: usize, f: usize| match (x * 7 + f * 3) % 11 {
            0 => f32::NAN,
            1 => 0.5,
            n => n as f32 / 11.0,
        };
        for n in (0..70).chain([1000]) {
            let rows: [Vec<f32>; BATCH] =
                std::array::from_fn(|f| (0..n).map(|x| value(x, f)).collect());
            let rows: [&[f32]; BATCH] = std::array::from_fn(|f| &rows[f][..]);
            for simd in Simd::levels() {
                let mut to = vec![0x55; n];
                interleave_bits(simd, &rows, 0.5, &mut to);
                for (x, byte) in to.iter().enumerate() {
                    for f in 0..BATCH {
                        assert_eq!(byte >> f & 1 == 1, value(x, f) > 0.5, "{simd} {n} {x} {f}");
                    }
                }
            }
        }
    }
}
