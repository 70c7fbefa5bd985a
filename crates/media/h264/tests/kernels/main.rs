//! Kernels: references against the formulas of the standard, every variant against its reference.

mod residual;
mod samples;

/// A generator of test data (SplitMix64).
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Less than `n`.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Samples of one of several kinds: noise, extremes, a little noise on a level, one level, a slope.
    fn samples(&mut self, samples: &mut [u8]) {
        let kind = self.below(5);
        let level = self.below(256) as i64;
        let slope = self.below(9) as i64 - 4;
        for (i, sample) in samples.iter_mut().enumerate() {
            let noise = self.next();
            *sample = match kind {
                0 => noise as u8,
                1 => (noise & 1) as u8 * 255,
                2 => (level + (noise % 9) as i64 - 4).clamp(0, 255) as u8,
                3 => level as u8,
                _ => (level + i as i64 % 64 * slope).clamp(0, 255) as u8,
            };
        }
    }
}
