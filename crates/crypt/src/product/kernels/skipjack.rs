//! Skipjack on lanes of a byte. Bound: the 128 substitutions of a pass, of which the next one needs the result; several
//! groups side by side fill the time.

use super::lanes::Lanes;
use super::layout::Group;

/// The key's bytes, each four times in 32 bits, repeated until four rounds may begin at any of them.
pub const KEYS: usize = 24;

/// The first byte of the key in rounds 4 · i to 4 · i + 3.
#[inline(always)]
fn first_key(i: usize) -> usize {
    16 * i % 10
}

/// Encrypts `count` times.
#[inline(always)]
pub fn encrypt<S: Lanes, const U: usize>(
    s: S,
    key: &[u32; KEYS],
    count: usize,
    groups: &mut [Group<S>; U],
) {
    let mut w = *groups;
    for _ in 0..count {
        for i in 0..8 {
            let key: &[u32; 16] = key[first_key(i)..].first_chunk().expect("KEYS are enough");
            let number = 4 * i as u32 + 1;
            if i & 2 == 0 {
                encrypt_a::<S, U, 0>(s, key, number, &mut w);
                encrypt_a::<S, U, 1>(s, key, number, &mut w);
                encrypt_a::<S, U, 2>(s, key, number, &mut w);
                encrypt_a::<S, U, 3>(s, key, number, &mut w);
            } else {
                encrypt_b::<S, U, 0>(s, key, number, &mut w);
                encrypt_b::<S, U, 1>(s, key, number, &mut w);
                encrypt_b::<S, U, 2>(s, key, number, &mut w);
                encrypt_b::<S, U, 3>(s, key, number, &mut w);
            }
        }
    }
    *groups = w;
}

/// Undoes [`encrypt`].
#[inline(always)]
pub fn decrypt<S: Lanes, const U: usize>(
    s: S,
    key: &[u32; KEYS],
    count: usize,
    groups: &mut [Group<S>; U],
) {
    let mut w = *groups;
    for _ in 0..count {
        for i in (0..8).rev() {
            let key: &[u32; 16] = key[first_key(i)..].first_chunk().expect("KEYS are enough");
            let number = 4 * i as u32 + 1;
            if i & 2 == 0 {
                decrypt_a::<S, U, 3>(s, key, number, &mut w);
                decrypt_a::<S, U, 2>(s, key, number, &mut w);
                decrypt_a::<S, U, 1>(s, key, number, &mut w);
                decrypt_a::<S, U, 0>(s, key, number, &mut w);
            } else {
                decrypt_b::<S, U, 3>(s, key, number, &mut w);
                decrypt_b::<S, U, 2>(s, key, number, &mut w);
                decrypt_b::<S, U, 1>(s, key, number, &mut w);
                decrypt_b::<S, U, 0>(s, key, number, &mut w);
            }
        }
    }
    *groups = w;
}

/// The planes of the word named first in the `R`th of four rounds, and of the words before and after it.
const fn places(round: usize) -> [usize; 3] {
    [
        2 * (3 - (round + 3) % 4),
        2 * (3 - round % 4),
        2 * (3 - (round + 2) % 4),
    ]
}

#[inline(always)]
fn encrypt_a<S: Lanes, const U: usize, const R: usize>(
    s: S,
    key: &[u32; 16],
    number: u32,
    w: &mut [Group<S>; U],
) {
    let [first, before, _] = places(R);
    g::<S, U, R>(s, key, first, w);
    stir::<S, U, R>(s, number, before, first, w);
}

#[inline(always)]
fn encrypt_b<S: Lanes, const U: usize, const R: usize>(
    s: S,
    key: &[u32; 16],
    number: u32,
    w: &mut [Group<S>; U],
) {
    let [first, _, after] = places(R);
    stir::<S, U, R>(s, number, after, first, w);
    g::<S, U, R>(s, key, first, w);
}

#[inline(always)]
fn decrypt_a<S: Lanes, const U: usize, const R: usize>(
    s: S,
    key: &[u32; 16],
    number: u32,
    w: &mut [Group<S>; U],
) {
    let [first, before, _] = places(R);
    stir::<S, U, R>(s, number, before, first, w);
    g_inverse::<S, U, R>(s, key, first, w);
}

#[inline(always)]
fn decrypt_b<S: Lanes, const U: usize, const R: usize>(
    s: S,
    key: &[u32; 16],
    number: u32,
    w: &mut [Group<S>; U],
) {
    let [first, _, after] = places(R);
    g_inverse::<S, U, R>(s, key, first, w);
    stir::<S, U, R>(s, number, after, first, w);
}

/// The word at `with` and the round's number into the word at `at`.
#[inline(always)]
fn stir<S: Lanes, const U: usize, const R: usize>(
    s: S,
    number: u32,
    at: usize,
    with: usize,
    w: &mut [Group<S>; U],
) {
    let number = s.splat((number + R as u32) * 0x0101_0101);
    for w in w {
        w[at] = s.xor(w[at], w[with]);
        w[at + 1] = s.xor3(w[at + 1], w[with + 1], number);
    }
}

#[inline(always)]
fn g<S: Lanes, const U: usize, const R: usize>(
    s: S,
    key: &[u32; 16],
    at: usize,
    w: &mut [Group<S>; U],
) {
    step(s, key[4 * R], at + 1, at, w);
    step(s, key[4 * R + 1], at, at + 1, w);
    step(s, key[4 * R + 2], at + 1, at, w);
    step(s, key[4 * R + 3], at, at + 1, w);
}

#[inline(always)]
fn g_inverse<S: Lanes, const U: usize, const R: usize>(
    s: S,
    key: &[u32; 16],
    at: usize,
    w: &mut [Group<S>; U],
) {
    step(s, key[4 * R + 3], at, at + 1, w);
    step(s, key[4 * R + 2], at + 1, at, w);
    step(s, key[4 * R + 1], at, at + 1, w);
    step(s, key[4 * R], at + 1, at, w);
}

/// F of one plane and a byte of the key, into the other plane.
#[inline(always)]
fn step<S: Lanes, const U: usize>(s: S, key: u32, from: usize, to: usize, w: &mut [Group<S>; U]) {
    let key = s.splat(key);
    for w in w {
        w[to] = s.substitute(s.xor(w[from], key), w[to]);
    }
}
