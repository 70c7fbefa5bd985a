//! Squared differences, and energies: of bytes with even and with odd numbers.

use super::vector::Vector;
use crate::kernels::residual::bounds::check;
use crate::kernels::samples::Energy;

/// Sums of bytes with even numbers, and with odd numbers, as words.
#[inline(always)]
fn squared<V: Vector>(bytes: V, even: V) -> [V; 2] {
    let (even, odd) = (bytes.and(even), bytes.odd_bytes());
    [even.dot_words(even), odd.dot_words(odd)]
}

#[inline(always)]
fn difference<V: Vector>(a: V, b: V) -> V {
    a.sub_bytes(b).or(b.sub_bytes(a))
}

/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub unsafe fn ssd_16x16<V: Vector>(a: &[u8], a_stride: usize, b: &[u8], b_stride: usize) -> u32 {
    check(a, a_stride, 16, 16);
    check(b, b_stride, 16, 16);
    // SAFETY: the slices have 16 rows of 16; the caller's promise.
    unsafe {
        let mut sums = V::words(0);
        for y in (0..16).step_by(V::LANES) {
            let a = V::load_16(a.as_ptr().add(y * a_stride), a_stride);
            let b = V::load_16(b.as_ptr().add(y * b_stride), b_stride);
            let [even, odd] = squared(difference(a, b), V::words(0xff));
            sums = sums.add_doublewords(even).add_doublewords(odd);
        }
        sums.sum()
    }
}

/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub unsafe fn energy_16x16<V: Vector>(samples: &[u8], stride: usize) -> Energy {
    check(samples, stride, 16, 16);
    // SAFETY: the slice has 16 rows of 16; the caller's promise.
    let [even, odd] = unsafe { energies::<V, 16>(samples.as_ptr(), stride) };
    Energy {
        sum: even.sum + odd.sum,
        squares: even.squares + odd.squares,
    }
}

/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub unsafe fn energy_chroma<V: Vector>(samples: &[u8], stride: usize) -> [Energy; 2] {
    check(samples, stride, 16, 8);
    // SAFETY: the slice has 8 rows of 16; the caller's promise.
    unsafe { energies::<V, 8>(samples.as_ptr(), stride) }
}

/// # Safety
/// There are `H` rows of 16 bytes, and the processor has the instructions of `V`.
#[inline(always)]
unsafe fn energies<V: Vector, const H: usize>(samples: *const u8, stride: usize) -> [Energy; 2] {
    // SAFETY: the caller's promise.
    unsafe {
        let (mask, ones) = (V::words(0xff), V::words(1));
        let (mut even, mut odd) = (V::words(0), V::words(0));
        let mut squares = [V::words(0); 2];
        for y in (0..H).step_by(V::LANES) {
            let row = V::load_16(samples.add(y * stride), stride);
            even = even.add_words(row.and(mask));
            odd = odd.add_words(row.odd_bytes());
            let [first, second] = squared(row, mask);
            squares = [
                squares[0].add_doublewords(first),
                squares[1].add_doublewords(second),
            ];
        }
        let energy = |sums: V, squares: V| Energy {
            sum: sums.dot_words(ones).sum(),
            squares: squares.sum(),
        };
        [energy(even, squares[0]), energy(odd, squares[1])]
    }
}
