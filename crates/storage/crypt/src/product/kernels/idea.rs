//! IDEA on sixteen-bit lanes.
//!
//! Bound: for a register of each of the four words, 34 products of eight operations (six where comparisons give masks)
//! and 82 other operations, four a clock in registers of 256 bits and two in those of 512. A product needs the one
//! before it, so registers go side by side: two of each word take 1.7 times as long as that, four 1.4 times.

use super::lanes::Lanes;
use super::layout::{Group, from_words, to_words};
use crate::product::idea::SUBKEYS;

/// A group through [`passes`].
#[inline(always)]
pub fn one<S: Lanes, const ZEROS: bool>(
    s: S,
    k: &[u32; SUBKEYS],
    count: usize,
    group: &mut Group<S>,
) {
    let words = passes::<S, ZEROS, 2>(s, k, count, to_words(s, *group));
    *group = from_words(s, words);
}

/// Two groups at once, so that the products of one fill the latency of the other's.
#[inline(always)]
pub fn two<S: Lanes, const ZEROS: bool>(
    s: S,
    k: &[u32; SUBKEYS],
    count: usize,
    [first, second]: &mut [Group<S>; 2],
) {
    let ([a, b, c, d], [e, f, g, h]) = (to_words(s, *first), to_words(s, *second));
    let words = [
        [a[0], a[1], e[0], e[1]],
        [b[0], b[1], f[0], f[1]],
        [c[0], c[1], g[0], g[1]],
        [d[0], d[1], h[0], h[1]],
    ];
    let [a, b, c, d] = passes::<S, ZEROS, 4>(s, k, count, words);
    *first = from_words(s, [[a[0], a[1]], [b[0], b[1]], [c[0], c[1]], [d[0], d[1]]]);
    *second = from_words(s, [[a[2], a[3]], [b[2], b[3]], [c[2], c[3]], [d[2], d[3]]]);
}

/// Encrypts, or decrypts with the inverse subkeys, `count` times: four words, `N` registers of each, 2 or 4. `ZEROS`:
/// whether a subkey that is multiplied by may be 0.
#[inline(always)]
fn passes<S: Lanes, const ZEROS: bool, const N: usize>(
    s: S,
    k: &[u32; SUBKEYS],
    count: usize,
    mut w: [[S::V; N]; 4],
) -> [[S::V; N]; 4] {
    for _ in 0..count {
        // A loop over registers would keep them in memory.
        for k in k[..48].as_chunks::<6>().0 {
            round::<S, ZEROS, N>(s, k, 0, &mut w);
            round::<S, ZEROS, N>(s, k, 1, &mut w);
            if N == 4 {
                round::<S, ZEROS, N>(s, k, 2, &mut w);
                round::<S, ZEROS, N>(s, k, 3, &mut w);
            }
        }
        let [a, b, c, d] = &mut w;
        for i in 0..N {
            a[i] = mul::<S, ZEROS>(s, a[i], k[48]);
            let added = s.add16(c[i], s.splat(k[49]));
            (b[i], c[i]) = (added, s.add16(b[i], s.splat(k[50])));
            d[i] = mul::<S, ZEROS>(s, d[i], k[51]);
        }
    }
    w
}

/// A round of the `i`th registers.
#[inline(always)]
fn round<S: Lanes, const ZEROS: bool, const N: usize>(
    s: S,
    k: &[u32; 6],
    i: usize,
    [a, b, c, d]: &mut [[S::V; N]; 4],
) {
    a[i] = mul::<S, ZEROS>(s, a[i], k[0]);
    b[i] = s.add16(b[i], s.splat(k[1]));
    c[i] = s.add16(c[i], s.splat(k[2]));
    d[i] = mul::<S, ZEROS>(s, d[i], k[3]);
    let x = mul::<S, ZEROS>(s, s.xor(a[i], c[i]), k[4]);
    let y = s.add16(s.xor(b[i], d[i]), x);
    let y = mul::<S, ZEROS>(s, y, k[5]);
    let x = s.add16(x, y);
    (a[i], d[i]) = (s.xor(a[i], y), s.xor(d[i], x));
    (b[i], c[i]) = (s.xor(c[i], y), s.xor(b[i], x));
}

/// By a subkey, twice in its 32 bits. The subkey 0, 2¹⁶, is -1 modulo 2¹⁶ + 1.
#[inline(always)]
fn mul<S: Lanes, const ZEROS: bool>(s: S, v: S::V, k: u32) -> S::V {
    if ZEROS && k == 0 {
        s.sub16(s.splat(0x0001_0001), v)
    } else {
        s.mul16(v, s.splat(k))
    }
}
