//! Sums of absolute differences.

use super::v128::V128;
use super::vector::Vector;
use crate::kernels::residual::bounds::check;

/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub unsafe fn sad_16x16<V: Vector>(a: &[u8], a_stride: usize, b: &[u8], b_stride: usize) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { sad_quads::<V>(a, a_stride, b, b_stride) }
        .iter()
        .sum()
}

/// # Safety
/// As of [`sad_16x16`].
#[inline(always)]
pub unsafe fn sad_quads<V: Vector>(
    a: &[u8],
    a_stride: usize,
    b: &[u8],
    b_stride: usize,
) -> [u32; 4] {
    check(a, a_stride, 16, 16);
    check(b, b_stride, 16, 16);
    // SAFETY: the slices have the blocks; the caller's promise.
    unsafe { quads::<V, 1>(a.as_ptr(), a_stride, [b.as_ptr()], b_stride)[0] }
}

/// # Safety
/// As of [`sad_16x16`].
#[inline(always)]
pub unsafe fn sad_quads_x4<V: Vector>(
    a: &[u8],
    a_stride: usize,
    b: &[u8],
    b_stride: usize,
    offsets: [usize; 4],
) -> [[u32; 4]; 4] {
    check(a, a_stride, 16, 16);
    check(b, b_stride, 16, 16);
    let last = b.len() - (15 * b_stride + 16);
    assert!(
        offsets.iter().all(|&offset| offset <= last),
        "{offsets:?} of {last}"
    );
    // SAFETY: the slices have the blocks; the caller's promise.
    unsafe {
        let b = offsets.map(|offset| b.as_ptr().add(offset));
        quads::<V, 4>(a.as_ptr(), a_stride, b, b_stride)
    }
}

/// # Safety
/// There are blocks of 16x16 at all pointers, and the processor has the instructions of `V`.
#[inline(always)]
unsafe fn quads<V: Vector, const N: usize>(
    a: *const u8,
    a_stride: usize,
    b: [*const u8; N],
    b_stride: usize,
) -> [[u32; 4]; N] {
    let mut out = [[0; 4]; N];
    // SAFETY: rows are below 16; 2 sums for each lane fit behind one another; the caller's promise.
    unsafe {
        // The second lane has the lower half.
        for half in 0..2 / V::LANES {
            let mut sums = [V::words(0); N];
            for y in 8 * half..8 * half + 8 {
                let row = V::load_16(a.add(y * a_stride), 8 * a_stride);
                for k in 0..N {
                    let other = V::load_16(b[k].add(y * b_stride), 8 * b_stride);
                    sums[k] = sums[k].add_doublewords(row.sad(other));
                }
            }
            for k in 0..N {
                sums[k].store_sums(out[k].as_mut_ptr().add(2 * half));
            }
        }
    }
    out
}

/// # Safety
/// As of [`sad_16x16`].
#[inline(always)]
pub unsafe fn sad_8x8<V: Vector>(a: &[u8], a_stride: usize, b: &[u8], b_stride: usize) -> u32 {
    check(a, a_stride, 8, 8);
    check(b, b_stride, 8, 8);
    let (a, b) = (a.as_ptr(), b.as_ptr());
    // SAFETY: the slices have 8 rows of 8; the caller's promise.
    unsafe {
        let mut sums = V::words(0);
        for y in (0..8).step_by(2 * V::LANES) {
            let row = V::load_8(a.add(y * a_stride), a_stride);
            sums = sums.add_doublewords(row.sad(V::load_8(b.add(y * b_stride), b_stride)));
        }
        sums.sum()
    }
}

/// # Safety
/// As of [`sad_16x16`].
#[inline(always)]
pub unsafe fn sad_8x8_x8<V: Vector>(
    a: &[u8],
    a_stride: usize,
    b: &[u8],
    b_stride: usize,
) -> [u16; 8] {
    check(a, a_stride, 8, 8);
    check(b, b_stride, 16, 8);
    let (a, b) = (a.as_ptr(), b.as_ptr());
    let rows = 8 / V::LANES;
    // SAFETY: the slices have 8 rows, of 8 and of 16; the caller's promise.
    unsafe {
        let mut sums = V::words(0);
        for y in 0..rows {
            let block = V::load_low(a.add(y * a_stride), rows * a_stride);
            let row = V::load_16(b.add(y * b_stride), rows * b_stride);
            let both = row.sads_low(block).add_words(row.sads_high(block));
            sums = sums.add_words(both);
        }
        sums.sum_lanes()
    }
}

/// # Safety
/// The processor has the instructions of [`V128`].
#[inline(always)]
pub unsafe fn sad_4x4_x8(a: &[u8], a_stride: usize, b: &[u8], b_stride: usize) -> [u16; 8] {
    check(a, a_stride, 4, 4);
    check(b, b_stride, 16, 4);
    let (a, b) = (a.as_ptr(), b.as_ptr());
    // SAFETY: the slices have 4 rows, of 4 and of 16; the caller's promise.
    unsafe {
        let mut sums = V128::words(0);
        for y in 0..4 {
            let block = V128::load_4(a.add(y * a_stride));
            let row = V128::load(b.add(y * b_stride));
            sums = sums.add_words(row.sads_low(block));
        }
        sums.sum_lanes()
    }
}
