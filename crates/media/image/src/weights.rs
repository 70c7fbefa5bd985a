//! The weights of a side of a plane whose outputs are weighted sums of samples side by side: the only place that says where
//! an output reads, and how much of each sample it takes. The definition in floats, the kernels for devices and those in
//! integers all follow these tables.
#![forbid(unsafe_code)]

use std::f64::consts::PI;
use std::ops::Range;
use std::sync::Arc;

use crate::kernels::weighted_sum::Windows;

/// Samples nearer to the end of a window than this have no weight, since positions are not exact.
const NONE: f64 = 1e-9;

/// How a side changes its length. Pixel centres are aligned: output i lies at (i + ½)·ratio − ½.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// A triangle that reaches the next sample, or as far as the ratio where the side shrinks.
    Bilinear,
    /// The cubic of Mitchell and Netravali with B = 0 and C = 0.6, FFmpeg's. It reaches two samples, or twice the ratio.
    Bicubic,
    /// sinc(d)·sinc(d/3). It reaches three samples, or three times the ratio.
    Lanczos,
    /// The mean of what an output covers where the side shrinks; [`Method::Bilinear`] where it grows.
    Area,
    /// The sample that an output lies on.
    Neighbor,
}

impl Method {
    /// All of them by their names in FFmpeg.
    pub const NAMES: [(&str, Method); 5] = [
        ("bilinear", Method::Bilinear),
        ("bicubic", Method::Bicubic),
        ("lanczos", Method::Lanczos),
        ("area", Method::Area),
        ("neighbor", Method::Neighbor),
    ];

    /// The weight at a distance, in samples, before weights are divided by their sum; 0 from [`Method::reach`] on.
    fn weight(self, ratio: f64, distance: f64) -> f64 {
        let d = distance.abs() / ratio.max(1.0);
        match self {
            Method::Bilinear => 1.0 - d,
            Method::Bicubic => {
                const C: f64 = 0.6;
                match d < 1.0 {
                    true => (2.0 - C) * d.powi(3) - (3.0 - C) * d.powi(2) + 1.0,
                    false => C * (-d.powi(3) + 5.0 * d.powi(2) - 8.0 * d + 4.0),
                }
            }
            Method::Lanczos => {
                let sinc = |v: f64| match v == 0.0 {
                    true => 1.0,
                    false => (PI * v).sin() / (PI * v),
                };
                sinc(d) * sinc(d / 3.0)
            }
            // The length of what both the output and the sample cover.
            Method::Area if ratio > 1.0 => ((ratio + 1.0) / 2.0 - distance.abs()).min(1.0),
            Method::Area => 1.0 - d,
            Method::Neighbor => 1.0,
        }
    }

    /// How far an output reads on either side.
    fn reach(self, ratio: f64) -> f64 {
        let wide = ratio.max(1.0);
        match self {
            Method::Bilinear => wide,
            Method::Bicubic => 2.0 * wide,
            Method::Lanczos => 3.0 * wide,
            Method::Area if ratio > 1.0 => (ratio + 1.0) / 2.0,
            Method::Area => 1.0,
            Method::Neighbor => 0.5,
        }
    }
}

/// The samples that each output reads and their weights. All outputs have the same number of consecutive samples.
#[derive(Clone, Debug)]
pub struct Weights {
    /// Length of the side that is read.
    from: u32,
    first: Vec<u32>,
    /// The weights of each output, one after the other.
    weights: Vec<f32>,
    taps: usize,
}

impl Weights {
    /// For a side of `from` samples that becomes one of `to`.
    pub fn resampling(method: Method, from: u32, to: u32) -> Self {
        let ratio = f64::from(from) / f64::from(to);
        if method == Method::Neighbor {
            // In multiples of 2^-16, as FFmpeg has positions, so that its bytes are the same.
            let step = ((u64::from(from) << 16) + u64::from(to / 2)) / u64::from(to);
            let last = u64::from(from - 1);
            let at = |i: u32| ((u64::from(i) * step + step / 2) >> 16).min(last);
            return Weights {
                from,
                first: (0..to).map(|i| at(i) as u32).collect(),
                weights: vec![1.0; to as usize],
                taps: 1,
            };
        }
        let reach = method.reach(ratio);
        let outputs = (0..to).map(|i| {
            let centre = (f64::from(i) + 0.5) * ratio - 0.5;
            let low = (centre - reach + NONE).floor() as i64 + 1;
            let high = (centre + reach - NONE).ceil() as i64 - 1;
            let weights = (low..=high).map(|at| method.weight(ratio, at as f64 - centre));
            (low, weights.collect())
        });
        Weights::of(from, outputs)
    }

    /// The same weights around every sample of a side, an odd number.
    pub fn around(weights: &[f32], side: u32) -> Self {
        let weights: Vec<f64> = weights.iter().map(|&weight| f64::from(weight)).collect();
        let radius = (weights.len() / 2) as i64;
        let outputs = (0..i64::from(side)).map(|at| (at - radius, weights.clone()));
        Weights::of(side, outputs)
    }

    /// Every sample itself.
    pub fn same(side: u32) -> Self {
        Weights::around(&[1.0], side)
    }

    /// Every output from the weights of positions from the first number on. Beyond the ends of the side its end samples
    /// repeat, so they have the weights of all positions there. Weights are divided by their sum.
    pub fn of(from: u32, outputs: impl Iterator<Item = (i64, Vec<f64>)> + Clone) -> Self {
        let last = i64::from(from) - 1;
        let inside = |low: i64, weights: &[f64]| {
            let high = low + weights.len() as i64 - 1;
            low.clamp(0, last)..=high.clamp(0, last)
        };
        let taps = outputs.clone().map(|(low, weights)| {
            let inside = inside(low, &weights);
            (inside.end() - inside.start() + 1) as usize
        });
        let taps = taps.max().unwrap_or(1);
        let (mut first, mut table) = (Vec::new(), Vec::new());
        let mut own = vec![0.0; taps];
        for (low, weights) in outputs {
            let start = (*inside(low, &weights).start()).min(last + 1 - taps as i64);
            own.fill(0.0);
            for (at, weight) in (low..).zip(&weights) {
                own[(at.clamp(0, last) - start) as usize] += weight;
            }
            let sum: f64 = weights.iter().sum();
            first.push(start as u32);
            table.extend(own.iter().map(|weight| (weight / sum) as f32));
        }
        Weights {
            from,
            first,
            weights: table,
            taps,
        }
    }

    /// Samples that an output reads.
    pub fn taps(&self) -> usize {
        self.taps
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.first.len()
    }

    /// The length of the side that is read.
    pub fn from(&self) -> u32 {
        self.from
    }

    /// The samples from the first to the last that outputs `out`, one at least, read.
    pub fn reads(&self, out: Range<i32>) -> Range<i32> {
        let last = self.first.len() as i32 - 1;
        let first = |i: i32| self.first[i.clamp(0, last) as usize] as i32;
        first(out.start)..first(out.end - 1) + self.taps as i32
    }

    /// The weights of an output.
    pub fn weights(&self, out: i32) -> &[f32] {
        &self.weights[out as usize * self.taps..][..self.taps]
    }

    /// The windows of the outputs from `out` on.
    pub fn windows(&self, out: usize) -> Windows<'_> {
        Windows {
            first: &self.first[out..],
            weights: &self.weights[out * self.taps..],
            taps: self.taps,
        }
    }
}

/// The weights of a bell of standard deviation `sigma`, from -ceil(3 sigma) to ceil(3 sigma). They are divided by their sum
/// before they are rounded.
pub fn bell(sigma: f64) -> Vec<f32> {
    let radius = (3.0 * sigma).ceil() as i32;
    let bell = |d: i32| (-0.5 * (f64::from(d) / sigma).powi(2)).exp();
    let sum: f64 = (-radius..=radius).map(bell).sum();
    (-radius..=radius).map(|d| (bell(d) / sum) as f32).collect()
}

/// What a stage is that sums weighted samples of rows and of columns.
#[derive(Clone, Debug)]
pub enum Separable {
    /// The windows of columns, within a row, and of rows, within a column; none where that direction stays as it is.
    Windows(Option<Arc<Weights>>, Option<Arc<Weights>>),
    /// The weights of a [`bell`] of this standard deviation in both directions.
    Bell(f64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_triangle_and_ends_are_repeated() {
        // Half: places 1/2, 5/2, 9/2; the triangle reaches 2 to either side.
        let half = Weights::resampling(Method::Bilinear, 6, 3);
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
        let third = Weights::resampling(Method::Bilinear, 6, 2);
        assert_eq!((third.taps(), third.reads(0..1)), (4, 0..4));
        let ninth = 1.0 / 9.0;
        let expected = [3.0 * ninth, 3.0 * ninth, 2.0 * ninth, ninth];
        for (weight, expected) in third.weights(0).iter().zip(expected) {
            assert!((weight - expected).abs() < 1e-7, "{:?}", third.weights(0));
        }
        // Twice as many: between neighbours.
        let double = Weights::resampling(Method::Bilinear, 2, 4);
        assert_eq!(double.taps(), 2);
        assert_eq!(double.weights(0), [1.0, 0.0]);
        assert_eq!(double.weights(1), [0.75, 0.25]);
    }

    /// Mitchell and Netravali's with B = 0 and C = 0.6 at 1/4, 3/4, 5/4 and 7/4.
    #[test]
    fn twice_as_many_by_bicubic() {
        let double = Weights::resampling(Method::Bicubic, 8, 16);
        assert_eq!((double.taps(), double.reads(7..8)), (4, 2..6));
        let expected = [-0.084_375, 0.871_875, 0.240_625, -0.028_125];
        for (weight, expected) in double.weights(7).iter().zip(expected) {
            assert!((weight - expected).abs() < 1e-6, "{:?}", double.weights(7));
        }
    }

    /// sinc(d)·sinc(d/3) at 1/2, 3/2 and 5/2, divided by the sum of all six.
    #[test]
    fn between_two_by_lanczos() {
        // 2/π·3/π, -2/(3π)·2/π and 2/(5π)·3/(5π).
        let three = [6.0, -4.0 / 3.0, 6.0 / 25.0].map(|v| v / PI.powi(2));
        let sum = 2.0 * three.iter().sum::<f64>();
        let third = Weights::resampling(Method::Lanczos, 60, 20);
        assert_eq!(third.taps(), 17);
        let half = Weights::resampling(Method::Lanczos, 40, 20);
        assert_eq!(half.taps(), 12);
        let double = Weights::resampling(Method::Lanczos, 7, 14);
        assert_eq!(double.taps(), 6);
        let middle = Weights::of(
            12,
            [(
                3,
                [2.5, 1.5, 0.5, 0.5, 1.5, 2.5]
                    .map(|d| Method::Lanczos.weight(1.0, d))
                    .to_vec(),
            )]
            .into_iter(),
        );
        let expected = [2, 1, 0, 0, 1, 2].map(|i: usize| (three[i] / sum) as f32);
        for (weight, expected) in middle.weights(0).iter().zip(expected) {
            assert!((weight - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn an_area_is_what_an_output_covers() {
        // Of 3 samples each output covers one and a half.
        let area = Weights::resampling(Method::Area, 3, 2);
        let third = 1.0 / 3.0;
        for (out, expected) in [(0, [2.0 * third, third]), (1, [third, 2.0 * third])] {
            for (weight, expected) in area.weights(out).iter().zip(expected) {
                assert!((weight - expected).abs() < 1e-6, "{:?}", area.weights(out));
            }
        }
        assert_eq!((area.reads(0..1), area.reads(1..2)), (0..2, 1..3));
        let grown = Weights::resampling(Method::Area, 2, 4);
        assert_eq!(grown.weights(1), [0.75, 0.25]);
    }

    #[test]
    fn the_neighbor_is_the_sample_that_an_output_lies_on() {
        let first = |from, to| {
            let all = Weights::resampling(Method::Neighbor, from, to);
            assert_eq!(all.taps(), 1);
            (0..to as i32)
                .map(|i| all.reads(i..i + 1).start)
                .collect::<Vec<_>>()
        };
        assert_eq!(first(3, 6), [0, 0, 1, 1, 2, 2]);
        assert_eq!(first(6, 3), [1, 3, 5]);
        assert_eq!(first(5, 3), [0, 2, 4]);
        // The eighth lies between samples 10 and 11, and a little before, as 22/15 is rounded.
        assert_eq!(first(352, 240)[7], 10);
    }

    #[test]
    fn weights_add_up_to_1_and_lie_inside() {
        for from in [1, 2, 3, 7, 64, 101, 1920] {
            for to in [1, 2, 3, 5, 36, 100, 1919, 2500] {
                let all = Weights::resampling(Method::Bilinear, from, to);
                let mut before = 0;
                for i in 0..to as i32 {
                    let reads = all.reads(i..i + 1);
                    assert!(reads.start >= before && reads.end <= from as i32);
                    before = reads.start;
                    let sum: f64 = all.weights(i).iter().map(|&w| f64::from(w)).sum();
                    assert!((sum - 1.0).abs() < 1e-6, "{from} to {to}: {sum}");
                    assert!(all.weights(i).iter().all(|w| (0.0..=1.0).contains(w)));
                }
            }
        }
    }
}
