//! Skipjack on lanes of a byte.
//!
//! Bound: the 128 substitutions of a pass. Each needs the result of the one before, so several groups are computed at
//! once. The bound of a substitution is given where it is implemented. With four groups a pass takes 1.3 times as long
//! as its bound with AVX2, and 1.9 times with AVX-512.
//!
//! A round is the body of a loop. Four rounds unrolled would need no moves, but took longer with AVX2, probably because
//! so much code does not stay decoded.

use super::lanes::Lanes;
use super::layout::Group;
use crate::product::skipjack::KEY_BYTES;

/// The key's bytes, each four times in 32 bits, repeated until the four of a round follow wherever they begin.
pub const KEYS: usize = KEY_BYTES + 2;

/// Rounds of a pass.
const ROUNDS: usize = 32;

/// Encrypts `count` times.
#[inline(always)]
pub fn encrypt<S: Lanes, const U: usize>(
    s: S,
    key: &[u32; KEYS],
    count: usize,
    w: &mut [Group<S>; U],
) {
    for _ in 0..count {
        for round in 0..ROUNDS {
            let Round {
                first,
                before,
                after,
                rule_a,
            } = Round::new(round);
            if !rule_a {
                mix::<S, U>(s, round, after, first, w);
            }
            let [a, b, c, d] = keys::<S>(s, key, round);
            let (high, low) = planes::<S, U>(first, w);
            let high = step::<S, U>(s, a, low, high);
            let low = step::<S, U>(s, b, high, low);
            let high = step::<S, U>(s, c, low, high);
            let low = step::<S, U>(s, d, high, low);
            put::<S, U>(first, high, low, w);
            if rule_a {
                mix::<S, U>(s, round, before, first, w);
            }
        }
    }
}

/// Undoes [`encrypt`].
#[inline(always)]
pub fn decrypt<S: Lanes, const U: usize>(
    s: S,
    key: &[u32; KEYS],
    count: usize,
    w: &mut [Group<S>; U],
) {
    for _ in 0..count {
        for round in (0..ROUNDS).rev() {
            let Round {
                first,
                before,
                after,
                rule_a,
            } = Round::new(round);
            if rule_a {
                mix::<S, U>(s, round, before, first, w);
            }
            let [a, b, c, d] = keys::<S>(s, key, round);
            let (high, low) = planes::<S, U>(first, w);
            let low = step::<S, U>(s, d, high, low);
            let high = step::<S, U>(s, c, low, high);
            let low = step::<S, U>(s, b, high, low);
            let high = step::<S, U>(s, a, low, high);
            put::<S, U>(first, high, low, w);
            if !rule_a {
                mix::<S, U>(s, round, after, first, w);
            }
        }
    }
}

/// The high planes of the word named first in a round and of the words before and after it, and the stepping rule. Low
/// planes are one further on.
struct Round {
    first: usize,
    before: usize,
    after: usize,
    rule_a: bool,
}

impl Round {
    #[inline(always)]
    fn new(round: usize) -> Self {
        Round {
            first: 2 * (3 - (round + 3) % 4),
            before: 2 * (3 - round % 4),
            after: 2 * (3 - (round + 2) % 4),
            rule_a: round & 8 == 0,
        }
    }
}

/// The four bytes of the key in a round.
#[inline(always)]
fn keys<S: Lanes>(s: S, key: &[u32; KEYS], round: usize) -> [S::V; 4] {
    let from = 4 * round % KEY_BYTES;
    [
        s.splat(key[from]),
        s.splat(key[from + 1]),
        s.splat(key[from + 2]),
        s.splat(key[from + 3]),
    ]
}

/// Combines the word at `at` with the word at `with` and the number of the round, counted from one.
#[inline(always)]
fn mix<S: Lanes, const U: usize>(
    s: S,
    round: usize,
    at: usize,
    with: usize,
    w: &mut [Group<S>; U],
) {
    let number = s.splat((round as u32 + 1) * 0x0101_0101);
    for w in w {
        w[at] = s.xor(w[at], w[with]);
        w[at + 1] = s.xor3(w[at + 1], w[with + 1], number);
    }
}

#[inline(always)]
fn planes<S: Lanes, const U: usize>(at: usize, w: &[Group<S>; U]) -> ([S::V; U], [S::V; U]) {
    let (mut high, mut low) = ([w[0][at]; U], [w[0][at + 1]; U]);
    for u in 1..U {
        (high[u], low[u]) = (w[u][at], w[u][at + 1]);
    }
    (high, low)
}

#[inline(always)]
fn put<S: Lanes, const U: usize>(
    at: usize,
    high: [S::V; U],
    low: [S::V; U],
    w: &mut [Group<S>; U],
) {
    for u in 0..U {
        (w[u][at], w[u][at + 1]) = (high[u], low[u]);
    }
}

/// F of `from` and a byte of the key, into `to`.
#[inline(always)]
fn step<S: Lanes, const U: usize>(
    s: S,
    key: S::V,
    mut from: [S::V; U],
    to: [S::V; U],
) -> [S::V; U] {
    for x in &mut from {
        *x = s.xor(*x, key);
    }
    s.substitute(from, to)
}
