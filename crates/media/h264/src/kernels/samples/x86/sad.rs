//! Sums of absolute differences.

use super::vector::Vector;
use crate::kernels::residual::bounds::check;

/// # Safety
/// The processor has the instructions of `V`.
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
    let mut out = [[0; 4]; 4];
    let a = a.as_ptr();
    // SAFETY: the slices have the blocks, and rows are below 16; 2 sums for each lane fit behind one another; the caller's
    // promise.
    unsafe {
        let b = b.as_ptr();
        // The second lane has the lower half.
        for half in 0..2 / V::LANES {
            let mut sums = [V::words(0); 4];
            for y in 8 * half..8 * half + 8 {
                let row = V::load_16(a.add(y * a_stride), 8 * a_stride);
                for k in 0..4 {
                    let other = V::load_16(b.add(offsets[k] + y * b_stride), 8 * b_stride);
                    sums[k] = sums[k].add_doublewords(row.sad(other));
                }
            }
            for k in 0..4 {
                sums[k].store_sums(out[k].as_mut_ptr().add(2 * half));
            }
        }
    }
    out
}

/// # Safety
/// The processor has the instructions of `V`.
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
