//! The taps of bilinear sampling for a run of outputs at any positions.
//!
//! [`bilinear::rows`](super::bilinear::rows) computes whole rows from stored samples. Here the samples have to be pulled
//! first, so positions and blending are two steps.

use super::bilinear::{Border, Map, blend};
use super::lanes::Scalar;
use crate::for_each_level;
use crate::format::Size;

/// The taps of a run of outputs, as [`bilinear::Tap`](super::bilinear::Tap) has them for one; each list has one entry
/// for an output. `x` is -1 where the output reads nothing.
#[derive(Clone, Debug, Default)]
pub struct TapRun {
    /// Column of the left samples.
    pub x: Vec<i32>,
    /// Row of the upper samples.
    pub y: Vec<i32>,
    /// Weight of the right samples, 0 to 1.
    pub fx: Vec<f32>,
    /// Weight of the lower samples, 0 to 1.
    pub fy: Vec<f32>,
}

impl TapRun {
    /// Makes room for `n` outputs, contents undefined.
    pub fn resize(&mut self, n: usize) {
        self.x.resize(n, 0);
        self.y.resize(n, 0);
        self.fx.resize(n, 0.0);
        self.fy.resize(n, 0.0);
    }

    /// Moves the outputs that have taps to the front, in order. Returns their number, and in `places` where each was.
    ///
    /// # Panics
    /// If `places` is shorter than the run.
    pub fn keep_inside(&mut self, places: &mut [usize]) -> usize {
        let mut inside = 0;
        for i in 0..self.x.len() {
            if self.x[i] >= 0 {
                places[inside] = i;
                self.x[inside] = self.x[i];
                self.y[inside] = self.y[i];
                self.fx[inside] = self.fx[i];
                self.fy[inside] = self.fy[i];
                inside += 1;
            }
        }
        inside
    }
}

#[inline(always)]
fn positions_body<M: Map>(
    map: &M,
    border: Border,
    plane: Size,
    xs: &[i32],
    ys: &[i32],
    taps: &mut TapRun,
) {
    let n = xs.len();
    let ys = &ys[..n];
    taps.resize(n);
    let (tx, ty) = (&mut taps.x[..n], &mut taps.y[..n]);
    let (fx, fy) = (&mut taps.fx[..n], &mut taps.fy[..n]);
    let (right, bottom) = ((plane.w - 1) as f32, (plane.h - 1) as f32);
    let (last_x, last_y) = ((plane.w as i32 - 2).max(0), (plane.h as i32 - 2).max(0));
    let repeat = border == Border::Replicate;
    for i in 0..n {
        let (sx, sy) = map.at(Scalar, xs[i] as f32, ys[i] as f32);
        // Without short circuits, so that the loop has no branches.
        let inside = (sx >= 0.0) & (sx <= right) & (sy >= 0.0) & (sy <= bottom);
        let (cx, cy) = (sx.max(0.0).min(right), sy.max(0.0).min(bottom));
        let (sx, sy) = if inside { (sx, sy) } else { (cx, cy) };
        let x = (sx as i32).min(last_x);
        let y = (sy as i32).min(last_y);
        tx[i] = if inside | repeat { x } else { -1 };
        ty[i] = y;
        fx[i] = sx - x as f32;
        fy[i] = sy - y as f32;
    }
}

#[inline(always)]
fn blend_body(samples: &[f32], fx: &[f32], fy: &[f32], out: &mut [f32]) {
    let n = out.len();
    let (a, samples) = samples.split_at(n);
    let (b, samples) = samples.split_at(n);
    let (c, samples) = samples.split_at(n);
    let d = &samples[..n];
    let (fx, fy) = (&fx[..n], &fy[..n]);
    for i in 0..n {
        out[i] = blend([a[i], b[i]], [c[i], d[i]], fx[i], fy[i]);
    }
}

#[inline(always)]
fn moved_body(from: &[i32], by: i32, last: i32, to: &mut [i32]) {
    let n = to.len().min(from.len());
    let (to, from) = (&mut to[..n], &from[..n]);
    for i in 0..n {
        to[i] = (from[i] + by).clamp(0, last);
    }
}

for_each_level! {
    /// Coordinates moved by an offset, those beyond the plane to its edge, 0 or `last`.
    pub fn moved(from: &[i32], by: i32, last: i32, to: &mut [i32]) = moved_body;
}
for_each_level! {
    /// Taps of the outputs (`xs[i]`, `ys[i]`) of a warp of a plane of size `plane`.
    pub fn positions<M: Map>(map: &M, border: Border, plane: Size, xs: &[i32], ys: &[i32], taps: &mut TapRun) = positions_body;
}
for_each_level! {
    /// Blends runs of upper left, upper right, lower left and lower right samples, which lie one after the other.
    pub fn blend_run(samples: &[f32], fx: &[f32], fy: &[f32], out: &mut [f32]) = blend_body;
}

#[cfg(test)]
mod tests {
    use evener_runtime::Simd;

    use super::super::bilinear::tap;
    use super::super::lanes::Lanes;
    use super::*;

    #[derive(Debug)]
    struct Scaled(f32);

    impl Map for Scaled {
        fn at<S: Lanes>(&self, s: S, x: S::V, y: S::V) -> (S::V, S::V) {
            let scale = s.splat(self.0);
            (
                s.sub(s.mul(x, scale), s.splat(3.0)),
                s.sub(s.splat(2.5), s.mul(y, scale)),
            )
        }
    }

    #[test]
    fn a_run_has_the_taps_of_each_of_its_outputs() {
        let xs: Vec<i32> = (-20..80).collect();
        let ys: Vec<i32> = (0..100).map(|i| i * 7 % 31 - 15).collect();
        for simd in [Simd::Scalar, Simd::detect()] {
            for (w, h) in [(1, 1), (2, 1), (1, 9), (40, 7)] {
                for border in [Border::Replicate, Border::Constant(0.25)] {
                    for scale in [0.37, 1.0, f32::INFINITY, f32::NAN] {
                        let (map, plane) = (Scaled(scale), Size { w, h });
                        let mut run = TapRun::default();
                        positions(simd, &map, border, plane, &xs, &ys, &mut run);
                        for i in 0..xs.len() {
                            let (sx, sy) = map.at(Scalar, xs[i] as f32, ys[i] as f32);
                            match tap(sx, sy, plane, border) {
                                None => assert_eq!(run.x[i], -1),
                                Some(t) => {
                                    assert_eq!((run.x[i], run.y[i]), (t.x, t.y));
                                    assert_eq!((run.fx[i], run.fy[i]), (t.fx, t.fy));
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
