//! Raiden on lanes of 32 bits.
//!
//! Bound: for a register of both words, 32 rounds of seven operations, six where one can join three operands; four a
//! clock in registers of 256 bits and two in those of 512. Four registers are computed at once. It takes 1.1 times as
//! long as the bound.

use super::lanes::Lanes;
use super::layout::{Group, from_doubles, to_doubles};
use crate::product::raiden::CYCLES;

/// Encrypts `count` times.
#[inline(always)]
pub fn encrypt<S: Lanes>(s: S, k: &[u32; CYCLES], count: usize, planes: &mut Group<S>) {
    let [mut a, mut b] = to_doubles(s, *planes);
    for _ in 0..count {
        for &k in k {
            let k = s.splat(k);
            for i in 0..4 {
                a[i] = s.add32(a[i], mix(s, k, b[i]));
                b[i] = s.add32(b[i], mix(s, k, a[i]));
            }
        }
    }
    *planes = from_doubles(s, [a, b]);
}

/// Undoes [`encrypt`].
#[inline(always)]
pub fn decrypt<S: Lanes>(s: S, k: &[u32; CYCLES], count: usize, planes: &mut Group<S>) {
    let [mut a, mut b] = to_doubles(s, *planes);
    for _ in 0..count {
        for &k in k.iter().rev() {
            let k = s.splat(k);
            for i in 0..4 {
                b[i] = s.sub32(b[i], mix(s, k, a[i]));
                a[i] = s.sub32(a[i], mix(s, k, b[i]));
            }
        }
    }
    *planes = from_doubles(s, [a, b]);
}

/// The round function.
#[inline(always)]
fn mix<S: Lanes>(s: S, k: S::V, v: S::V) -> S::V {
    s.shifted(s.add32(k, v), s.sub32(k, v))
}
