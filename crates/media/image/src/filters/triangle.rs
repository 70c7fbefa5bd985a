//! The weights of a triangle filter, for a side of a plane that changes its length.

use std::ops::Range;

use crate::kernels::weighted_sum::Windows;

/// Samples nearer to the end of a triangle than this have no weight, since positions are not exact.
const NONE: f64 = 1e-9;

/// The samples that each output reads and their weights. All outputs have the same number of consecutive samples.
#[derive(Debug)]
pub(super) struct Triangle {
    first: Vec<u32>,
    /// The weights of each output, one after the other.
    weights: Vec<f32>,
    taps: usize,
}

impl Triangle {
    /// For a side of `from` samples that becomes one of `to`.
    pub(super) fn new(from: u32, to: u32) -> Self {
        let ratio = f64::from(from) / f64::from(to);
        let reach = ratio.max(1.0);
        let last = i64::from(from) - 1;
        // Pixel centres are aligned.
        let centre = |i: u32| (f64::from(i) + 0.5) * ratio - 0.5;
        let under = |centre: f64| {
            let low = (centre - reach + NONE).floor() as i64 + 1;
            let high = (centre + reach - NONE).ceil() as i64 - 1;
            low..=high
        };
        // The samples at the ends are repeated beyond them, so they have the weights of all positions there.
        let inside = |centre: f64| {
            let all = under(centre);
            (*all.start()).clamp(0, last)..=(*all.end()).clamp(0, last)
        };
        let taps = (0..to).map(|i| {
            let inside = inside(centre(i));
            (inside.end() - inside.start() + 1) as usize
        });
        let taps = taps.max().unwrap_or(1);

        let (mut first, mut weights) = (Vec::new(), Vec::new());
        let mut own = vec![0.0; taps];
        for i in 0..to {
            let centre = centre(i);
            let start = (*inside(centre).start()).min(last + 1 - taps as i64);
            own.fill(0.0);
            let mut sum = 0.0;
            for at in under(centre) {
                let weight = 1.0 - (at as f64 - centre).abs() / reach;
                own[(at.clamp(0, last) - start) as usize] += weight;
                sum += weight;
            }
            first.push(start as u32);
            weights.extend(own.iter().map(|weight| (weight / sum) as f32));
        }
        Triangle {
            first,
            weights,
            taps,
        }
    }

    /// Samples that an output reads.
    pub(super) fn taps(&self) -> usize {
        self.taps
    }

    /// The samples from the first to the last that outputs `out`, one at least, read.
    pub(super) fn reads(&self, out: Range<i32>) -> Range<i32> {
        let last = self.first.len() as i32 - 1;
        let first = |i: i32| self.first[i.clamp(0, last) as usize] as i32;
        first(out.start)..first(out.end - 1) + self.taps as i32
    }

    /// The weights of an output.
    pub(super) fn weights(&self, out: i32) -> &[f32] {
        &self.weights[out as usize * self.taps..][..self.taps]
    }

    /// The windows of the outputs from `out` on.
    pub(super) fn windows(&self, out: usize) -> Windows<'_> {
        Windows {
            first: &self.first[out..],
            weights: &self.weights[out * self.taps..],
            taps: self.taps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_triangle_and_ends_are_repeated() {
        // Half: places 1/2, 5/2, 9/2; the triangle reaches 2 to either side.
        let half = Triangle::new(6, 3);
        assert_eq!(half.taps(), 4);
        assert_eq!(half.reads(1..2), 1..5);
        assert_eq!(half.weights(1), [0.125, 0.375, 0.375, 0.125]);
        // At the ends one of the four lies beyond.
        assert_eq!(half.reads(0..1), 0..4);
        assert_eq!(half.weights(0), [0.5, 0.375, 0.125, 0.0]);
        assert_eq!(half.reads(2..3), 2..6);
        assert_eq!(half.weights(2), [0.0, 0.125, 0.375, 0.5]);
        assert_eq!(half.reads(0..3), 0..6);
        // A third: places 1 and 4, weights 1/3, 2/3, 1, 2/3, 1/3 of 3.
        let third = Triangle::new(6, 2);
        assert_eq!((third.taps(), third.reads(0..1)), (4, 0..4));
        let ninth = 1.0 / 9.0;
        let expected = [3.0 * ninth, 3.0 * ninth, 2.0 * ninth, ninth];
        for (weight, expected) in third.weights(0).iter().zip(expected) {
            assert!((weight - expected).abs() < 1e-7, "{:?}", third.weights(0));
        }
        // Twice as many: between neighbours.
        let double = Triangle::new(2, 4);
        assert_eq!(double.taps(), 2);
        assert_eq!(double.weights(0), [1.0, 0.0]);
        assert_eq!(double.weights(1), [0.75, 0.25]);
    }

    #[test]
    fn weights_add_up_to_1_and_lie_inside() {
        for from in [1, 2, 3, 7, 64, 101, 1920] {
            for to in [1, 2, 3, 5, 36, 100, 1919, 2500] {
                let triangle = Triangle::new(from, to);
                let mut before = 0;
                for i in 0..to as i32 {
                    let reads = triangle.reads(i..i + 1);
                    assert!(reads.start >= before && reads.end <= from as i32);
                    before = reads.start;
                    let sum: f64 = triangle.weights(i).iter().map(|&w| f64::from(w)).sum();
                    assert!((sum - 1.0).abs() < 1e-6, "{from} to {to}: {sum}");
                    assert!(triangle.weights(i).iter().all(|w| (0.0..=1.0).contains(w)));
                }
            }
        }
    }
}
