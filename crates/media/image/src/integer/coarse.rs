//! Wide bells in two steps: sums of samples around every n-th position only, and between those a spline.
//!
//! What a bell of standard deviation σ leaves of a picture is so smooth that few of its samples say all. With positions d
//! apart, the first step is a bell of variance σ² - d²/3 that is as wide as the whole one, and the second is the cubic
//! B-spline, whose variance is d²/3. A sum of 2R products is computed for each d-th row, and of those for each d-th column,
//! so an output takes about 2R/d + 10 products, not 4R. What the two steps together are off is summed up sample by sample
//! when a graph is bound: with d up to 0.4 σ, a fifth of a code in each direction for the worst of all pictures. It lies where
//! the bell ends, at 3 σ.

use std::sync::Arc;

use super::quantised::{Quantised, rounded};
use crate::format::Size;
use crate::weights::{Weights, bell};

/// The first step, and what the second reads.
#[derive(Clone, Debug)]
pub struct Coarse {
    /// Samples from one position to the next, a power of two.
    step: i64,
    /// Samples on each side of a position, which lies between two.
    radius: i64,
    /// The weight of the samples `radius` - ½ away, and on to the nearest: of one on each side.
    pub weights: Vec<i16>,
    /// Bits after the point of those.
    pub bits: u32,
    /// The sums of columns.
    pub across: Quantised,
    /// Positions of rows.
    pub rows: usize,
    /// Rows of the plane.
    height: i64,
}

/// Positions before the plane that splines reach.
const BEFORE: i64 = 2;

impl Coarse {
    /// For a plane of `size`, and the windows of the second step. `None` if weights cannot be integers.
    pub fn new(sigma: f64, size: Size) -> Option<(Coarse, [Arc<Weights>; 2])> {
        let (width, height) = (size.w, size.h);
        let step = 1i64 << (1..).take_while(|&n| fits(sigma, 1 << n)).last()?;
        let radius = (3.0 * sigma).ceil() as i64;
        let weights = first(sigma, step, radius);
        let (splines, columns) = splines(width, step);
        let windows = (0..columns).map(|i| (begin(i, step, radius), weights.clone()));
        let across = Quantised::new(&Arc::new(Weights::of(width, windows)))?;
        let (down, rows) = self::splines(height, step);
        // Half of the weights sum to a half.
        let half: Vec<f32> = weights[..radius as usize]
            .iter()
            .map(|&weight| 2.0 * weight as f32)
            .collect();
        let fit = |bits: u32| Some((bits, rounded(&half, 1 << (bits - 1))?));
        let (bits, weights) = (16..=20).rev().find_map(fit)?;
        let coarse = Coarse {
            step,
            radius,
            weights,
            bits,
            across,
            rows: rows as usize,
            height: i64::from(height),
        };
        Some((coarse, [Arc::new(splines), Arc::new(down)]))
    }

    /// The rows of the plane that a position sums, from the upper to the lower.
    pub fn reads(&self, position: usize) -> impl Iterator<Item = usize> {
        let first = begin(position as i64, self.step, self.radius);
        let last = self.height - 1;
        (first..first + 2 * self.radius).map(move |row| row.clamp(0, last) as usize)
    }

    /// How much all that is not a rounding of the second step is off, in codes of 8 bits, with `fraction` bits after the
    /// point.
    pub fn error(&self, sigma: f64, fraction: u32) -> f64 {
        // Of two weights each is off by half a unit at most, and a few by one.
        let weights = 2.0 * self.weights.len() as f64 / f64::from(1 << self.bits);
        let rounded = 1.0 / f64::from(1 << fraction);
        128.0 * (2.0 * self.method_error(sigma) + weights + self.across.error()) + rounded
    }

    /// How much the weights of both steps together are off those of the bell, summed over the samples that an output reads.
    fn method_error(&self, sigma: f64) -> f64 {
        let (step, radius) = (self.step, self.radius);
        let first = first(sigma, step, radius);
        let exact = bell(sigma);
        let off = |x: i64| {
            let mut off = vec![0.0; (2 * radius + 8 * step) as usize];
            let origin = x - radius - 4 * step;
            for (at, weight) in (x - radius - origin..).zip(&exact) {
                off[at as usize] -= f64::from(*weight);
            }
            let (low, splines) = spline(x, step);
            for (i, spline) in (low..).zip(splines) {
                for (at, weight) in (begin(i, step, radius) - origin..).zip(&first) {
                    off[at as usize] += spline * weight;
                }
            }
            off.iter().map(|off: &f64| off.abs()).sum::<f64>()
        };
        (0..step).map(off).fold(0.0, f64::max)
    }
}

/// Whether positions so far apart say all of a bell. A narrow one ends within fewer samples, so it may be off more.
fn fits(sigma: f64, step: i64) -> bool {
    let most = if step == 2 { 0.5 } else { 0.4 };
    step as f64 <= most * sigma
}

/// Whether a bell is wide enough to gain by two steps.
pub(super) fn gains(sigma: f64) -> bool {
    fits(sigma, 2)
}

/// The first of the samples that position `i` sums.
fn begin(i: i64, step: i64, radius: i64) -> i64 {
    (i - BEFORE) * step + step / 2 - radius
}

/// The weights of a position, which sum to 1.
fn first(sigma: f64, step: i64, radius: i64) -> Vec<f64> {
    let variance = sigma * sigma - (step * step) as f64 / 3.0;
    let distance = |k: i64| k as f64 + 0.5 - radius as f64;
    let weights = (0..2 * radius).map(|k| (-0.5 * distance(k).powi(2) / variance).exp());
    let weights: Vec<f64> = weights.collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

/// The first of the four positions whose splines reach sample `x`, and the weight of each.
fn spline(x: i64, step: i64) -> (i64, Vec<f64>) {
    let at = (x as f64 - (step - 1) as f64 / 2.0) / step as f64;
    let low = at.floor() as i64 - 1;
    let weight = |i: i64| match (at - i as f64).abs() {
        d if d < 1.0 => 2.0 / 3.0 - d * d + d.powi(3) / 2.0,
        d => (2.0 - d).max(0.0).powi(3) / 6.0,
    };
    (low + BEFORE, (low..low + 4).map(weight).collect())
}

/// The splines of a side, and how many positions they read.
fn splines(side: u32, step: i64) -> (Weights, i64) {
    let samples = (0..i64::from(side)).map(|x| spline(x, step));
    let (last, _) = spline(i64::from(side) - 1, step);
    let positions = last + 4;
    (Weights::of(positions as u32, samples), positions)
}
