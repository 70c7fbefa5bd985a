//! Weights as integers.

use std::sync::Arc;

use crate::weights::Weights;

/// The windows of a direction with weights that are multiples of a power of two and sum to exactly 1.
#[derive(Clone, Debug)]
pub struct Quantised {
    exact: Arc<Weights>,
    /// Whether outputs and samples are counted from the other end.
    mirrored: bool,
    bits: u32,
    first: Vec<u32>,
    weights: Vec<i16>,
    /// The largest sum over an output of what weights are off, and of the weights without their signs.
    error: f64,
    norm: f64,
}

/// Most and fewest bits after the point of a weight.
const BITS: (u32, u32) = (16, 13);

impl Quantised {
    /// With as many bits as 16-bit numbers have room for.
    pub fn new(exact: &Arc<Weights>) -> Option<Quantised> {
        (BITS.1..=BITS.0)
            .rev()
            .find_map(|bits| Quantised::of(exact, bits, false))
    }

    /// With the most bits with which it `fits`.
    pub fn fitted(self, fits: impl Fn(&Quantised) -> bool) -> Option<Quantised> {
        let other = |bits| Quantised::of(&self.exact, bits, self.mirrored).filter(&fits);
        let fewer = (BITS.1..self.bits).rev();
        match fits(&self) {
            true => Some(self),
            false => fewer.into_iter().find_map(other),
        }
    }

    /// Of a plane whose samples come from the other end.
    pub fn mirrored(self) -> Quantised {
        let mirrored = Quantised::of(&self.exact, self.bits, !self.mirrored);
        mirrored.unwrap_or(self)
    }

    fn of(exact: &Arc<Weights>, bits: u32, mirrored: bool) -> Option<Quantised> {
        let taps = exact.taps();
        let outputs = exact.outputs() as i32;
        let mut all = Quantised {
            exact: Arc::clone(exact),
            mirrored,
            bits,
            first: Vec::with_capacity(outputs as usize),
            weights: Vec::with_capacity(taps * outputs as usize),
            error: 0.0,
            norm: 0.0,
        };
        let one = f64::from(1 << bits);
        for out in 0..outputs {
            let out = if mirrored { outputs - 1 - out } else { out };
            let own = exact.weights(out);
            let integers = rounded(own, 1 << bits)?;
            let off = integers.iter().zip(own);
            let off: f64 = off
                .map(|(&i, &w)| (f64::from(i) / one - f64::from(w)).abs())
                .sum();
            let norm: i32 = integers.iter().map(|&i| i32::from(i).abs()).sum();
            all.error = all.error.max(off);
            all.norm = all.norm.max(f64::from(norm) / one);
            let reads = exact.reads(out..out + 1);
            if mirrored {
                all.first.push(exact.from() - reads.end as u32);
                all.weights.extend(integers.iter().rev());
            } else {
                all.first.push(reads.start as u32);
                all.weights.extend(&integers);
            }
        }
        Some(all)
    }

    /// Samples that an output reads.
    pub fn taps(&self) -> usize {
        self.exact.taps()
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.first.len()
    }

    /// Bits after the point of a weight.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The first sample that an output reads.
    pub fn first(&self, out: usize) -> usize {
        self.first[out] as usize
    }

    /// The weights of an output.
    pub fn weights(&self, out: usize) -> &[i16] {
        let taps = self.taps();
        &self.weights[out * taps..][..taps]
    }

    /// How much the weights of an output are off together.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// The largest sum of weights without their signs.
    pub fn norm(&self) -> f64 {
        self.norm
    }
}

/// Weights times `one`, as integers that sum to `one`. Those that rounding changed most make up for the rest.
pub(super) fn rounded(weights: &[f32], one: i32) -> Option<Vec<i16>> {
    let exact = |w: &f32| f64::from(*w) * f64::from(one);
    let mut integers: Vec<i32> = weights.iter().map(|w| exact(w).round() as i32).collect();
    let mut missing = one - integers.iter().sum::<i32>();
    while missing != 0 {
        let step = missing.signum();
        let gain = |i: usize| (exact(&weights[i]) - f64::from(integers[i])) * f64::from(step);
        let used = (0..weights.len()).filter(|&i| weights[i] != 0.0);
        let most = used.max_by(|&a, &b| gain(a).total_cmp(&gain(b)))?;
        integers[most] += step;
        missing -= step;
    }
    integers
        .into_iter()
        .map(|i| i16::try_from(i).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::Method;

    #[test]
    fn weights_sum_to_exactly_one() {
        for (_, method) in Method::NAMES {
            for (from, to) in [(1920, 3840), (1920, 1280), (1920, 1919), (101, 37), (3, 1)] {
                let exact = Arc::new(Weights::resampling(method, from, to));
                let all = Quantised::new(&exact).unwrap();
                let mirrored = all.clone().mirrored();
                for out in 0..to as usize {
                    let sum: i32 = all.weights(out).iter().map(|&w| i32::from(w)).sum();
                    assert_eq!(sum, 1 << all.bits(), "{method:?} {from} {to}");
                    // The same from the other end.
                    let other = to as usize - 1 - out;
                    let backwards = mirrored.weights(other).iter().rev();
                    assert!(backwards.eq(all.weights(out)));
                    let end = mirrored.first(other) + all.taps();
                    assert_eq!(end, from as usize - all.first(out));
                }
                // Each is off by half a unit at most, and one more where they make up for others.
                let units = all.error() * f64::from(1 << all.bits());
                assert!(units <= 1.5 * all.taps() as f64, "{method:?} {units}");
                assert!(all.norm() < 1.6, "{method:?} {}", all.norm());
            }
        }
    }

    #[test]
    fn weights_that_have_no_room_have_fewer_bits() {
        let exact = Arc::new(Weights::resampling(Method::Bilinear, 2, 4));
        let all = Quantised::new(&exact).unwrap();
        // 1 and 0 at the end, then 3/4 and 1/4.
        assert_eq!(all.bits(), 14);
        assert_eq!(all.weights(0), [1 << 14, 0]);
        assert_eq!(all.weights(1), [3 << 12, 1 << 12]);
        assert_eq!((all.error(), all.norm()), (0.0, 1.0));
        let fewer = all.fitted(|all| all.bits() < 14).unwrap();
        assert_eq!(fewer.weights(1), [3 << 11, 1 << 11]);
    }
}
