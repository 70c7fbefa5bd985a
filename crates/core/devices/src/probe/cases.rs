//! Cases: triples of 32 bits.

/// Numbers at which something begins or ends.
const EDGES: [u32; 40] = [
    0x0000_0000, // 0
    0x0000_0001, // the least subnormal
    0x0000_0002,
    0x0040_0000,
    0x007f_ffff, // the largest subnormal
    0x0080_0000, // the least normal
    0x0080_0001,
    0x0100_0000,
    0x3380_0000, // 2^-24
    0x3400_0000, // 2^-23
    0x3b80_8081, // 1/255
    0x3eff_ffff, // the last before 1/2
    0x3f00_0000, // 1/2
    0x3f00_0001,
    0x3f7f_ffff, // the last before 1
    0x3f80_0000, // 1
    0x3f80_0001,
    0x3fc0_0000, // 1.5
    0x4000_0000, // 2
    0x4020_0000, // 2.5
    0x4040_0000, // 3
    0x40e0_0000, // 7
    0x437f_0000, // 255
    0x437f_8000, // 255.5
    0x4b00_0000, // 2^23
    0x4b00_0001,
    0x4b7f_ffff,
    0x4b80_0000, // 2^24
    0x4b80_0001,
    0x4f00_0000, // 2^31
    0x5f00_0000, // 2^63
    0x7e80_0000,
    0x7f00_0000, // 2^127
    0x7f7f_ffff, // the largest
    0x7f80_0000, // infinity
    0x7fc0_0000, // not a number
    0x8000_0000, // -0
    0x8000_0001,
    0xbf80_0000, // -1
    0xff80_0000, // -infinity
];

/// The cases of a round, `count` of each. The first round has every three edges.
pub fn round(round: u64, count: usize) -> [Vec<u32>; 3] {
    let mut random = Random(round.wrapping_mul(0x2545_F491_4F6C_DD1D));
    let mut cases = [(); 3].map(|()| Vec::with_capacity(count));
    let n = EDGES.len();
    for i in 0..count {
        let case = if round == 0 && i < n * n * n {
            [EDGES[i % n], EDGES[i / n % n], EDGES[i / n / n]]
        } else {
            random.case(i)
        };
        for (cases, word) in cases.iter_mut().zip(case) {
            cases.push(word);
        }
    }
    cases
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A number of either sign, between 2^low and 2^high.
    fn float(&mut self, low: i32, high: i32) -> f32 {
        let exponent = low + self.below((high - low) as u64) as i32;
        let bits = ((exponent + 127) as u32) << 23 | self.next() as u32 & 0x807F_FFFF;
        f32::from_bits(bits)
    }

    fn case(&mut self, i: usize) -> [u32; 3] {
        let floats = match i % 8 {
            // Any bits.
            0 | 1 => return [(); 3].map(|()| self.next() as u32),
            // Numbers as services have them.
            2 => [self.float(-9, 9), self.float(-9, 9), self.float(-9, 9)],
            // A product that the sum cancels: what a fused multiply-add leaves is the product's error.
            3 => {
                let (x, y) = (self.float(-20, 20), self.float(-20, 20));
                [x, y, -(x * y)]
            }
            // A sum in the middle between two numbers, or just beside it.
            4 => {
                let x = self.float(-20, 20);
                let half = f32::from_bits(x.to_bits() & 0x7F80_0000) / 16_777_216.0;
                let beside = [1.0, 1.000_000_1, 0.999_999_94, 3.0];
                let y = half * beside[self.below(4) as usize];
                [x, if self.below(2) == 0 { y } else { -y }, x]
            }
            // A product in the middle between two numbers, and a third that decides: 64 bits do not hold the sum, so
            // whatever rounds twice is wrong.
            5 => {
                let mut odd = || (4096 | self.below(4096) | 1) as f32;
                let (x, y) = (odd(), odd());
                let tiny = self.float(-60, -30);
                [x, y, tiny]
            }
            // Results at the lower end of the range.
            6 => {
                let x = self.float(-126, -60);
                let scale = -149 - (x.abs().log2() as i32) + self.below(30) as i32;
                let y = self.float(scale, scale + 1);
                [x, y, f32::from_bits(self.next() as u32 & 0x80FF_FFFF)]
            }
            // Quotients and roots beside numbers and beside the middle of two.
            _ => {
                let (q, y) = (self.float(-9, 9), self.float(-9, 9));
                let near = |x: f32, by: u64| f32::from_bits(x.to_bits() + by as u32 - 1);
                let square = near(q * q, self.below(3));
                [near(q * y, self.below(3)), y, square]
            }
        };
        floats.map(f32::to_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_differ_and_have_what_they_are_for() {
        let first = round(0, 1 << 16);
        for cases in &first {
            assert_eq!(cases.len(), 1 << 16);
            assert!(EDGES.iter().all(|edge| cases.contains(edge)));
        }
        let [a, b, c] = round(3, 1 << 16);
        assert_ne!(a, round(4, 1 << 16)[0]);
        let count = |holds: &dyn Fn(f32, f32, f32) -> bool| {
            let cases = a.iter().zip(&b).zip(&c);
            let floats = |((a, b), c): ((&u32, &u32), &u32)| [*a, *b, *c].map(f32::from_bits);
            cases
                .map(floats)
                .filter(|[x, y, z]| holds(*x, *y, *z))
                .count()
        };
        // Subnormal results, products that are not exact, sums that are the middle of two numbers, and products with
        // a sum that is wrong if it is rounded twice.
        assert!(count(&|x, y, _| (x * y).is_subnormal()) > 1000);
        assert!(count(&|x, y, z| x.mul_add(y, z) != x * y + z) > 10_000);
        let tie = |x: f32, y: f32| {
            let sum = f64::from(x) + f64::from(y);
            let [below, above] = [(x + y).next_down(), (x + y).next_up()].map(f64::from);
            let rounded = f64::from(x + y);
            sum != rounded && (2.0 * sum == rounded + below || 2.0 * sum == rounded + above)
        };
        assert!(count(&|x, y, _| tie(x, y)) > 1000);
        let twice = |x: f32, y: f32, z: f32| (f64::from(x) * f64::from(y) + f64::from(z)) as f32;
        assert!(count(&|x, y, z| x.mul_add(y, z) != twice(x, y, z)) > 1000);
    }
}
