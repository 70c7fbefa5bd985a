//! GHASH (NIST SP 800-38D): a polynomial in H over GF(2^128), many terms at a time.
//!
//! The bytes of blocks are reversed. A product is then that of `dot` in RFC 8452, which divides by x^128; multiplying H
//! by x once makes up for it (its appendix A). A sum of products is reduced once.

use std::arch::x86_64::__m128i;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::blocks::Blocks;
use super::ctr::GROUP;
use super::ni::Ni;

/// Powers kept: one for each block of the widest group.
pub(super) const POWERS: usize = 4 * GROUP;

/// The powers of H from the 32nd to the first, and for each the sum of its halves, in the lower half.
#[derive(Zeroize, ZeroizeOnDrop)]
#[repr(C, align(64))]
pub(super) struct Powers {
    whole: [[u8; 16]; POWERS],
    sums: [[u8; 16]; POWERS],
}

/// A power of H in every block of a register, or different ones, as a factor of products.
#[derive(Clone, Copy)]
pub(super) struct Factor<V> {
    whole: V,
    sum: V,
}

impl<V> Factor<V> {
    #[inline(always)]
    fn new<B: Blocks<V = V>>(b: B, whole: V) -> Self
    where
        V: Copy,
    {
        let sum = b.xor(whole, b.swapped(whole));
        Factor { whole, sum }
    }
}

impl Powers {
    /// Powers that are not set yet.
    pub(super) fn empty() -> Self {
        Powers {
            whole: [[0; 16]; POWERS],
            sums: [[0; 16]; POWERS],
        }
    }

    /// Sets them to the powers of `h`, the encrypted zero block.
    #[inline(always)]
    pub(super) fn set(&mut self, ni: Ni, h: __m128i) {
        let mut bytes = [0u8; 16];
        // SAFETY: 16 bytes are stored in and loaded from arrays of 16 bytes.
        unsafe {
            ni.store(ni.reversed(h), bytes.as_mut_ptr());
            let number = u128::from_le_bytes(bytes);
            let carry = (number >> 127).wrapping_neg();
            let by_x = (number << 1) ^ (carry & (0xc2 << 120 | 1));
            bytes = by_x.to_le_bytes();
            let base = Factor::new(ni, ni.load(bytes.as_ptr()));
            let mut power = base;
            for (whole, sum) in self.whole.iter_mut().zip(&mut self.sums).rev() {
                ni.store(power.whole, whole.as_mut_ptr());
                ni.store(power.sum, sum.as_mut_ptr());
                let next = Products::new(ni).with(power.whole, base).reduced(ni);
                power = Factor::new(ni, next);
            }
        }
        bytes.zeroize();
    }

    /// The powers for a register whose first block has `terms - 1` terms after it.
    ///
    /// # Safety
    /// `terms` is at most [`POWERS`] and at least the blocks of a register.
    #[inline(always)]
    pub(super) unsafe fn of<B: Blocks>(&self, b: B, terms: usize) -> Factor<B::V> {
        // SAFETY: the last `terms` powers begin there.
        unsafe {
            Factor {
                whole: b.load(self.whole.as_ptr().add(POWERS - terms).cast()),
                sum: b.load(self.sums.as_ptr().add(POWERS - terms).cast()),
            }
        }
    }
}

/// An unreduced sum of products: those of lower halves, of upper halves, and of the sums of both, from which the mixed
/// ones follow (Karatsuba). This saves a product for some additions, which cost less.
#[derive(Clone, Copy)]
pub(super) struct Products<B: Blocks> {
    b: B,
    low: B::V,
    sums: B::V,
    high: B::V,
}

impl<B: Blocks> Products<B> {
    #[inline(always)]
    pub(super) fn new(b: B) -> Self {
        let zero = b.counters(0);
        let zero = b.xor(zero, zero);
        Products {
            b,
            low: zero,
            sums: zero,
            high: zero,
        }
    }

    /// With `a` times the factor added, block by block.
    #[inline(always)]
    pub(super) fn with(self, a: B::V, factor: Factor<B::V>) -> Self {
        let b = self.b;
        let sum = b.xor(a, b.swapped(a));
        Products {
            b,
            low: b.xor(self.low, b.product::<0x00>(a, factor.whole)),
            sums: b.xor(self.sums, b.product::<0x00>(sum, factor.sum)),
            high: b.xor(self.high, b.product::<0x11>(a, factor.whole)),
        }
    }

    /// All blocks' products added, divided by x^128 in the field.
    #[inline(always)]
    pub(super) fn reduced(self, ni: Ni) -> __m128i {
        let b = self.b;
        let (low, high) = (b.sum(self.low), b.sum(self.high));
        let mixed = ni.xor3(b.sum(self.sums), low, high);
        let low = ni.xor(low, ni.up(mixed));
        let high = ni.xor(high, ni.down(mixed));
        // 64 bits at a time: the multiple of the polynomial that clears the lower half.
        let polynomial = ni.counters(0xc2 << 56);
        let step = |low| ni.xor(ni.swapped(low), ni.product::<0x00>(low, polynomial));
        ni.xor(high, step(step(low)))
    }
}

/// Adds `blocks` blocks from `at` on as the next coefficients.
///
/// # Safety
/// `16 * blocks` bytes from `at` on can be read.
#[inline(always)]
pub(super) unsafe fn absorb<B: Blocks>(
    b: B,
    powers: &Powers,
    mut hash: __m128i,
    mut at: *const u8,
    blocks: usize,
) -> __m128i {
    let ni = b.single();
    let mut left = blocks;
    // SAFETY: all that is read lies within the `left` blocks from `at` on; `terms` runs from at most POWERS down to 1.
    unsafe {
        while left > 0 {
            let run = left.min(POWERS);
            let (mut wide, mut narrow) = (Products::new(b), Products::new(ni));
            let mut terms = run;
            while terms >= B::N {
                let blocks = b.xor(b.reversed(b.load(at)), b.widened(hash));
                hash = ni.xor(hash, hash);
                wide = wide.with(blocks, powers.of(b, terms));
                at = at.add(16 * B::N);
                terms -= B::N;
            }
            while terms > 0 {
                let block = ni.xor(ni.reversed(ni.load(at)), hash);
                hash = ni.xor(hash, hash);
                narrow = narrow.with(block, powers.of(ni, terms));
                at = at.add(16);
                terms -= 1;
            }
            hash = ni.xor(wide.reduced(ni), narrow.reduced(ni));
            left -= run;
        }
    }
    hash
}
