//! The tag (RFC 8439, 2.5 and 2.8) in limbs of 44, 44 and 42 bits, so that products fit multiplications of 52 bits.
//!
//! With `n` blocks the sum is that of block `b` times `r` to the power of `n - b`. Eight lanes have every eighth block each:
//! a lane multiplies by powers of `r` to the eighth, and only at the end by the power that its place asks for.

use std::arch::x86_64::*;

use super::load;

const BITS: [u32; 3] = [44, 44, 42];
const MASKS: [u64; 3] = [(1 << 44) - 1, (1 << 44) - 1, (1 << 42) - 1];
/// The bit after a whole block, in the last limb.
const AFTER: u64 = 1 << 40;
/// Bytes of four blocks a lane.
const GROUP: usize = 512;

/// A number modulo 2^130 - 5, not fully reduced: the lowest limb may have a bit more.
#[derive(Clone, Copy, Default)]
pub(super) struct Limbs([u64; 3]);

impl Limbs {
    /// The multiplier: some of its bits are zero.
    pub(super) fn clamped(r: &[u8; 16]) -> Self {
        Limbs::of(u128::from_le_bytes(*r) & 0x0ffffffc_0ffffffc_0ffffffc_0fffffff)
    }

    fn of(value: u128) -> Self {
        let [low, high] = [value as u64, (value >> 64) as u64];
        Limbs([
            low & MASKS[0],
            (low >> 44 | high << 20) & MASKS[1],
            high >> 24,
        ])
    }

    /// 2^132 is 20, so limbs that pass the end come back times 20.
    fn twenty(self) -> [u64; 2] {
        [self.0[1] * 20, self.0[2] * 20]
    }

    fn times(self, by: Limbs) -> Limbs {
        let wide = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let ([h0, h1, h2], [r0, r1, r2], [s1, s2]) = (self.0, by.0, by.twenty());
        Limbs::carried([
            wide(h0, r0) + wide(h1, s2) + wide(h2, s1),
            wide(h0, r1) + wide(h1, r0) + wide(h2, s2),
            wide(h0, r2) + wide(h1, r1) + wide(h2, r0),
        ])
    }

    fn carried(mut d: [u128; 3]) -> Limbs {
        for i in [0, 1] {
            d[i + 1] += d[i] >> BITS[i];
        }
        let again = (d[2] >> BITS[2]) * 5;
        let low = u128::from(d[0] as u64 & MASKS[0]) + again;
        let middle = (u128::from(d[1] as u64 & MASKS[1]) + (low >> BITS[0])) as u64;
        Limbs([low as u64 & MASKS[0], middle, d[2] as u64 & MASKS[2]])
    }

    fn plus(self, by: Limbs) -> Limbs {
        Limbs(std::array::from_fn(|i| self.0[i] + by.0[i]))
    }

    /// Adds the rest of a text to the sum of what came before it, and its length, which is `len` in all. Returns the tag.
    pub(super) fn rest(mut self, r: Limbs, rest: &[u8], len: usize, pad: u128) -> [u8; 16] {
        let lengths = (len as u128) << 64;
        let blocks = rest.chunks(16).map(|bytes| {
            let mut block = [0; 16];
            block[..bytes.len()].copy_from_slice(bytes);
            u128::from_le_bytes(block)
        });
        for block in blocks.chain([lengths]) {
            let mut block = Limbs::of(block);
            block.0[2] |= AFTER;
            self = self.plus(block).times(r);
        }
        self.reduced().wrapping_add(pad).to_le_bytes()
    }

    /// The lowest 128 bits of the number below 2^130 - 5.
    fn reduced(self) -> u128 {
        let Limbs([a, b, c]) =
            Limbs::carried(Limbs::carried(self.0.map(u128::from)).0.map(u128::from));
        let value = u128::from(a) + (u128::from(b) << 44);
        // 130 bits: the top two beside the others.
        let (value, over) = value.overflowing_add(u128::from(c) << 88);
        let top = (c >> 40) + u64::from(over);
        // It is 2^130 - 5 or more if adding 5 reaches 2^130.
        let (less, over) = value.overflowing_add(5);
        let reaches = (top + u64::from(over)) >> 2;
        let mask = u128::from(reaches).wrapping_neg();
        (less & mask) | (value & !mask)
    }
}

/// A multiplier of all lanes: its limbs, and the last two times 20.
#[derive(Clone, Copy)]
struct Factor {
    r: [__m512i; 3],
    s: [__m512i; 2],
}

impl Factor {
    #[target_feature(enable = "avx512f")]
    fn same(by: Limbs) -> Self {
        Factor::of([by; 8])
    }

    #[target_feature(enable = "avx512f")]
    fn of(lanes: [Limbs; 8]) -> Self {
        let vector = |limb: &dyn Fn(Limbs) -> u64| {
            let of = |i: usize| limb(lanes[i]).cast_signed();
            _mm512_setr_epi64(of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7))
        };
        Factor {
            r: [
                vector(&|l| l.0[0]),
                vector(&|l| l.0[1]),
                vector(&|l| l.0[2]),
            ],
            s: [vector(&|l| l.twenty()[0]), vector(&|l| l.twenty()[1])],
        }
    }
}

/// Products that are added up: the lower 52 bits of each, and what is above them.
struct Products {
    low: [__m512i; 3],
    high: [__m512i; 3],
}

impl Products {
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn none() -> Self {
        let zero = [_mm512_setzero_si512(); 3];
        Products {
            low: zero,
            high: zero,
        }
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    fn add(&mut self, h: [__m512i; 3], by: &Factor) {
        let ([r0, r1, r2], [s1, s2]) = (by.r, by.s);
        for (limb, factors) in [(0, [r0, r1, r2]), (1, [s2, r0, r1]), (2, [s1, s2, r0])] {
            for (i, factor) in factors.iter().enumerate() {
                self.low[i] = _mm512_madd52lo_epu64(self.low[i], h[limb], *factor);
                self.high[i] = _mm512_madd52hi_epu64(self.high[i], h[limb], *factor);
            }
        }
    }

    /// Limbs of 44, 45 and 42 bits. The upper halves are worth 2^52 of their limb: 2^8 of the next, or 5 times 2^10 of the
    /// first, as 2^130 is 5.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn carried(self) -> [__m512i; 3] {
        let [h0, h1, h2] = self.high;
        let five = |v| _mm512_add_epi64(v, _mm512_slli_epi64::<2>(v));
        let mask44 = _mm512_set1_epi64(MASKS[0].cast_signed());
        let mask42 = _mm512_set1_epi64(MASKS[2].cast_signed());
        let d0 = _mm512_add_epi64(self.low[0], five(_mm512_slli_epi64::<10>(h2)));
        let d1 = _mm512_add_epi64(self.low[1], _mm512_slli_epi64::<8>(h0));
        let d2 = _mm512_add_epi64(self.low[2], _mm512_slli_epi64::<8>(h1));
        let d1 = _mm512_add_epi64(d1, _mm512_srli_epi64::<44>(d0));
        let d2 = _mm512_add_epi64(d2, _mm512_srli_epi64::<44>(d1));
        let again = five(_mm512_srli_epi64::<42>(d2));
        let d0 = _mm512_add_epi64(_mm512_and_si512(d0, mask44), again);
        [
            d0,
            _mm512_and_si512(d1, mask44),
            _mm512_and_si512(d2, mask42),
        ]
    }
}

/// The place of a block among eight, by its lane: what unpacking two registers makes of them.
const PLACES: [usize; 8] = [0, 4, 1, 5, 2, 6, 3, 7];

/// The sum of a text in eight lanes.
pub(super) struct Lanes {
    sum: [__m512i; 3],
    /// `r` to the power of 24, 16 and 8, and of 32, for the sum.
    factors: [Factor; 3],
    all: Factor,
    /// `r` to the power that is left for each lane at the end.
    last: Factor,
}

impl Lanes {
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(r: Limbs) -> Self {
        let mut powers = [r; 8];
        for i in 1..8 {
            powers[i] = powers[i - 1].times(r);
        }
        let eighth = powers[7];
        let sixteenth = eighth.times(eighth);
        Lanes {
            sum: [_mm512_setzero_si512(); 3],
            factors: [
                Factor::same(sixteenth.times(eighth)),
                Factor::same(sixteenth),
                Factor::same(eighth),
            ],
            all: Factor::same(sixteenth.times(sixteenth)),
            last: Factor::of(PLACES.map(|place| powers[7 - place])),
        }
    }

    /// Adds a text, whose length is whole groups.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn add(&mut self, text: &[u8]) {
        let (groups, rest) = text.as_chunks::<GROUP>();
        // What is left over would be in no tag.
        assert!(rest.is_empty());
        let mut sum = self.sum;
        for group in groups {
            let (parts, _) = group.as_chunks::<64>();
            let mut products = Products::none();
            for (i, factor) in self.factors.iter().enumerate() {
                products.add(limbs(&parts[2 * i], &parts[2 * i + 1]), factor);
            }
            let whole = limbs(&parts[6], &parts[7]);
            products.add(sum, &self.all);
            for (i, low) in products.low.iter_mut().enumerate() {
                *low = _mm512_add_epi64(*low, whole[i]);
            }
            sum = products.carried();
        }
        self.sum = sum;
    }

    /// The sum of all lanes.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn sum(self) -> Limbs {
        let mut products = Products::none();
        products.add(self.sum, &self.last);
        let sums = products
            .carried()
            .map(|limb| _mm512_reduce_add_epi64(limb).cast_unsigned());
        Limbs::carried(sums.map(u128::from))
    }
}

/// The limbs of eight blocks, in the order of [`PLACES`].
#[target_feature(enable = "avx512f")]
#[inline]
fn limbs(first: &[u8; 64], second: &[u8; 64]) -> [__m512i; 3] {
    let (first, second) = (load(first), load(second));
    let low = _mm512_unpacklo_epi64(first, second);
    let high = _mm512_unpackhi_epi64(first, second);
    let mask44 = _mm512_set1_epi64(MASKS[0].cast_signed());
    let after = _mm512_set1_epi64(AFTER.cast_signed());
    let middle = _mm512_or_si512(_mm512_srli_epi64::<44>(low), _mm512_slli_epi64::<20>(high));
    [
        _mm512_and_si512(low, mask44),
        _mm512_and_si512(middle, mask44),
        _mm512_or_si512(_mm512_srli_epi64::<24>(high), after),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> u128 {
        u128::from_str_radix(text, 16).unwrap().swap_bytes()
    }

    /// The sum of whole blocks, one after the other.
    fn one_by_one(r: Limbs, blocks: impl IntoIterator<Item = u128>) -> Limbs {
        blocks.into_iter().fold(Limbs::default(), |sum, block| {
            let mut block = Limbs::of(block);
            block.0[2] |= AFTER;
            sum.plus(block).times(r)
        })
    }

    #[test]
    fn sums_near_the_modulus() {
        const ONES: &str = "ffffffffffffffffffffffffffffffff";
        const ZERO: &str = "00000000000000000000000000000000";
        const ONE: &str = "01000000000000000000000000000000";
        const TWO: &str = "02000000000000000000000000000000";
        const THREE: &str = "03000000000000000000000000000000";
        const FOUR: &str = "01000000000000000400000000000000";
        let carried = [
            "e33594d7505e43b90000000000000000",
            "3394d7505e4379cd0100000000000000",
            ZERO,
            ONE,
        ];
        // RFC 8439, appendix A.3, vectors 5 to 11: r, s, the blocks, and the tag.
        for (r, s, blocks, tag) in [
            (TWO, ZERO, &[ONES][..], THREE),
            (TWO, ONES, &[TWO], THREE),
            (
                ONE,
                ZERO,
                &[
                    ONES,
                    "f0ffffffffffffffffffffffffffffff",
                    "11000000000000000000000000000000",
                ],
                "05000000000000000000000000000000",
            ),
            (
                ONE,
                ZERO,
                &[
                    ONES,
                    "fbfefefefefefefefefefefefefefefe",
                    "01010101010101010101010101010101",
                ],
                ZERO,
            ),
            (
                TWO,
                ZERO,
                &["fdffffffffffffffffffffffffffffff"],
                "faffffffffffffffffffffffffffffff",
            ),
            (FOUR, ZERO, &carried, "14000000000000005500000000000000"),
            (
                FOUR,
                ZERO,
                &carried[..3],
                "13000000000000000000000000000000",
            ),
        ] {
            let sum = one_by_one(Limbs::of(of(r)), blocks.iter().map(|block| of(block)));
            assert_eq!(sum.reduced().wrapping_add(of(s)), of(tag), "{blocks:?}");
        }
    }

    #[test]
    fn lanes_have_the_sum_of_all_blocks() {
        if !is_x86_feature_detected!("avx512ifma") {
            evener_testing::skip("no AVX-512 IFMA");
            return;
        }
        #[target_feature(enable = "avx512f,avx512ifma")]
        fn lanes(r: Limbs, text: &[u8]) -> Limbs {
            let mut lanes = Lanes::new(r);
            // What is added in two calls is added in one.
            let (first, rest) = text.split_at(GROUP);
            lanes.add(first);
            lanes.add(rest);
            lanes.sum()
        }
        for r in [[0xff; 16], [1; 16], [0; 16]].map(|r| Limbs::clamped(&r)) {
            for fill in [0xff, 0xfe, 0] {
                for groups in 1..20 {
                    let text = vec![fill; groups * GROUP];
                    let block = u128::from_le_bytes([fill; 16]);
                    let wanted = one_by_one(r, vec![block; text.len() / 16]);
                    // SAFETY: the processor has the instructions.
                    let sum = unsafe { lanes(r, &text) };
                    assert_eq!(sum.reduced(), wanted.reduced(), "{groups} of {fill:x}");
                }
            }
        }
    }
}
