//! IDEA on sixteen-bit lanes. Bound: arithmetic, about 34 products of eight operations and 120 others for a register of
//! words.

use super::lanes::Lanes;
use super::layout::{Group, from_words, to_words};
use crate::product::idea::SUBKEYS;

/// Encrypts, or decrypts with the inverse subkeys, `count` times. `ZEROS`: whether a subkey that is multiplied by may
/// be 0.
#[inline(always)]
pub fn passes<S: Lanes, const ZEROS: bool>(
    s: S,
    k: &[u32; SUBKEYS],
    count: usize,
    planes: &mut Group<S>,
) {
    let [mut a, mut b, mut c, mut d] = to_words(s, *planes);
    for _ in 0..count {
        for k in k[..48].as_chunks::<6>().0 {
            for i in 0..2 {
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
        }
        for i in 0..2 {
            a[i] = mul::<S, ZEROS>(s, a[i], k[48]);
            (b[i], c[i]) = (s.add16(c[i], s.splat(k[49])), s.add16(b[i], s.splat(k[50])));
            d[i] = mul::<S, ZEROS>(s, d[i], k[51]);
        }
    }
    *planes = from_words(s, [a, b, c, d]);
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
