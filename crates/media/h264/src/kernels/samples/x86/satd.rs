//! Sums of absolute transformed differences.
//!
//! Four rows are transformed at once. Sums and differences of neighbouring columns come from products of bytes; then
//! columns are transformed; of the last step only absolute values are needed: `|x + y| + |x - y| = 2 max(|x|, |y|)`.

use super::v128::V128;
use super::vector::Vector;
use crate::kernels::residual::bounds::check;

/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub unsafe fn satd<V: Vector, const W: usize, const H: usize>(
    a: &[u8],
    a_stride: usize,
    b: &[u8],
    b_stride: usize,
) -> u32 {
    check(a, a_stride, W, H);
    check(b, b_stride, W, H);
    // SAFETY: the slices have the blocks; the caller's promise.
    unsafe {
        let mut sums = V::words(0);
        for y in (0..H).step_by(rows::<V, W>()) {
            let a = four::<V, W>(a.as_ptr().add(y * a_stride), a_stride);
            let b = four::<V, W>(b.as_ptr().add(y * b_stride), b_stride);
            sums = sums.add_words(transformed(a, b));
        }
        sums.dot_words(V::words(1)).sum()
    }
}

/// # Safety
/// As of [`satd`].
#[inline(always)]
pub unsafe fn satd_average<V: Vector, const W: usize, const H: usize>(
    a: &[u8],
    a_stride: usize,
    b: &[u8],
    b_stride: usize,
    c: &[u8],
    c_stride: usize,
) -> u32 {
    check(a, a_stride, W, H);
    check(b, b_stride, W, H);
    check(c, c_stride, W, H);
    // SAFETY: the slices have the blocks; the caller's promise.
    unsafe {
        let mut sums = V::words(0);
        for y in (0..H).step_by(rows::<V, W>()) {
            let a = four::<V, W>(a.as_ptr().add(y * a_stride), a_stride);
            let mut b = four::<V, W>(b.as_ptr().add(y * b_stride), b_stride);
            let c = four::<V, W>(c.as_ptr().add(y * c_stride), c_stride);
            for i in 0..4 {
                b[i] = b[i].average(c[i]);
            }
            sums = sums.add_words(transformed(a, b));
        }
        sums.dot_words(V::words(1)).sum()
    }
}

/// Rows of blocks of `W` columns that are in four vectors.
const fn rows<V: Vector, const W: usize>() -> usize {
    4 * V::BYTES / W
}

/// The first four rows, beside them the next four and so on.
///
/// # Safety
/// There are [`rows`] of `W` bytes, and the processor has the instructions of `V`.
#[inline(always)]
unsafe fn four<V: Vector, const W: usize>(at: *const u8, stride: usize) -> [V; 4] {
    // SAFETY: the caller's promise.
    unsafe {
        let mut rows = [V::words(0); 4];
        for (y, row) in rows.iter_mut().enumerate() {
            let at = at.add(y * stride);
            *row = match W {
                16 => V::load_16(at, 4 * stride),
                _ => V::load_8(at, 4 * stride),
            };
        }
        rows
    }
}

/// Words whose sum is that of all 4x4 blocks. Each is at most 4 · 2040, so four of them do not overflow when added.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn transformed<V: Vector>(a: [V; 4], b: [V; 4]) -> V {
    // SAFETY: the caller's promise.
    let (plus, minus, mut out) = unsafe { (V::bytes(1, 1), V::bytes(1, -1), V::words(0)) };
    let (mut sums, mut differences) = (a, a);
    for i in 0..4 {
        sums[i] = a[i].dot_bytes(plus).sub_words(b[i].dot_bytes(plus));
        differences[i] = a[i].dot_bytes(minus).sub_words(b[i].dot_bytes(minus));
    }
    let (sums, differences) = (columns(sums), columns(differences));
    for i in 0..4 {
        let (s, d) = (sums[i].abs_words(), differences[i].abs_words());
        let first = s.even_odd(d.even_to_odd());
        let second = s.odd_to_even().even_odd(d);
        out = out.add_words(first.max_words(second));
    }
    out
}

/// The transform of four vectors.
#[inline(always)]
fn columns<V: Vector>([a, b, c, d]: [V; 4]) -> [V; 4] {
    let (s, t) = (a.add_words(b), a.sub_words(b));
    let (u, v) = (c.add_words(d), c.sub_words(d));
    [
        s.add_words(u),
        t.add_words(v),
        s.sub_words(u),
        t.sub_words(v),
    ]
}

/// # Safety
/// The processor has the instructions of [`V128`].
#[inline(always)]
pub unsafe fn satd_4x4(a: &[u8], a_stride: usize, b: &[u8], b_stride: usize) -> u32 {
    check(a, a_stride, 4, 4);
    check(b, b_stride, 4, 4);
    // SAFETY: the slices have the blocks; the caller's promise.
    let (a, b, plus, minus, ones) = unsafe {
        (
            V128::load_4x4(a.as_ptr(), a_stride),
            V128::load_4x4(b.as_ptr(), b_stride),
            V128::bytes(1, 1),
            V128::bytes(1, -1),
            V128::words(1),
        )
    };
    let sums = a.dot_bytes(plus).sub_words(b.dot_bytes(plus));
    let differences = a.dot_bytes(minus).sub_words(b.dot_bytes(minus));
    // Sums and differences of rows 0 and 1, of rows 2 and 3.
    let above = sums.zip_low_doublewords(differences);
    let below = sums.zip_high_doublewords(differences);
    let (s, d) = (above.add_words(below), above.sub_words(below));
    let (even, odd) = (s.low_halves(d), s.high_halves(d));
    let s = even.add_words(odd).abs_words();
    let d = even.sub_words(odd).abs_words();
    let first = s.even_odd(d.even_to_odd());
    let second = s.odd_to_even().even_odd(d);
    first.max_words(second).dot_words(ones).sum()
}
