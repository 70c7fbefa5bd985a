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

/// The same, where rows beyond the plane are those that a mirror at its edge shows.
pub struct MirroredTaps<'a>(pub VerticalTaps<'a>);

impl Taps for MirroredTaps<'_> {
    #[inline(always)]
    fn tap(&self, k: usize, at: usize) -> &[f32] {
        let VerticalTaps { top, bottom, .. } = self.0;
        let row = mirrored(top + k as i32, bottom + 1);
        &self.0.lines.row(row)[self.0.first + at..]
    }
}

/// The position from 0 to `length - 1` that mirrors at both ends show at `at`; the end itself is seen twice.
#[inline(always)]
pub fn mirrored(at: i32, length: i32) -> i32 {
    let there = at.rem_euclid(2 * length);
    there.min(2 * length - 1 - there)
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
    for (number, run) in out.chunks_mut(RUN).enumerate() {
        let (at, n) = (number * RUN, run.len());
        // `fill` is a call where nothing is optimised across crates, and knows neither the zero nor the instructions.
        #[allow(clippy::manual_slice_fill)]
        for sum in run.iter_mut() {
            *sum = 0.0;
        }
        for (four, w) in fours.iter().enumerate() {
            let k = 4 * four;
            let (a, b) = (&from.tap(k, at)[..n], &from.tap(k + 1, at)[..n]);
            let (c, d) = (&from.tap(k + 2, at)[..n], &from.tap(k + 3, at)[..n]);
            for i in 0..n {
                let two = w[1].mul_add(b[i], w[0].mul_add(a[i], run[i]));
                run[i] = w[3].mul_add(d[i], w[2].mul_add(c[i], two));
            }
        }
        for (k, w) in rest.iter().enumerate() {
            add_body(*w, &from.tap(4 * fours.len() + k, at)[..n], run);
        }
    }
}

for_each_level! {
    /// Sum of weight times sample over the taps, in order.
    pub fn weighted_sums<T: Taps>(weights: &[f32], from: &T, out: &mut [f32]) = weighted_sums_body;
}

#[inline(always)]
fn add_body(weight: f32, samples: &[f32], sums: &mut [f32]) {
    let n = sums.len().min(samples.len());
    let (sums, samples) = (&mut sums[..n], &samples[..n]);
    for i in 0..n {
        sums[i] = weight.mul_add(samples[i], sums[i]);
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

impl Windows<'_> {
    /// How many outputs there are windows and room for.
    #[inline(always)]
    fn outputs(&self, out: &[f32]) -> usize {
        let windows = self.first.len().min(self.weights.len() / self.taps);
        out.len().min(windows)
    }
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
            let n = windows.outputs(out);
            for (i, o) in out[..n].iter_mut().enumerate() {
                let weights = &windows.weights[i * taps..][..taps];
                let samples = &samples[windows.first[i] as usize - origin..][..taps];
                let mut sum = 0.0;
                for k in 0..taps {
                    sum = weights[k].mul_add(samples[k], sum);
                }
                *o = sum;
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
    let n = windows.outputs(out);
    let (weights, _) = windows.weights.as_chunks::<TAPS>();
    let (out, first, weights) = (&mut out[..n], &windows.first[..n], &weights[..n]);
    for i in 0..n {
        let samples = samples[first[i] as usize - origin..].first_chunk::<TAPS>();
        let samples = samples.expect("a window lies in its row");
        let mut sum = 0.0;
        for k in 0..TAPS {
            sum = weights[i][k].mul_add(samples[k], sum);
        }
        out[i] = sum;
    }
}

for_each_level! {
    /// Sum of weight times sample over the window of each output, in order. `samples` begins at position `origin` of the
    /// row. Outputs are computed one by one, but many are in flight at once. Bound: two loads a tap, which is most of the
    /// time of a plane. 1920x1080 to 960x540 takes 1.0 ms on one thread of a Xeon with AVX-512. FFmpeg's scaler, whose sums
    /// are of 16-bit integers, takes 0.4 ms.
    pub fn window_sums(windows: &Windows<'_>, samples: &[f32], origin: usize, out: &mut [f32]) = window_sums_body;
}
