//! Whole rows: smaller ones, and interleaving. The last vector of a row may overlap the one before it.

use super::vector::Vector;
use crate::kernels::samples::scalar;

/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub unsafe fn halve<V: Vector>(to: &mut [u8], above: &[u8], below: &[u8]) {
    if to.len() < V::BYTES {
        return scalar::halve(to, above, below);
    }
    assert!(above.len() >= 2 * to.len() && below.len() >= 2 * to.len());
    let last = to.len() - V::BYTES;
    let mut x = 0;
    loop {
        // SAFETY: `x` is at most `last`, and rows are twice as long; the caller's promise.
        unsafe {
            let sums = |x: usize| {
                let pairs = V::bytes(1, 1);
                let above = V::load(above.as_ptr().add(x)).dot_bytes(pairs);
                let below = V::load(below.as_ptr().add(x)).dot_bytes(pairs);
                let four = above.add_words(below);
                four.add_words(V::words(2)).quarter()
            };
            let (first, second) = (sums(2 * x), sums(2 * x + V::BYTES));
            first.pack_ordered(second).store(to.as_mut_ptr().add(x));
        }
        if x == last {
            return;
        }
        x = (x + V::BYTES).min(last);
    }
}

/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub unsafe fn interleave<V: Vector>(to: &mut [u8], cb: &[u8], cr: &[u8]) {
    if cb.len() < V::BYTES {
        return scalar::interleave(to, cb, cr);
    }
    assert!(cb.len() == cr.len() && to.len() == 2 * cb.len());
    let last = cb.len() - V::BYTES;
    let mut x = 0;
    loop {
        // SAFETY: `x` is at most `last`, and `to` is twice as long; the caller's promise.
        unsafe {
            let (cb, cr) = (V::load(cb.as_ptr().add(x)), V::load(cr.as_ptr().add(x)));
            let (first, second) = V::ordered(cb.zip_low(cr), cb.zip_high(cr));
            first.store(to.as_mut_ptr().add(2 * x));
            second.store(to.as_mut_ptr().add(2 * x + V::BYTES));
        }
        if x == last {
            return;
        }
        x = (x + V::BYTES).min(last);
    }
}
