//! Averages, and chroma between samples.

use super::vector::Vector;
use crate::kernels::residual::bounds::check;
use crate::kernels::samples::BlockSize;

/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub unsafe fn average<V: Vector>(
    to: &mut [u8],
    to_stride: usize,
    a: &[u8],
    a_stride: usize,
    b: &[u8],
    b_stride: usize,
    size: BlockSize,
) {
    let (width, height) = (size.width(), size.height());
    check(to, to_stride, width, height);
    check(a, a_stride, width, height);
    check(b, b_stride, width, height);
    let (to, a, b) = (to.as_mut_ptr(), a.as_ptr(), b.as_ptr());
    // SAFETY: the slices have the blocks; rows divide by those of a vector; the caller's promise.
    unsafe {
        if width == 16 {
            for y in (0..height).step_by(V::LANES) {
                let first = V::load_16(a.add(y * a_stride), a_stride);
                let mean = first.average(V::load_16(b.add(y * b_stride), b_stride));
                mean.store_16(to.add(y * to_stride), to_stride);
            }
        } else {
            for y in (0..height).step_by(2 * V::LANES) {
                let first = V::load_8(a.add(y * a_stride), a_stride);
                let mean = first.average(V::load_8(b.add(y * b_stride), b_stride));
                mean.store_8(to.add(y * to_stride), to_stride);
            }
        }
    }
}

/// # Safety
/// As of [`average`].
#[allow(clippy::too_many_arguments)]
#[inline(always)]
pub unsafe fn chroma<V: Vector>(
    to: &mut [u8],
    to_stride: usize,
    from: &[u8],
    from_stride: usize,
    dx: u32,
    dy: u32,
    pairs: usize,
    height: usize,
) {
    assert!(dx < 8 && dy < 8, "{dx}, {dy} eighths");
    assert!(
        (pairs == 4 || pairs == 8) && (height == 4 || height == 8),
        "{height} rows of {pairs} pairs"
    );
    check(to, to_stride, 2 * pairs, height);
    check(from, from_stride, 2 * pairs + 2, height + 1);
    let (to, from) = (to.as_mut_ptr(), from.as_ptr());
    let (dx, dy) = (dx as i8, dy as i8);
    // SAFETY: the slices have the blocks, with one more row and pair to read; rows divide by those of a vector; the
    // caller's promise.
    unsafe {
        let above = V::bytes((8 - dx) * (8 - dy), dx * (8 - dy));
        let below = V::bytes((8 - dx) * dy, dx * dy);
        if pairs == 8 {
            for y in (0..height).step_by(V::LANES) {
                let at = |down: usize, right: usize| {
                    V::load_16(from.add((y + down) * from_stride + right), from_stride)
                };
                let block = weighted(at(0, 0), at(0, 2), above, at(1, 0), at(1, 2), below);
                block.store_16(to.add(y * to_stride), to_stride);
            }
        } else {
            for y in (0..height).step_by(2 * V::LANES) {
                let at = |down: usize, right: usize| {
                    V::load_8(from.add((y + down) * from_stride + right), from_stride)
                };
                let block = weighted(at(0, 0), at(0, 2), above, at(1, 0), at(1, 2), below);
                block.store_8(to.add(y * to_stride), to_stride);
            }
        }
    }
}

/// The sum of samples by their weights, 64 in all.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn weighted<V: Vector>(a: V, b: V, above: V, c: V, d: V, below: V) -> V {
    // SAFETY: the caller's promise.
    let half = unsafe { V::words(32) };
    let low = a.zip_low(b).dot_bytes(above);
    let low = low.add_words(c.zip_low(d).dot_bytes(below));
    let high = a.zip_high(b).dot_bytes(above);
    let high = high.add_words(c.zip_high(d).dot_bytes(below));
    let (low, high) = (low.add_words(half).by_64(), high.add_words(half).by_64());
    low.pack(high)
}
